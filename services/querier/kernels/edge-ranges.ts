import { around, clipped, overlaps, type TimeBounds } from '#shared/segments/bands';

import type { TableSource } from '../snapshot/snapshots.js';
import type { RowQuery } from './query.js';
import type { RegionSeries } from './series-groups.js';
import { seriesShare } from './work.js';

/** A range has this many times the rows that the result needs, if rows are spread evenly. */
const SPARE = 2n;
/** If it has fewer, the next one is this many times longer: more if conditions on fields may select few rows. */
const GROWTH = 8n;
const SELECTIVE_GROWTH = 64n;

/**
 * Yields growing time ranges at the end of the rows with which the result begins: `ORDER BY time DESC LIMIT 10` needs the
 * newest rows only. Nothing is yielded if the result is sorted otherwise, and no range that has most of the rows.
 */
export function* edgeRanges(
  { order, columns, offset, limit, bounds, fieldConditions }: RowQuery,
  { regions }: TableSource,
  series: readonly RegionSeries[],
): Generator<TimeBounds> {
  const needed = offset + limit;
  if (order.length === 0 || columns[order[0].position].kind !== 'time' || !Number.isSafeInteger(needed)) return;
  let rowCount = 0;
  const times = regions.flatMap(({ segments, view }, i) => {
    const share = seriesShare(regions[i], series[i]);
    const ofSegments = segments.map(({ segment }) => {
      return { first: segment.timeFirst, last: segment.timeLast, rowCount: segment.rowCount };
    });
    const ofParts = view.parts.flatMap(({ part, rowCount: count }) => {
      return part.times === undefined ? [] : { first: part.times.first, last: part.times.last, rowCount: count };
    });
    const inTime = [...ofSegments, ...ofParts].filter((band) => overlaps(band, bounds));
    for (const band of inTime) rowCount += band.rowCount * share;
    return inTime;
  });
  const all = around(times);
  const read = all && clipped(all, bounds);
  if (all === undefined || read === undefined) return;
  const { first, last } = read;
  const length = all.last - all.first + 1n;
  const { isDescending } = order[0];
  let width = (length * BigInt(needed) * SPARE) / BigInt(Math.max(1, Math.ceil(rowCount))) + 1n;
  const growth = fieldConditions.length > 0 ? SELECTIVE_GROWTH : GROWTH;
  for (; 2n * width < last - first; width *= growth) {
    yield isDescending ? { from: last - width + 1n, to: bounds.to } : { from: bounds.from, to: first + width };
  }
}
