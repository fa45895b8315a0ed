import type { FunctionCall, Expr } from '../syntax/ast.js';
import { newSeries, type Env, type Value } from '../runtime/env.js';
import { FLOAT_SAMPLE, type MutableSeries, type SampleSeries, type StepSeries } from '../runtime/samples.js';
import type { Windows } from '../runtime/select.js';

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
  /** A promise where it may take long: others are served meanwhile. */
  readonly run: (
    series: SampleSeries,
    windows: Windows,
    result: MutableSeries,
    context: RangeContext,
  ) => void | Promise<void>;
}

/** What a function over values gets. */
export interface ValueCall {
  readonly expr: FunctionCall;
  readonly env: Env;
  readonly args: readonly Value[];
}

/** A function over vectors, scalars and strings. */
export interface ValueFunction {
  readonly kind: 'value';
  /** A promise where it may take long. */
  readonly run: (call: ValueCall) => Value | Promise<Value>;
  /** Whether it is to have all steps at once, however many: it lets others be served by itself. */
  readonly isWhole?: boolean;
}

export type PromFunction = RangeFunction | ValueFunction;

/** A vector function that gives a number for each number; histograms are passed over. */
export function ofFloats(map: (value: number, params: readonly number[]) => number): ValueFunction {
  return {
    kind: 'value',
    async run({ env, args }) {
      const [vector, ...rest] = args;
      const params = rest.map((value) => scalarsOf(value, env.steps));
      const now = params.map(() => 0);
      const series = await mapFloats(vectorOf(vector), env, (x, step) => {
        for (let i = 0; i < now.length; i++) now[i] = params[i][step];
        return map(x, now);
      });
      return { kind: 'vector', series };
    },
  };
}

/** The numbers of a vector by a function of each; series without any are left out. */
export async function mapFloats(
  vector: readonly StepSeries[],
  env: Env,
  map: (value: number, step: number) => number,
): Promise<StepSeries[]> {
  const results: StepSeries[] = [];
  for (const { labels, kinds, values, histograms } of vector) {
    if (env.limits.isDue) await env.limits.yield();
    if (histograms !== undefined && !kinds.includes(FLOAT_SAMPLE)) continue;
    const result = newSeries(labels, env, true);
    for (let step = 0; step < kinds.length; step++) {
      if (kinds[step] !== FLOAT_SAMPLE) continue;
      result.kinds[step] = FLOAT_SAMPLE;
      result.values[step] = map(values[step], step);
    }
    results.push(result);
  }
  return results;
}

/** The series of a vector; none of another value. */
export function vectorOf(value: Value | undefined): readonly StepSeries[] {
  return value?.kind === 'vector' ? value.series : [];
}

/** The text of a string; empty for another value. */
export function stringOf(value: Value | undefined): string {
  return value?.kind === 'string' ? value.value : '';
}

/** The numbers of a scalar, step by step; zeros for another value. */
export function scalarsOf(value: Value | undefined, steps: number): Float64Array {
  return value?.kind === 'scalar' ? value.values : new Float64Array(steps);
}
