import { expect } from 'chai';

import { AlmanacError } from '#shared/errors/almanac-error';
import { ownCall } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import { BatchSet } from '#shared/rowbatch/builder';
import { decodeDefinitions } from '#shared/rowbatch/definitions';
import { conflictingRows } from '#shared/write/writer-types';
import { failure, failureCode } from '../../../support/failure.js';
import { HurriedClock } from '../../../support/hurried-clock.js';
import type { MemoryIngester } from '../../../support/memory-ingester.js';
import { OPTIONS, WriterBench, type Fields, type Tags } from '../../../support/writer-bench.js';

const call = ownCall('test');

describe('BatchWriter', () => {
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

  it('creates a table and defines its series once, however many first requests have them', async () => {
    const rows = (time: bigint, from: number): BatchSet => {
      const batches = new BatchSet();
      for (let i = from; i < from + 1_000; i++) add(batches, 'cpu', { host: String(i) }, { v: i }, time);
      return batches;
    };
    const writes = [rows(1n, 0), rows(2n, 0), rows(3n, 0), rows(4n, 500)];
    await Promise.all(writes.map((batches) => bench.writer.write(batches, OPTIONS, call)));
    const defined = ingester.requests.map(({ definitions }) => decodeDefinitions(definitions).length);
    expect(defined.sort((a, b) => b - a)).to.deep.equal([1_000, 500, 0, 0]);
    expect(kept('cpu')).to.have.length(4_000);
    expect(bench.ensured).to.equal(1);
  });

  it('lets the next request define series if the first one fails', async () => {
    ingester.refusals.push(new AlmanacError('storage_unavailable', 'no space'));
    const rows = (time: bigint): BatchSet => {
      const batches = new BatchSet();
      for (let i = 0; i < 1_000; i++) add(batches, 'cpu', { host: String(i) }, { v: i }, time);
      return batches;
    };
    const outcomes = await Promise.allSettled([1n, 2n].map((time) => bench.writer.write(rows(time), OPTIONS, call)));
    expect(outcomes.map(({ status }) => status)).to.have.members(['rejected', 'fulfilled']);
    expect(kept('cpu')).to.have.length(1_000);
  });

  it('tells requests without time for another attempt why the first one failed', async () => {
    bench.ensureFailures.push(new AlmanacError('deadline_exceeded', 'metadata did not reply'));
    const late = { ...call, deadlineMs: Date.now() };
    const writes = [1n, 2n].map((time) =>
      bench.writer.write(oneRow('cpu', { host: 'a' }, { v: 1 }, time), OPTIONS, late),
    );
    const errors = await Promise.all(writes.map((write) => failure(write)));
    expect(errors.map(({ message }) => message)).to.deep.equal(['metadata did not reply', 'metadata did not reply']);
    expect(bench.ensured).to.equal(1);
  });

  it('lets other requests be served while it works on many new series', async () => {
    const clock = new HurriedClock();
    const writer = bench.newWriter(clock);
    const rows = (): BatchSet => {
      const batches = new BatchSet();
      for (let i = 0; i < 1_000; i++) add(batches, 'cpu', { host: String(i) }, { v: i });
      return batches;
    };
    await writer.write(rows(), OPTIONS, call);
    expect(clock.yields).to.be.within(30, 60);
    clock.yields = 0;
    expect((await writer.write(rows(), OPTIONS, call)).rowCount).to.equal(1_000);
    expect(clock.yields).to.equal(0);
  });

  describe('tables', () => {
    it('creates them: tags in order of appearance, fields, time index', async () => {
      const batches = oneRow('cpu', { host: 'a', dc: 'x' }, { load: 1.5, n: 2n });
      add(batches, 'cpu', { rack: 'r', host: 'b' }, { text: 't' }, 2n);
      const result = await bench.writer.write(batches, OPTIONS, call);
      expect(result).to.deep.equal({ rowCount: 2, rejected: [] });
      const made = await table('cpu');
      expect(made.columns.map((it) => [it.name, it.type, it.kind])).to.deep.equal([
        ['host', 'String', 'tag'],
        ['dc', 'String', 'tag'],
        ['rack', 'String', 'tag'],
        ['load', 'Float64', 'field'],
        ['n', 'Int64', 'field'],
        ['text', 'String', 'field'],
        ['greptime_timestamp', 'TimestampNanosecond', 'time'],
      ]);
      expect(made.options).to.deep.equal({ merge_mode: 'last_non_null' });
      expect(kept('cpu')).to.deep.equal([
        { host: 'a', dc: 'x', load: 1.5, n: 2, time: 1n },
        { rack: 'r', host: 'b', text: 't', time: 2n },
      ]);
    });

    it('calls metadata once for all tables of a request, and never for known ones', async () => {
      const both = (): BatchSet => {
        const batches = oneRow('a', { host: 'x' }, { v: 1 });
        add(batches, 'b', {}, { v: 2 });
        return batches;
      };
      await bench.writer.write(both(), OPTIONS, call);
      expect(bench.ensured).to.equal(1);
      await bench.writer.write(both(), OPTIONS, call);
      expect(bench.ensured).to.equal(1);
    });

    it('widens by new fields and by new tags of known tables', async () => {
      await bench.writer.write(oneRow('cpu', { host: 'a' }, { v: 1 }), OPTIONS, call);
      await bench.writer.write(oneRow('cpu', { host: 'a' }, { w: 1 }), OPTIONS, call);
      await bench.writer.write(oneRow('cpu', { host: 'a', dc: 'x' }, { v: 1 }), OPTIONS, call);
      expect(bench.ensured).to.equal(3);
      const names = (await table('cpu')).columns.map((it) => it.name);
      expect(names).to.deep.equal(['host', 'v', 'greptime_timestamp', 'w', 'dc']);
    });

    it('creates none if that is not requested', async () => {
      const error = await failure(bench.writer.write(oneRow('cpu', {}, { v: 1 }), { ...OPTIONS, create: false }, call));
      expect(error.message).to.equal('Table `cpu` does not exist, and `auto_create_table` hint is disabled');
    });

    it('stores nothing if a name is invalid or the database is missing', async () => {
      const batches = oneRow('good', {}, { v: 1 });
      add(batches, 'bad', {}, { ['x'.repeat(256)]: 1 });
      expect(await failureCode(bench.writer.write(batches, OPTIONS, call))).to.equal('invalid_arguments');
      const elsewhere = bench.writer.write(oneRow('good', {}, { v: 1 }), { ...OPTIONS, database: 'db' }, call);
      expect(await failureCode(elsewhere)).to.equal('database_not_found');
      expect(ingester.requests).to.deep.equal([]);
      expect(await failureCode(table('good'))).to.equal('table_not_found');
    });

    it('accepts a request without rows', async () => {
      const batches = new BatchSet();
      batches.table('cpu');
      expect((await bench.writer.write(batches, OPTIONS, call)).rowCount).to.equal(0);
      expect(bench.ensured).to.equal(0);
    });
  });

  describe('conflicts', () => {
    it('rejects rows whose field has another type, and stores the others', async () => {
      await bench.writer.write(oneRow('cpu', { host: 'a' }, { v: 1.5 }), OPTIONS, call);
      const batches = oneRow('cpu', { host: 'a' }, { v: 7n }, 2n);
      add(batches, 'cpu', { host: 'new' }, { v: 8n, w: 1 }, 3n);
      add(batches, 'cpu', { host: 'a' }, { w: 2 }, 4n);
      add(batches, 'other', {}, { v: 7n }, 5n);
      const result = await bench.writer.write(batches, OPTIONS, call);
      expect(result.rowCount).to.equal(2);
      expect(result.rejected).to.deep.equal([
        conflictingRows('cpu', { column: 'v', given: 'Int64', existing: 'Float64' }, 2),
      ]);
      expect(kept('cpu').slice(1)).to.deep.equal([{ host: 'a', w: 2, time: 4n }]);
      expect(kept('other')).to.deep.equal([{ v: 7, time: 5n }]);
    });

    it('defines no series without rows', async () => {
      await bench.writer.write(oneRow('cpu', { host: 'a' }, { v: 1.5 }), OPTIONS, call);
      const batches = oneRow('cpu', { host: 'new' }, { v: 8n });
      add(batches, 'cpu', { host: 'a' }, { w: 1 }, 2n);
      await bench.writer.write(batches, OPTIONS, call);
      expect(decodeDefinitions(ingester.requests[1].definitions)).to.deep.equal([]);
      const nothing = await bench.writer.write(oneRow('cpu', { host: 'b' }, { v: 8n }), OPTIONS, call);
      expect([nothing.rowCount, nothing.rejected.length]).to.deep.equal([0, 1]);
      expect(ingester.requests).to.have.length(2);
    });

    it('distinguishes fields from tags', async () => {
      await bench.writer.write(oneRow('cpu', { host: 'a' }, { v: 1 }), OPTIONS, call);
      const batches = oneRow('cpu', {}, { host: 1 });
      add(batches, 'cpu', { v: 'x' }, { w: 1 });
      add(batches, 'cpu', { host: 'a' }, { w: 1 }, 9n);
      const result = await bench.writer.write(batches, OPTIONS, call);
      expect(result.rejected).to.deep.equal([
        conflictingRows('cpu', { column: 'v', given: 'tag', existing: 'Float64' }, 1),
        conflictingRows('cpu', { column: 'host', given: 'Float64', existing: 'tag' }, 1),
      ]);
      expect(kept('cpu').slice(1)).to.deep.equal([{ host: 'a', w: 1, time: 9n }]);
    });

    it('applies within a request too: tags before fields', async () => {
      const batches = oneRow('cpu', {}, { x: 1 });
      add(batches, 'cpu', { x: 'a' }, { v: 1 });
      const result = await bench.writer.write(batches, OPTIONS, call);
      expect(result.rejected).to.deep.equal([
        conflictingRows('cpu', { column: 'x', given: 'Float64', existing: 'tag' }, 1),
      ]);
      expect(kept('cpu')).to.deep.equal([{ x: 'a', v: 1, time: 1n }]);
    });

    it('rejects tags of a column with typed tags', async () => {
      const spec = { nullable: true, defaultSql: '', comment: '', indexes: [] };
      const columns = [
        { ...spec, name: 'id', type: 'Int64', kind: 'tag' },
        { ...spec, name: 'ts', type: 'TimestampNanosecond', kind: 'time', nullable: false },
      ];
      await bench.metadata.ensureTables(
        { database: 'public', tables: [{ name: 't', columns, options: {} }], create: true },
        call,
      );
      const result = await bench.writer.write(oneRow('t', { id: '7' }, { v: 1 }), OPTIONS, call);
      expect(result.rejected).to.deep.equal([
        conflictingRows('t', { column: 'id', given: 'tag', existing: 'Int64' }, 1),
      ]);
    });

    it('rejects rows that name the time index as a tag or field, in new and in known tables', async () => {
      const reason = 'column "greptime_timestamp" is the time index of table "cpu"';
      for (const round of [1n, 2n]) {
        const batches = oneRow('cpu', {}, { greptime_timestamp: 1, v: 1 });
        add(batches, 'cpu', { greptime_timestamp: 'x' }, { v: 1 });
        add(batches, 'cpu', {}, { v: 5 }, round);
        const result = await bench.writer.write(batches, OPTIONS, call);
        expect(result.rowCount).to.equal(1);
        expect(result.rejected).to.deep.equal([
          { table: 'cpu', reason, rowCount: 1 },
          { table: 'cpu', reason, rowCount: 1 },
        ]);
      }
      expect(kept('cpu')).to.deep.equal([
        { v: 5, time: 1n },
        { v: 5, time: 2n },
      ]);
    });
  });

  describe('times', () => {
    async function makeTable(type: string): Promise<void> {
      const time = { name: 'ts', type, kind: 'time', nullable: false, defaultSql: '', comment: '', indexes: [] };
      const tables = [{ name: 't', columns: [time], options: {} }];
      await bench.metadata.ensureTables({ database: 'public', tables, create: true }, call);
    }

    it('are converted to the unit of the table, rounding down', async () => {
      await makeTable('TimestampMillisecond');
      const batches = oneRow('t', {}, { greptime_timestamp: 1 }, 1_999_999n);
      add(batches, 't', {}, { v: 1 }, -1n);
      add(batches, 't', {}, { v: 1 }, -1_000_000n);
      expect((await bench.writer.write(batches, OPTIONS, call)).rowCount).to.equal(3);
      expect(ingester.rows.map((row) => row.time)).to.deep.equal([1n, -1n, -1n]);
    });

    it('are rejected if they do not fit the unit of the table', async () => {
      await makeTable('TimestampNanosecond');
      const batches = oneRow('t', {}, { v: 1 }, 9_223_372_036n);
      add(batches, 't', {}, { v: 1 }, 9_223_372_037n);
      add(batches, 't', {}, { v: 1 }, -9_223_372_037n);
      const result = await bench.writer.write(batches, { ...OPTIONS, timeType: 'TimestampSecond' }, call);
      const reason = 'time outside range -9223372036854775806 - 9223372036854775806';
      expect(result).to.deep.equal({ rowCount: 1, rejected: [{ table: 't', reason, rowCount: 2 }] });
      expect(ingester.rows.map((row) => row.time)).to.deep.equal([9_223_372_036_000_000_000n]);
    });
  });
});
