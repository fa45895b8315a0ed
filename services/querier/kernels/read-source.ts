import { Slices } from '#shared/clock/slices';
import type { Column } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import { scaledId } from '#shared/duckdb/scaled-columns';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { OP } from '#shared/schema/segment-columns';
import { mergeModeOf, timeIndexOf } from '#shared/schema/table-schema';
import { around, overlaps, type TimeBounds } from '#shared/segments/bands';

import { groupsWith } from '../columns/column-cache.js';
import type { LogicalType, SegmentFooter } from '../columns/footer.js';
import type { RegionSource, TableSource } from '../snapshot/snapshots.js';
import type { BoundSegment } from '../snapshot/sources.js';
import { hasDeletions } from './preconditions.js';
import { confirmWork } from './work.js';
import { NotForKernels, fieldsRead, type KernelQuery, type TimeBuckets } from './query.js';
import { LateRows } from './late-rows.js';
import type { QueryMemory } from './memory.js';
import { ofSegment, type FieldValues } from './field-values.js';
import { addPart, type KernelDeps, type PartRead } from './read-part.js';
import { RowWalk, type Fields, type WalkSink } from './row-walk.js';
import { labelSeries, type LabelledSeries } from './series-groups.js';
import { timeGrid, type TimeGrid } from './time-grid.js';
import { rangesOf } from './time-ranges.js';

/** Row groups that are read from a file at once, at most. */
const GROUPS_PER_READ = 4;
/** Values that are decoded at once, if a row group has fewer: about a millisecond. */
const VALUES_PER_READ = 1 << 18;

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

/** A query, and what it reads. */
export interface SourceRead {
  readonly query: KernelQuery;
  readonly source: TableSource;
  readonly plan: ReadPlan;
}

/**
 * Reads the rows of a table that a query selects.
 *
 * @param sink receives them, region by region; those of a series in the order of their times, except unflushed ones
 * @param check is called between slices of the work; an error that it throws ends it.
 * @throws `NotForKernels` if the engine must read the rows.
 */
export async function readSource(read: SourceRead, sink: WalkSink, deps: KernelDeps, check: () => void): Promise<void> {
  const { query, source, plan } = read;
  await confirmWork(query, source, plan.regions, deps.clock);
  const slices = new Slices(deps.clock, { check });
  for (const [i, region] of source.regions.entries()) {
    if (region.named?.sids.length === 0) continue;
    const fields = [...fieldsRead(query), ...(hasDeletions(region) ? [OP] : [])];
    const part = { region, series: plan.regions[i], source, fields, deps, slices };
    for (const { bounds, isLate } of rangesOf(query.bounds, region.lateBands)) {
      if (sink.isComplete) return;
      const walk = new RowWalk({ ...query, bounds }, plan.grid, sink);
      walk.region = i;
      if (isLate) await addLate(bounds, walk, part);
      else await addAll(bounds, walk, part);
    }
  }
}

/** What is read of a region, and how. */
interface RegionRead extends PartRead {
  readonly region: RegionSource;
  readonly source: TableSource;
}

/** Reads rows of which each has one version. */
async function addAll(bounds: TimeBounds, walk: RowWalk, read: RegionRead): Promise<void> {
  for (const segment of read.region.segments) if (!walk.isComplete) await addSegment(segment, bounds, walk, read);
  if (!walk.isComplete) await addFresh(bounds, walk, read);
}

/** Reads rows that may have several versions, of which only the newest satisfies the conditions or does not. */
async function addLate(
  range: { readonly from: bigint; readonly to: bigint },
  walk: RowWalk,
  read: RegionRead,
): Promise<void> {
  const { fields, source, deps, series, slices } = read;
  const ids = fields.map(({ id }) => id);
  const late = new LateRows({ first: range.from, last: range.to - 1n }, ids, deps.memory);
  const all = { bounds: range, tagConditions: [], fieldConditions: [] };
  await addAll(range, new RowWalk(all, timeGrid(undefined, 0n, 0n), late, true), read);
  const { runs, fields: merged } = await late.merged(mergeModeOf(source.table), slices);
  walk.addRuns(runs, merged, series);
  late.release();
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

async function addSegment(
  { segment, name }: BoundSegment,
  { from, to }: TimeBounds,
  walk: RowWalk,
  { source, series, fields, deps, slices }: RegionRead,
): Promise<void> {
  const { columns, memory } = deps;
  const file = { path: name, bytes: segment.bytes };
  const footer = await decoded(() => columns.footer(file));
  const { id: timeId, type } = timeIndexOf(source.table);
  if (footer.columns.get(timeId)?.logicalType !== STORED_UNITS[dataType(type).timeUnit ?? 'ns']) {
    throw new NotForKernels('a segment stores times in another unit');
  }
  const groups = groupsWith(footer, timeId, { timeFrom: from, timeTo: to, sids: series.sids });
  const request = { file, footer, timeId, fieldIds: fields.map(({ id }) => id) };
  const groupValues = valuesOfGroup(footer, groups, fields);
  const atOnce = groupsAtOnce(groupValues, memory);
  for (let at = 0; at < groups.length && !walk.isComplete; at += atOnce) {
    const some = groups.slice(at, at + atOnce);
    const found = await decoded(() => columns.groups(request, some));
    for (const [i, { runs, fields: values, rowCount }] of found.entries()) {
      walk.addRuns(runs, fieldsOf(values, fields, footer, some[i]), series);
      if (slices.isOver(rowCount * (fields.length + 1))) await slices.yield();
    }
  }
  memory.reserve(-atOnce * groupValues * BYTES_PER_VALUE);
}

/** Memory of a value, and of its compressed bytes. */
const BYTES_PER_VALUE = 10;

/** Returns how many values are decoded of a row group at most. */
function valuesOfGroup(
  { rowCounts, columns }: SegmentFooter,
  groups: readonly number[],
  fields: readonly Column[],
): number {
  const rows = groups.reduce((most, group) => Math.max(most, rowCounts[group]), 0);
  // Scaled values have divisors, and others beside them.
  return rows * fields.reduce((sum, { id }) => sum + (columns.has(scaledId(id)) ? 3 : 1), 1);
}

/** Takes memory for row groups, and returns how many are read at once, whose values are in memory together. */
function groupsAtOnce(values: number, memory: QueryMemory): number {
  for (let count = GROUPS_PER_READ; count > 1; count /= 2) {
    if (count * values <= VALUES_PER_READ && memory.tryReserve(count * values * BYTES_PER_VALUE)) return count;
  }
  memory.reserve(values * BYTES_PER_VALUE);
  return 1;
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

async function addFresh(bounds: TimeBounds, walk: RowWalk, read: RegionRead): Promise<void> {
  for (const view of read.region.view.parts) {
    if (walk.isComplete) return;
    if (view.part.times !== undefined && overlaps(view.part.times, bounds)) await addPart(view, bounds, walk, read);
  }
}
