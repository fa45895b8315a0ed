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
      for (const series of await body.run(group, call)) results.push(series);
      continue;
    }
    const fold = body.begin(call, group.series);
    await env.scheduler.each(group.series, 1 + env.steps, (series) => fold.add(series));
    const result = newSeries(group.labels, env, group.isNameDropped);
    await env.scheduler.finish(fold.finish(result));
    if (hasSamples(result)) results.push(result);
  }
  return results;
}

async function groupsOf(
  vector: readonly StepSeries[],
  labelsOf: (labels: Labels) => Labels,
  { scheduler }: Env,
): Promise<Group[]> {
  const groups = new Map<string, { labels: Labels; series: StepSeries[]; isNameDropped: boolean }>();
  await scheduler.each(vector, SERIES_WORK, (series) => {
    const labels = labelsOf(series.labels);
    let one = groups.get(labels.key);
    if (one === undefined) {
      one = { labels, series: [], isNameDropped: false };
      groups.set(labels.key, one);
    }
    one.series.push(series);
    one.isNameDropped ||= series.isNameDropped;
  });
  return [...groups.values()];
}
