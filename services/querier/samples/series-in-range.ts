import type { Slices } from '#shared/clock/slices';
import type { Segment, Table } from '#shared/contracts/gen/common';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';

import { selectedIn } from '../series/selected-series.js';
import { MS_PER } from '../series/millis.js';
import type { SampleView } from './sample-layout.js';

/** Range of times in milliseconds that includes both ends. */
export interface ClosedRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Selects the rows of a region in a range of times. */
export interface SeriesRangeQuery {
  readonly view: SampleView;
  readonly table: Table;
  readonly range: ClosedRange;
}

/** Relation of a source's times to a range, from its lowest and highest time. */
type Overlap = 'none' | 'part' | 'whole';

/** Reports whether a row of the region can be in the range. */
export function mayHaveRows({ view, table, range }: SeriesRangeQuery): boolean {
  if (range.fromMs > range.toMs) return false;
  if (
    view.parts.some(({ part, rowCount }) => rowCount > 0 && overlap(range, part.leastMs, part.greatestMs) !== 'none')
  ) {
    return true;
  }
  return view.manifest.segments.some((segment) => segmentOverlap(segment, table, range) !== 'none');
}

/**
 * Returns the series that may have a row in the range. Segments are judged by their bounds, fresh rows one by one.
 *
 * @param sids ascending, as is the result
 */
export async function seriesInRange(query: SeriesRangeQuery, sids: Int32Array, slices: Slices): Promise<Int32Array> {
  if (sids.length === 0 || !mayHaveRows(query)) return NOTHING;
  const { view, table, range } = query;
  const parts = view.parts.filter(({ rowCount }) => rowCount > 0);
  const inParts = parts.map(({ part }) => overlap(range, part.leastMs, part.greatestMs));
  const inSegments = view.manifest.segments.map((segment) => segmentOverlap(segment, table, range));
  if ([...inParts, ...inSegments].every((it) => it === 'whole')) return sids;
  const segments = view.manifest.segments.filter((_, i) => inSegments[i] !== 'none');
  const found = new Int32Array(sids.length);
  let count = 0;
  for (let from = 0; from < sids.length; from += BLOCK_SERIES) {
    const block = sids.subarray(from, from + BLOCK_SERIES);
    let rest = await withoutRows(block, view, segments, slices);
    for (const [i, { part, rowCount }] of parts.entries()) {
      if (inParts[i] !== 'none') rest = await part.seriesWithoutRows(rest, rowCount, range, slices);
    }
    const own = without(block, rest);
    found.set(own, count);
    count += own.length;
  }
  return found.subarray(0, count);
}

const NOTHING = new Int32Array(0);
/** Series that are checked together. */
const BLOCK_SERIES = 16_384;

/** Returns the series of which no segment can have rows. */
async function withoutRows(
  sids: Int32Array,
  { series }: SampleView,
  segments: readonly Segment[],
  slices: Slices,
): Promise<Int32Array> {
  let rest = sids;
  for (const segment of segments) {
    if (rest.length === 0) break;
    const metrics = segment.hasMetrics ? await series?.metricsOf(rest, slices) : undefined;
    rest = without(rest, selectedIn(segment, { sids: rest, metrics }).sids);
    if (slices.isOver(rest.length)) await slices.yield();
  }
  return rest;
}

/** Returns the numbers of `all` that are not in `some`; both are ascending. */
function without(all: Int32Array, some: Int32Array): Int32Array {
  if (some.length === 0) return all;
  let at = 0;
  return all.filter((sid) => {
    while (at < some.length && some[at] < sid) at++;
    return at === some.length || some[at] !== sid;
  });
}

function overlap({ fromMs, toMs }: ClosedRange, leastMs: number, greatestMs: number): Overlap {
  if (leastMs > toMs || greatestMs < fromMs) return 'none';
  return leastMs >= fromMs && greatestMs <= toMs ? 'whole' : 'part';
}

/** Adds a millisecond at both ends, because the conversion to doubles may round. */
function segmentOverlap({ timeFirst, timeLast }: Segment, table: Table, range: ClosedRange): Overlap {
  const factor = MS_PER[timeUnitOfTable(table)];
  return overlap(range, Number(timeFirst) * factor - 1, Number(timeLast) * factor + 1);
}

/** Returns the time unit of a table's time index. */
export function timeUnitOfTable(table: Table): TimeUnit {
  return dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
}
