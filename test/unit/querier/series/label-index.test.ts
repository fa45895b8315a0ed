import { join } from 'node:path';

import { expect } from 'chai';

import { LabelIndex } from '#services/querier/series/label-index';
import { LabelsCache } from '#services/querier/series/labels-cache';
import { Slices } from '#shared/clock/slices';
import type { SeriesFile, Table } from '#shared/contracts/gen/common';
import { openEngine, type DuckDBConnection } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import { refusal } from '#test/support/failure';
import { HurriedClock } from '#test/support/hurried-clock';
import { seriesIndexes } from '#test/support/series-indexes';
import { tempFolder } from '#test/support/temp-folder';

const TAGS = 1000;
const SERIES = 300;

function tableOf(): Table {
  const columns = Array.from({ length: TAGS }, (_, i) => {
    return {
      id: i + 1,
      name: `t${i}`,
      type: 'String',
      kind: 'tag',
      nullable: true,
      defaultSql: '',
      comment: '',
      backfillSql: '',
      formerTypes: [],
      indexes: [],
    };
  });
  const ids = { tableId: 1, databaseId: 1, database: 'public', name: 'wide', schemaVersion: 1, createdMs: 0 };
  return { ...ids, columns, options: {}, regions: [], primaryKey: [], ttl: '' };
}

function indexOf(connection: DuckDBConnection, clock: HurriedClock, table: Table): LabelIndex {
  const indexes = seriesIndexes({ connection, files: { absolute: (path) => path }, clock, schemaOf: tableOf });
  return new LabelIndex(indexes.open(1, table), new LabelsCache(1 << 20));
}

describe('LabelIndex', () => {
  let cleanUp: () => void = () => undefined;
  let folder = '';
  let connection: DuckDBConnection;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    const engine = await openEngine({ threads: 1, memoryBytes: 512 * 1024 * 1024, spillFolder: folder });
    connection = await engine.connect();
  });

  after(() => {
    connection.closeSync();
    cleanUp();
  });

  it('yields while it reads many series with many labels', async () => {
    const path = join(folder, 'series.parquet');
    const all = Array.from({ length: TAGS }, (_, i) => i);
    const cells = all.map((i) => (i === 0 ? `'job'` : `if(s % ${TAGS} = ${i}, 'v' || s, NULL)`) + ` AS t${i}`);
    const ids = [`sid: ${SID_FIELD_ID}`, ...all.map((i) => `t${i}: ${i + 1}`)];
    await connection.run(
      `COPY (SELECT s::UINTEGER AS sid, ${cells.join(', ')} FROM range(${SERIES}) r(s)) ` +
        `TO ${quoteText(path)} (FORMAT parquet, FIELD_IDS {${ids.join(', ')}})`,
    );
    const countsAtTurn: number[] = [];
    const clock = new HurriedClock();
    clock.onYield = () => countsAtTurn.push(index.count);
    const index: LabelIndex = indexOf(connection, clock, tableOf());
    await index.load([{ path, sidFirst: 0, sidLast: SERIES - 1, bytes: 0, crc32c: 0 }]);
    expect(index.count).to.equal(SERIES);
    expect(countsAtTurn.filter((count) => count > 0).length).to.be.at.least(3);
    const labelsOf = (sid: number): string[] => {
      const labels: string[] = [];
      index.labelsOf(sid, (name, value) => labels.push(`${name}=${value}`));
      return labels;
    };
    expect([0, 1, 299].map(labelsOf)).to.deep.equal([['t0=job'], ['t0=job', 't1=v1'], ['t0=job', 't299=v299']]);
    const tests = [{ name: 't7', equals: 'v7', passes: (value: string) => value === 'v7' }];
    expect([...(await index.matching(tests, new Slices(clock)))]).to.deep.equal([7]);
  });

  it('reads a file with more series than one page, and returns names and values of some of them', async () => {
    const many = 130_000;
    const path = join(folder, 'many.parquet');
    const cells = `'d' || s AS t0, if(s % 2 = 0, 'even', NULL) AS t1, if(s = ${many - 1}, '', NULL) AS t2`;
    const ids = `sid: ${SID_FIELD_ID}, t0: 1, t1: 2, t2: 3`;
    await connection.run(
      `COPY (SELECT s::UINTEGER AS sid, ${cells} FROM range(${many}) r(s)) ` +
        `TO ${quoteText(path)} (FORMAT parquet, FIELD_IDS {${ids}})`,
    );
    const table = tableOf();
    const index = indexOf(connection, new HurriedClock(), { ...table, columns: table.columns.slice(0, 3) });
    await index.load([{ path, sidFirst: 0, sidLast: many - 1, bytes: 0, crc32c: 0 }]);
    expect(index.count).to.equal(many);
    const slices = new Slices(new HurriedClock());
    const all = await index.matching([], slices);
    expect([all.length, all[0], all[many - 1]]).to.deep.equal([many, 0, many - 1]);
    expect(await index.namesOf(all, slices)).to.deep.equal(['t0', 't1']);
    expect(await index.namesOf(Int32Array.of(1, many - 1), slices)).to.deep.equal(['t0']);
    expect(await index.valuesIn('t0', Int32Array.of(1, 129_999), slices)).to.deep.equal(['d1', 'd129999']);
    expect(await index.valuesIn('t1', all, slices)).to.deep.equal(['even']);
    expect(await index.valuesIn('t2', all, slices)).to.deep.equal([]);
    expect(await index.valuesIn('none', all, slices)).to.deep.equal([]);
    expect([
      ...(await index.matching([{ name: 't0', equals: 'd125000', passes: (it) => it === 'd125000' }], slices)),
    ]).to.deep.equal([125_000]);
  });

  /** Writes a file of series with equal `t0` and `t2`, and distinct `t1`. */
  async function seriesFile(from: number, to: number): Promise<SeriesFile> {
    const path = join(folder, `${from}-${to}.parquet`);
    await connection.run(
      `COPY (SELECT s::UINTEGER AS sid, 'm' AS t0, 'v' || s AS t1, 'w' AS t2 FROM range(${from}, ${to}) r(s)) ` +
        `TO ${quoteText(path)} (FORMAT parquet, FIELD_IDS {sid: ${SID_FIELD_ID}, t0: 1, t1: 2, t2: 3})`,
    );
    return { path, sidFirst: from, sidLast: to - 1, bytes: 0, crc32c: 0 };
  }

  /** Creates an index of three tags. @param onQuery is called before each engine query, which fails if it throws. */
  function narrow(clock: HurriedClock, onQuery: (sql: string) => void = () => undefined): LabelIndex {
    const table = tableOf();
    const watched = {
      run(sql: string) {
        onQuery(sql);
        return connection.run(sql);
      },
    } as unknown as DuckDBConnection;
    return indexOf(watched, clock, { ...table, columns: table.columns.slice(0, 3) });
  }

  const NEW = 9_000;

  it('hides series whose read is in progress or failed, and reads them at the next attempt', async () => {
    const clock = new HurriedClock();
    let isBroken = false;
    let during: Promise<unknown[]> | undefined;
    const values = async (): Promise<unknown[]> => {
      const all = await index.matching([], new Slices(clock), 3);
      const values = await index.valuesIn('t1', all, new Slices(clock));
      return [values, [...index.valuesOf('t1')].map(({ value }) => value)];
    };
    const index: LabelIndex = narrow(clock, (sql) => {
      // The last query of the read: `t0` and `t1` are already indexed.
      if (!isBroken || !sql.includes('f3::VARCHAR')) return;
      during = values();
      throw new Error('no such file');
    });
    await index.load([await seriesFile(0, 3)]);
    const before = await values();
    expect(before).to.deep.equal([
      ['v0', 'v1', 'v2'],
      ['v0', 'v1', 'v2'],
    ]);
    const files = [await seriesFile(3, 3 + NEW)];
    isBroken = true;
    expect((await refusal(index.load(files)))?.code).to.equal('internal');
    expect([await during, await values()]).to.deep.equal([before, before]);
    isBroken = false;
    await index.load(files);
    expect(index.count).to.equal(3 + NEW);
    expect(await index.valuesIn('t1', Int32Array.of(2, 3, 2 + NEW), new Slices(clock))).to.deep.equal([
      'v2',
      'v3',
      `v${2 + NEW}`,
    ]);
  });

  it('adds nothing from files after a gap', async () => {
    const index = narrow(new HurriedClock());
    await index.load([await seriesFile(0, 3)]);
    expect((await refusal(index.load([await seriesFile(4, 7)])))?.message).to.contain('starts after series 3');
    expect(index.count).to.equal(3);
  });

  it('yields while it collects the label names of a metric with many series', async () => {
    const clock = new HurriedClock();
    const index = narrow(clock);
    await index.load([await seriesFile(0, 20_000)]);
    clock.yields = 0;
    const names = Promise.all([1, 2].map(() => index.labelNamesWith('t0', 'm', new Slices(clock))));
    expect((await names).map((them) => [...(them ?? [])])).to.deep.equal([
      ['t0', 't1', 't2'],
      ['t0', 't1', 't2'],
    ]);
    expect(clock.yields).to.be.at.least(5);
    expect(await index.labelNamesWith('t0', 'none', new Slices(clock))).to.equal(undefined);
  });

  it('finds series by many values without a list for each, and only within the snapshot', async () => {
    const many = 400_000;
    const clock = new HurriedClock();
    const index = narrow(clock);
    await index.load([await seriesFile(0, many)]);
    let mostBytes = 0;
    clock.onYield = () => (mostBytes = Math.max(mostBytes, process.memoryUsage().heapUsed));
    const beforeBytes = process.memoryUsage().heapUsed;
    const isAny = { name: 't1', equals: undefined, passes: (value: string) => value !== '' };
    const found = await index.matching([isAny], new Slices(clock), many - 1);
    expect([found.length, found[0], found[many - 2]]).to.deep.equal([many - 1, 0, many - 2]);
    expect(mostBytes - beforeBytes).to.be.below(40 * 1024 * 1024);
    const isOne = { ...isAny, passes: (value: string) => /^v(30|4|399999)$/.test(value) };
    expect([...(await index.matching([isOne], new Slices(clock)))]).to.deep.equal([4, 30, 399_999]);
    expect([...(await index.matching([isOne], new Slices(clock), 30))]).to.deep.equal([4]);
    const isOfAll = { name: 't2', equals: undefined, passes: (value: string) => value === 'w' };
    expect(await index.matching([isOfAll], new Slices(clock), 77)).to.have.length(77);
  });
});
