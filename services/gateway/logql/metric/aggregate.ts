import type { VectorAggregation } from '../syntax/ast.js';
import { emptySeries, groupedLabels, seriesKey, type MetricSeries } from './series.js';

type Combine = (values: readonly number[]) => number;

const COMBINATIONS: Readonly<Record<string, Combine>> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  avg: mean,
  min: (values) => values.reduce((least, value) => (value < least || Number.isNaN(least) ? value : least)),
  max: (values) => values.reduce((most, value) => (value > most || Number.isNaN(most) ? value : most)),
  count: (values) => values.length,
  stddev: (values) => Math.sqrt(variance(values)),
  stdvar: variance,
};

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function variance(values: readonly number[]): number {
  const center = mean(values);
  return values.reduce((sum, value) => sum + (value - center) ** 2, 0) / values.length;
}

/** Aggregates series at each step. */
export function aggregateSeries(
  { fn, parameter, grouping }: VectorAggregation,
  series: readonly MetricSeries[],
  count: number,
): MetricSeries[] {
  if (fn.startsWith('sort')) return sorted(series, fn === 'sort_desc');
  const groups = new Map<string, MetricSeries[]>();
  for (const one of series) {
    const key = seriesKey(groupedLabels(one.labels, grouping));
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  if (fn === 'topk' || fn === 'bottomk') {
    return [...groups.values()].flatMap((group) => selected(group, count, { most: parameter!, isTop: fn === 'topk' }));
  }
  const combine = COMBINATIONS[fn];
  return [...groups.values()].map((group) => {
    const out = emptySeries(groupedLabels(group[0].labels, grouping), count);
    const values: number[] = [];
    for (let step = 0; step < count; step++) {
      values.length = 0;
      for (const one of group) if (one.present[step] === 1) values.push(one.values[step]);
      if (values.length === 0) continue;
      out.values[step] = combine(values);
      out.present[step] = 1;
    }
    return out;
  });
}

/** Keeps the largest or smallest values of a group at each step. */
function selected(
  group: readonly MetricSeries[],
  count: number,
  { most, isTop }: { readonly most: number; readonly isTop: boolean },
): MetricSeries[] {
  const out = group.map(({ labels, values }) => ({ labels, values, present: new Uint8Array(count) }));
  for (let step = 0; step < count; step++) {
    const there = group.map((_one, i) => i).filter((i) => group[i].present[step] === 1);
    there.sort((a, b) => order(group[a].values[step], group[b].values[step], isTop));
    for (const i of there.slice(0, most)) out[i].present[step] = 1;
  }
  const kept = out.filter(({ present }) => present.includes(1));
  // The result of an instant query is in the order of the values.
  return count === 1 ? sorted(kept, isTop) : kept;
}

function sorted(series: readonly MetricSeries[], isDescending: boolean): MetricSeries[] {
  return [...series].sort((a, b) => order(a.values[0], b.values[0], isDescending));
}

/** NaN is last. */
function order(a: number, b: number, isDescending: boolean): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return isDescending ? b - a : a - b;
}
