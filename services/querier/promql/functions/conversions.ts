import { NO_LABELS } from '../../series/labels.js';
import { FLOAT_SAMPLE, floatSeries } from '../runtime/samples.js';
import { scalarsOf, vectorOf, type FunctionDefinition, type ValueFunction } from './function.js';

const scalarBody: ValueFunction = {
  kind: 'value',
  async run({ env, args }) {
    const values = new Float64Array(env.steps);
    const counts = new Uint32Array(env.steps);
    await env.scheduler.each(vectorOf(args[0]), 1 + env.steps, (series) => {
      for (let step = 0; step < env.steps; step++) {
        if (series.kinds[step] !== FLOAT_SAMPLE) continue;
        counts[step]++;
        values[step] = series.values[step];
      }
    });
    return { kind: 'scalar', values: values.map((value, step) => (counts[step] === 1 ? value : NaN)) };
  },
};

const vectorBody: ValueFunction = {
  kind: 'value',
  // The result shares the array of the argument.
  isWhole: true,
  run({ env, args }) {
    const values = scalarsOf(args[0], env.steps);
    const kinds = new Uint8Array(env.steps).fill(FLOAT_SAMPLE);
    return { kind: 'vector', series: [floatSeries(NO_LABELS, kinds, values, false)] };
  },
};

/** Conversions between scalars and vectors. */
export const CONVERSION_FUNCTIONS: readonly FunctionDefinition[] = [
  {
    name: 'scalar',
    args: { v: 'vector' },
    returns: 'scalar',
    dropsLabels: true,
    doc: 'The value of a vector with exactly one float, else NaN.',
    body: scalarBody,
  },
  {
    name: 'vector',
    args: { s: 'scalar' },
    dropsLabels: true,
    doc: 'A vector of one element without labels.',
    body: vectorBody,
  },
];
