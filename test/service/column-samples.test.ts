import { statSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import fc from 'fast-check';

import { ColumnCache } from '#services/querier/columns/column-cache';
import { UnknownLayout } from '#shared/parquet/compact-protocol';
import { OpenSegments } from '#services/querier/columns/open-segments';
import { Backfills } from '#services/querier/samples/backfills';
import { readColumnSamples } from '#services/querier/samples/column-samples';
import { EngineSamples } from '#services/querier/samples/engine-samples';
import { MISSING, type SampleColumns, type SampleSlice } from '#services/querier/samples/sample-slice';
import type { SlicesBySid } from '#services/querier/samples/segment-rows';
import { SegmentFiles } from '#services/querier/snapshot/segment-files';
import { systemClock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';
import type { Column, Segment, Table } from '#shared/contracts/gen/common';
import { openSandbox, type DuckDBConnection, type DuckDBInstance } from '#shared/duckdb/engine';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { UNCOUNTED_SLOT } from '#shared/limits/bounded-queue';
import { METRIC_FIELD_ID, OP_FIELD_ID, SID_FIELD_ID } from '#shared/schema/segment-columns';
import { STALE_HIGH, STALE_LOW } from '#shared/histogram/native-histogram';
import { LocalStore } from '#shared/segments/local-store';
import { CALL } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

/** As segments are written, with the smallest row groups. */
const PARQUET = 'FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2, DICTIONARY_SIZE_LIMIT 0, ROW_GROUP_SIZE 2048';
/** The staleness marker, which is a signaling NaN. */
const [STALE] = new Float64Array(Uint32Array.of(STALE_LOW, STALE_HIGH).buffer);
const TIME = 1;
const VALUE = 2;
const START = 3;
const HISTOGRAM = 4;
const METRICS = 3;
const STEP_MS = 1500;

/** Time types, and how a time index of the test, in steps, becomes one. */
const TIMES = {
  TimestampSecond: 'make_timestamp((($)::BIGINT // 1000) * 1000000)::TIMESTAMP_S',
  TimestampMillisecond: 'make_timestamp(($)::BIGINT * 1000)::TIMESTAMP_MS',
  TimestampMicrosecond: 'make_timestamp(($)::BIGINT * 1000 + h % 1000)',
  TimestampNanosecond: 'make_timestamp_ns(($)::BIGINT * 1000000 + h % 1000000)',
} as const;

/** Types of values and expressions of them; `h` is a random number of the row. */
const VALUES: readonly (readonly [string, string])[] = [
  ['DOUBLE', "[0.1, -0.0, 1e308, 5e-324, 'nan'::DOUBLE, 'inf'::DOUBLE, '-inf'::DOUBLE, h / 7.0][1 + (h % 8)::INT]"],
  ['DOUBLE', 'h / 1000.0'],
  ['DOUBLE', 'CASE WHEN h % 5 = 0 THEN stale ELSE h END'],
  ['FLOAT', '(h / 7.0)::FLOAT'],
  ['BOOLEAN', 'h % 2 = 0'],
  ['TINYINT', '((h % 200)::INT - 100)::TINYINT'],
  ['UTINYINT', '(h % 256)::UTINYINT'],
  ['SMALLINT', '((h % 60000)::INT - 30000)::SMALLINT'],
  ['USMALLINT', '(h % 65536)::USMALLINT'],
  ['INTEGER', '((h % 4000000000)::BIGINT - 2000000000)::INTEGER'],
  ['UINTEGER', '(h % 4294967296)::UINTEGER'],
  ['BIGINT', '((h % 4503599627370496)::BIGINT - 5)'],
  ['BIGINT', '(9007199254740000 + (h % 2000)::BIGINT)'],
  ['BIGINT', '(-9223372036854775808 + (h % 5000)::BIGINT)'],
  ['UBIGINT', '(9223372036854770000 + (h % 5000)::BIGINT)::UBIGINT'],
];
/** Values that only the engine reads. */
const OTHERS: readonly (readonly [string, string])[] = [
  ['VARCHAR', "'1' || (h % 100)"],
  ['DECIMAL(9, 2)', '((h % 1000) / 4)::DECIMAL(9, 2)'],
  ['DECIMAL(18, 2)', '((h % 1000) / 4)::DECIMAL(18, 2)'],
  ['DATE', "DATE '2020-01-01'"],
  ['BIGINT', 'CASE WHEN h % 2 = 0 THEN -9000000000000000000 ELSE 9000000000000000000 END'],
  ['UBIGINT', '18446744073709551615'],
];

interface Shape {
  readonly time: keyof typeof TIMES;
  readonly value: readonly [string, string] | undefined;
  readonly backfillSql: string;
  readonly series: number;
  readonly rows: number;
  /** First time in milliseconds. */
  readonly first: number;
  readonly jitter: number;
  readonly nullEvery: number;
  readonly hasMetrics: boolean;
  readonly hasOps: boolean;
  readonly starts: 'none' | 'empty' | 'some';
  readonly hasHistogram: boolean;
  /** Every how many of the series is read. */
  readonly every: number;
  /** Part of the times that is read. */
  readonly from: number;
  readonly to: number;
  readonly batchBytes: number;
  readonly seed: number;
}

const SHAPES = fc.record({
  time: fc.constantFrom(...(Object.keys(TIMES) as (keyof typeof TIMES)[])),
  value: fc.constantFrom(...VALUES, undefined),
  backfillSql: fc.constantFrom('', '7', '-1.5'),
  series: fc.constantFrom(1, 2, 9, 700, 3000),
  rows: fc.constantFrom(1, 100, 2048, 2049, 6000),
  first: fc.constantFrom(1_700_000_000_000, -3_600_500, -1, 0),
  jitter: fc.constantFrom(0, 0, 7),
  nullEvery: fc.constantFrom(0, 0, 2, 1000, 1),
  hasMetrics: fc.boolean(),
  hasOps: fc.boolean(),
  starts: fc.constantFrom('none' as const, 'empty' as const, 'some' as const),
  hasHistogram: fc.boolean(),
  every: fc.constantFrom(1, 1, 2, 97),
  from: fc.constantFrom(0, 0.3),
  to: fc.constantFrom(1, 0.5),
  batchBytes: fc.constantFrom(1, 1 << 14, 1 << 20),
  seed: fc.nat(1000),
});

describe('samples of segments', function () {
  this.timeout(120_000);
  const cleanUps: (() => void)[] = [];
  let folder = '';
  let store: LocalStore;
  let instance: DuckDBInstance;
  let connection: DuckDBConnection;
  let written = 0;

  before(async () => {
    folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    store = new LocalStore(folder, nodeFileSystem);
    instance = await openSandbox({ threads: 1, memoryBytes: 1 << 29, spillFolder: folder }, folder);
    connection = await instance.connect();
    await connection.run('CREATE TABLE markers (stale DOUBLE)');
    const appender = await connection.createAppender('markers');
    appender.appendDouble(STALE);
    appender.endRow();
    appender.closeSync();
  });

  after(() => {
    connection.closeSync();
    instance.closeSync();
    for (const cleanUp of cleanUps) cleanUp();
  });

  /** Writes a segment, and returns its entry in the manifest as far as it is read. */
  async function write(shape: Shape): Promise<Segment> {
    const { series, rows, seed, hasMetrics } = shape;
    const perSeries = Math.ceil(rows / series);
    const columns = columnsOf(shape, perSeries);
    const selected = columns.map(({ name, sql }) => `(${sql}) AS ${name}`).join(', ');
    const source = `SELECT i, (hash(i, ${seed}) % 4503599627370497)::BIGINT AS h, stale FROM range(${rows}) AS t(i), markers`;
    const order = hasMetrics ? '__metric, __sid, ts' : '__sid, ts';
    const ids = columns.map(({ name, id }) => `${name}: ${id}`).join(', ');
    const path = `${written++}.parquet`;
    await connection.run(
      `COPY (SELECT ${selected} FROM (${source}) ORDER BY ${order}) ` +
        `TO '${join(folder, path)}' (${PARQUET}, FIELD_IDS {${ids}})`,
    );
    const { size: bytes } = statSync(join(folder, path));
    // The folder of the path and the version name the columns of a file, which differ here from file to file.
    return { path, bytes, rowCount: rows, timeFirst: -1n, schemaVersion: written, hasMetrics } as Segment;
  }

  async function readBoth(shape: Shape): Promise<readonly [SlicesBySid, SlicesBySid]> {
    const segment = await write(shape);
    const table = tableOf(shape, written);
    const columns: SampleColumns = { value: VALUE, histogram: HISTOGRAM, start: START };
    const { sids, metrics } = selectionOf(shape);
    const perSeries = Math.ceil(shape.rows / shape.series);
    const range = {
      fromMs: shape.first + Math.floor(perSeries * STEP_MS * shape.from),
      toMs: shape.first + Math.ceil(perSeries * STEP_MS * shape.to),
    };
    const cache = new ColumnCache(store, { footerBytes: 1 << 20, runBytes: 1 << 20, valueBytes: 0 });
    const files = new SegmentFiles({
      ...{ store, connection, clock: systemClock },
      confirmDataFolder: () => Promise.resolve(),
    });
    const backfill = await new Backfills(connection).of(table, VALUE);
    const distinct = metrics === undefined ? undefined : Uint32Array.from(new Set(metrics)).sort();
    const selection = { file: segment, timeId: TIME, columns, backfill, sids, metrics: distinct, range };
    const sources = { cache, open: new OpenSegments(cache, systemClock) };
    const cold = await readColumnSamples(sources, selection, new Slices(systemClock), shape.batchBytes);
    const own = await readColumnSamples(sources, selection, new Slices(systemClock));
    expect(textOf(own)).to.deep.equal(textOf(cold));
    sources.open.stop();
    let byEngine: SlicesBySid = new Map();
    const request = {
      ...{ segment, sids, metrics, range, isWhole: false, isMajority: false, isPart: false, share: 1 },
      positions: [...sids.keys()],
    };
    const deps = { files, connection, clock: systemClock };
    const call = { call: CALL, slot: UNCOUNTED_SLOT };
    await new EngineSamples(deps).read(table, [request], columns, call, (_, found) => {
      byEngine = found;
      return Promise.resolve();
    });
    return [own, byEngine];
  }

  it('are the same, bit by bit, as those that the engine reads', async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(SHAPES, async (shape) => {
        const [own, byEngine] = await readBoth(shape);
        expect(textOf(own)).to.deep.equal(textOf(byEngine));
        found += own.size;
      }),
      { numRuns: 250, seed: 25 },
    );
    expect(found).to.be.greaterThan(1000);
  });

  it('are left to the engine where columns have other types', async () => {
    const [shape] = fc.sample(SHAPES, { numRuns: 1, seed: 1 });
    for (const value of OTHERS) {
      const whole = { ...shape, value, hasOps: false, nullEvery: 0, series: 2, rows: 100 };
      const error = await readBoth(whole).catch((thrown: unknown) => thrown);
      expect(error, value[0]).to.be.instanceOf(UnknownLayout);
    }
  });
});

interface StoredColumn {
  readonly name: string;
  readonly sql: string;
  readonly id: number;
}

function columnsOf(shape: Shape, perSeries: number): StoredColumn[] {
  const { time, value, first, jitter, nullEvery, starts } = shape;
  const sid = `i // ${perSeries}`;
  const millis = `${first} + (i % ${perSeries}) * ${STEP_MS} + h % ${jitter + 1}`;
  const found: StoredColumn[] = [];
  if (shape.hasMetrics) found.push({ name: '__metric', sql: `(${sid}) % ${METRICS}::UINTEGER`, id: METRIC_FIELD_ID });
  found.push({ name: '__sid', sql: `(${sid})::UINTEGER`, id: SID_FIELD_ID });
  found.push({ name: 'ts', sql: TIMES[time].replace('$', millis), id: TIME });
  if (value !== undefined) {
    const [type, sql] = value;
    const some = nullEvery === 1 ? 'NULL' : nullEvery === 0 ? sql : `CASE WHEN i % ${nullEvery} > 0 THEN ${sql} END`;
    found.push({ name: 'v', sql: `(${some})::${type}`, id: VALUE });
  }
  if (starts === 'empty') found.push({ name: 'st', sql: 'NULL::BIGINT', id: START });
  if (starts === 'some') found.push({ name: 'st', sql: 'CASE WHEN h % 3 > 0 THEN h % 999 END', id: START });
  if (shape.hasHistogram) found.push({ name: 'hist', sql: 'NULL::BLOB', id: HISTOGRAM });
  if (shape.hasOps) {
    found.push({ name: '__op', sql: 'CASE WHEN h % 11 < 2 THEN 1 + h % 11 END::UTINYINT', id: OP_FIELD_ID });
  }
  return found;
}

/** Selects some of the series, and some that the segment does not have. */
function selectionOf({ series, every, hasMetrics }: Shape): { sids: Int32Array; metrics: Uint32Array | undefined } {
  const all = Array.from({ length: series + 2 }, (_, sid) => sid).filter((sid) => sid % every === 0);
  const sids = Int32Array.from(all);
  return { sids, metrics: hasMetrics ? Uint32Array.from(all, (sid) => sid % METRICS) : undefined };
}

function tableOf({ time, backfillSql }: Shape, schemaVersion: number): Table {
  const column = (id: number, name: string, type: string, kind: string): Column => ({
    ...{ id, name, type, kind, nullable: true, defaultSql: '', comment: '', backfillSql: '', formerTypes: [] },
    indexes: [],
  });
  const columns = [
    column(TIME, 'ts', time, 'time'),
    { ...column(VALUE, 'v', 'Float64', 'field'), backfillSql },
    column(START, 'st', 'Int64', 'field'),
    column(HISTOGRAM, 'hist', 'Binary', 'field'),
  ];
  return { tableId: 1, name: 't', schemaVersion, columns, options: {}, regions: [] } as unknown as Table;
}

/** Returns slices as text, by series: values bit by bit where there are any. */
function textOf(bySid: SlicesBySid): readonly string[] {
  return [...bySid].sort(([a], [b]) => a - b).map(([sid, slice]) => `${sid}: ${rowsOf(slice).join(' ')}`);
}

function rowsOf({ times, values, missing, starts, histograms, isAscending }: SampleSlice): string[] {
  const words = new Uint32Array(values.slice().buffer);
  const rows = Array.from(times, (time, i) => {
    const mark = missing?.[i] ?? 0;
    const value = (mark & MISSING) === 0 ? `${words[2 * i + 1].toString(16)}.${words[2 * i].toString(16)}` : 'none';
    return `${time}=${value}/${mark}/${starts?.[i] ?? 0}/${histograms?.[i]?.length ?? ''}`;
  });
  return [...rows, isAscending ? 'ascending' : 'unordered'];
}
