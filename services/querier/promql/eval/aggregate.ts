import { invariant } from '#shared/errors/invariant';

import type { Labels } from '../../series/labels.js';
import { groupingOf, type AggregationCall, type Group } from '../aggregations/aggregation.js';
import { AGGREGATIONS } from '../aggregations/registry.js';
import { newSeries, SERIES_WORK, type Env } from '../runtime/env.js';
import { hasSamples, type StepSeries } from '../runtime/samples.js';

/** Aggregates a vector. @throws `execute_query` for a parameter out of range. */
export async function aggregate(vector: readonly StepSeries[], call: AggregationCall): Promise<StepSeries[]> {
  const { expr, env } = call;
  const aggregation = AGGREGATIONS.get(expr.op);
  invariant(aggregation !== undefined, `aggregation ${expr.op} is not registered`);
  const { checkParam, body } = aggregation;
  checkParam?.(call);
  if (body.kind === 'whole') return body.run(vector, call);
  const results: StepSeries[] = [];
  for (const group of await groupsOf(vector, groupingOf(expr), env)) {
    if (body.kind === 'pick') {
      if (env.limits.isDue) await env.limits.yield();
      for (const series of await body.run(group, call)) results.push(series);
      continue;
    }
    const result = newSeries(group.labels, env, group.isNameDropped);
    const running = body.run(group, result, call);
    if (running !== undefined) await running;
    if (env.limits.isDue) await env.limits.yield();
    if (hasSamples(result)) results.push(result);
  }
  return results;
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
