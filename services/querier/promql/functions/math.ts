import { SERIES_WORK } from '../runtime/env.js';
import type { StepSeries } from '../runtime/samples.js';
import { ofFloats, type ValueFunction } from './function.js';

const TAU = Math.PI;

/** Functions of one number. */
export const MATH: Readonly<Record<string, ValueFunction>> = {
  abs: ofFloats(Math.abs),
  ceil: ofFloats(Math.ceil),
  floor: ofFloats(Math.floor),
  exp: ofFloats(Math.exp),
  sqrt: ofFloats(Math.sqrt),
  ln: ofFloats(Math.log),
  log2: ofFloats(Math.log2),
  log10: ofFloats(Math.log10),
  sgn: ofFloats(Math.sign),
  sin: ofFloats(Math.sin),
  cos: ofFloats(Math.cos),
  tan: ofFloats(Math.tan),
  asin: ofFloats(Math.asin),
  acos: ofFloats(Math.acos),
  atan: ofFloats(Math.atan),
  sinh: ofFloats(Math.sinh),
  cosh: ofFloats(Math.cosh),
  tanh: ofFloats(Math.tanh),
  asinh: ofFloats(Math.asinh),
  acosh: ofFloats(Math.acosh),
  atanh: ofFloats(Math.atanh),
  deg: ofFloats((value) => (value * 180) / TAU),
  rad: ofFloats((value) => (value * TAU) / 180),
  /** To the nearest multiple; ties go up. */
  round: ofFloats((value, [to = 1]) => {
    const inverse = 1 / to;
    return Math.floor(value * inverse + 0.5) / inverse;
  }),
  clamp_min: ofFloats((value, [least]) => greater(value, least)),
  clamp_max: ofFloats((value, [most]) => smaller(value, most)),
  clamp: {
    kind: 'value',
    async run(call) {
      const [vector, min, max] = call.args;
      const limits = { min: values(min, call.env.steps), max: values(max, call.env.steps) };
      const clamped = await CLAMP.run({ ...call, args: [vector, min, max] });
      if (clamped.kind !== 'vector') return clamped;
      const series: StepSeries[] = [];
      for (const one of clamped.series) {
        call.env.limits.spend(SERIES_WORK + one.kinds.length);
        if (call.env.limits.isDue) await call.env.limits.yield();
        const kinds = one.kinds.map((kind, step) => (limits.max[step] < limits.min[step] ? 0 : kind));
        if (kinds.some((kind) => kind !== 0)) series.push({ ...one, kinds });
      }
      return { kind: 'vector', series };
    },
  },
};

const CLAMP = ofFloats((value, [least, most]) => greater(least, smaller(most, value)));

function values(value: Parameters<ValueFunction['run']>[0]['args'][number], steps: number): Float64Array {
  return value.kind === 'scalar' ? value.values : new Float64Array(steps);
}

/** Go's `max`: NaN wins, but for infinity. */
export function greater(one: number, other: number): number {
  if (one === Infinity || other === Infinity) return Infinity;
  return Math.max(one, other);
}

/** Go's `min`: NaN wins, but for minus infinity. */
export function smaller(one: number, other: number): number {
  if (one === -Infinity || other === -Infinity) return -Infinity;
  return Math.min(one, other);
}
