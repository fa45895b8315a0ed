import type { Aggregation } from '../syntax/ast.js';
import type { AggregationCall, Group, GroupReducer } from '../aggregations/aggregation.js';
import { countValues } from '../aggregations/count-values.js';
import { bottomk, limitk, limitRatio, topk, type GroupPicker } from '../aggregations/pick.js';
import { count, group, max, min, quantile, stddev, stdvar } from '../aggregations/statistics.js';
import { avg, sum } from '../aggregations/sum-avg.js';
import { newSeries, SERIES_WORK, type Env } from '../runtime/env.js';
import { METRIC_NAME, type Labels, NO_LABELS } from '../../series/labels.js';
import { numberText } from '../syntax/print.js';
import { hasSamples, type StepSeries } from '../runtime/samples.js';

const REDUCERS: Readonly<Record<string, GroupReducer>> = {
  ...{ sum, avg, min, max, count, group, stddev, stdvar, quantile },
};
const PICKERS: Readonly<Record<string, GroupPicker>> = { topk, bottomk, limitk, limit_ratio: limitRatio };

/** Aggregates a vector; `label` is the parameter of `count_values`. */
export async function aggregate(
  vector: readonly StepSeries[],
  call: AggregationCall,
  label: string,
): Promise<StepSeries[]> {
  const { expr, env, param } = call;
  if (expr.op === 'count_values') return countValues(vector, label, grouping(expr, label), call);
  if (expr.op === 'quantile') warnOfQuantiles(call, param ?? new Float64Array(0));
  const picker = PICKERS[expr.op];
  // What is wrong with the parameter is told even of nothing.
  if (picker !== undefined && vector.length === 0) {
    await picker({ labels: NO_LABELS, series: [], isNameDropped: false }, call);
  }
  const groups = await groupsOf(vector, grouping(expr), env);
  if (picker !== undefined) {
    const picked: StepSeries[] = [];
    for (const one of groups) {
      if (env.limits.isDue) await env.limits.yield();
      for (const series of await picker(one, call)) picked.push(series);
    }
    return picked;
  }
  const found: StepSeries[] = [];
  for (const one of groups) {
    const result = newSeries(one.labels, env, one.isNameDropped);
    const running = REDUCERS[expr.op](one, result, call);
    if (running !== undefined) await running;
    if (env.limits.isDue) await env.limits.yield();
    if (hasSamples(result)) found.push(result);
  }
  return found;
}

/** The labels of the group that a series is in. @param added label that `count_values` makes. */
function grouping({ grouping: names, isWithout, op }: Aggregation, added?: string): (labels: Labels) => Labels {
  if (isWithout) {
    const removed = new Set(op === 'count_values' ? names : [...names, METRIC_NAME]);
    return (labels) => labels.without(removed);
  }
  const kept = new Set(added === undefined ? names : [...names, added]);
  return (labels) => labels.only(kept);
}

async function groupsOf(
  vector: readonly StepSeries[],
  labelsOf: (labels: Labels) => Labels,
  { limits }: Env,
): Promise<Group[]> {
  const groups = new Map<string, { labels: Labels; series: StepSeries[]; isNameDropped: boolean }>();
  for (const series of vector) {
    limits.spend(SERIES_WORK);
    if (limits.isDue) await limits.yield();
    const labels = labelsOf(series.labels);
    let one = groups.get(labels.key);
    if (one === undefined) {
      one = { labels, series: [], isNameDropped: false };
      groups.set(labels.key, one);
    }
    one.series.push(series);
    one.isNameDropped ||= series.isNameDropped;
  }
  return [...groups.values()];
}

function warnOfQuantiles({ expr, env }: AggregationCall, quantiles: Float64Array): void {
  let last: number | undefined;
  for (const q of quantiles) {
    if ((q >= 0 && q <= 1) || Object.is(q, last)) continue;
    last = q;
    env.annotations.warn(`quantile value should be between 0 and 1, got ${numberText(q)}`, expr.param ?? expr);
  }
}
