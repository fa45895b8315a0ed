import { AlmanacError } from '#shared/errors/almanac-error';

import { newSeries, SERIES_WORK, type Env } from '../runtime/env.js';
import { printHistogram } from '../histogram/histogram-text.js';
import type { Labels } from '../../series/labels.js';
import { numberText } from '../syntax/print.js';
import { histogramAt, HISTOGRAM_SAMPLE, NO_SAMPLE, setFloat, type MutableSeries, type StepSeries } from '../runtime/samples.js';
import type { AggregationCall } from './aggregation.js';

/** What it takes to print a histogram, as so many steps. */
const PRINT_WORK = 256;

/** How often each value is there at each step; one series for each value, which a label tells. */
export async function countValues(
  series: readonly StepSeries[],
  label: string,
  groupLabels: (labels: Labels) => Labels,
  { expr, env }: AggregationCall,
): Promise<StepSeries[]> {
  if (label === '') throw new AlmanacError('execute_query', `invalid label name ${JSON.stringify(label)}`);
  const results = new Map<string, MutableSeries>();
  const keyOf = (one: StepSeries): string => groupLabels(one.labels.with(label, '')).key;
  const dropped = expr.isWithout ? undefined : await keysWithoutName(series, keyOf, env);
  for (const one of series) {
    const byValue = new Map<string | number, MutableSeries>();
    const isNameDropped = dropped === undefined || (dropped.size > 0 && dropped.has(keyOf(one)));
    for (let step = 0; step < env.steps; step++) {
      if (env.limits.isDue) await env.limits.yield();
      const isHistogram = one.kinds[step] === HISTOGRAM_SAMPLE;
      env.limits.spend(isHistogram ? PRINT_WORK : 1);
      if (one.kinds[step] === NO_SAMPLE) continue;
      const value = isHistogram ? printHistogram(histogramAt(one, step)) : one.values[step];
      let result = byValue.get(value);
      if (result === undefined) {
        const text = typeof value === 'number' ? numberText(value) : value;
        result = resultOf(results, groupLabels(one.labels.with(label, text)), isNameDropped, env);
        // Zeros of both signs are one key, and not one value.
        env.limits.spend(SERIES_WORK);
        if (value !== 0) byValue.set(value, result);
      }
      setFloat(result, step, result.values[step] + 1);
    }
  }
  return [...results.values()];
}

/** What is counted together with a series whose name is dropped, at whatever step: steps are computed in parts. */
async function keysWithoutName(
  series: readonly StepSeries[],
  keyOf: (one: StepSeries) => string,
  { limits }: Env,
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for (const one of series) {
    if (!one.isNameDropped) continue;
    if (limits.isDue) await limits.yield();
    limits.spend(SERIES_WORK);
    keys.add(keyOf(one));
  }
  return keys;
}

function resultOf(
  results: Map<string, MutableSeries>,
  labels: Labels,
  isNameDropped: boolean,
  env: Env,
): MutableSeries {
  let result = results.get(labels.key);
  if (result === undefined) {
    result = newSeries(labels, env, isNameDropped);
    results.set(labels.key, result);
  }
  return result;
}
