import type { Slices } from '#shared/clock/slices';
import type { Table } from '#shared/contracts/gen/common';

import { selectedIn, type SelectedSeries } from '../series/selected-series.js';
import { MS_PER } from '../series/millis.js';
import type { SampleView } from './sample-layout.js';
import type { SegmentRequest } from './segment-samples.js';
import { timeUnitOfTable } from './series-in-range.js';

/** Times of segments are loaded in slices of so much, so that a window that moves finds the most of it there. */
const SLICE_MS = 2 * 3_600_000;

/** Milliseconds, open on the left. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What is wanted of the segments that can have rows of the series in the range, in the order of their sequences. */
export async function segmentRequests(
  view: SampleView,
  table: Table,
  { range: { fromMs, toMs }, chosen, slices }: { range: TimeRange; chosen: SelectedSeries; slices: Slices },
): Promise<SegmentRequest[]> {
  const factor = MS_PER[timeUnitOfTable(table)];
  const wanted: SegmentRequest[] = [];
  for (const segment of view.manifest.segments) {
    const { timeFirst, timeLast } = segment;
    if (Number(timeLast) * factor < fromMs || Number(timeFirst) * factor - 1 > toMs) continue;
    const own = selectedIn(segment, chosen);
    if (slices.isOver(chosen.sids.length)) await slices.yield();
    if (own.sids.length === 0) continue;
    const first = Math.floor(Number(timeFirst) * factor) - 1;
    const last = Math.ceil(Number(timeLast) * factor) + 1;
    const range = {
      fromMs: Math.max(first, Math.floor(fromMs / SLICE_MS) * SLICE_MS),
      toMs: Math.min(last, Math.ceil(toMs / SLICE_MS) * SLICE_MS),
    };
    wanted.push({ segment, ...own, range, isWhole: range.fromMs === first && range.toMs === last });
  }
  return wanted.sort((a, b) => (a.segment.sequenceFrom < b.segment.sequenceFrom ? -1 : 1));
}
