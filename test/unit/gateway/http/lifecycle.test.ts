import { connect, type Socket } from 'node:net';

import { expect } from 'chai';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { exchange, parseAnswer, sendRaw } from '#test/support/raw-http';

const WRITE = '/v1/lineproto/write';

describe('the life cycle of a request', () => {
  let rig: GatewayRig;

  afterEach(() => rig.gateway.stop());

  /** What opens the gate of all writes. */
  function holdWrites(): () => void {
    let open = (): void => undefined;
    rig.tables.gate = new Promise((resolve) => (open = resolve));
    return open;
  }

  function post(body: string): Promise<Response> {
    return fetch(rig.url + WRITE, { method: 'POST', body });
  }

  async function untilWrites(count: number): Promise<void> {
    while (rig.tables.writes.length < count) await new Promise((resolve) => setImmediate(resolve));
  }

  it('gets 503 when too many run, but health is served', async () => {
    rig = await startGatewayRig({ ALMANAC_HTTP__MAX_CONCURRENT_REQUESTS: '2' });
    const open = holdWrites();
    const held = [post('m f=1 1'), post('m f=1 2')];
    await untilWrites(2);
    const refused = await post('m f=1 3');
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1']);
    expect(await refused.json()).to.deep.include({ code: 4009, error: 'too many requests at once: the limit is 2' });
    expect((await fetch(`${rig.url}/health`)).status).to.equal(200);
    open();
    expect((await Promise.all(held)).map(({ status }) => status)).to.deep.equal([204, 204]);
    expect((await post('m f=1 4')).status).to.equal(204);
  });

  it('is finished by a drain, which refuses new connections and closes idle ones', async () => {
    rig = await startGatewayRig();
    const idle = await openConnection(rig.url);
    const open = holdWrites();
    const held = post('m f=1 1');
    await untilWrites(1);
    const drained = rig.gateway.drain();
    let isDrained = false;
    void drained.then(() => (isDrained = true));
    const refused = await exchange(rig.url, 'GET /health HTTP/1.1\r\n\r\n').catch((error: unknown) => error);
    expect((refused as NodeJS.ErrnoException).code).to.equal('ECONNREFUSED');
    expect(isDrained).to.equal(false);
    open();
    expect((await held).status).to.equal(204);
    await drained;
    expect(rig.tables.rows).to.have.length(1);
    await idle.closed;
  });

  it('is cancelled when its client disconnects', async () => {
    rig = await startGatewayRig();
    const abort = new AbortController();
    const answered = fetch(`${rig.url}/v1/sql?sql=wait`, { signal: abort.signal }).catch(() => 'gone');
    while (rig.querier.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    expect(await answered).to.equal('gone');
    while (rig.querier.ends.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(rig.querier.ends).to.deep.equal(['cancelled']);
  });

  it('is cancelled when its client disconnects before the response to an earlier one', async () => {
    rig = await startGatewayRig({ ALMANAC_HTTP__MAX_CONCURRENT_REQUESTS: '4' });
    const wait = 'GET /v1/sql?sql=wait HTTP/1.1\r\nHost: a\r\n\r\n';
    const write = 'POST /v1/lineproto/write HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\nm f=1 1';
    for (const [i, requests] of [wait + wait, wait + write, wait + write + write].entries()) {
      const socket = connect(Number(new URL(rig.url).port), '127.0.0.1');
      socket.write(requests);
      const { writes } = rig.tables;
      const count = writes.length + requests.split('POST').length - 1;
      const queries = rig.querier.requests.length + requests.split('GET').length - 1;
      while (rig.querier.requests.length < queries || writes.length < count) await nextTurn();
      if (i === 0) socket.destroy();
      else socket.end();
      while (rig.querier.ends.length < queries) await nextTurn();
    }
    expect(new Set(rig.querier.ends)).to.deep.equal(new Set(['cancelled']));
    // All slots are free again.
    const open = holdWrites();
    const before = rig.tables.writes.length;
    const held = [1, 2, 3, 4].map((i) => post(`m f=1 ${i}`));
    await untilWrites(before + 4);
    open();
    expect((await Promise.all(held)).map(({ status }) => status)).to.deep.equal([204, 204, 204, 204]);
    await rig.gateway.drain();
  });

  it('gets 431 for headers that are too long or too many', async () => {
    rig = await startGatewayRig();
    const long = [`X-Long: ${'x'.repeat(60_000)}`];
    expect((await sendRaw(rig.url, 'GET /health', long)).status).to.equal(200);
    expect((await sendRaw(rig.url, 'GET /health', [`X-Long: ${'x'.repeat(70_000)}`])).status).to.equal(431);
    expect((await sendRaw(rig.url, `GET /health?${'x'.repeat(70_000)}`)).status).to.equal(431);
    const many = (count: number): string[] => Array.from({ length: count - 2 }, (_, i) => `X-${i}: 1`);
    expect((await sendRaw(rig.url, 'GET /health', many(100))).status).to.equal(200);
    expect((await sendRaw(rig.url, 'GET /health', many(101))).status).to.equal(431);
  });

  it('waits for a server that is almost ready', async () => {
    rig = await startGatewayRig();
    rig.readiness = { ready: false, waiting: ['metadata'], progress: 1 };
    const written = post('m f=1');
    const asked = fetch(`${rig.url}/v1/sql?sql=rows`);
    // Both wait by now.
    expect((await fetch(`${rig.url}/ready`)).status).to.equal(503);
    rig.readiness = { ready: true, waiting: [], progress: 1 };
    expect((await written).status).to.equal(204);
    expect((await asked).status).to.equal(200);
  });

  it('is refused while the server starts, except for health', async () => {
    rig = await startGatewayRig();
    rig.readiness = { ready: false, waiting: ['wal replay'], progress: 0.25 };
    const refused = await post('m f=1');
    expect([refused.status, await refused.json()]).to.deep.equal([
      503,
      { error: 'timeout: the server is starting, waiting for wal replay' },
    ]);
    const query = await fetch(`${rig.url}/v1/sql?sql=rows`);
    expect([query.status, query.headers.get('retry-after')]).to.deep.equal([503, '1']);
    expect(await query.json()).to.deep.include({ code: 4008, error: 'the server is starting, waiting for wal replay' });
    const ready = await fetch(`${rig.url}/ready`);
    expect([ready.status, await ready.json()]).to.deep.equal([
      503,
      { status: 'starting', waiting: ['wal replay'], progress: 0.25 },
    ]);
    expect((await fetch(`${rig.url}/health`)).status).to.equal(200);
    expect((await fetch(`${rig.url}/v1/lineproto/health`)).status).to.equal(503);
    rig.readiness = { ready: true, waiting: [], progress: 1 };
    expect((await fetch(`${rig.url}/ready`)).status).to.equal(200);
  });

  it('has the ID that its client set, if that may appear in a log', async () => {
    rig = await startGatewayRig();
    const idOf = async (id: string): Promise<string | null> => {
      const response = await fetch(`${rig.url}/v1/sql?sql=fail+internal`, { headers: { 'x-request-id': id } });
      return response.headers.get('x-almanac-query-id');
    };
    expect(await idOf('7b1c/a:b-1_2.3')).to.equal('7b1c/a:b-1_2.3');
    expect(rig.log.lines.at(-1)?.fields).to.include({ requestId: '7b1c/a:b-1_2.3', code: 'internal' });
    expect(await idOf('x'.repeat(128))).to.equal('x'.repeat(128));
    for (const id of ['x'.repeat(129), 'a b', '{"a":1}', '']) {
      expect(await idOf(id), id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-/);
    }
  });

  it('is still served after the process has announced its end, and closes its connection', async () => {
    rig = await startGatewayRig();
    rig.readiness = { ready: true, isDraining: true, waiting: [], progress: 1 };
    const written = await post('m f=1 1');
    expect([written.status, written.headers.get('connection')]).to.deep.equal([204, 'close']);
    const ready = await fetch(`${rig.url}/ready`);
    expect(ready.status).to.equal(503);
    expect(await ready.json()).to.include({ status: 'draining' });
  });

  it('is counted by route, status and database', async () => {
    rig = await startGatewayRig();
    await post('m f=1');
    await fetch(`${rig.url}${WRITE}?db=nope`, { method: 'POST', body: 'm f=1' });
    await fetch(`${rig.url}/v1/sql?sql=rows%201`);
    await fetch(`${rig.url}/made/up/path`);
    const text = await rig.metrics.print();
    const total = 'almanac_servers_http_requests_total';
    for (const line of [
      `${total}{method="POST",path="/v1/lineproto/write",code="204",db="public"} 1`,
      `${total}{method="POST",path="/v1/lineproto/write",code="404",db="unknown"} 1`,
      `${total}{method="GET",path="/v1/sql",code="200",db="public"} 1`,
      `${total}{method="GET",path="none",code="404",db="unknown"} 1`,
      'almanac_servers_error_total{protocol="lineproto"} 1',
    ]) {
      expect(text).to.include(line);
    }
  });

  it('keeps connections open, also after a refused body', async () => {
    rig = await startGatewayRig({ ALMANAC_HTTP__BODY_LIMIT: '10B' });
    const body = 'x'.repeat(100_000);
    const requests = [
      `POST ${WRITE} HTTP/1.1\r\nHost: t\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      'GET /health HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n',
    ];
    const received = await exchange(rig.url, requests.join(''));
    expect(received.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  it('gets the reply to a body that is refused while it is sent, even if the connection is closed', async () => {
    rig = await startGatewayRig({ ALMANAC_HTTP__BODY_LIMIT: '10B' });
    // More than the buffers of both sides hold; sent by a client that reads when all is sent.
    const head = `POST ${WRITE} HTTP/1.1\r\nHost: t\r\nConnection: close\r\nContent-Length: ${64 << 20}\r\n\r\n`;
    const { hostname, port } = new URL(rig.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.pause();
    socket.write(head);
    const chunk = Buffer.alloc(1 << 20);
    for (let i = 0; i < 64; i++) await new Promise((resolve) => socket.write(chunk, resolve));
    let received = '';
    for await (const text of socket.setEncoding('latin1')) received += String(text);
    expect(received)
      .to.match(/^HTTP\/1\.1 413 /)
      .and.to.include('\r\nConnection: close\r\n');
    expect((await fetch(`${rig.url}/health`)).status).to.equal(200);
  });

  it('serves HEAD like GET, and lists the methods of a path', async () => {
    rig = await startGatewayRig();
    const head = await sendRaw(rig.url, 'HEAD /status');
    expect([head.status, head.body]).to.deep.equal([200, '']);
    const wrong = await sendRaw(rig.url, `GET ${WRITE}`);
    expect([wrong.status, wrong.headers['allow']]).to.deep.equal([405, 'POST']);
    expect(JSON.parse(wrong.body)).to.deep.include({ code: 1001 });
    const admin = await sendRaw(rig.url, 'DELETE /status');
    expect([admin.status, admin.headers['allow'], admin.body]).to.deep.equal([405, 'GET, HEAD', '']);
    expect(parseAnswer(await exchange(rig.url, 'nonsense\r\n\r\n')).status).to.equal(400);
  });

  it('informs browsers about what is allowed', async () => {
    rig = await startGatewayRig();
    const origin = ['Origin: https://grafana.example'];
    const preflight = await sendRaw(rig.url, 'OPTIONS /v1/sql', origin);
    expect(preflight.status).to.equal(200);
    expect(preflight.headers).to.include({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET,POST,PUT,DELETE,HEAD',
      'access-control-max-age': '7200',
    });
    expect(preflight.headers['access-control-allow-headers']).to.include('authorization');
    const answer = await sendRaw(rig.url, 'GET /v1/health', origin);
    expect(answer.headers['access-control-expose-headers']).to.include('x-greptime-execution-time');
    expect((await sendRaw(rig.url, 'GET /status', origin)).headers).not.to.have.property('access-control-allow-origin');
  });
});

describe('cross-origin calls with a list of origins', () => {
  let rig: GatewayRig;

  before(async () => {
    rig = await startGatewayRig({ ALMANAC_HTTP__CORS_ALLOWED_ORIGINS: 'https://a.example' });
  });

  after(() => rig.gateway.stop());

  it('echoes an origin of the list and no other', async () => {
    const allowed = async (origin: string): Promise<string | undefined> =>
      (await sendRaw(rig.url, 'GET /v1/health', [`Origin: ${origin}`])).headers['access-control-allow-origin'];
    expect(await allowed('https://a.example')).to.equal('https://a.example');
    expect(await allowed('https://b.example')).to.equal(undefined);
  });
});

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function openConnection(url: string): Promise<{ readonly socket: Socket; readonly closed: Promise<void> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise<void>((resolve) => {
    socket.once('data', () => resolve());
    socket.write('GET /health HTTP/1.1\r\nHost: t\r\n\r\n');
  });
  return { socket, closed };
}
