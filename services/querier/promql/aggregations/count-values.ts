import { AlmanacError } from '#shared/errors/almanac-error';

import { newSeries, type Env } from '../env.js';
import { printHistogram } from '../histogram/print.js';
import type { Labels } from '../labels.js';
import { numberText } from '../print.js';
import { histogramAt, HISTOGRAM, NONE, setFloat, type MutableSeries, type StepSeries } from '../samples.js';

/** How often each value is there at each step; one series for each value, which a label tells. */
export function countValues(
  series: readonly StepSeries[],
  label: string,
  groupLabels: (labels: Labels) => Labels,
  env: Env,
): StepSeries[] {
  if (label === '') throw new AlmanacError('execute_query', `invalid label name ${JSON.stringify(label)}`);
  const results = new Map<string, MutableSeries>();
  for (const one of series) {
    for (let step = 0; step < env.steps; step++) {
      if (one.kinds[step] === NONE) continue;
      const isHistogram = one.kinds[step] === HISTOGRAM;
      const text = isHistogram ? printHistogram(histogramAt(one, step)) : numberText(one.values[step]);
      const labels = groupLabels(one.labels.with(label, text));
      let result = results.get(labels.key);
      if (result === undefined) {
        result = newSeries(labels, env, one.isNameDropped);
        results.set(labels.key, result);
      }
      setFloat(result, step, result.values[step] + 1);
    }
  }
  return [...results.values()];
}
