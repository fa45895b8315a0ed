import type { LabelMatcher } from '../../series/matcher.js';
import { newSeries, type Env, type Value } from '../runtime/env.js';
import { Labels, METRIC_NAME } from '../../series/labels.js';
import { hasSamples, setFloat } from '../runtime/samples.js';

/** What a vector without anything would have been: the labels that its selector asks for. */
export function absentLabels(matchers: readonly LabelMatcher[]): Labels {
  const values = new Map<string, string>();
  const unclear = new Set<string>();
  for (const { name, op, value } of matchers) {
    if (name === METRIC_NAME) continue;
    if (op !== '=' || values.has(name)) unclear.add(name);
    else values.set(name, value);
  }
  return Labels.of([...values].filter(([name]) => !unclear.has(name)));
}

/** One series of 1 at each step at which nothing is there. */
export async function absentSeries(isPresent: Uint8Array, labels: Labels, env: Env): Promise<Value> {
  const series = newSeries(labels, env, true);
  await env.limits.inSlices(isPresent.length, (from, to) => {
    for (let step = from; step < to; step++) if (isPresent[step] === 0) setFloat(series, step, 1);
  });
  return { kind: 'vector', series: hasSamples(series) ? [series] : [] };
}
