import { once } from 'node:events';
import { connect, createServer, type Server as TcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { Server, ServerCredentials, status, type handleUnaryCall } from '@grpc/grpc-js';
import { expect } from 'chai';

import { runAlmanac } from '#test/support/program';

const SERVING = Buffer.from([0x08, 1]);
const NOT_SERVING = Buffer.from([0x08, 2]);

type Check = handleUnaryCall<Buffer, Buffer>;

/** A gRPC server of its own library, whose health service answers as the test says. */
async function startHealth(check: Check | undefined): Promise<{ port: number; stop: () => void }> {
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  const method = {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  if (check !== undefined) server.addService({ check: method }, { check });
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
  });
  return { port, stop: () => server.forceShutdown() };
}

describe('almanac health of a process without HTTP', () => {
  let stop: () => void = () => undefined;

  afterEach(() => stop());

  async function ask(check: Check | undefined): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const server = await startHealth(check);
    stop = server.stop;
    return runAlmanac(['health', 'ingester', '--grpc-addr', `127.0.0.1:${server.port}`]);
  }

  it('exits with 0 when the standard health service reports SERVING for the whole process', async () => {
    let asked: Buffer | undefined;
    const end = await ask((call, callback) => {
      asked = call.request;
      callback(null, SERVING);
    });
    expect(end).to.deep.equal({ code: 0, stdout: 'ready\n', stderr: '' });
    expect(asked).to.deep.equal(Buffer.alloc(0));
  });

  it('exits with 3 and the reason for any other status', async () => {
    const waiting = await ask((_call, callback) => callback(null, NOT_SERVING));
    expect(waiting).to.deep.equal({ code: 3, stdout: '', stderr: 'not ready: NOT_SERVING\n' });
    stop();
    const unknown = await ask((_call, callback) => callback(null, Buffer.alloc(0)));
    expect(unknown.stderr).to.equal('not ready: UNKNOWN\n');
    stop();
    const failed = await ask((_call, callback) =>
      callback({ code: status.UNAVAILABLE, details: 'waits for métadata' }),
    );
    expect(failed).to.deep.equal({ code: 3, stdout: '', stderr: 'not ready: gRPC status 14 waits for métadata\n' });
    stop();
    const without = await ask(undefined);
    expect(without.code).to.equal(3);
    expect(without.stderr).to.contain('gRPC status 12');
  });

  it('exits with 3 when nothing listens', async () => {
    const server = await startHealth(undefined);
    server.stop();
    const end = await runAlmanac(['health', 'querier'], {
      environment: { ALMANAC_GRPC__BIND_ADDR: `127.0.0.1:${server.port}` },
    });
    expect(end).to.deep.equal({ code: 3, stdout: '', stderr: `not ready: 127.0.0.1:${server.port}: ECONNREFUSED\n` });
  });

  it('exits with 3 within three seconds when a listener does not respond', async () => {
    const silent: TcpServer = createServer();
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const held = connect(port);
    stop = () => {
      held.destroy();
      silent.close();
    };
    const startMs = performance.now();
    const end = await runAlmanac(['health', 'metadata', '--grpc-addr', `127.0.0.1:${port}`]);
    expect(end.code).to.equal(3);
    expect(end.stderr).to.contain('no reply within 2.5 s');
    expect(performance.now() - startMs).to.be.lessThan(5_000);
  });

  it('calls a listener on every address by the loopback address, whatever ALMANAC_HOST is', async () => {
    const server = await startHealth((_call, callback) => callback(null, SERVING));
    stop = server.stop;
    const environment = {
      ALMANAC_METADATA__GRPC__BIND_ADDR: `0.0.0.0:${server.port}`,
      ALMANAC_HOST: 'http://nowhere.invalid:4000',
    };
    expect((await runAlmanac(['health', 'metadata'], { environment })).code).to.equal(0);
    const misused = await runAlmanac(['health', 'metadata', '--host', 'http://127.0.0.1:1']);
    expect(misused.code).to.equal(2);
    expect(misused.stderr).to.contain('use --grpc-addr for metadata');
  });
});
