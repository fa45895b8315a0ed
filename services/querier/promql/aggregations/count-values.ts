import { AlmanacError } from '#shared/errors/almanac-error';

import type { Labels } from '../../series/labels.js';
import { goQuoted, isValidUtf8 } from '../common/go-string.js';
import { numberText } from '../common/number-text.js';
import { histogramText } from '../histogram/histogram-text.js';
import { newSeries, SERIES_WORK, type Env } from '../runtime/env.js';
import {
  histogramAt,
  HISTOGRAM_SAMPLE,
  NO_SAMPLE,
  setFloat,
  type MutableSeries,
  type StepSeries,
} from '../runtime/samples.js';
import type { Units } from '../runtime/scheduler.js';
import { groupingOf, type AggregationCall, type PromAggregation } from './aggregation.js';

/** Cost of formatting a histogram, in units of reading one float. */
const HISTOGRAM_TEXT_WORK = 256;

/** Counts each value per step; one series for each value, which a label holds. */
async function countValues(
  series: readonly StepSeries[],
  { expr, env, label }: AggregationCall,
): Promise<StepSeries[]> {
  const groupLabels = groupingOf(expr, label);
  const results = new Map<string, MutableSeries>();
  const keyOf = (one: StepSeries): string => groupLabels(one.labels.with(label, '')).key;
  const dropped = expr.isWithout ? undefined : await keysWithoutName(series, keyOf, env);
  function* count(one: StepSeries): Units<void> {
    const byValue = new Map<string | number, MutableSeries>();
    const isNameDropped = dropped === undefined || (dropped.size > 0 && dropped.has(keyOf(one)));
    for (let step = 0; step < env.steps; step++) {
      if (env.scheduler.isDue) yield;
      const isHistogram = one.kinds[step] === HISTOGRAM_SAMPLE;
      env.limits.spend(isHistogram ? HISTOGRAM_TEXT_WORK : 1);
      if (one.kinds[step] === NO_SAMPLE) continue;
      const value = isHistogram ? histogramText(histogramAt(one, step)) : one.values[step];
      let result = byValue.get(value);
      if (result === undefined) {
        const text = typeof value === 'number' ? numberText(value) : value;
        result = resultOf(results, groupLabels(one.labels.with(label, text)), isNameDropped, env);
        env.limits.spend(SERIES_WORK);
        // 0 and -0 are the same key of a map, and different values.
        if (value !== 0) byValue.set(value, result);
      }
      setFloat(result, step, result.values[step] + 1);
    }
  }
  for (const one of series) await env.scheduler.finish(count(one));
  return [...results.values()];
}

/** Returns the keys of groups with a series whose name is dropped, at any step: steps are computed in chunks. */
async function keysWithoutName(
  series: readonly StepSeries[],
  keyOf: (one: StepSeries) => string,
  { scheduler }: Env,
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  const dropped = series.filter(({ isNameDropped }) => isNameDropped);
  await scheduler.each(dropped, SERIES_WORK, (one) => keys.add(keyOf(one)));
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

/** `count_values`. */
export const COUNT_VALUES: PromAggregation = {
  name: 'count_values',
  param: { name: 'label', type: 'string' },
  addsLabel: true,
  doc: 'Number of series with each distinct value; `label` of the results holds the value.',
  checkParam({ label }) {
    if (label !== '' && isValidUtf8(label)) return;
    throw new AlmanacError('execute_query', `invalid label name ${goQuoted(label)}`);
  },
  body: { kind: 'whole', run: countValues },
};
