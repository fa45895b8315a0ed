import { SERIES_WORK } from '../runtime/env.js';
import { NO_SAMPLE, type StepSeries } from '../runtime/samples.js';
import { floatFunction, ofFloats, scalarsOf, type FunctionDefinition, type ValueFunction } from './function.js';

/** Go's `max`: NaN wins, except against infinity. */
function greater(one: number, other: number): number {
  return one === Infinity || other === Infinity ? Infinity : Math.max(one, other);
}

/** Go's `min`: NaN wins, except against minus infinity. */
function smaller(one: number, other: number): number {
  return one === -Infinity || other === -Infinity ? -Infinity : Math.min(one, other);
}

const clampEach = ofFloats((value, [least, most]) => greater(least, smaller(most, value)));

/** Removes the steps at which the bounds contradict each other. */
const clamp: ValueFunction = {
  kind: 'value',
  async run(call) {
    const { scheduler, steps } = call.env;
    const [min, max] = call.args.slice(1).map((bound) => scalarsOf(bound, steps));
    const clamped = await clampEach.run(call);
    if (clamped.kind !== 'vector') return clamped;
    const series: StepSeries[] = [];
    await scheduler.each(clamped.series, SERIES_WORK + steps, (one) => {
      const kinds = one.kinds.map((kind, step) => (max[step] < min[step] ? NO_SAMPLE : kind));
      if (kinds.some((kind) => kind !== NO_SAMPLE)) series.push({ ...one, kinds });
    });
    return { kind: 'vector', series };
  },
};

function ofScalars(combine: (one: number, other: number) => number): ValueFunction {
  return {
    kind: 'value',
    run({ env, args }) {
      const [one, other] = args.map((arg) => scalarsOf(arg, env.steps));
      return { kind: 'scalar', values: one.map((value, step) => combine(value, other[step])) };
    },
  };
}

/** Functions of numbers. */
export const MATH_FUNCTIONS: readonly FunctionDefinition[] = [
  floatFunction('abs', 'Absolute value.', Math.abs),
  floatFunction('ceil', 'Rounds up to the nearest integer.', Math.ceil),
  floatFunction('floor', 'Rounds down to the nearest integer.', Math.floor),
  {
    name: 'round',
    args: { v: 'vector', to_nearest: 'scalar' },
    variadic: 1,
    doc: 'Rounds to the nearest multiple of `to_nearest`, which is 1 by default; ties are rounded up.',
    body: ofFloats((value, [nearest = 1]) => {
      const inverse = 1 / nearest;
      return Math.floor(value * inverse + 0.5) / inverse;
    }),
  },
  {
    name: 'clamp',
    args: { v: 'vector', min: 'scalar', max: 'scalar' },
    doc: 'Limits values to the range from `min` to `max`; returns nothing where `max` is less than `min`.',
    body: clamp,
  },
  {
    name: 'clamp_min',
    args: { v: 'vector', min: 'scalar' },
    doc: 'Replaces values below `min` with `min`.',
    body: ofFloats((value, [least]) => greater(value, least)),
  },
  {
    name: 'clamp_max',
    args: { v: 'vector', max: 'scalar' },
    doc: 'Replaces values above `max` with `max`.',
    body: ofFloats((value, [most]) => smaller(value, most)),
  },
  floatFunction('exp', 'Exponential function.', Math.exp),
  floatFunction('sqrt', 'Square root.', Math.sqrt),
  floatFunction('ln', 'Natural logarithm.', Math.log),
  floatFunction('log2', 'Binary logarithm.', Math.log2),
  floatFunction('log10', 'Decimal logarithm.', Math.log10),
  floatFunction('sgn', 'Sign: 1, -1 or 0.', Math.sign),
  floatFunction('sin', 'Sine of an angle in radians.', Math.sin),
  floatFunction('cos', 'Cosine of an angle in radians.', Math.cos),
  floatFunction('tan', 'Tangent of an angle in radians.', Math.tan),
  floatFunction('asin', 'Arcsine, in radians.', Math.asin),
  floatFunction('acos', 'Arccosine, in radians.', Math.acos),
  floatFunction('atan', 'Arctangent, in radians.', Math.atan),
  floatFunction('sinh', 'Hyperbolic sine.', Math.sinh),
  floatFunction('cosh', 'Hyperbolic cosine.', Math.cosh),
  floatFunction('tanh', 'Hyperbolic tangent.', Math.tanh),
  floatFunction('asinh', 'Inverse hyperbolic sine.', Math.asinh),
  floatFunction('acosh', 'Inverse hyperbolic cosine.', Math.acosh),
  floatFunction('atanh', 'Inverse hyperbolic tangent.', Math.atanh),
  floatFunction('deg', 'Converts radians to degrees.', (value) => (value * 180) / Math.PI),
  floatFunction('rad', 'Converts degrees to radians.', (value) => (value * Math.PI) / 180),
  {
    name: 'pi',
    args: {},
    returns: 'scalar',
    doc: 'The number π.',
    body: { kind: 'value', run: ({ env }) => ({ kind: 'scalar', values: new Float64Array(env.steps).fill(Math.PI) }) },
  },
  {
    name: 'max_of',
    args: { a: 'scalar', b: 'scalar' },
    returns: 'scalar',
    isExperimental: true,
    doc: 'The greater of two scalars.',
    body: ofScalars(greater),
  },
  {
    name: 'min_of',
    args: { a: 'scalar', b: 'scalar' },
    returns: 'scalar',
    isExperimental: true,
    doc: 'The smaller of two scalars.',
    body: ofScalars(smaller),
  },
];
