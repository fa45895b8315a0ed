import { Slices } from '#shared/clock/slices';
import type { Column } from '#shared/contracts/gen/common';
import { OP } from '#shared/schema/segment-columns';
import { around, clipped, overlaps, type Band, type TimeBounds } from '#shared/segments/bands';

import type { RegionSource, TableSource } from '../snapshot/snapshots.js';
import { SharedProgress } from '../columns/shared-progress.js';
import { GroupAggregation } from './aggregation.js';
import type { KernelDeps } from './deps.js';
import { rowsOfPart, type PartRows } from './fresh/read-part.js';
import { addLate } from './late/read-late.js';
import { rangesOf } from './late/time-ranges.js';
import { hasDeletions } from './preconditions.js';
import { NotNowForKernels, TooManyValues, type KernelQuery, type TimeBuckets } from './query.js';
import { addRows } from './read-rows.js';
import { RowWalk, type WalkSink } from './row-walk.js';
import { labelSeries, type LabelledSeries } from './series-groups.js';
import { timeGrid, type TimeGrid } from './time-grid.js';
import type { Scan, ScannedRegion, Scans } from './scan.js';
import { isMuch, isMuchLast, isMuchLate } from './work.js';

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
  return { labels: selected.labels, regions: selected.regions, grid: gridOf(buckets, source) };
}

/** A query, and what it reads. */
export interface SourceRead {
  readonly query: KernelQuery;
  readonly source: TableSource;
  readonly plan: ReadPlan;
  /** Whether only the newest rows of each series matter. */
  readonly needsLast?: boolean;
}

/**
 * Reads the rows of a table that a query selects.
 *
 * @param sink receives them, region by region; those of a series in the order of their times, except unflushed ones
 * @param check is called between slices of the work; an error that it throws ends it.
 * @throws `NotForKernels` if the engine must read the rows.
 */
export async function readSource(read: SourceRead, sink: WalkSink, deps: KernelDeps, check: () => void): Promise<void> {
  const { query, source, plan, needsLast = false } = read;
  const { lastBytes } = deps.columns.cache;
  const isLast =
    needsLast && !isMuchLast(query, source, plan.regions, lastBytes) && !isMuchLate(query, source, plan.regions);
  if (isLast) return readHere(read, sink, deps, check);
  const much = await isMuch(query, source, plan.regions, deps);
  if (!much) return readHere(read, sink, deps, check);
  const scan = scanOf(read, sink, deps);
  let hasFailed = false;
  const progress = new SharedProgress();
  deps.columns.scan = { progress, rows: scannedRows(scan.work) };
  const scanned = scan.threads.run(scan.work, progress, () => {
    check();
    if (hasFailed) throw new NotNowForKernels('the rest of the query failed');
  });
  // Awaited later: until then, a failure is no unhandled one.
  scanned.catch(() => undefined);
  try {
    await readUnscanned(read, sink, deps, check);
  } catch (error) {
    hasFailed = true;
    throw error;
  }
  const results = await scanned;
  deps.columns.scan = undefined;
  for (const { counts } of results) deps.columns.add(counts);
  for (const { state } of results) await scan.sink.merge(state, deps.clock);
}

/** Reads the rows that other threads do not read: those in late bands, and unflushed ones. */
export function readUnscanned(read: SourceRead, sink: WalkSink, deps: KernelDeps, check: () => void): Promise<void> {
  return readHere(read, sink, deps, check, true);
}

/** @param isScanned whether other threads read the segments outside of late bands. */
async function readHere(
  { query, source, plan, needsLast = false }: SourceRead,
  sink: WalkSink,
  deps: KernelDeps,
  check: () => void,
  isScanned = false,
): Promise<void> {
  const slices = new Slices(deps.clock, { check });
  const { regions } = source;
  for (let i = 0; i < regions.length; i++) {
    const region = regions[i];
    if (region.named?.sids.length === 0) continue;
    const fields = fieldsOf(query, region);
    const { view, segments } = region;
    const parts = partsWithin(view, query.bounds, deps);
    const name = `${source.table.tableId} ${view.manifest.regionId}`;
    const { blocks } = deps;
    const part = {
      segments,
      parts,
      series: plan.regions[i],
      source,
      fields,
      deps,
      slices,
      blocks,
      name,
      // The row before a deletion may be a newest one.
      needsLast: needsLast && query.fieldConditions.length === 0 && !hasDeletions(region),
    };
    const mayRepeat = sink.mayRepeat === true && fields.length === 0;
    for (const { bounds, isLate } of rangesOf(query.bounds, mayRepeat ? [] : region.lateBands)) {
      if (sink.isComplete) return;
      const walk = new RowWalk({ ...query, bounds }, plan.grid, sink);
      walk.region = i;
      if (isLate) await addLate(bounds, walk, { ...part, seriesCount: view.seriesCount });
      else await addRows(bounds, walk, isScanned ? { ...part, segments: [] } : part);
    }
  }
}

function partsWithin({ parts }: RegionSource['view'], bounds: TimeBounds, { columns }: KernelDeps): PartRows[] {
  const within: PartRows[] = [];
  for (const view of parts) {
    const { times } = view.part;
    if (times !== undefined && overlaps(times, bounds)) within.push(rowsOfPart(view, columns.cache));
  }
  return within;
}

/** What other threads do for a query: they aggregate segments, apart from late bands. */
interface PlannedScan {
  readonly threads: Scans;
  readonly work: Scan;
  readonly sink: GroupAggregation;
}

/** @throws `NotNowForKernels` if the engine should read the rows. */
function scanOf({ query, source, plan }: SourceRead, sink: WalkSink, { threads, memory }: KernelDeps): PlannedScan {
  if (threads === undefined || query.kind !== 'groups' || !(sink instanceof GroupAggregation)) {
    throw new TooManyValues('the query reads too many values for one thread');
  }
  if (isMuchLate(query, source, plan.regions)) throw new NotNowForKernels('the query reads too many late rows');
  const cells = plan.labels.length * plan.grid.count;
  memory.reserve(cells * sink.bytesPerCell * threads.count);
  const regions = scannedRegions(query, source, plan);
  return { threads, work: { query, table: source.table, grid: plan.grid, cells, regions }, sink };
}

/** Returns what other threads read of each region. */
export function scannedRegions(query: KernelQuery, source: TableSource, plan: ReadPlan): ScannedRegion[] {
  return source.regions.map((region, i): ScannedRegion => {
    const isRead = region.named?.sids.length !== 0;
    const ranges = rangesOf(query.bounds, region.lateBands).flatMap(({ bounds, isLate }) => (isLate ? [] : bounds));
    const segments = isRead ? region.segments.map(({ segment, name }) => ({ segment, name })) : [];
    return { series: plan.regions[i], fields: fieldsOf(query, region), segments, ranges };
  });
}

/** Returns the number of rows of the segments that a scan looks at, once for each of its time ranges. */
export function scannedRows({ regions }: Pick<Scan, 'regions'>): number {
  let rows = 0;
  for (const { segments, ranges } of regions) {
    for (const { segment } of segments) {
      const band = { first: segment.timeFirst, last: segment.timeLast };
      rows += segment.rowCount * ranges.filter((bounds) => overlaps(band, bounds)).length;
    }
  }
  return rows;
}

/** Returns the columns that are read of a region. */
function fieldsOf({ fields }: KernelQuery, region: RegionSource): readonly Column[] {
  return hasDeletions(region) ? [...fields, OP] : fields;
}

function addWithin(bands: Band[], band: Band, bounds: TimeBounds): void {
  if (overlaps(band, bounds)) bands.push(band);
}

/** Returns the buckets from the first to the last time that rows can have. */
function gridOf(buckets: TimeBuckets | undefined, { regions, bounds }: TableSource): TimeGrid {
  if (buckets === undefined) return timeGrid(undefined, 0n, 0n);
  const times: Band[] = [];
  for (const { segments, view } of regions) {
    for (const { segment } of segments) addWithin(times, { first: segment.timeFirst, last: segment.timeLast }, bounds);
    for (const { part } of view.parts) if (part.times !== undefined) addWithin(times, part.times, bounds);
  }
  const all = around(times);
  const read = all && clipped(all, bounds);
  return read === undefined ? { buckets, first: 0n, count: 0 } : timeGrid(buckets, read.first, read.last);
}
