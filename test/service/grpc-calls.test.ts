import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { ownCall, type Call } from '#shared/contracts/call';
import type { ScanChunk } from '#shared/contracts/gen/ingester';
import { AlmanacError } from '#shared/errors/almanac-error';
import { ERROR_CODES, type ErrorCode } from '#shared/errors/codes';
import { pollUntil } from '#test/support/almanac';
import { failure, failureCode } from '#test/support/failure';
import { aborted, callFor, event, FLUSH, GrpcRig } from '#test/support/grpc-rig';
import type { OverGrpc } from '#test/support/over-grpc';
import { SCAN, scanChunk, writeRequest } from '#test/support/partial-ingester';

const MIB = 1 << 20;

describe('gRPC: calls', () => {
  const rig = new GrpcRig();
  afterEach(() => rig.close());

  describe('a call', () => {
    it('carries deadline and request ID, and returns the shapes of the contract', async () => {
      let seen: Call | undefined;
      const { service } = await rig.start({
        write(request, call) {
          seen = call;
          expect(request).to.deep.equal(writeRequest(new Uint8Array([1, 2, 3])));
          return Promise.resolve({ unknownSeries: [7, 300], incarnation: 2n ** 63n });
        },
      });
      const call = { ...callFor(20_000), requestId: 'naïve\nid' };
      const answer = await service.write(writeRequest(new Uint8Array([1, 2, 3])), call);
      expect(answer).to.deep.equal({ unknownSeries: [7, 300], incarnation: 2n ** 63n });
      expect(seen?.requestId).to.equal(call.requestId);
      // Never later than the caller's, up to the rounding of gRPC's own header.
      expect((seen?.deadlineMs ?? 0) - call.deadlineMs).to.be.within(-1000, 10);
      expect(seen?.signal.aborted).to.equal(false);
    });

    it('without a deadline has none on the other side', async () => {
      let deadlineMs = 0;
      const { service } = await rig.start({
        flushTable(_request, call) {
          ({ deadlineMs } = call);
          return Promise.resolve({ segments: 1 });
        },
      });
      await service.flushTable(FLUSH, ownCall('test'));
      expect(deadlineMs).to.equal(Number.MAX_SAFE_INTEGER);
    });

    it('gets its own reply among a hundred concurrent ones', async () => {
      const { service } = await rig.start({ flushTable: ({ tableId }) => Promise.resolve({ segments: tableId * 3 }) });
      const call = callFor(20_000);
      const ids = Array.from({ length: 100 }, (_, i) => i);
      const answers = await Promise.all(ids.map((tableId) => service.flushTable({ tableId, regionIds: [1] }, call)));
      expect(answers.map(({ segments }) => segments)).to.deep.equal(ids.map((id) => id * 3));
    });
  });

  describe('deadline and cancellation', () => {
    it('ends both sides at the deadline', async () => {
      let reason: Promise<AlmanacError> | undefined;
      const { service } = await rig.start({
        flushTable: (_request, call) => (reason = aborted(call)).then(() => ({ segments: 0 })),
      });
      const begin = performance.now();
      expect(await failureCode(service.flushTable(FLUSH, callFor(200)))).to.equal('deadline_exceeded');
      expect(performance.now() - begin).to.be.within(150, 5000);
      expect((await reason)?.code).to.equal('deadline_exceeded');
      expect(await failureCode(service.flushTable(FLUSH, callFor(-1)))).to.equal('deadline_exceeded');
    });

    it('leaves a handler time to report what it waited for', async () => {
      const { service } = await rig.start({
        async flushTable(_request, call) {
          await systemClock.sleep(call.deadlineMs - Date.now(), call.signal);
          throw new AlmanacError('region_busy', 'memory stays full');
        },
      });
      expect(await failureCode(service.flushTable(FLUSH, callFor(600)))).to.equal('region_busy');
    });

    it('reports a cancellation to the handler, and its own reason to the caller', async () => {
      let reason: Promise<AlmanacError> | undefined;
      const arrived = event();
      const { service } = await rig.start({
        flushTable(_request, call) {
          reason = aborted(call);
          arrived.happen();
          return reason.then(() => ({ segments: 0 }));
        },
      });
      const caller = new AbortController();
      const waiting = failure(service.flushTable(FLUSH, callFor(20_000, caller.signal)));
      await arrived.happened;
      caller.abort(new AlmanacError('rate_limited', 'enough'));
      expect(await waiting).to.include({ code: 'rate_limited', message: 'enough' });
      expect((await reason)?.code).to.equal('cancelled');
      expect(await failureCode(service.flushTable(FLUSH, callFor(20_000, caller.signal)))).to.equal('rate_limited');
    });

    it('reports a lost connection to the handler', async () => {
      let reason: Promise<AlmanacError> | undefined;
      const arrived = event();
      const { service, connection } = await rig.start({
        flushTable(_request, call) {
          reason = aborted(call);
          arrived.happen();
          return reason.then(() => ({ segments: 0 }));
        },
      });
      const waiting = failureCode(service.flushTable(FLUSH, callFor(20_000)));
      await arrived.happened;
      connection.close();
      expect(await waiting).to.equal('external');
      expect((await reason)?.code).to.equal('cancelled');
    });
  });

  describe('a stream', () => {
    /** Parts of one MiB, and what happened to their source. */
    async function startScan(count: number) {
      const state = { made: 0, isEnded: false };
      const running = await rig.start({
        async *scan() {
          try {
            for (; state.made < count;) {
              await Promise.resolve();
              yield scanChunk(state.made++, MIB);
            }
          } finally {
            state.isEnded = true;
          }
        },
        flushTable: () => Promise.resolve({ segments: 0 }),
      });
      return { ...running, state };
    }

    it('is produced no faster than it is read', async () => {
      const { service, state } = await startScan(40);
      let next = 0;
      for await (const { parts } of service.scan(SCAN, callFor(30_000))) {
        const [{ seriesFrom, definitions }] = parts;
        expect(seriesFrom).to.equal(next++);
        expect(definitions).to.have.length(MIB);
        // Other calls continue meanwhile, and give the stream time to run ahead.
        if (next % 10 === 0) for (let i = 0; i < 20; i++) await service.flushTable(FLUSH, callFor(10_000));
        expect(state.made - next).to.be.at.most(5);
      }
      expect(next).to.equal(40);
      expect(state.isEnded).to.equal(true);
    });

    it('ends at its source when the reader cancels', async () => {
      const { service, state } = await startScan(1000);
      for await (const _chunk of service.scan(SCAN, callFor(30_000))) break;
      expect(await pollUntil(performance.now() + 10_000, () => Promise.resolve(state.isEnded))).to.equal(true);
      expect(state.made).to.be.lessThan(10);
    });

    it('releases everything, whenever its caller cancels', async () => {
      let running = 0;
      const { service } = await rig.start({
        async *scan(_request, call) {
          running++;
          try {
            for (let i = 0; ; i++) {
              yield scanChunk(i, 1000);
              if (i % 3 === 2) throw await aborted(call);
            }
          } finally {
            running--;
          }
        },
      });
      const leave = async (turns: number): Promise<void> => {
        const caller = new AbortController();
        const parts = service.scan(SCAN, callFor(20_000, caller.signal));
        const read = async (): Promise<void> => {
          for await (const _chunk of parts) await systemClock.yield();
        };
        const reading = failureCode(read());
        for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
        caller.abort();
        expect(await reading).to.equal('cancelled');
      };
      await Promise.all(Array.from({ length: 150 }, (_, i) => leave(i % 50)));
      expect(await pollUntil(performance.now() + 10_000, () => Promise.resolve(running === 0))).to.equal(true);
    });

    it('ends on both sides when the call is cancelled while the reader waits', async () => {
      let reason: Promise<AlmanacError> | undefined;
      const { service } = await rig.start({
        async *scan(_request, call) {
          yield scanChunk(0);
          reason = aborted(call);
          throw await reason;
        },
      });
      const caller = new AbortController();
      const parts = service.scan(SCAN, callFor(20_000, caller.signal))[Symbol.asyncIterator]();
      await parts.next();
      const waiting = failureCode(parts.next());
      await pollUntil(performance.now() + 10_000, () => Promise.resolve(reason !== undefined));
      caller.abort();
      expect(await waiting).to.equal('cancelled');
      expect((await reason)?.code).to.equal('cancelled');
    });

    it('returns what came before an error, then the error', async () => {
      const { service } = await rig.start({
        async *scan() {
          yield await Promise.resolve(scanChunk(1));
          throw new AlmanacError('region_not_ready', 'moved', { details: { region: '4' }, retryAfterSeconds: 2 });
        },
      });
      const got: ScanChunk[] = [];
      const read = async (): Promise<void> => {
        for await (const chunk of service.scan(SCAN, callFor(10_000))) got.push(chunk);
      };
      const error = await failure(read());
      expect(got).to.deep.equal([scanChunk(1)]);
      expect(error).to.deep.include({ code: 'region_not_ready', details: { region: '4' }, retryAfterSeconds: 2 });
    });
  });

  describe('errors', () => {
    let thrown = new Error();
    let running: OverGrpc<'Ingester'>;
    beforeEach(async () => {
      running = await rig.start({ flushTable: () => Promise.reject(thrown) });
    });
    const crossed = (error: Error): Promise<AlmanacError> => {
      thrown = error;
      return failure(running.service.flushTable(FLUSH, callFor(10_000)));
    };

    it('of every code cross with message, details and retry delay', async () => {
      for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
        const details = { name: 'täble "x"\n', limit: '7', peer: 'node 3 (ingester)' };
        const extras = { details, retryAfterSeconds: 3 };
        const error = await crossed(new AlmanacError(code, `100 % of ${code}: Ω\n`, extras));
        expect(error).to.deep.include({ code, message: `100 % of ${code}: Ω\n`, ...extras });
      }
      expect((await crossed(new AlmanacError('external', 'x'))).retryAfterSeconds).to.equal(undefined);
    });

    it('of the service are logged with the request, unless callers handle them', async () => {
      for (const code of ['storage_unavailable', 'table_not_found', 'region_not_ready', 'cancelled'] as const) {
        await crossed(new AlmanacError(code, `as scripted: ${code}`));
      }
      const fields = { method: 'Ingester.flushTable', requestId: 'request-1', code: 'storage_unavailable' };
      expect(running.log.lines).to.deep.equal([
        { level: 'warn', message: 'call failed', fields: { ...fields, reason: 'as scripted: storage_unavailable' } },
      ]);
    });

    it('of any length cross in part', async () => {
      const details = { first: 'kept', second: '€'.repeat(100_000) };
      const error = await crossed(new AlmanacError('invalid_syntax', '€\ud800'.repeat(100_000), { details }));
      expect(error.code).to.equal('invalid_syntax');
      expect(error.message)
        .to.match(/^€\ufffd.*…$/u)
        .and.to.have.length(8192);
      expect(error.details).to.deep.equal({ first: 'kept' });
    });

    it('that are unexpected become internal, and are logged with the request', async () => {
      const error = await crossed(new TypeError('x is not a function'));
      expect(error).to.include({ code: 'internal', message: 'x is not a function' });
      const [line] = running.log.lines;
      expect(line).to.include({ level: 'error', message: 'call failed unexpectedly' });
      expect(line.fields).to.include({ error: thrown, method: 'Ingester.flushTable', requestId: 'request-1' });
    });

    it('name a method that the peer lacks', async () => {
      const admin = running.connection.client('Admin').status({}, callFor(10_000));
      expect(await failureCode(admin)).to.equal('unsupported');
    });
  });

  describe('limits of messages', () => {
    const answer = { unknownSeries: Array.from({ length: 5000 }, (_, i) => i), incarnation: 1n };
    const write = () => Promise.resolve(answer);

    it('stop a request before it is sent, with its size', async () => {
      const { service } = await rig.start({ write }, { connect: { messageBytesMax: 1000 } });
      const error = await failure(service.write(writeRequest(new Uint8Array(2000)), callFor(10_000)));
      expect(error.code).to.equal('invalid_arguments');
      expect(error.message).to.match(/^Ingester\.write: the request has 20\d\d bytes, more than the 1000 that/);
    });

    it('stop a reply before it is sent, with its size', async () => {
      const { service } = await rig.start({ write }, { serve: { messageBytesMax: 3000 } });
      const error = await failure(service.write(writeRequest(new Uint8Array(10)), callFor(10_000)));
      expect(error.code).to.equal('resources_exhausted');
      expect(error.message).to.match(/^Ingester\.write: the reply has \d+ bytes, more than the message limit of 3000/);
    });

    it('of the receiver apply as well', async () => {
      const narrowServer = await rig.start({ write }, { serve: { messageBytesMax: 1000 } });
      const sent = failure(narrowServer.service.write(writeRequest(new Uint8Array(2000)), callFor(10_000)));
      expect(await sent).to.include({ code: 'resources_exhausted' });
      const narrowClient = await rig.start({ write }, { connect: { messageBytesMax: 1000 } });
      const got = await failure(narrowClient.service.write(writeRequest(new Uint8Array(10)), callFor(10_000)));
      expect(got.code).to.equal('resources_exhausted');
      expect(got.message).to.include('larger than max');
    });

    it('let many megabytes pass by default', async () => {
      const { service } = await rig.start({
        write: ({ batch }) => Promise.resolve({ unknownSeries: [batch.length], incarnation: BigInt(batch[9 * MIB]) }),
      });
      const batch = new Uint8Array(20 * MIB).fill(3);
      expect(await service.write(writeRequest(batch), callFor(30_000))).to.deep.equal({
        unknownSeries: [20 * MIB],
        incarnation: 3n,
      });
    });
  });
});
