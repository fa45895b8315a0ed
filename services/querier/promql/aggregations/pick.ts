import { AlmanacError } from '#shared/errors/almanac-error';

import { hashLabels } from '../hash-labels.js';
import { FLOAT, HISTOGRAM, NONE, hasSamples, type StepSeries } from '../samples.js';
import type { AggregationCall, Group } from './aggregation.js';

/** An aggregation that gives some of its series as they are. */
export type GroupPicker = (group: Group, call: AggregationCall) => StepSeries[];

const INT64_MAX = 9223372036854774784;
const INT64_MIN = -(2 ** 63);

/** The k greatest values of each step; numbers before NaN. */
export const topk: GroupPicker = (group, call) => byRank(group, call, (a, b) => b - a);
/** The k smallest values of each step; numbers before NaN. */
export const bottomk: GroupPicker = (group, call) => byRank(group, call, (a, b) => a - b);

/** Some k series of each step, the same ones as long as they are there. */
export const limitk: GroupPicker = (group, call) => {
  const counts = countsOf(call);
  return kept(group.series, call, (step) => {
    const present = indexesAt(group.series, step);
    return present.slice(0, Math.max(0, counts[step]));
  });
};

/** The share of the series whose labels hash below a bound; a negative share gives those that the positive rest leaves. */
export const limitRatio: GroupPicker = (group, call) => {
  const { expr, env, param } = call;
  const shares = group.series.map(({ labels }) => hashLabels(labels));
  const at = expr.param ?? expr;
  return kept(group.series, call, (step) => {
    const asked = param?.[step] ?? 0;
    if (Number.isNaN(asked)) throw new AlmanacError('execute_query', 'Ratio value is NaN');
    const ratio = Math.max(-1, Math.min(1, asked));
    if (ratio !== asked) {
      env.notes.warn(`ratio value should be between -1 and 1, got ${asked}, capping to ${ratio}`, at);
    }
    return indexesAt(group.series, step).filter((i) => (ratio >= 0 ? shares[i] < ratio : shares[i] >= 1 + ratio));
  });
};

function byRank(group: Group, call: AggregationCall, compare: (a: number, b: number) => number): StepSeries[] {
  const { expr, env } = call;
  const counts = countsOf(call);
  const { series } = group;
  const order = new Map<number, number>();
  const picked = kept(series, call, (step) => {
    if (series.some(({ kinds }) => kinds[step] === HISTOGRAM)) {
      env.notes.info(`ignored histogram in ${expr.op} aggregation`, expr);
    }
    const ranked = indexesAt(series, step)
      .filter((i) => series[i].kinds[step] === FLOAT)
      .sort((a, b) => compareWithNan(series[a].values[step], series[b].values[step], compare) || a - b)
      .slice(0, Math.max(0, counts[step]));
    for (const [rank, i] of ranked.entries()) order.set(i, rank);
    return ranked;
  });
  if (env.steps > 1) return picked;
  const rankOf = (one: StepSeries): number => order.get(series.findIndex(({ labels }) => labels === one.labels)) ?? 0;
  return picked.sort((a, b) => rankOf(a) - rankOf(b));
}

function compareWithNan(a: number, b: number, compare: (a: number, b: number) => number): number {
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
  return Number.isNaN(b) ? -1 : compare(a, b);
}

function indexesAt(series: readonly StepSeries[], step: number): number[] {
  const present: number[] = [];
  for (let i = 0; i < series.length; i++) if (series[i].kinds[step] !== NONE) present.push(i);
  return present;
}

/** The series at the steps at which they are chosen. */
function kept(
  series: readonly StepSeries[],
  { env }: AggregationCall,
  choose: (step: number) => readonly number[],
): StepSeries[] {
  const masks = series.map(() => new Uint8Array(env.steps));
  for (let step = 0; step < env.steps; step++) for (const i of choose(step)) masks[i][step] = 1;
  return series
    .map((one, i): StepSeries => ({
      ...one,
      kinds: one.kinds.map((kind, step) => (masks[i][step] === 1 ? kind : NONE)),
    }))
    .filter(hasSamples);
}

/** How many are wanted at each step. */
function countsOf({ env, param }: AggregationCall): Float64Array {
  const counts = new Float64Array(env.steps);
  const values = param ?? counts;
  // Nothing is asked of a parameter that never wants any.
  if (values.every((value) => value < 1)) return counts;
  for (let step = 0; step < env.steps; step++) {
    const value = values[step];
    if (Number.isNaN(value)) throw new AlmanacError('execute_query', 'Parameter value is NaN');
    if (value >= INT64_MAX) throw new AlmanacError('execute_query', `Scalar value ${value} overflows int64`);
    if (value <= INT64_MIN) throw new AlmanacError('execute_query', `Scalar value ${value} underflows int64`);
    counts[step] = Math.trunc(value);
  }
  return counts;
}
