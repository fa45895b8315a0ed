import { expect } from 'chai';

import { systemClock, type Clock } from '#shared/clock/clock';
import { AlmanacError, type ErrorExtras } from '#shared/errors/almanac-error';
import type { ErrorCode } from '#shared/errors/codes';
import { decodeDefinitions } from '#shared/rowbatch/definitions';
import { seriesId } from '#shared/rowbatch/series-key';
import { ownCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import { BatchSet } from '#shared/rowbatch/builder';
import { failure, failureCode } from '../../../support/failure.js';
import type { MemoryIngester } from '../../../support/memory-ingester.js';
import { OPTIONS, WriterBench, type Fields, type Tags } from '../../../support/writer-bench.js';

const call = ownCall('test');

describe('RegionSender, below a writer', () => {
  let bench: WriterBench;
  let ingester: MemoryIngester;

  async function open(regions: number): Promise<void> {
    bench = await WriterBench.open(regions);
    ({ ingester } = bench);
  }

  beforeEach(() => open(1));

  afterEach(() => bench.close());

  function add(batches: BatchSet, table: string, tags: Tags, fields: Fields, time = 1n): void {
    bench.add(batches, table, { tags, fields, time });
  }

  function oneRow(table: string, tags: Tags, fields: Fields, time = 1n): BatchSet {
    const batches = new BatchSet();
    add(batches, table, tags, fields, time);
    return batches;
  }

  function table(name: string): Promise<Table> {
    return bench.table(name);
  }

  function kept(name: string): unknown[] {
    return bench.kept(name);
  }

  describe('sending', () => {
    const error = (code: ErrorCode, extras: ErrorExtras = {}): AlmanacError => new AlmanacError(code, code, extras);

    async function definedIn(request: number): Promise<number> {
      await Promise.resolve();
      return decodeDefinitions(ingester.requests[request].definitions).length;
    }

    it('defines a series once, and again when the owner has restarted', async () => {
      const write = (time: bigint) => bench.writer.write(oneRow('cpu', { host: 'a' }, { v: 1 }, time), OPTIONS, call);
      await write(1n);
      await write(2n);
      ingester.restart();
      await write(3n);
      await write(4n);
      expect([await definedIn(0), await definedIn(1)]).to.deep.equal([1, 0]);
      // The third request was answered with what is unknown, and sent again under the same id.
      expect([await definedIn(2), await definedIn(3), await definedIn(4)]).to.deep.equal([0, 1, 0]);
      expect(ingester.requests[3].batchId).to.deep.equal(ingester.requests[2].batchId);
      expect(ingester.rows.map((row) => row.time)).to.deep.equal([1n, 2n, 3n, 4n]);
    });

    it('assigns batch IDs in order, under one incarnation', async () => {
      for (const time of [1n, 2n, 3n]) await bench.writer.write(oneRow('cpu', {}, { v: 1 }, time), OPTIONS, call);
      const ids = ingester.requests.map(({ batchId }) => Buffer.from(batchId));
      expect(ids.map((id) => id.readBigUInt64LE(8))).to.deep.equal([1n, 2n, 3n]);
      expect(new Set(ids.map((id) => id.readBigUInt64LE(0))).size).to.equal(1);
      await bench.newWriter().write(oneRow('cpu', {}, { v: 1 }), OPTIONS, call);
      expect(Buffer.from(ingester.requests[3].batchId).subarray(0, 8)).to.not.deep.equal(ids[0].subarray(0, 8));
    });

    it('repeats while the owner is not ready or unresponsive, and rows stay single', async () => {
      ingester.refusals.push(error('region_not_ready'), error('external'), error('region_not_ready'));
      ingester.lostAnswers.push(error('external'), error('external'));
      const result = await bench.writer.write(oneRow('cpu', { host: 'a' }, { v: 1 }), OPTIONS, call);
      expect(result.rowCount).to.equal(1);
      expect(ingester.requests).to.have.length(6);
      expect(kept('cpu')).to.have.length(1);
    });

    it('fails with the last error when the deadline leaves no time', async () => {
      ingester.refusals.push(...Array.from({ length: 50 }, () => error('region_not_ready')));
      let nowMs = 0;
      const clock: Clock = {
        ...systemClock,
        nowMs: () => nowMs,
        sleep: (restMs) => {
          nowMs += restMs;
          return Promise.resolve();
        },
      };
      const late = bench.newWriter(clock).write(oneRow('cpu', {}, { v: 1 }), OPTIONS, { ...call, deadlineMs: 5000 });
      expect(await failureCode(late)).to.equal('region_not_ready');
      expect(nowMs).to.be.within(3000, 5000);
    });

    it('ends at once when the call is cancelled', async () => {
      const cancel = new AbortController();
      ingester.refusals.push(...Array.from({ length: 50 }, () => error('region_not_ready')));
      const clock: Clock = {
        ...systemClock,
        sleep: () => {
          cancel.abort(error('deadline_exceeded'));
          return Promise.resolve();
        },
      };
      const writing = bench
        .newWriter(clock)
        .write(oneRow('cpu', {}, { v: 1 }), OPTIONS, ownCall('test', cancel.signal));
      expect(await failureCode(writing)).to.equal('deadline_exceeded');
      expect(ingester.requests).to.have.length(1);
    });

    it('passes other errors on', async () => {
      for (const code of ['region_busy', 'storage_unavailable', 'invalid_arguments', 'unsupported'] as const) {
        ingester.refusals.push(error(code));
        expect(await failureCode(bench.writer.write(oneRow('cpu', {}, { v: 1 }), OPTIONS, call))).to.equal(code);
      }
    });

    it('follows a table that is renamed while the reply is lost: rows stay single', async () => {
      await bench.writer.write(oneRow('cpu', {}, { v: 1 }), OPTIONS, call);
      const { tableId, schemaVersion, columns, options, primaryKey } = await table('cpu');
      let isRenamed = false;
      const clock: Clock = {
        ...systemClock,
        sleep: async () => {
          if (isRenamed) return;
          isRenamed = true;
          const form = { tableId, schemaVersion, columns: [...columns], options, primaryKey };
          await bench.metadata.alterTable({ ...form, name: 'old' }, call);
          bench.catalog.apply(await table('old'));
        },
      };
      ingester.lostAnswers.push(error('external'));
      await bench.newWriter(clock).write(oneRow('cpu', {}, { v: 2 }, 2n), OPTIONS, call);
      expect(isRenamed).to.equal(true);
      expect(ingester.rows.map((row) => [row.tableId, row.time])).to.deep.equal([
        [tableId, 1n],
        [tableId, 2n],
      ]);
    });

    it('creates a dropped table again', async () => {
      await bench.writer.write(oneRow('cpu', { dc: 'x', host: 'a' }, { v: 1.5, w: 1 }), OPTIONS, call);
      const old = await table('cpu');
      await bench.metadata.dropTable({ database: 'public', name: 'cpu', ifExists: false }, call);
      ingester.droppedTables.add(old.tableId);
      const result = await bench.writer.write(oneRow('cpu', { dc: 'x', host: 'a' }, { v: 2.5 }, 2n), OPTIONS, call);
      expect(result.rowCount).to.equal(1);
      const made = await table('cpu');
      expect(made.tableId).to.be.greaterThan(old.tableId);
      const names = made.columns.map((it) => it.name);
      expect(names).to.deep.equal(['dc', 'host', 'v', 'greptime_timestamp']);
      expect(kept('cpu')).to.deep.equal([{ dc: 'x', host: 'a', v: 2.5, time: 2n }]);
      // What is dropped again and again is the caller's to know.
      ingester.droppedTables.add(made.tableId);
      const again = bench.writer.write(oneRow('cpu', { host: 'a' }, { v: 2.5 }), OPTIONS, call);
      expect(await failureCode(again)).to.equal('table_not_found');
    });

    it('sends rows again whose new table is dropped too', async () => {
      for (let drop = 0; drop < 3; drop++) ingester.refusals.push(error('table_not_found'));
      expect((await bench.writer.write(oneRow('cpu', {}, { v: 1 }), OPTIONS, call)).rowCount).to.equal(1);
      expect(kept('cpu')).to.deep.equal([{ v: 1, time: 1n }]);
    });

    it('does not send rows to another owner that the last one may have stored', async () => {
      await bench.writer.write(oneRow('cpu', {}, { v: 1 }), OPTIONS, call);
      const before = await table('cpu');
      const moved = { ...before, regions: before.regions.map((region) => ({ ...region, epoch: 2, idsSinceEpoch: 2 })) };
      const clock: Clock = {
        ...systemClock,
        sleep: () => {
          bench.catalog.apply(moved);
          return Promise.resolve();
        },
      };
      ingester.refusals.push(error('external'));
      const uncertain = bench.newWriter(clock).write(oneRow('cpu', {}, { v: 2 }), OPTIONS, call);
      expect(await failureCode(uncertain)).to.equal('external');
    });

    it('follows a region to its next owner when the last one refused', async () => {
      await bench.writer.write(oneRow('cpu', {}, { v: 1 }), OPTIONS, call);
      const before = await table('cpu');
      const moved = { ...before, regions: before.regions.map((region) => ({ ...region, epoch: 2, idsSinceEpoch: 2 })) };
      const clock: Clock = {
        ...systemClock,
        sleep: () => {
          bench.catalog.apply(moved);
          return Promise.resolve();
        },
      };
      ingester.refusals.push(error('region_not_ready'));
      await bench.newWriter(clock).write(oneRow('cpu', {}, { v: 2 }), OPTIONS, call);
      expect(ingester.requests.map((request) => request.epoch)).to.deep.equal([1, 1, 2]);
      expect(await definedIn(2)).to.equal(1);
    });
  });

  describe('several regions', () => {
    beforeEach(async () => {
      await bench.close();
      await open(4);
    });

    it('get the rows of their series', async () => {
      const batches = new BatchSet();
      for (let i = 0; i < 200; i++) {
        add(batches, 'cpu', { host: `h${i % 50}` }, { v: i, [`f${i % 3}`]: `t${i}` }, BigInt(i));
      }
      const result = await bench.writer.write(batches, OPTIONS, call);
      expect(result.rowCount).to.equal(200);
      expect(ingester.requests).to.have.length(4);
      const { regions } = await table('cpu');
      const hosts = new Map<unknown, Set<number>>();
      for (const row of ingester.rows) {
        const host = row.tags[1];
        hosts.set(host, (hosts.get(host) ?? new Set()).add(row.regionId));
        const tsid = seriesId([{ name: 'host', value: Buffer.from(host) }]);
        expect(row.regionId).to.equal(regions[Number((tsid >> 32n) / (1n << 30n))].regionId);
      }
      expect(hosts.size).to.equal(50);
      const rows = kept('cpu') as { host: string; v: number; time: bigint }[];
      for (const row of rows) {
        const i = row.v;
        expect(row).to.deep.equal({ host: `h${i % 50}`, v: i, [`f${i % 3}`]: `t${i}`, time: BigInt(i) });
      }
    });

    it('alternate for tables that keep every row', async () => {
      const options = { ...OPTIONS, tableOptions: { append_mode: 'true' } };
      for (let i = 0; i < 8; i++) await bench.writer.write(oneRow('logs', { host: 'a' }, { v: i }), options, call);
      const counts = new Map<number, number>();
      for (const { regionId } of ingester.requests) counts.set(regionId, (counts.get(regionId) ?? 0) + 1);
      expect([...counts.values()]).to.deep.equal([2, 2, 2, 2]);
    });

    it('get nothing of a request with one part that is too large, even with all its definitions', async () => {
      const writer = bench.newWriter(systemClock, 100_000);
      const fitting = (): BatchSet => {
        const batches = new BatchSet();
        for (let i = 0; i < 50; i++) add(batches, 'cpu', { host: `h${i}` }, { v: i });
        return batches;
      };
      const tooLong = 'x'.repeat(100_000);
      const [longCell, longTag] = [fitting(), fitting()];
      add(longCell, 'logs', { host: 'a' }, { text: tooLong });
      add(longTag, 'cpu', { host: tooLong }, { v: 1 });
      for (const batches of [longCell, longTag]) {
        const { code, message } = await failure(writer.write(batches, OPTIONS, call));
        expect(code).to.equal('invalid_arguments');
        expect(message).to.include('more than the 100000 that a message may have');
      }
      expect(ingester.requests).to.have.length(0);
      await writer.write(fitting(), OPTIONS, call);
      expect(ingester.rows).to.have.length(50);
    });

    it('are all tried, and the error that may heal is reported', async () => {
      const batches = new BatchSet();
      for (let i = 0; i < 50; i++) add(batches, 'cpu', { host: `h${i}` }, { v: i });
      ingester.refusals.push(new AlmanacError('unsupported', 'no'), new AlmanacError('region_busy', 'full'));
      expect(await failureCode(bench.writer.write(batches, OPTIONS, call))).to.equal('region_busy');
      expect(ingester.requests).to.have.length(4);
    });
  });
});
