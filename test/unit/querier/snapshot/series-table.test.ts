import { join } from 'node:path';

import { expect } from 'chai';

import { COPIED_MAX, SeriesTable } from '#services/querier/snapshot/series-table';
import { systemClock } from '#shared/clock/clock';
import type { SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';
import { openEngine, type DuckDBConnection, type DuckDBInstance } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { encodeDefinitions, encodeTags } from '#shared/rowbatch/definitions';
import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import { refusal } from '#test/support/failure';
import { seriesIndexes } from '#test/support/series-indexes';
import { tempFolder } from '#test/support/temp-folder';

const MANY = COPIED_MAX + 1000;
const NAMES = ['__name__', 'pod', 'zone'];

function tableOf(): Table {
  const columns = NAMES.map((name, i) => {
    const rest = { nullable: true, defaultSql: '', comment: '', backfillSql: '', formerTypes: [], indexes: [] };
    return { id: i + 1, name, type: 'String', kind: 'tag', ...rest };
  });
  const ids = { tableId: 1, databaseId: 1, database: 'public', name: 'metrics', schemaVersion: 1, createdMs: 0 };
  const options = { physical_metric_table: 'true' };
  return { ...ids, columns, options, regions: [], primaryKey: [], ttl: '' };
}

describe('SeriesTable', () => {
  let cleanUp: () => void = () => undefined;
  let folder = '';
  let engine: DuckDBInstance;
  let connection: DuckDBConnection;
  let appending: DuckDBConnection;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    engine = await openEngine({ threads: 1, memoryBytes: 512 * 1024 * 1024, spillFolder: folder });
    connection = await engine.connect();
    appending = await engine.connect();
  });

  after(() => {
    connection.closeSync();
    appending.closeSync();
    engine.closeSync();
    cleanUp();
  });

  /** Writes a file of the series `[from, to)`: 1000 metrics, a pod for each series, two zones. */
  async function file(from: number, to: number): Promise<SeriesFile> {
    const path = join(folder, `${from}-${to}.parquet`);
    const tags = `'m' || s % 1000 AS __name__, 'pod-' || s AS pod, if(s % 2 = 0, 'a', NULL) AS zone`;
    const ids = `sid: ${SID_FIELD_ID}, __name__: 1, pod: 2, zone: 3`;
    await connection.run(
      `COPY (SELECT s::UINTEGER AS sid, ${tags} FROM range(${from}, ${to}) r(s)) ` +
        `TO ${quoteText(path)} (FORMAT parquet, FIELD_IDS {${ids}})`,
    );
    return { path, sidFirst: from, sidLast: to - 1, bytes: 0, crc32c: 0 };
  }

  async function create(name: string, table = tableOf(), reading = connection): Promise<SeriesTable> {
    const files = { absolute: (path: string) => path };
    const clock = systemClock;
    const shared = seriesIndexes({ connection: reading, files, clock, schemaOf: () => table }).open(1, table);
    return SeriesTable.create({ connection: reading, appending, files, clock }, name, table, shared);
  }

  /** Returns a connection on which statements fail for want of memory. */
  function short(isTooMuch: (sql: string) => boolean): DuckDBConnection {
    const run = (sql: string): unknown =>
      isTooMuch(sql) ? Promise.reject(new Error('Out of Memory Error: failed to pin block')) : connection.run(sql);
    return new Proxy(connection, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (name === 'run') return run;
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    });
  }

  /** Returns the definitions of the series `[from, to)`, as an owner sends them. */
  function definitions(from: number, to: number): ScanPart {
    const list = Array.from({ length: to - from }, (_, i) => {
      const values = [`m${(from + i) % 1000}`, `pod-${from + i}`];
      const tags = encodeTags(values.map((value, k) => ({ columnId: k + 1, value: Buffer.from(value) })));
      return { tsid: BigInt(from + i), tags };
    });
    return { seriesFrom: from, seriesTo: to, definitions: encodeDefinitions(list) } as ScanPart;
  }

  async function found(series: SeriesTable, tagValues: Map<number, string[]>): Promise<number[] | undefined> {
    const { selected } = await series.matching(tagValues, series.count);
    return selected && [...selected];
  }

  async function rows(sql: string): Promise<unknown[]> {
    return (await connection.runAndReadAll(sql)).getRowsJson();
  }

  it('reads many series from their files, and the series that are in no file from memory', async () => {
    const series = await create('series_many');
    await series.load([await file(0, MANY)]);
    await series.append(definitions(MANY, MANY + 3000));
    expect(series.count).to.equal(MANY + 3000);
    expect(await rows(`SELECT count(*) FROM ${series.stored}`)).to.deep.equal([['3000']]);
    expect(await rows(`SELECT count(*), count(DISTINCT sid), max(sid) FROM ${series.relation}`)).to.deep.equal([
      [String(MANY + 3000), String(MANY + 3000), MANY + 2999],
    ]);
    const last = MANY + 2999;
    expect(
      await rows(`SELECT f1, f2, f3 FROM ${series.relation} WHERE sid IN (4, ${last}) ORDER BY sid`),
    ).to.deep.equal([
      ['m4', 'pod-4', 'a'],
      [`m${last % 1000}`, `pod-${last}`, null],
    ]);
  });

  it('reads from files at fewer series when each has many tags, because absent tags take memory too', async () => {
    const table = tableOf();
    const more = Array.from({ length: 300 }, (_, i) => ({ ...table.columns[1], id: 10 + i, name: `t${i}` }));
    const wide = { ...table, columns: [...table.columns, ...more] };
    const series = await create('series_wide', wide);
    await series.load([await file(0, 60_000)]);
    expect(series.count).to.equal(60_000);
    expect(await rows(`SELECT count(*) FROM ${series.stored}`)).to.deep.equal([['0']]);
    expect(series.fits(wide, 60_000)).to.equal(true);
    expect(await found(series, new Map([[2, ['pod-7']]]))).to.deep.equal([7]);
    const small = await create('series_wide_few', wide);
    await small.load([await file(0, 50_000)]);
    expect(await rows(`SELECT count(*) FROM ${small.stored}`)).to.deep.equal([['50000']]);
    expect(small.fits(wide, 50_000)).to.equal(true);
  });

  it('finds few of many series by their tags', async () => {
    const series = await create('series_found');
    await series.load([await file(0, 1000), await file(1000, MANY)]);
    await series.append(definitions(MANY, MANY + 10));
    const pods = new Map([[2, ['pod-77', `pod-${MANY + 1}`, 'none']]]);
    expect(await found(series, pods)).to.deep.equal([77, MANY + 1]);
    const { named } = await series.matching(pods, series.count);
    expect(named?.values.get(2)).to.deep.equal(['pod-77', `pod-${MANY + 1}`]);
    const both = new Map([
      [1, ['m77']],
      [2, ['pod-77', 'pod-78']],
    ]);
    expect(await found(series, both)).to.deep.equal([77]);
    const zone = await series.matching(new Map([[3, ['a']]]), series.count);
    expect(zone.selected).to.have.length(MANY / 2);
    expect(zone.named).to.equal(undefined);
    const zoned = new Map([
      [3, ['a']],
      [1, ['m4', 'm5']],
    ]);
    expect(await found(series, zoned)).to.deep.equal(Array.from({ length: 264 }, (_, i) => 4 + 1000 * i));
    expect(await found(series, new Map())).to.equal(undefined);
    const { metrics } = await series.matching(new Map([[1, ['m5', 'none', 'm999']]]), series.count);
    expect(metrics).to.deep.equal([5, 999]);
    // What was sorted for an earlier query is found without waiting.
    expect(series.readyMatching(pods, series.count)).to.equal(undefined);
    for (const one of [
      new Map([[2, ['pod-77']]]),
      new Map([[2, ['none']]]),
      new Map([
        [1, ['m5']],
        [2, ['pod-5']],
      ]),
    ]) {
      expect(series.readyMatching(one, series.count)).to.deep.equal(await series.matching(one, series.count));
    }
    await series.append(definitions(MANY + 10, MANY + 11));
    expect(series.readyMatching(new Map([[2, ['pod-77']]]), series.count)).to.equal(undefined);
  });

  it('reads series from their files if the engine has too little memory to copy them', async () => {
    let isShort = true;
    const reading = short((sql) => isShort && sql.startsWith('INSERT INTO series_'));
    const series = await create('series_short', tableOf(), reading);
    await series.load([await file(0, 1000)]);
    await series.load([await file(1000, 3000)]);
    expect(await rows(`SELECT count(*) FROM ${series.stored}`)).to.deep.equal([['0']]);
    await series.append(definitions(3000, 3010));
    expect(series.count).to.equal(3010);
    expect(await rows(`SELECT count(*), count(DISTINCT sid), max(sid) FROM ${series.relation}`)).to.deep.equal([
      ['3010', '3010', 3009],
    ]);
    expect(await found(series, new Map([[2, ['pod-7', 'pod-3001']]]))).to.deep.equal([7, 3001]);
    // A series must not be in both, so that what follows copied ones has to be copied too.
    const next = await file(3000, 3500);
    expect((await refusal(series.load([next])))?.message).to.include('Out of Memory Error');
    expect(series.count).to.equal(3010);
    isShort = false;
    await series.load([next]);
    expect(await rows(`SELECT count(*), count(DISTINCT sid) FROM ${series.relation}`)).to.deep.equal([
      ['3500', '3500'],
    ]);
  });

  it('leaves series to the engine while that has too little memory to index them, but keeps a limited number for later', async () => {
    let isShort = true;
    const reading = short((sql) => isShort && sql.startsWith('SELECT DISTINCT field_id'));
    const series = await create('series_unread', tableOf(), reading);
    await series.load([await file(0, 1000)]);
    const pod = new Map([[2, ['pod-7']]]);
    expect(await series.matching(pod, 1000)).to.include({ selected: undefined, isUnselected: true });
    const append = async (to: number): Promise<void> => {
      for (let from = series.count; from < to; from += 20_000) await series.append(definitions(from, from + 20_000));
    };
    expect((await refusal(append(400_000)))?.code).to.equal('resources_exhausted');
    expect(series.count).to.be.within(50_000, 300_000);
    isShort = false;
    expect(await found(series, pod)).to.deep.equal([7]);
  });

  it('is outdated when files contain too many of the series that it keeps in memory', async () => {
    const series = await create('series_worn');
    await series.load([await file(0, 1000)]);
    expect(await rows(`SELECT count(*) FROM ${series.stored}`)).to.deep.equal([['1000']]);
    for (let from = 1000; from < MANY; from += 50_000) {
      await series.append(definitions(from, Math.min(from + 50_000, MANY)));
    }
    expect(series.fits(tableOf(), 1000)).to.equal(true);
    expect(series.fits(tableOf(), MANY)).to.equal(false);
  });
});
