import { absentLabels, absentSeries } from './absent.js';
import { newSeries, stepTimeMs } from '../runtime/env.js';
import { NO_LABELS } from '../../series/labels.js';
import { presence } from '../eval/matching.js';
import { FLOAT_SAMPLE, NO_SAMPLE, setFloat, type StepSeries } from '../runtime/samples.js';
import { greater, smaller } from './math.js';
import { scalarsOf, vectorOf, type ValueFunction } from './function.js';

/** The number of the only series, step by step; NaN where there is none or more than one. */
function onlyValue(values: Float64Array, counts: Uint32Array): Float64Array {
  return values.map((value, step) => (counts[step] === 1 ? value : NaN));
}

export const VECTOR_FUNCTIONS: Readonly<Record<string, ValueFunction>> = {
  absent: {
    kind: 'value',
    async run({ expr, env, args }) {
      const [arg] = expr.args;
      const labels = arg.kind === 'vectorSelector' ? absentLabels(arg.matchers) : NO_LABELS;
      return absentSeries(await presence(vectorOf(args[0]), env), labels, env);
    },
  },
  scalar: {
    kind: 'value',
    async run({ env, args }) {
      const values = new Float64Array(env.steps);
      const counts = new Uint32Array(env.steps);
      for (const series of vectorOf(args[0])) {
        env.limits.spend(1 + env.steps);
        if (env.limits.isDue) await env.limits.yield();
        for (let step = 0; step < env.steps; step++) {
          if (series.kinds[step] !== FLOAT_SAMPLE) continue;
          counts[step]++;
          values[step] = series.values[step];
        }
      }
      return { kind: 'scalar', values: onlyValue(values, counts) };
    },
  },
  vector: {
    kind: 'value',
    // It shares the array of its argument.
    isWhole: true,
    run({ env, args }) {
      const values = scalarsOf(args[0], env.steps);
      const kinds = new Uint8Array(env.steps).fill(FLOAT_SAMPLE);
      return { kind: 'vector', series: [{ labels: NO_LABELS, kinds, values, isNameDropped: false }] };
    },
  },
  /** Of what is no selector: the time of evaluation. */
  timestamp: {
    kind: 'value',
    async run({ env, args }) {
      const series: StepSeries[] = [];
      for (const { labels, kinds } of vectorOf(args[0])) {
        if (env.limits.isDue) await env.limits.yield();
        const result = newSeries(labels, env, true);
        for (let step = 0; step < env.steps; step++) {
          if (kinds[step] !== NO_SAMPLE) setFloat(result, step, stepTimeMs(env, step) / 1000);
        }
        series.push(result);
      }
      return { kind: 'vector', series };
    },
  },
  /** Only of a selector there is one. */
  start_timestamp: {
    kind: 'value',
    run: () => ({ kind: 'vector', series: [] }),
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
