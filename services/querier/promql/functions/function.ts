import type { Expr, FunctionCall, VectorSelector } from '../syntax/ast.js';
import type { FunctionSignature, PromType } from '../syntax/signature.js';
import { newSeries, SERIES_WORK, type Env, type Value } from '../runtime/env.js';
import type { Units } from '../runtime/scheduler.js';
import { FLOAT_SAMPLE, type MutableSeries, type SampleSeries, type StepSeries } from '../runtime/samples.js';
import type { Windows } from '../runtime/select.js';
import type { ExtendedFunction } from './extended.js';

/** Inputs of a range function besides the samples. */
export interface RangeContext {
  readonly env: Env;
  /** The range argument, which annotations refer to. */
  readonly arg: Expr;
  readonly rangeMs: number;
  /** Values of the scalar arguments, one per step. */
  readonly params: readonly Float64Array[];
  /** The scalar arguments, for annotations. */
  readonly paramExprs: readonly Expr[];
}

/** Consecutive steps `[from, to)`. */
export interface StepRange {
  readonly from: number;
  readonly to: number;
}

/** Computes some steps of a series without histograms, in time that depends little on the length of the windows. */
export type FloatRange = (
  series: SampleSeries,
  windows: Windows,
  result: MutableSeries,
  context: RangeContext,
  steps: StepRange,
) => void;

/** The body of a function of a range vector: one pass over a series with the windows of all steps. */
export interface RangeFunction {
  readonly kind: 'range';
  /** Computes all steps of a series, whose windows are set. */
  readonly run: (series: SampleSeries, windows: Windows, result: MutableSeries, context: RangeContext) => Units<void>;
  /** Replaces `run` for series without histograms. */
  readonly floats?: FloatRange;
}

/** A call of a function whose arguments are evaluated. */
export interface ValueCall {
  readonly expr: FunctionCall;
  readonly env: Env;
  readonly args: readonly Value[];
}

/** The body of a function of vectors, scalars and strings. */
export interface ValueFunction {
  readonly kind: 'value';
  readonly run: (call: ValueCall) => Value | Promise<Value>;
  /** Evaluates all steps in one call, however many; `run` divides them into units by itself. */
  readonly isWhole?: boolean;
  /** Replaces `run` where the first argument is a plain selector. */
  readonly ofSelector?: (selector: VectorSelector, env: Env) => Promise<Value>;
}

/** Samples of a range argument and where its windows are. */
export interface RangeSamples {
  readonly samples: readonly SampleSeries[];
  readonly windows: Windows;
}

/** The evaluator, for functions that evaluate their arguments themselves. */
export interface Evaluator {
  evaluate(expr: Expr, env: Env): Promise<Value>;
  range(expr: Expr, env: Env): Promise<RangeSamples>;
}

/** The body of a function that evaluates its arguments itself. */
export interface ExpressionFunction {
  readonly kind: 'expression';
  readonly run: (expr: FunctionCall, env: Env, evaluator: Evaluator) => Promise<Value>;
}

/** A PromQL function as a family file declares it. */
export interface FunctionDefinition extends Omit<FunctionSignature, 'args' | 'variadic' | 'returns'> {
  /** Types of the arguments by their names in the documentation, in order. */
  readonly args: Readonly<Record<string, PromType>>;
  /** Default 0. */
  readonly variadic?: number;
  /** Default `vector`. */
  readonly returns?: PromType;
  /** One sentence for `docs/promql.md`. */
  readonly doc: string;
  /** The result keeps the metric name. */
  readonly keepsName?: boolean;
  /** Undefined for a `queryConstant`, which is replaced before evaluation. */
  readonly body?: RangeFunction | ValueFunction | ExpressionFunction;
  /** Evaluation over windows of `anchored` and `smoothed` selectors. */
  readonly extended?: ExtendedFunction;
}

/** A PromQL function: signature, documentation and body. */
export interface PromFunction extends FunctionSignature, Omit<FunctionDefinition, 'args' | 'variadic' | 'returns'> {
  readonly argNames: readonly string[];
}

/** Completes a definition with its defaults. */
export function promFunction(definition: FunctionDefinition): PromFunction {
  const { args, variadic = 0, returns = 'vector' } = definition;
  return { ...definition, args: Object.values(args), argNames: Object.keys(args), variadic, returns };
}

/** Declares a function that maps each float of a vector; histograms are dropped. */
export function floatFunction(name: string, doc: string, map: (value: number) => number): FunctionDefinition {
  return { name, args: { v: 'vector' }, doc, body: ofFloats(map) };
}

/** Maps each float of a vector, with the values of the scalar arguments at the step; drops histograms. */
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

/** Maps the floats of a vector; omits series without any. */
export async function mapFloats(
  vector: readonly StepSeries[],
  env: Env,
  map: (value: number, step: number) => number,
): Promise<StepSeries[]> {
  const results: StepSeries[] = [];
  await env.scheduler.each(vector, SERIES_WORK, ({ labels, kinds, values, histograms }) => {
    if (histograms !== undefined && !kinds.includes(FLOAT_SAMPLE)) return;
    const result = newSeries(labels, env, true);
    for (let step = 0; step < kinds.length; step++) {
      if (kinds[step] !== FLOAT_SAMPLE) continue;
      result.kinds[step] = FLOAT_SAMPLE;
      result.values[step] = map(values[step], step);
    }
    results.push(result);
  });
  return results;
}

/** Returns the series of a vector; none for another type. */
export function vectorOf(value: Value | undefined): readonly StepSeries[] {
  return value?.kind === 'vector' ? value.series : [];
}

/** Returns the text of a string; empty for another type. */
export function stringOf(value: Value | undefined): string {
  return value?.kind === 'string' ? value.value : '';
}

/** Returns the values of a scalar, one per step; zeros for another type. */
export function scalarsOf(value: Value | undefined, steps: number): Float64Array {
  return value?.kind === 'scalar' ? value.values : new Float64Array(steps);
}
