import type { Slices } from '#shared/clock/slices';
import type { Segment } from '#shared/contracts/gen/common';

import type { LabelIndex } from './label-index.js';

/** Series that a query wants. */
export interface SelectedSeries {
  /** Ascending. */
  readonly sids: Int32Array;
  /** Metric number of each; undefined where there are none. */
  readonly metrics: Uint32Array | undefined;
  /** Whether these are most of the series of their metrics; of a part, of those between its first and last number. */
  readonly areMost: boolean;
  /** Whether these are a part of what is chosen of a metric: others have numbers before or behind theirs. */
  readonly isPart: boolean;
  /** The part that these are of all that the query wants at once. */
  readonly share: number;
}

/** What leaving series out of a metric's rows costs: a third of reading them. */
const MOST = 0.75;
/** Series that are read at once: what is held of them meanwhile is several times their samples. */
const GROUP_SERIES = 65_536;
/** What it takes to look up the metric of a series, as so many numbers. */
const METRIC_WORK = 8;

/** @param sids ascending. */
export async function selectSeries(
  index: LabelIndex | undefined,
  sids: Int32Array,
  slices: Slices,
): Promise<SelectedSeries> {
  const metrics = await index?.metricsOf(sids, slices);
  const all = { sids, metrics, areMost: false, isPart: false, share: 1 };
  if (index === undefined || metrics === undefined) return all;
  const distinct = new Set<number>();
  for (const metric of metrics) {
    distinct.add(metric);
    if (slices.isOver(METRIC_WORK)) await slices.yield();
  }
  return { ...all, areMost: sids.length >= MOST * index.countOf(distinct) };
}

/** The same in groups of which each is as many as may be read at once: of whole metrics, or of one. */
export async function* inGroups(
  all: SelectedSeries,
  slices: Slices,
  most = GROUP_SERIES,
): AsyncIterable<SelectedSeries> {
  const { sids, metrics, areMost } = all;
  if (sids.length <= most) {
    yield all;
    return;
  }
  if (metrics === undefined) {
    for (let from = 0; from < sids.length; from += most) {
      const own = sids.subarray(from, from + most);
      yield { ...all, sids: own, share: own.length / sids.length };
    }
    return;
  }
  const { order, ends } = await byMetric(metrics, slices);
  const group = (from: number, to: number, isPart: boolean): SelectedSeries => {
    const places = order.subarray(from, to).sort();
    const own = { sids: new Int32Array(places.length), metrics: new Uint32Array(places.length) };
    for (let i = 0; i < places.length; i++) {
      own.sids[i] = sids[places[i]];
      own.metrics[i] = metrics[places[i]];
    }
    return { ...own, areMost, isPart, share: places.length / sids.length };
  };
  let from = 0;
  let begin = 0;
  for (const end of ends) {
    if (end - from > most && from < begin) {
      yield group(from, begin, false);
      from = begin;
    }
    for (; end - from > most; from += most) yield group(from, from + most, true);
    if (end - begin > most) {
      yield group(from, end, true);
      from = end;
    }
    begin = end;
  }
  if (from < sids.length) yield group(from, sids.length, false);
}

/** Places of series, metric by metric, ascending; and where each metric ends. */
async function byMetric(
  metrics: Uint32Array,
  slices: Slices,
): Promise<{ readonly order: Int32Array; readonly ends: readonly number[] }> {
  const counts = new Map<number, number>();
  for (const metric of metrics) {
    counts.set(metric, (counts.get(metric) ?? 0) + 1);
    if (slices.isOver(METRIC_WORK)) await slices.yield();
  }
  const nextOf = new Map<number, number>();
  const ends: number[] = [];
  let end = 0;
  for (const metric of Uint32Array.from(counts.keys()).sort()) {
    nextOf.set(metric, end);
    end += counts.get(metric) ?? 0;
    ends.push(end);
  }
  const order = new Int32Array(metrics.length);
  for (let i = 0; i < metrics.length; i++) {
    const at = nextOf.get(metrics[i]) ?? 0;
    order[at] = i;
    nextOf.set(metrics[i], at + 1);
    if (slices.isOver(METRIC_WORK)) await slices.yield();
  }
  return { order, ends };
}

/** The series that the segment can have rows of. */
export function selectedIn<T extends Pick<SelectedSeries, 'sids' | 'metrics'>>(segment: Segment, chosen: T): T {
  const { sidFirst, sidLast, hasMetrics, metricFirst, metricLast } = segment;
  const from = lowerBound(chosen.sids, sidFirst);
  const to = lowerBound(chosen.sids, sidLast + 1);
  const sids = chosen.sids.subarray(from, to);
  const metrics = hasMetrics ? chosen.metrics?.subarray(from, to) : undefined;
  if (metrics === undefined || metrics.every((metric) => metric >= metricFirst && metric <= metricLast)) {
    return { ...chosen, sids, metrics };
  }
  const isIn = (_: number, i: number): boolean => metrics[i] >= metricFirst && metrics[i] <= metricLast;
  return { ...chosen, sids: sids.filter(isIn), metrics: metrics.filter(isIn) };
}

/** How many of the numbers, which are ascending, are less than `least`. */
function lowerBound(numbers: Int32Array, least: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
