import type { Call, Expr, FunctionSignature } from '../ast.js';
import type { Env } from '../env.js';
import type { MutableSeries, SampleSeries, StepSeries } from '../samples.js';
import type { Windows } from '../select.js';
import type { Value } from '../value.js';

/** What a function over a range vector may need besides the samples. */
export interface RangeContext {
  readonly env: Env;
  /** The range argument, which annotations name. */
  readonly arg: Expr;
  readonly rangeMs: number;
  /** Scalar arguments, a value for each step. */
  readonly params: readonly Float64Array[];
  /** Notes the place of a scalar argument. */
  readonly paramExprs: readonly Expr[];
}

/** A function over a range vector: one pass over a series with the windows of all steps. */
export interface RangeFunction {
  readonly kind: 'range';
  readonly keepsName: boolean;
  readonly run: (series: SampleSeries, windows: Windows, result: MutableSeries, context: RangeContext) => void;
}

/** What a function over values gets. */
export interface ValueCall {
  readonly expr: Call;
  readonly env: Env;
  readonly args: readonly Value[];
}

/** A function over vectors, scalars and strings. */
export interface ValueFunction {
  readonly kind: 'value';
  readonly run: (call: ValueCall) => Value;
}

export type PromFunction = RangeFunction | ValueFunction;

/** A function with its name and signature. */
export interface FunctionEntry {
  readonly signature: FunctionSignature;
  readonly function: PromFunction;
}

/** A vector function that gives a number for each number; histograms are passed over. */
export function ofFloats(map: (value: number, params: readonly number[]) => number): ValueFunction {
  return {
    kind: 'value',
    run: ({ env, args }) => {
      const [vector, ...rest] = args;
      const params = rest.map((value) => (value.kind === 'scalar' ? value.values : new Float64Array(env.steps)));
      return {
        kind: 'vector',
        series: mapFloats(vectorOf(vector), (x, step) =>
          map(
            x,
            params.map((it) => it[step]),
          ),
        ),
      };
    },
  };
}

export function mapFloats(vector: readonly StepSeries[], map: (value: number, step: number) => number): StepSeries[] {
  return vector.flatMap((series) => {
    const kinds = series.kinds.map((kind) => (kind === 1 ? 1 : 0));
    if (!kinds.includes(1)) return [];
    const values = series.values.map((value, step) => (kinds[step] === 1 ? map(value, step) : 0));
    return [{ labels: series.labels, kinds, values, isNameDropped: true }];
  });
}

export function vectorOf(value: Value | undefined): readonly StepSeries[] {
  return value?.kind === 'vector' ? value.series : [];
}

export function stringOf(value: Value | undefined): string {
  return value?.kind === 'string' ? value.value : '';
}

export function scalarsOf(value: Value | undefined, steps: number): Float64Array {
  return value?.kind === 'scalar' ? value.values : new Float64Array(steps);
}
