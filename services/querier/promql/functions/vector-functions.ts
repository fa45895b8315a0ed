import { Labels, METRIC_NAME, NO_LABELS } from '../labels.js';
import type { LabelMatcher } from '../ast.js';
import { emptySeries, FLOAT, hasSamples, NONE, setFloat } from '../samples.js';
import { presence } from '../matching.js';
import { timeOf } from '../env.js';
import { greater, smaller } from './math.js';
import { scalarsOf, vectorOf, type ValueFunction } from './function.js';

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
export function absentSeries(isPresent: Uint8Array, labels: Labels): ReturnType<ValueFunction['run']> {
  const series = emptySeries(labels, isPresent.length, true);
  for (let step = 0; step < isPresent.length; step++) if (isPresent[step] === 0) setFloat(series, step, 1);
  return { kind: 'vector', series: hasSamples(series) ? [series] : [] };
}

/** The number of the only series, step by step; NaN where there is none or more than one. */
function onlyValue(values: Float64Array, counts: Uint32Array): Float64Array {
  return values.map((value, step) => (counts[step] === 1 ? value : NaN));
}

export const VECTOR_FUNCTIONS: Readonly<Record<string, ValueFunction>> = {
  absent: {
    kind: 'value',
    run({ expr, env, args }) {
      const [arg] = expr.args;
      const labels = arg.kind === 'vectorSelector' ? absentLabels(arg.matchers) : NO_LABELS;
      return absentSeries(presence(vectorOf(args[0]), env.steps), labels);
    },
  },
  scalar: {
    kind: 'value',
    run({ env, args }) {
      const values = new Float64Array(env.steps);
      const counts = new Uint32Array(env.steps);
      for (const series of vectorOf(args[0])) {
        for (let step = 0; step < env.steps; step++) {
          if (series.kinds[step] !== FLOAT) continue;
          counts[step]++;
          values[step] = series.values[step];
        }
      }
      return { kind: 'scalar', values: onlyValue(values, counts) };
    },
  },
  vector: {
    kind: 'value',
    run({ env, args }) {
      const values = scalarsOf(args[0], env.steps);
      const kinds = new Uint8Array(env.steps).fill(FLOAT);
      return { kind: 'vector', series: [{ labels: NO_LABELS, kinds, values, isNameDropped: false }] };
    },
  },
  /** Of what is no selector: the time of evaluation. */
  timestamp: {
    kind: 'value',
    run({ env, args }) {
      const series = vectorOf(args[0]).map(({ labels, kinds }) => {
        const result = emptySeries(labels, env.steps, true);
        for (let step = 0; step < env.steps; step++) {
          if (kinds[step] !== NONE) setFloat(result, step, timeOf(env, step) / 1000);
        }
        return result;
      });
      return { kind: 'vector', series };
    },
  },
  pi: {
    kind: 'value',
    run: ({ env }) => ({ kind: 'scalar', values: new Float64Array(env.steps).fill(Math.PI) }),
  },
  max_of: {
    kind: 'value',
    run: ({ env, args }) => {
      const [one, other] = args.map((arg) => scalarsOf(arg, env.steps));
      return { kind: 'scalar', values: one.map((value, step) => greater(value, other[step])) };
    },
  },
  min_of: {
    kind: 'value',
    run: ({ env, args }) => {
      const [one, other] = args.map((arg) => scalarsOf(arg, env.steps));
      return { kind: 'scalar', values: one.map((value, step) => smaller(value, other[step])) };
    },
  },
};
