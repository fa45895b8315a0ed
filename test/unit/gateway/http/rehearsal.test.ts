import { text } from 'node:stream/consumers';

import { expect } from 'chai';

import { OwnRequests } from '#services/gateway/http/rehearsal';

describe('OwnRequests', () => {
  const { signal } = new AbortController();
  const outcome = (post: Promise<void>): Promise<string> =>
    post.then(
      () => 'sent',
      (error: unknown) => String(error),
    );

  it('sends requests over one connection', async () => {
    const received: string[] = [];
    const connections = new Set<unknown>();
    const requests = new OwnRequests((request, response) => {
      connections.add(request.socket);
      void text(request).then((form) => {
        received.push(`${request.method} ${request.url} ${request.headers['content-type']} ${form}`);
        response.end('x'.repeat(received.length * 100_000));
      });
    });
    for (const form of ['sql=1', 'sql=%C3%A4', '']) await requests.post('/v1/sql?db=public', form, signal);
    expect(received).to.deep.equal(
      ['sql=1', 'sql=%C3%A4', ''].map((form) => `POST /v1/sql?db=public application/x-www-form-urlencoded ${form}`),
    );
    expect(connections.size).to.equal(1);
  });

  it('reports errors, and uses another connection after one was cut off', async () => {
    const requests = new OwnRequests((request, response) => {
      request.resume();
      if (request.url === '/cut') {
        response.write('x');
        response.destroy();
        return;
      }
      response.statusCode = request.url === '/bad' ? 400 : 200;
      response.end();
    });
    expect(await outcome(requests.post('/bad', '', signal))).to.contain('status 400');
    expect(await outcome(requests.post('/cut', '', signal))).to.contain('incomplete');
    expect(await outcome(requests.post('/good', '', signal))).to.equal('sent');
  });

  it('disconnects when the caller aborts', async () => {
    let arrived: () => void = () => undefined;
    let closed: () => void = () => undefined;
    const closing = new Promise<void>((resolve) => (closed = resolve));
    const requests = new OwnRequests((request, response) => {
      request.resume();
      if (request.url === '/good') return void response.end();
      response.once('close', closed);
      arrived();
    });
    const abort = new AbortController();
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    const post = outcome(requests.post('/slow', '', abort.signal));
    await arrival;
    abort.abort(new Error('too late'));
    expect(await post).to.equal('Error: too late');
    await closing;
    expect(await outcome(requests.post('/good', '', abort.signal))).to.equal('Error: too late');
    expect(await outcome(requests.post('/good', '', signal))).to.equal('sent');
  });
});
