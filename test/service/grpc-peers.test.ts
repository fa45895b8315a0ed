import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

import { Client, credentials } from '@grpc/grpc-js';
import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { AlmanacError } from '#shared/errors/almanac-error';
import { retrying } from '#shared/grpc/retrying';
import { RefusedError } from '#shared/grpc/call-errors';
import { pollUntil } from '#test/support/almanac';
import { failure, failureCode } from '#test/support/failure';
import { freePort } from '#test/support/free-port';
import { aborted, callFor, event, FLUSH, GrpcRig } from '#test/support/grpc-rig';
import { SCAN, writeRequest } from '#test/support/partial-ingester';

const PEER = fileURLToPath(new URL('../support/grpc-peer.js', import.meta.url));

describe('gRPC: peers', () => {
  const rig = new GrpcRig();
  afterEach(() => rig.close());

  describe('a missing peer', () => {
    it('is reported at once if it refuses connections', async () => {
      const service = rig.connectTo(await freePort(), { name: 'node 3 (ingester)' }).client('Ingester');
      const begin = performance.now();
      const error = await failure(service.flushTable(FLUSH, callFor(30_000)));
      expect(performance.now() - begin).to.be.lessThan(2000);
      expect(error).to.be.instanceOf(RefusedError);
      expect(error.code).to.equal('external');
      expect(error.retry).to.equal(true);
      const who = /^node 3 \(ingester\) at 127\.0\.0\.1:\d+/;
      expect(error.message).to.match(new RegExp(`${who.source} cannot be reached \\(ECONNREFUSED\\)$`));
      expect(error.details['peer']).to.match(new RegExp(`${who.source}$`));
    });

    it('is reported after a second if it is silent', async () => {
      const sockets: Socket[] = [];
      const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
      rig.onClose(() => {
        for (const socket of sockets) socket.destroy();
        silent.close();
      });
      await once(silent, 'listening');
      const service = rig.connectTo((silent.address() as AddressInfo).port, { name: 'metadata' }).client('Ingester');
      const begin = performance.now();
      const error = await failure(service.flushTable(FLUSH, callFor(30_000)));
      expect(performance.now() - begin).to.be.within(900, 5000);
      expect(error.code).to.equal('external');
      expect(error.message).to.match(/^metadata at 127\.0\.0\.1:\d+ cannot be reached: no connection within 1000 ms$/);
      expect(error).to.not.be.instanceOf(RefusedError);
    });

    it('is waited for by patient callers', async () => {
      const port = await freePort();
      const service = rig.connectTo(port, { connectMs: undefined }).client('Ingester');
      const error = await failure(service.flushTable(FLUSH, callFor(300)));
      expect(`${error.code} ${error.message}`).to.match(/^external .* cannot be reached$/);
      const waiting = service.flushTable(FLUSH, callFor(30_000));
      await rig.serveOn(port, { flushTable: () => Promise.resolve({ segments: 5 }) });
      expect(await waiting).to.deep.equal({ segments: 5 });
    });
  });

  describe('a killed peer', () => {
    async function startPeer(port = 0): Promise<{ process: ChildProcess; port: number }> {
      const peer = fork(PEER, [String(port)]);
      rig.onClose(() => peer.kill('SIGKILL'));
      const [bound] = (await once(peer, 'message')) as [number];
      return { process: peer, port: bound };
    }

    it('ends running calls and streams, and is found again when it is back', async () => {
      const peer = await startPeer();
      const connection = rig.connectTo(peer.port);
      const service = connection.client('Ingester');
      const before = await service.write(writeRequest(new Uint8Array(1)), callFor(20_000));
      const flushing = failure(service.flushTable(FLUSH, callFor(60_000)));
      const parts = service.scan(SCAN, callFor(60_000))[Symbol.asyncIterator]();
      await parts.next();
      const scanning = failure(parts.next());
      peer.process.kill('SIGKILL');
      expect((await flushing).code).to.equal('external');
      expect((await flushing).message).to.match(/^Ingester\.flushTable at 127\.0\.0\.1:\d+ broke the connection off/);
      expect((await scanning).code).to.equal('external');

      await startPeer(peer.port);
      const write = () => service.write(writeRequest(new Uint8Array(1)), callFor(20_000)).catch(() => undefined);
      let after = await write();
      await pollUntil(performance.now() + 5000, async () => (after = await write()) !== undefined);
      expect(after?.incarnation).not.to.equal(before.incarnation).and.not.to.equal(undefined);
    });
  });

  describe('repeated calls', () => {
    const retries = { clock: systemClock, random: systemRandom };

    it('survive the absence of a peer within their deadline', async () => {
      const port = await freePort();
      const service = retrying('Ingester', rig.connectTo(port).client('Ingester'), retries);
      const begin = performance.now();
      expect(await failureCode(service.flushTable(FLUSH, callFor(400)))).to.equal('external');
      expect(performance.now() - begin).to.be.within(100, 5000);
      const waiting = service.flushTable(FLUSH, callFor(30_000));
      await rig.serveOn(port, { flushTable: () => Promise.resolve({ segments: 5 }) });
      expect(await waiting).to.deep.equal({ segments: 5 });
    });

    it('name the unresponsive peer when time runs out, whichever side ends them', async () => {
      const link = rig.connectTo(await freePort(), { name: 'metadata' });
      const service = retrying('Ingester', link.client('Ingester'), retries);
      const caller = new AbortController();
      const waiting = failure(service.flushTable(FLUSH, callFor(30_000, caller.signal)));
      caller.abort(new AlmanacError('deadline_exceeded', 'the request took too long'));
      expect((await waiting).message).to.match(/^metadata at 127\.0\.0\.1:\d+ (cannot be reached|did not reply)/);
    });

    it('end when they are cancelled', async () => {
      const service = retrying('Ingester', rig.connectTo(await freePort()).client('Ingester'), retries);
      const caller = new AbortController();
      const waiting = failureCode(service.flushTable(FLUSH, callFor(30_000, caller.signal)));
      caller.abort();
      expect(await waiting).to.equal('cancelled');
    });

    it('repeat only repeatable methods, and never after a reply', async () => {
      let calls = 0;
      const fail = () => {
        calls++;
        return Promise.reject(new AlmanacError('external', 'the upstream service is gone'));
      };
      const running = await rig.start({ flushTable: fail });
      const service = retrying('Ingester', running.service, retries);
      expect(await failureCode(service.flushTable(FLUSH, callFor(10_000)))).to.equal('external');
      expect(calls).to.equal(1);
      const absent = retrying('Ingester', rig.connectTo(await freePort()).client('Ingester'), retries);
      const begin = performance.now();
      expect(await failureCode(absent.write(writeRequest(new Uint8Array(1)), callFor(30_000)))).to.equal('external');
      expect(performance.now() - begin).to.be.lessThan(2000);
    });
  });

  describe('stop', () => {
    it('lets running calls finish, and refuses new ones', async () => {
      const arrived = event();
      const release = event();
      const { service, server } = await rig.start({
        async flushTable() {
          arrived.happen();
          await release.happened;
          return { segments: 9 };
        },
      });
      const working = service.flushTable(FLUSH, callFor(20_000));
      await arrived.happened;
      const stopping = server.stop(20_000);
      expect(await failureCode(service.flushTable(FLUSH, callFor(20_000)))).to.equal('external');
      release.happen();
      expect(await working).to.deep.equal({ segments: 9 });
      await stopping;
      await server.stop(0);
    });

    it('fails calls that exceed its limit', async () => {
      let reason: Promise<AlmanacError> | undefined;
      const arrived = event();
      const { service, server } = await rig.start({
        flushTable(_request, call) {
          reason = aborted(call);
          arrived.happen();
          return reason.then(() => new Promise(() => undefined));
        },
      });
      const working = failureCode(service.flushTable(FLUSH, callFor(20_000)));
      await arrived.happened;
      await server.stop(50);
      expect(await working).to.equal('external');
      expect(await reason).to.include({ code: 'external', message: 'the process is stopping' });
    });

    it('reports an address that is in use', async () => {
      const { port } = await rig.serveOn(0);
      const error = await failure(rig.serveOn(port));
      expect(error.code).to.equal('illegal_state');
      expect(error.message).to.include(`cannot listen on 127.0.0.1:${port}`);
    });
  });

  describe('the standard health service', () => {
    const asIs = (bytes: Buffer): Buffer => bytes;
    const requestFor = (service: string): Buffer =>
      Buffer.concat([Buffer.from([0x0a, service.length]), Buffer.from(service)]);

    it('serves any gRPC client', async () => {
      const { server } = await rig.start({});
      const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
      rig.onClose(() => client.close());
      const check = (service: string): Promise<number> =>
        new Promise((resolve, reject) => {
          const path = '/grpc.health.v1.Health/Check';
          client.makeUnaryRequest(path, asIs, asIs, requestFor(service), (error, answer) => {
            if (error === null) resolve(answer?.[1] ?? 0);
            else reject(error);
          });
        });
      expect([await check(''), await check('almanac.v1.Ingester')]).to.deep.equal([2, 2]);
      server.health.set(true);
      expect([await check(''), await check('almanac.v1.Ingester')]).to.deep.equal([1, 1]);
      server.health.set(false, 'almanac.v1.Ingester');
      expect([await check(''), await check('almanac.v1.Ingester')]).to.deep.equal([1, 2]);
      const refused: unknown = await check('other').catch((error: unknown) => error);
      expect(refused).to.deep.include({ code: 5, details: 'service "other" is not served here' });
    });

    it('reports each change to watchers, and the end', async () => {
      const { server } = await rig.start({});
      const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
      rig.onClose(() => client.close());
      const watch = client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', asIs, asIs, requestFor(''));
      const ended = once(watch, 'error');
      const told: number[] = [];
      watch.on('data', (answer: Buffer) => told.push(answer[1]));
      const isTold = (count: number) =>
        pollUntil(performance.now() + 10_000, () => Promise.resolve(told.length >= count));
      await isTold(1);
      server.health.set(true);
      await isTold(2);
      expect(told).to.deep.equal([2, 1]);
      await server.stop(10_000);
      expect((await ended)[0]).to.include({ code: 14, details: 'the process is stopping' });
    });
  });
});
