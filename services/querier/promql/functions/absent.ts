import { Labels, NO_LABELS } from '../../series/labels.js';
import { METRIC_NAME } from '#shared/schema/metric-table';
import type { LabelMatcher } from '../../series/matcher.js';
import { newSeries, SERIES_WORK, type Env, type Value } from '../runtime/env.js';
import { hasSamples, presence, setFloat } from '../runtime/samples.js';
import { fillWindows } from '../runtime/select.js';
import { vectorOf, type FunctionDefinition, type ExpressionFunction, type ValueFunction } from './function.js';

/** Returns the labels that a missing series would have: those of unambiguous `=` matchers. */
function absentLabels(matchers: readonly LabelMatcher[]): Labels {
  const values = new Map<string, string>();
  const ambiguous = new Set<string>();
  for (const { name, op, value } of matchers) {
    if (name === METRIC_NAME) continue;
    if (op !== '=' || values.has(name)) ambiguous.add(name);
    else values.set(name, value);
  }
  return Labels.of([...values].filter(([name]) => !ambiguous.has(name)));
}

/** Returns a series of 1 at each step that has no sample. */
async function absentSeries(isPresent: Uint8Array, labels: Labels, env: Env): Promise<Value> {
  const series = newSeries(labels, env, true);
  await env.scheduler.ranges(isPresent.length, 1, (from, to) => {
    for (let step = from; step < to; step++) if (isPresent[step] === 0) setFloat(series, step, 1);
  });
  return { kind: 'vector', series: hasSamples(series) ? [series] : [] };
}

const absentBody: ValueFunction = {
  kind: 'value',
  async run({ expr, env, args }) {
    const [arg] = expr.args;
    const labels = arg.kind === 'vectorSelector' ? absentLabels(arg.matchers) : NO_LABELS;
    return absentSeries(await presence(vectorOf(args[0]), env), labels, env);
  },
};

const absentOverTimeBody: ExpressionFunction = {
  kind: 'expression',
  async run(expr, env, evaluator) {
    const [arg] = expr.args;
    const { samples, windows } = await evaluator.range(arg, env);
    const isPresent = new Uint8Array(env.steps);
    for (const one of samples) {
      env.limits.spend(SERIES_WORK);
      await env.scheduler.ranges(env.steps, 1, (from, to) => {
        fillWindows(windows, one, from, to);
        for (let step = from; step < to; step++) if (windows.to[step] > windows.from[step]) isPresent[step] = 1;
      });
    }
    const labels = arg.kind === 'matrixSelector' ? absentLabels(arg.selector.matchers) : NO_LABELS;
    return absentSeries(isPresent, labels, env);
  },
};

/** Functions that test for missing series. */
export const ABSENT_FUNCTIONS: readonly FunctionDefinition[] = [
  {
    name: 'absent',
    args: { v: 'vector' },
    keepsValues: true,
    dropsLabels: true,
    doc: 'Returns 1 if `v` is empty, else nothing; with the labels of the `=` matchers where `v` is a selector.',
    body: absentBody,
  },
  {
    name: 'absent_over_time',
    args: { v: 'matrix' },
    dropsLabels: true,
    doc: 'Returns 1 if no series has a sample in the range, else nothing; labels as with `absent`.',
    body: absentOverTimeBody,
  },
];
