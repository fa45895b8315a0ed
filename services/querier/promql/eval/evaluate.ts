import { invariant, InvariantError } from '#shared/errors/invariant';

import { checkExtended, isExtended, loadExtended, runExtended, smoothedInstant } from '../functions/extended.js';
import {
  scalarsOf,
  stringOf,
  vectorOf,
  type Evaluator,
  type PromFunction,
  type RangeFunction,
  type RangeSamples,
} from '../functions/function.js';
import { FUNCTIONS } from '../functions/registry.js';
import { mapCounts, sampleSize, type Histogram } from '../histogram/histogram.js';
import { firstStep, newSeries, stepTimeMs, type Env, type Value } from '../runtime/env.js';
import {
  HISTOGRAM_SAMPLE,
  histogramAt,
  NO_SAMPLE,
  setFloat,
  setHistogram,
  type SampleSeries,
  type StepSeries,
} from '../runtime/samples.js';
import { instantVector, loadInstant, loadRange, referenceMs, windowsAt } from '../runtime/select.js';
import {
  unwrapped,
  type Aggregation,
  type BinaryExpr,
  type Expr,
  type FunctionCall,
  type MatrixSelector,
  type Subquery,
} from '../syntax/ast.js';
import { isStepInvariant } from '../syntax/time-dependence.js';
import { aggregate } from './aggregate.js';
import { fusedInput, fusedAggregation } from './fused.js';
import { scalarBinary, vectorBinary, vectorScalarBinary } from './binary.js';
import { overWindows } from './over-windows.js';
import { inStepChunks } from './step-chunks.js';

/** Evaluates an expression at all steps of the query. @throws `execute_query` with the text of Prometheus. */
export async function evaluate(expr: Expr, env: Env): Promise<Value> {
  const { limits } = env;
  const { held } = limits;
  const isRepeated = env.steps > 1 && expr.kind !== 'number' && expr.kind !== 'string' && isStepInvariant(expr);
  const value = isRepeated
    ? await repeated(await evaluateNode(expr, firstStep(env)), env)
    : await evaluateNode(expr, env);
  limits.check();
  // Inputs and intermediate results can be freed now.
  limits.reset(held + (await sizeOf(value, env)));
  return value;
}

async function sizeOf(value: Value, { scheduler }: Env): Promise<number> {
  if (value.kind === 'string') return 0;
  if (value.kind === 'scalar') return value.values.length;
  let size = 0;
  for (const { kinds, histograms } of value.series) {
    size += kinds.length;
    if (histograms === undefined) continue;
    await scheduler.ranges(histograms.length, 1, (from, to) => {
      for (let i = from; i < to; i++) {
        const histogram = histograms[i];
        if (histogram !== undefined) size += sampleSize(histogram);
      }
    });
  }
  return size;
}

async function evaluateNode(expr: Expr, env: Env): Promise<Value> {
  env.limits.check();
  switch (expr.kind) {
    case 'number':
      env.limits.add(env.steps);
      return filledScalar(expr.value, env);
    case 'string':
      return { kind: 'string', value: expr.value };
    case 'paren':
      return evaluate(expr.expr, env);
    case 'unary':
      if (expr.op === '+') return evaluate(expr.expr, env);
      return inStepChunks([await evaluate(expr.expr, env)], env, ([value], chunk) => negated(value, chunk));
    case 'binary':
      return evaluateBinary(expr, env);
    case 'aggregation':
      return evaluateAggregation(expr, env);
    case 'call':
      return evaluateCall(expr, env);
    case 'vectorSelector': {
      if (expr.isSmoothed) return { kind: 'vector', series: await smoothedInstant(expr, env) };
      return { kind: 'vector', series: await instantVector(await loadInstant(expr, env), expr, env) };
    }
    case 'matrixSelector':
    case 'subquery':
      throw new InvariantError('a range vector was evaluated as a vector');
  }
}

async function evaluateBinary(expr: BinaryExpr, env: Env): Promise<Value> {
  const lhs = await evaluate(expr.lhs, env);
  const rhs = await evaluate(expr.rhs, env);
  return inStepChunks([lhs, rhs] as const, env, (operands, chunk) => binaryOf(expr, operands, chunk));
}

async function binaryOf(expr: BinaryExpr, [lhs, rhs]: readonly [Value, Value], env: Env): Promise<Value> {
  if (lhs.kind === 'scalar' && rhs.kind === 'scalar') {
    return { kind: 'scalar', values: scalarBinary(expr, lhs.values, rhs.values) };
  }
  if (lhs.kind === 'scalar') {
    return { kind: 'vector', series: await vectorScalarBinary(expr, vectorOf(rhs), lhs.values, true, env) };
  }
  if (rhs.kind === 'scalar') {
    return { kind: 'vector', series: await vectorScalarBinary(expr, vectorOf(lhs), rhs.values, false, env) };
  }
  return { kind: 'vector', series: await vectorBinary(expr, vectorOf(lhs), vectorOf(rhs), env) };
}

async function evaluateAggregation(expr: Aggregation, env: Env): Promise<Value> {
  const param = expr.param === undefined ? undefined : await evaluate(expr.param, env);
  const input = param === undefined ? fusedInput(expr, env) : undefined;
  if (input !== undefined) {
    const { held } = env.limits;
    const series = await fusedAggregation(expr, input, env);
    if (series !== undefined) return { kind: 'vector', series };
    env.limits.reset(held);
  }
  const value = await evaluate(expr.expr, env);
  return inStepChunks([value, param] as const, env, async ([vector, chunkParam], chunk) => {
    const params = chunkParam?.kind === 'scalar' ? chunkParam.values : undefined;
    const call = { expr, env: chunk, param: params, label: stringOf(chunkParam) };
    return { kind: 'vector', series: await aggregate(vectorOf(vector), call) };
  });
}

const EVALUATOR: Evaluator = { evaluate, range: rangeSamples };

async function evaluateCall(expr: FunctionCall, env: Env): Promise<Value> {
  const { name } = expr.func;
  const func = FUNCTIONS.get(name);
  const body = func?.body;
  invariant(func !== undefined && body !== undefined, `function ${name} has no body`);
  if (body.kind === 'expression') return body.run(expr, env, EVALUATOR);
  if (body.kind === 'range') return evaluateRange(expr, func, body, env);
  if (body.ofSelector !== undefined) {
    const selector = unwrapped(expr.args[0]);
    if (selector.kind === 'vectorSelector') return body.ofSelector(selector, env);
  }
  const args: Value[] = [];
  for (const arg of expr.args) args.push(await evaluate(arg, env));
  if (body.isWhole === true) return body.run({ expr, env, args });
  return inStepChunks(args, env, (chunkArgs, chunk) => body.run({ expr, env: chunk, args: chunkArgs }));
}

async function evaluateRange(expr: FunctionCall, func: PromFunction, body: RangeFunction, env: Env): Promise<Value> {
  const rangeAt = expr.args.findIndex((_, i) => func.args[Math.min(i, func.args.length - 1)] === 'matrix');
  const arg = expr.args[rangeAt];
  const range = unwrapped(arg);
  if (range.kind === 'matrixSelector' && isExtended(range.selector)) return evaluateExtended(func, range, env);
  const paramExprs = expr.args.filter((_, i) => i !== rangeAt);
  const params: Float64Array[] = [];
  for (const param of paramExprs) params.push(scalarsOf(await evaluate(param, env), env.steps));
  const found = await rangeSamples(arg, env);
  invariant(range.kind === 'matrixSelector' || range.kind === 'subquery', 'the range argument is not a range');
  const context = { env, arg, rangeMs: range.rangeMs, params, paramExprs };
  return { kind: 'vector', series: await overWindows(found, func.keepsName === true, body, context) };
}

async function evaluateExtended(func: PromFunction, range: MatrixSelector, env: Env): Promise<Value> {
  const extended = checkExtended(func, range.selector, FUNCTIONS.values());
  const series: StepSeries[] = [];
  for (const one of await loadExtended(range, env)) {
    series.push(...(await env.scheduler.finish(runExtended(extended, one, range, env))));
  }
  return { kind: 'vector', series };
}

/** Reads the samples of a range vector; the windows have no samples yet. */
export async function rangeSamples(expr: Expr, env: Env): Promise<RangeSamples> {
  const range = unwrapped(expr);
  if (range.kind === 'matrixSelector') {
    return { samples: await loadRange(range, env), windows: await windowsAt(range.selector, range.rangeMs, env) };
  }
  invariant(range.kind === 'subquery', 'the range argument is not a range');
  return { samples: await evaluateSubquery(range, env), windows: await windowsAt(range, range.rangeMs, env) };
}

/** Evaluates a subquery at its own steps, which are multiples of the step length. */
async function evaluateSubquery(expr: Subquery, env: Env): Promise<SampleSeries[]> {
  const stepMs = expr.stepMs === 0 ? env.defaultStepMs : expr.stepMs;
  const first = referenceMs(expr, env, 0) - expr.rangeMs;
  const last = referenceMs(expr, env, env.steps - 1);
  let startMs = stepMs * Math.trunc(first / stepMs);
  if (startMs <= first) startMs += stepMs;
  const steps = Math.floor((last - startMs) / stepMs) + 1;
  if (steps <= 0) return [];
  // Throws before anything of that length is allocated.
  env.limits.add(steps);
  const inner: Env = { ...env, startMs, stepMs, steps, isInstant: false };
  const value = await evaluate(expr.expr, inner);
  const samples: SampleSeries[] = [];
  for (const series of vectorOf(value)) samples.push(await samplesOf(series, inner));
  return samples;
}

/** Converts steps to samples. Reset hints of histograms do not apply between steps. */
async function samplesOf(
  { labels, kinds, values, histograms, isNameDropped }: StepSeries,
  env: Env,
): Promise<SampleSeries> {
  const { scheduler } = env;
  let count = 0;
  await scheduler.ranges(kinds.length, 1, (from, to) => {
    for (let step = from; step < to; step++) if (kinds[step] !== NO_SAMPLE) count++;
  });
  const times = new Float64Array(count);
  // The array can be shared because finished series never change.
  const samples = { labels, times, values: count === values.length ? values : new Float64Array(count), isNameDropped };
  const kept = histograms === undefined ? undefined : new Array<Histogram | undefined>(count);
  let next = 0;
  await scheduler.ranges(kinds.length, 1, (from, to) => {
    for (let step = from; step < to; step++) {
      if (kinds[step] === NO_SAMPLE) continue;
      times[next] = stepTimeMs(env, step);
      samples.values[next] = values[step];
      if (kept !== undefined) kept[next] = withoutHint(histograms?.[step]);
      next++;
    }
  });
  return kept === undefined ? samples : { ...samples, histograms: kept };
}

function withoutHint(histogram: Histogram | undefined): Histogram | undefined {
  return histogram === undefined || histogram.hint === 'gauge' ? histogram : { ...histogram, hint: 'unknown' };
}

async function negated(value: Value, env: Env): Promise<Value> {
  if (value.kind === 'scalar') return { kind: 'scalar', values: value.values.map((x) => -x) };
  const series: StepSeries[] = [];
  await env.scheduler.each(vectorOf(value), env.steps, (one) => {
    const result = newSeries(one.labels, env, true);
    for (let step = 0; step < one.kinds.length; step++) {
      if (one.kinds[step] === NO_SAMPLE) continue;
      if (one.kinds[step] !== HISTOGRAM_SAMPLE) setFloat(result, step, -one.values[step]);
      else setHistogram(result, step, { ...mapCounts(histogramAt(one, step), (x) => -x), hint: 'gauge' });
    }
    series.push(result);
  });
  return { kind: 'vector', series };
}

/** Returns a scalar with the same value at all steps. */
async function filledScalar(value: number, { steps, scheduler }: Env): Promise<Value> {
  const values = new Float64Array(steps);
  await scheduler.ranges(steps, 1, (from, to) => values.fill(value, from, to));
  return { kind: 'scalar', values };
}

/** Repeats a value of one step at all steps. */
async function repeated(value: Value, env: Env): Promise<Value> {
  const { steps, scheduler } = env;
  if (value.kind === 'string') return value;
  if (value.kind === 'scalar') return filledScalar(value.values[0], env);
  const series: StepSeries[] = [];
  for (const one of value.series) {
    const result = newSeries(one.labels, env, one.isNameDropped);
    const { histograms } = one;
    if (histograms !== undefined) result.histograms = new Array<Histogram | undefined>(steps);
    await scheduler.ranges(steps, 1, (from, to) => {
      result.kinds.fill(one.kinds[0], from, to);
      result.values.fill(one.values[0], from, to);
      if (histograms !== undefined) result.histograms?.fill(histograms[0], from, to);
    });
    series.push(result);
  }
  return { kind: 'vector', series };
}
