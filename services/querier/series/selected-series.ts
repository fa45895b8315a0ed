import type { Slices } from '#shared/clock/slices';
import type { Segment } from '#shared/contracts/gen/common';

import type { LabelIndex } from './label-index.js';
import { lowerBound } from './series-sets.js';

/** Series that a query reads from one region. */
export interface SelectedSeries {
  /** Series numbers, ascending. */
  readonly sids: Int32Array;
  /** Metric number of each series; undefined if the table is not a metric table. */
  readonly metrics: Uint32Array | undefined;
  /** Whether these are most series of their metrics; for a partial group, most between its first and last series. */
  readonly isMajority: boolean;
  /** Whether this group has only some of the selected series of one metric. */
  readonly isPart: boolean;
  /** Fraction of all selected series that this group has. */
  readonly share: number;
}

/** Fraction of a metric's series above which all of them are read: skipping the others costs a third of reading them. */
const MOST = 0.75;
/** Series that are read at once. Their memory during a read is several times that of their samples. */
const GROUP_SERIES = 65_536;
/** Cost of looking up the metric of a series, in units of reading one number. */
const METRIC_WORK = 8;

/** Describes the series `sids` of a region. @param sids ascending. */
export async function selectSeries(
  index: LabelIndex | undefined,
  sids: Int32Array,
  slices: Slices,
): Promise<SelectedSeries> {
  const metrics = await index?.metricsOf(sids, slices);
  const all = { sids, metrics, isMajority: false, isPart: false, share: 1 };
  if (index === undefined || metrics === undefined) return all;
  const distinct = new Set<number>();
  for (const metric of metrics) {
    distinct.add(metric);
    if (slices.isOver(METRIC_WORK)) await slices.yield();
  }
  return { ...all, isMajority: sids.length >= MOST * index.countOf(distinct) };
}

/** Splits a selection into groups of at most `seriesMax` series: each of whole metrics, or of a part of one. */
export async function* groupsOfSeries(
  all: SelectedSeries,
  slices: Slices,
  seriesMax = GROUP_SERIES,
): AsyncIterable<SelectedSeries> {
  const { sids, metrics, isMajority: isMajority } = all;
  if (sids.length <= seriesMax) {
    yield all;
    return;
  }
  if (metrics === undefined) {
    for (let from = 0; from < sids.length; from += seriesMax) {
      const own = sids.subarray(from, from + seriesMax);
      yield { ...all, sids: own, share: own.length / sids.length };
    }
    return;
  }
  const { order, ends } = await byMetric(metrics, slices);
  const group = (from: number, to: number, isPart: boolean): SelectedSeries => {
    const positions = order.subarray(from, to).sort();
    const own = { sids: new Int32Array(positions.length), metrics: new Uint32Array(positions.length) };
    for (let i = 0; i < positions.length; i++) {
      own.sids[i] = sids[positions[i]];
      own.metrics[i] = metrics[positions[i]];
    }
    return { ...own, isMajority: isMajority, isPart, share: positions.length / sids.length };
  };
  let from = 0;
  let begin = 0;
  for (const end of ends) {
    if (end - from > seriesMax && from < begin) {
      yield group(from, begin, false);
      from = begin;
    }
    for (; end - from > seriesMax; from += seriesMax) yield group(from, from + seriesMax, true);
    if (end - begin > seriesMax) {
      yield group(from, end, true);
      from = end;
    }
    begin = end;
  }
  if (from < sids.length) yield group(from, sids.length, false);
}

/** Returns the positions of the series ordered by metric, then ascending, and the end of each metric. */
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

/** Returns the part of a selection that a segment can have rows of. */
export function selectedIn<T extends Pick<SelectedSeries, 'sids' | 'metrics'>>(segment: Segment, selected: T): T {
  const { sidFirst, sidLast, hasMetrics, metricFirst, metricLast } = segment;
  const from = lowerBound(selected.sids, sidFirst);
  const to = lowerBound(selected.sids, sidLast + 1);
  const sids = selected.sids.subarray(from, to);
  const metrics = hasMetrics ? selected.metrics?.subarray(from, to) : undefined;
  if (metrics === undefined || metrics.every((metric) => metric >= metricFirst && metric <= metricLast)) {
    return { ...selected, sids, metrics };
  }
  const isIn = (_: number, i: number): boolean => metrics[i] >= metricFirst && metrics[i] <= metricLast;
  return { ...selected, sids: sids.filter(isIn), metrics: metrics.filter(isIn) };
}
