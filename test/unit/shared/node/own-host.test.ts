import { lookup } from 'node:dns/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';

import { expect } from 'chai';

import { ownHost } from '#shared/node/own-host';
import { failureCode } from '../../../support/failure.js';

describe('ownHost', () => {
  let server: Server;

  beforeEach((done) => {
    server = createServer((socket) => socket.on('error', () => undefined).resume());
    server.listen(0, '0.0.0.0', done);
  });

  afterEach((done) => {
    server.close(done);
  });

  const port = (): number => (server.address() as AddressInfo).port;

  it('returns the address from which the neighbour is reached', async () => {
    const outer = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal);
    // A machine without a network has only itself to call.
    const address = outer?.address ?? '127.0.0.1';
    const expected = outer === undefined ? [hostname(), address] : [address];
    expect(expected).to.include(await ownHost({ addr: `${address}:${port()}`, isIpv4Only: true }));
  });

  it('returns an address that can be called if the neighbour is on the same machine', async () => {
    const host = await ownHost({ addr: `127.0.0.1:${port()}`, isIpv4Only: true });
    expect([hostname(), '127.0.0.1']).to.include(host);
    expect((await lookup(host)).address).to.not.equal('');
  });

  it('fails with a retryable error while the neighbour is missing', async () => {
    const gone = port();
    await new Promise((resolve) => server.close(resolve));
    expect(await failureCode(ownHost({ addr: `127.0.0.1:${gone}`, isIpv4Only: true }))).to.equal('external');
    expect(await failureCode(ownHost({ addr: 'missing.invalid:1', isIpv4Only: true }))).to.equal('external');
    server.listen(0, '127.0.0.1');
  });
});
