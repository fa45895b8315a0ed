import { Slices } from '#shared/clock/slices';
import type { Clock } from '#shared/clock/clock';
import type { Column } from '#shared/contracts/gen/common';
import type { RowBatch } from '#shared/rowbatch/row-batch';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';
import { around, overlaps } from '#shared/segments/bands';

import { groupsWith, type ColumnCache } from '../columns/column-cache.js';
import type { LogicalType, SegmentFooter } from '../columns/footer.js';
import type { RegionSource, TableSource } from '../snapshot/snapshots.js';
import type { BoundSegment } from '../snapshot/sources.js';
import { NotForKernels, fieldsRead, type KernelQuery, type TimeBuckets } from './query.js';
import { ofBatch, ofSegment, type FieldValues } from './field-values.js';
import { RowWalk, type Fields, type WalkSink, type UnorderedRows } from './row-walk.js';
import { labelSeries, type RegionSeries, type LabelledSeries } from './series-groups.js';
import { timeGrid, type TimeGrid } from './time-grid.js';

/** What kernels use. */
export interface KernelDeps {
  readonly columns: ColumnCache;
  readonly clock: Clock;
  /** Memory for the groups, or the rows, of one query. */
  readonly groupBytes: number;
}

/** Row groups that are read from a file at once, at most. */
const GROUPS_PER_READ = 4;

/** What a reader knows before it reads rows. */
export interface ReadPlan extends LabelledSeries {
  readonly grid: TimeGrid;
}

/** Finds the series that a query selects, and its time buckets. */
export async function planRead(
  query: KernelQuery,
  source: TableSource,
  deps: KernelDeps,
  check: () => void,
): Promise<ReadPlan> {
  const selected = await labelSeries(query, source, new Slices(deps.clock, { check }));
  const keys = query.kind === 'groups' ? query.keys : [];
  const buckets = keys.flatMap((key) => (key.kind === 'bucket' ? key.buckets : [])).at(0);
  return { ...selected, grid: gridOf(buckets, source) };
}

/**
 * Reads the rows of a table that a query selects.
 *
 * @param sink receives them, segment by segment and then the unflushed ones
 * @param check is called between slices of the work; an error that it throws ends it.
 * @throws `NotForKernels` if the engine must read the rows.
 */
export async function readSource(
  { query, source, plan }: { readonly query: KernelQuery; readonly source: TableSource; readonly plan: ReadPlan },
  sink: WalkSink,
  deps: KernelDeps,
  check: () => void,
): Promise<void> {
  const walk = new RowWalk(query, plan.grid, sink);
  const slices = new Slices(deps.clock, { check });
  const work: Work = { query, source, deps, sink, walk, slices, fields: fieldsRead(query) };
  for (const [i, region] of source.regions.entries()) {
    if (region.named?.sids.length === 0) continue;
    walk.region = i;
    for (const segment of region.segments) if (!sink.isComplete) await addSegment(segment, plan.regions[i], work);
    if (!sink.isComplete) await addFresh(region, plan.regions[i], work);
  }
}

interface Work {
  readonly query: KernelQuery;
  readonly source: TableSource;
  readonly deps: KernelDeps;
  readonly sink: WalkSink;
  readonly walk: RowWalk;
  readonly slices: Slices;
  readonly fields: readonly Column[];
}

/** Returns the buckets from the first to the last time that rows can have. */
function gridOf(buckets: TimeBuckets | undefined, { regions, bounds }: TableSource): TimeGrid {
  if (buckets === undefined) return timeGrid(undefined, 0n, 0n);
  const times = regions.flatMap(({ segments, view }) => [
    ...segments.map(({ segment }) => ({ first: segment.timeFirst, last: segment.timeLast })),
    ...view.parts.flatMap(({ part }) => part.times ?? []),
  ]);
  const all = around(times.filter((band) => overlaps(band, bounds)));
  if (all === undefined) return { buckets, first: 0n, count: 0 };
  const first = bounds.from !== undefined && bounds.from > all.first ? bounds.from : all.first;
  const last = bounds.to !== undefined && bounds.to <= all.last ? bounds.to - 1n : all.last;
  return last < first ? { buckets, first: 0n, count: 0 } : timeGrid(buckets, first, last);
}

/** Units in files. Seconds are stored as microseconds. */
const STORED_UNITS: Readonly<Record<TimeUnit, LogicalType | undefined>> = {
  s: undefined,
  ms: 'millis',
  us: 'micros',
  ns: 'nanos',
};

async function addSegment({ segment, name }: BoundSegment, series: RegionSeries, work: Work): Promise<void> {
  const { query, source, deps, sink, walk, slices, fields } = work;
  const { columns: cache } = deps;
  const file = { path: name, bytes: segment.bytes };
  const footer = cache.knownFooter(file) ?? (await decoded(() => cache.loadFooter(file)));
  const { id: timeId, type } = timeIndexOf(source.table);
  if (footer.columns.get(timeId)?.logicalType !== STORED_UNITS[dataType(type).timeUnit ?? 'ns']) {
    throw new NotForKernels('a segment stores times in another unit');
  }
  const { from, to } = query.bounds;
  const groups = groupsWith(footer, timeId, { timeFrom: from, timeTo: to, sids: series.sids });
  const request = { file, footer, timeId, fieldIds: fields.map(({ id }) => id) };
  const atOnce = groupsAtOnce(footer, groups, fields.length, deps.groupBytes);
  for (let at = 0; at < groups.length && !sink.isComplete; at += atOnce) {
    const some = groups.slice(at, at + atOnce);
    const found = cache.known(request, some) ?? (await decoded(() => cache.load(request, some)));
    for (const [i, { runs, fields: values, rowCount }] of found.entries()) {
      walk.addRuns(runs, fieldsOf(values, fields, footer, some[i]), series);
      if (slices.isOver(rowCount * (fields.length + 1))) await slices.yield();
    }
  }
}

/** Returns how many row groups are read at once, whose values are in memory together. */
function groupsAtOnce(
  { rowCounts }: SegmentFooter,
  groups: readonly number[],
  fieldCount: number,
  bytesMax: number,
): number {
  const rows = groups.reduce((most, group) => Math.max(most, rowCounts[group]), 0);
  const bytes = rows * fieldCount * Float64Array.BYTES_PER_ELEMENT;
  if (bytes > bytesMax) throw new NotForKernels('a row group of these columns takes too much memory');
  return Math.max(1, Math.min(GROUPS_PER_READ, Math.floor(bytesMax / Math.max(1, bytes))));
}

/** Leaves files that cannot be decoded to the engine, which finds out whether they are damaged. */
async function decoded<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof AlmanacError) throw error;
    throw new NotForKernels('a segment cannot be decoded', { cause: error });
  }
}

function fieldsOf(
  values: readonly (Parameters<typeof ofSegment>[0] | undefined)[],
  fields: readonly Column[],
  footer: SegmentFooter,
  group: number,
): Fields {
  const found = new Map<number, FieldValues>();
  for (const [i, { id }] of fields.entries()) {
    const column = values[i];
    if (column !== undefined) found.set(id, ofSegment(column, footer, id, group));
  }
  return found;
}

async function addFresh({ view }: RegionSource, series: RegionSeries, work: Work): Promise<void> {
  const { query, walk, slices, fields } = work;
  for (const { part, rowCount, skipCount = 0 } of view.parts) {
    if (part.times === undefined || !overlaps(part.times, query.bounds)) continue;
    if (skipCount > 0) throw new NotForKernels('only newer rows are read');
    let left = rowCount;
    for (const { sids, rows } of part.batches) {
      if (left <= 0) break;
      const unordered = { sids, ...relativeTimes(rows) };
      const byId = new Map(rows.columns.map((column) => [column.columnId, column]));
      const values = new Map<number, FieldValues>();
      for (const { id } of fields) {
        const column = byId.get(id);
        if (column !== undefined) values.set(id, ofBatch(column));
      }
      const count = Math.min(left, rows.rowCount);
      const isRead = walk.begin(count, values);
      for (let first = 0; isRead && first < count; first += FRESH_ROWS) {
        const end = Math.min(first + FRESH_ROWS, count);
        walk.addRows(unordered, { first, end }, values, series);
        if (slices.isOver((end - first) * (fields.length + 1) * FRESH_WORK)) await slices.yield();
      }
      left -= rows.rowCount;
    }
  }
}

/** Unflushed rows that are aggregated between two looks at the clock. */
const FRESH_ROWS = 4096;
/** Rows that are not in order take about this many times as long. */
const FRESH_WORK = 10;

type RelativeTimes = Pick<UnorderedRows, 'times' | 'base'>;
const relative = new WeakMap<RowBatch, RelativeTimes>();
/** Larger differences of times are not exact as doubles. */
const TIME_RANGE_MAX = 2n ** 52n;

/** Returns the times of a batch relative to the least one; they are converted once. */
function relativeTimes(rows: RowBatch): RelativeTimes {
  const known = relative.get(rows);
  if (known !== undefined) return known;
  let [base, last] = [rows.times[0], rows.times[0]];
  for (const time of rows.times) {
    if (time < base) base = time;
    if (time > last) last = time;
  }
  if (last - base > TIME_RANGE_MAX) throw new NotForKernels('unflushed rows that are far apart');
  const found = { times: Float64Array.from(rows.times, (time) => Number(time - base)), base };
  relative.set(rows, found);
  return found;
}
