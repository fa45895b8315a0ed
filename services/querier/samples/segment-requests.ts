import type { Slices } from '#shared/clock/slices';
import type { Table } from '#shared/contracts/gen/common';

import { selectedIn, type SelectedSeries } from '../series/selected-series.js';
import { MS_PER } from '../series/millis.js';
import type { SampleView } from './sample-layout.js';
import type { SegmentRequest } from './segment-samples.js';
import { timeUnitOfTable } from './series-in-range.js';

/** Granularity of the loaded times: a moving window finds most of its samples in the cache. */
const SLICE_MS = 2 * 3_600_000;

/** Segments of at most this length are loaded as a whole: decoding them again for a longer range would cost more. */
export const WHOLE_MS = 2 * SLICE_MS;

/** Range of times in milliseconds, open on the left. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Returns requests for the segments that may have rows of the series in the range, in the order of their sequences. */
export async function segmentRequests(
  view: SampleView,
  table: Table,
  { range: { fromMs, toMs }, selected, slices }: { range: TimeRange; selected: SelectedSeries; slices: Slices },
): Promise<SegmentRequest[]> {
  const factor = MS_PER[timeUnitOfTable(table)];
  const requests: SegmentRequest[] = [];
  for (const segment of view.manifest.segments) {
    const { timeFirst, timeLast } = segment;
    if (Number(timeLast) * factor < fromMs || Number(timeFirst) * factor - 1 > toMs) continue;
    const own = selectedIn(segment, selected);
    if (slices.isOver(selected.sids.length)) await slices.yield();
    if (own.sids.length === 0) continue;
    const first = Math.floor(Number(timeFirst) * factor) - 1;
    const last = Math.ceil(Number(timeLast) * factor) + 1;
    const range =
      last - first <= WHOLE_MS
        ? { fromMs: first, toMs: last }
        : {
            fromMs: Math.max(first, Math.floor(fromMs / SLICE_MS) * SLICE_MS),
            toMs: Math.min(last, Math.ceil(toMs / SLICE_MS) * SLICE_MS),
          };
    requests.push({ segment, ...own, range, isWhole: range.fromMs === first && range.toMs === last });
  }
  return requests.sort((a, b) => (a.segment.sequenceFrom < b.segment.sequenceFrom ? -1 : 1));
}
