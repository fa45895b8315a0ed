import type { Slices } from '#shared/clock/slices';
import { divisorId, scaledId } from '#shared/duckdb/scaled-columns';
import { OP_FIELD_ID } from '#shared/schema/segment-columns';

import { placesOfRuns, type ColumnCache, type SegmentFile } from '../columns/column-cache.js';
import { UnknownLayout } from '#shared/parquet/compact-protocol';
import type { ColumnChunks, SegmentFooter } from '../columns/footer.js';
import { groupBounds, type GroupBounds } from '../columns/group-bounds.js';
import type { Runs } from '../columns/runs.js';
import type { ColumnSources } from '../columns/query-columns.js';
import type { ChunkPlace, OpenSegment } from '../columns/segment-reader.js';
import { SampleRows, type GroupRows, type Pages, type RowRange, type StoredColumns } from './sample-rows.js';
import { concatSlices, type SampleColumns, type SampleSlice } from './sample-slice.js';
import type { MillisRange } from './segment-query.js';
import type { SlicesBySid } from './segment-rows.js';

/** Selects rows of one segment file. */
export interface ColumnSelection {
  readonly file: SegmentFile;
  /** Column ID of the time index. */
  readonly timeId: number;
  readonly columns: SampleColumns;
  /** Value of all rows of a file without the column; undefined: none. */
  readonly backfill: number | undefined;
  /** Series, ascending. */
  readonly sids: Int32Array;
  /** Metric numbers, ascending and distinct; undefined: any. */
  readonly metrics: Uint32Array | undefined;
  readonly range: MillisRange;
}

/** A row group to be read. */
interface PlannedGroup {
  readonly group: number;
  /** Undefined: they must be read too. */
  readonly runs: Runs | undefined;
  readonly places: readonly ChunkPlace[];
}

/** Row groups that are read together. */
interface Batch {
  readonly groups: readonly PlannedGroup[];
  /** Pages of all their places. */
  readonly pages: Promise<readonly Uint8Array[]>;
}

/** Costs of finding the rows of a run, and of decoding a row, in units of reading one number. */
const RUN_WORK = 16;
const ROW_WORK = 4;
/** Number of series up to which each is looked up among the runs of a row group. */
const LOOK_UPS = 4;
const BATCH_BYTES = 1 << 20;
/** A row group whose values are all equal has some hundred bytes. */
const BATCH_ROWS = 1 << 20;

/**
 * Reads samples of a segment without the engine.
 *
 * @param batchBytes are read at once, unless a single row group has more
 * @returns the rows by series, in the order of the file
 * @throws `UnknownLayout` if the engine must read the file.
 */
export async function readColumnSamples(
  sources: ColumnSources,
  selection: ColumnSelection,
  slices: Slices,
  batchBytes = BATCH_BYTES,
): Promise<SlicesBySid> {
  const bySid = new Map<number, SampleSlice[]>();
  let lastSid = -1;
  const visit: SliceVisitor = (sid, slice) => {
    const before = bySid.get(sid);
    if (before === undefined) bySid.set(sid, [slice]);
    else if (sid === lastSid) before.push(slice);
    else throw new UnknownLayout('rows of a series are apart');
    lastSid = sid;
  };
  await eachColumnSlice(sources, selection, slices, visit, batchBytes);
  const whole: SlicesBySid = new Map();
  for (const [sid, parts] of bySid) {
    const [first] = parts;
    const slice = parts.length === 1 ? first : concatSlices(parts);
    whole.set(sid, slice);
    if (slices.isOver(parts.length === 1 ? 1 : slice.times.length)) await slices.yield();
  }
  return whole;
}

/** Takes successive rows of a series, in the order of the file. */
export type SliceVisitor = (sid: number, slice: SampleSlice) => void;

/**
 * Calls `visit` with the samples of a segment, without the engine. Successive slices may share their times.
 *
 * @param batchBytes are read at once, unless a single row group has more
 * @throws `UnknownLayout` if the engine must read the file, and what `visit` throws.
 */
export function eachColumnSlice(
  { cache, open }: ColumnSources,
  selection: ColumnSelection,
  slices: Slices,
  visit: SliceVisitor,
  batchBytes = BATCH_BYTES,
): Promise<void> {
  const { file } = selection;
  return open.use(file, (segment) => new SegmentRead(cache, segment, selection, batchBytes).run(slices, visit));
}

/** Reads one segment. */
class SegmentRead {
  readonly #cache: ColumnCache;
  readonly #segment: OpenSegment;
  readonly #selection: ColumnSelection;
  readonly #stored: StoredColumns;
  readonly #bounds: GroupBounds;
  readonly #batchBytes: number;

  constructor(cache: ColumnCache, segment: OpenSegment, selection: ColumnSelection, batchBytes: number) {
    this.#batchBytes = batchBytes;
    this.#cache = cache;
    this.#segment = segment;
    this.#selection = selection;
    this.#stored = storedColumns(segment.footer, selection.columns);
    this.#bounds = groupBounds(segment.footer, selection.timeId);
  }

  async run(slices: Slices, visit: SliceVisitor): Promise<void> {
    const groups = groupsOf(this.#bounds, this.#selection).values();
    let next = await this.#begin(groups, slices);
    while (next !== undefined) {
      const batch = next;
      const pages = await batch.pages;
      // It is read while this batch is decoded.
      next = await this.#begin(groups, slices);
      for (const [sid, slice] of await this.#decode(batch.groups, pages, slices)) {
        visit(sid, slice);
        if (slices.isOver(RUN_WORK + slice.times.length)) await slices.yield();
      }
    }
  }

  /** Begins to read the next row groups. @returns undefined if there are no more. */
  async #begin(groups: Iterator<number>, slices: Slices): Promise<Batch | undefined> {
    const planned: PlannedGroup[] = [];
    let [bytes, rows] = [0, 0];
    for (let next = groups.next(); next.done !== true; next = groups.next()) {
      const one = this.#plan(next.value);
      if (slices.isOver(this.#segment.footer.rowCounts[next.value])) await slices.yield();
      if (one === undefined) continue;
      planned.push(one);
      for (const { column, group } of one.places) bytes += column.lengths[group];
      rows += this.#segment.footer.rowCounts[one.group];
      if (bytes >= this.#batchBytes || rows >= BATCH_ROWS) break;
    }
    if (planned.length === 0) return undefined;
    const pages = this.#segment.chunks(planned.flatMap(({ places }) => places));
    // A failure of an earlier batch must not leave this one without a handler.
    pages.catch(() => undefined);
    return { groups: planned, pages };
  }

  /** @returns undefined if the row group has no rows to read. */
  #plan(group: number): PlannedGroup | undefined {
    const { file, timeId } = this.#selection;
    const runs = this.#cache.knownRuns(file, timeId, group);
    if (runs !== undefined && this.#rangesOf(runs).length === 0) return undefined;
    const places: ChunkPlace[] = runs === undefined ? placesOfRuns(this.#segment.footer, timeId, group) : [];
    for (const column of columnsOf(this.#stored)) places.push({ column, group });
    return { group, runs, places };
  }

  #rangesOf(runs: Runs): RowRange[] {
    return rangesOf(runs, this.#bounds.perMs, this.#selection);
  }

  /** Returns the slices of row groups. */
  async #decode(
    groups: readonly PlannedGroup[],
    pages: readonly Uint8Array[],
    slices: Slices,
  ): Promise<Iterable<readonly [number, SampleSlice]>> {
    const { footer } = this.#segment;
    const found: GroupRows[] = [];
    let at = 0;
    for (const { group, runs: known, places } of groups) {
      const own = pages.slice(at, at + places.length);
      at += places.length;
      const runs = known ?? this.#cache.addRuns({ ...this.#selection, footer }, group, own.splice(0, KEY_COLUMNS));
      const ranges = this.#rangesOf(runs);
      if (ranges.length > 0) found.push({ group, runs, ranges, pages: namedPages(this.#stored, own) });
      if (slices.isOver(known === undefined ? footer.rowCounts[group] * ROW_WORK : runs.count * RUN_WORK)) {
        await slices.yield();
      }
    }
    const rows = new SampleRows(found, this.#bounds.perMs, this.#selection.backfill);
    for (const one of found) {
      rows.add(one, this.#stored, footer.rowCounts[one.group]);
      if (slices.isOver(footer.rowCounts[one.group] * ROW_WORK)) await slices.yield();
    }
    return rows.slices(found);
  }
}

/** Number of columns that runs are decoded from. */
const KEY_COLUMNS = 2;

/** The order in which pages are read. */
const NAMES = ['value', 'scaled', 'divisor', 'start', 'op'] as const satisfies readonly (keyof StoredColumns)[];

/** Returns the columns that a file has. */
function columnsOf(stored: StoredColumns): ColumnChunks[] {
  return NAMES.flatMap((name) => stored[name] ?? []);
}

/** @param pages in the order of `columnsOf`. */
function namedPages(stored: StoredColumns, pages: readonly Uint8Array[]): Pages {
  let at = 0;
  const named = NAMES.map((name) => [name, stored[name] === undefined ? undefined : pages[at++]] as const);
  return Object.fromEntries(named) as Pages;
}

function storedColumns(footer: SegmentFooter, { value, start, histogram }: SampleColumns): StoredColumns {
  if (histogram !== undefined && (footer.columns.has(histogram) || footer.otherIds.has(histogram))) {
    if (!footer.emptyIds.has(histogram)) throw new UnknownLayout('histograms');
  }
  const numbers = (id: number | undefined): ColumnChunks | undefined => {
    const column = id === undefined ? undefined : footer.columns.get(id);
    if (id !== undefined && footer.otherIds.has(id)) throw new UnknownLayout(`column ${id}`);
    if (column !== undefined && column.logicalType !== 'number') throw new UnknownLayout(`column ${id}`);
    return column;
  };
  const starts = numbers(start);
  if (start !== undefined && numbers(scaledId(start)) !== undefined) throw new UnknownLayout('scaled start times');
  const isEmpty = starts?.nullCounts.every((count, group) => count === footer.rowCounts[group]);
  const [scaled, divisor] = [numbers(scaledId(value)), numbers(divisorId(value))];
  if (scaled !== undefined && (scaled.type !== 'double' || divisor?.type !== 'double')) {
    throw new UnknownLayout('scaled values that are no doubles');
  }
  return {
    value: numbers(value),
    scaled,
    divisor,
    start: isEmpty === true ? undefined : starts,
    op: numbers(OP_FIELD_ID),
  };
}

/** Returns the row groups that can have rows to read. */
function groupsOf(bounds: GroupBounds, { sids, metrics, range }: ColumnSelection): number[] {
  const { firstMs, lastMs, sidFirst, sidLast } = bounds;
  const groups: number[] = [];
  for (let group = 0; group < firstMs.length; group++) {
    if (lastMs[group] < range.fromMs || firstMs[group] > range.toMs) continue;
    if (!hasOne(sids, sidFirst[group], sidLast[group])) continue;
    if (metrics !== undefined && bounds.metrics !== undefined) {
      if (!hasOne(metrics, bounds.metrics.first[group], bounds.metrics.last[group])) continue;
    }
    groups.push(group);
  }
  return groups;
}

/** Returns whether one of the ascending numbers is in `[first, last]`. */
function hasOne(numbers: Int32Array | Uint32Array, first: number, last: number): boolean {
  const at = countBelow(numbers, first);
  return at < numbers.length && numbers[at] <= last;
}

/** Returns how many of the ascending numbers are below `limit`. */
function countBelow(numbers: Int32Array | Uint32Array, limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Finds the rows of a row group to read, in its order. */
function rangesOf(runs: Runs, perMs: number, { sids, range }: ColumnSelection): RowRange[] {
  // Bounds may be far outside of the row group, where a double is not exact.
  const from = Number(BigInt(range.fromMs) * BigInt(perMs) - runs.base);
  const end = Number((BigInt(range.toMs) + 1n) * BigInt(perMs) - runs.base);
  const ranges: RowRange[] = [];
  for (const run of runsOfSeries(runs, sids)) {
    const first = rowFrom(runs, run, from);
    const to = rowFrom(runs, run, end);
    if (first < to) ranges.push({ sid: runs.sids[run], run, from: first, to });
  }
  return ranges;
}

function runsOfSeries({ sids: own, count }: Runs, sids: Int32Array): number[] {
  if (sids.length <= LOOK_UPS) {
    const found = Array.from(sids, (sid) => own.indexOf(sid)).filter((run) => run >= 0);
    return found.sort((a, b) => a - b);
  }
  const found: number[] = [];
  let at = 0;
  for (let run = 0; run < count; run++) {
    const sid = own[run];
    // Most often it is the next one.
    if (sids[at] !== sid) at = countBelow(sids, sid);
    if (at === sids.length || sids[at] !== sid) continue;
    found.push(run);
    at++;
  }
  return found;
}

/** Returns the first row of a run whose time is at least `time`, relative to the row group. */
function rowFrom({ rows, first, steps, times }: Runs, run: number, time: number): number {
  let low = rows[run];
  let high = rows[run + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const own =
      times === undefined || steps[run] !== 0 ? first[run] + steps[run] * (middle - rows[run]) : times[middle];
    if (own < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
