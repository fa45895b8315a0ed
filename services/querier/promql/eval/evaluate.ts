import { invariant, InvariantError } from '#shared/errors/invariant';

import { aggregate } from './aggregate.js';
import { unwrapped, type Aggregation, type BinaryExpr, type FunctionCall, type Expr, type Subquery, type VectorSelector } from '../syntax/ast.js';
import { scalarBinary, vectorBinary, vectorScalarBinary } from './binary.js';
import { firstStep, newSeries, SERIES_WORK, stepTimeMs, type Env, type Value } from '../runtime/env.js';
import { checkExtended, extendedFunction, isExtended, loadExtended, smoothedInstant } from '../functions/extended.js';
import { scalarsOf, stringOf, vectorOf, type RangeContext, type RangeFunction } from '../functions/function.js';
import { FUNCTIONS } from '../functions/registry.js';
import { absentLabels, absentSeries } from '../functions/absent.js';
import { mapCounts, type Histogram, sampleSize } from '../histogram/histogram.js';
import { addInfo } from '../functions/info.js';
import { isStepInvariant } from '../syntax/time-dependence.js';
import { NO_LABELS } from '../../series/labels.js';
import { inStepChunks } from './step-chunks.js';
import { hasSamples, HISTOGRAM_SAMPLE, histogramAt, NO_SAMPLE, setFloat, setHistogram, type SampleSeries, type StepSeries } from '../runtime/samples.js';
import { fillWindows, instantSeconds, instantVector, loadInstant, loadRange, referenceMs, windowsAt, type Windows } from '../runtime/select.js';

/** Evaluates an expression at all steps at once. @throws `execute_query` with Prometheus's text. */
export async function evaluate(expr: Expr, env: Env): Promise<Value> {
  const { limits } = env;
  const { held } = limits;
  const isRepeated = env.steps > 1 && expr.kind !== 'number' && expr.kind !== 'string' && isStepInvariant(expr);
  const value = isRepeated
    ? await repeated(await evaluateNode(expr, firstStep(env)), env)
    : await evaluateNode(expr, env);
  limits.check();
  // What was read and made on the way is held no more.
  limits.reset(held + (await sizeOf(value, env)));
  return value;
}

async function sizeOf(value: Value, { limits }: Env): Promise<number> {
  if (value.kind === 'string') return 0;
  if (value.kind === 'scalar') return value.values.length;
  let size = 0;
  for (const { kinds, histograms } of value.series) {
    size += kinds.length;
    if (histograms === undefined) continue;
    await limits.inSlices(histograms.length, (from, to) => {
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
      return inStepChunks([await evaluate(expr.expr, env)], env, ([value], part) => negated(value, part));
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
  return inStepChunks([lhs, rhs] as const, env, (operands, part) => binaryOf(expr, operands, part));
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
  const value = await evaluate(expr.expr, env);
  return inStepChunks([value, param] as const, env, async ([vector, partParam], part) => {
    const params = partParam?.kind === 'scalar' ? partParam.values : undefined;
    const call = { expr, env: part, param: params };
    return { kind: 'vector', series: await aggregate(vectorOf(vector), call, stringOf(partParam)) };
  });
}

async function evaluateCall(expr: FunctionCall, env: Env): Promise<Value> {
  const { name } = expr.func;
  switch (name) {
    case 'absent_over_time':
      return absentOverTime(expr, env);
    case 'info':
      return { kind: 'vector', series: await addInfo(expr, vectorOf(await evaluate(expr.args[0], env)), env) };
    case 'timestamp':
    case 'start_timestamp': {
      const arg = unwrapped(expr.args[0]);
      if (arg.kind === 'vectorSelector') return sampleTimes(name, arg, env);
    }
  }
  const found = FUNCTIONS.get(name);
  invariant(found !== undefined, `function ${name} has no body`);
  if (found.kind === 'range') return evaluateRange(expr, found, env);
  const args: Value[] = [];
  for (const arg of expr.args) args.push(await evaluate(arg, env));
  if (found.isWhole === true) return found.run({ expr, env, args });
  return inStepChunks(args, env, (partArgs, part) => found.run({ expr, env: part, args: partArgs }));
}

/** When the samples of a selector were taken, or when their counters began. */
async function sampleTimes(name: string, selector: VectorSelector, env: Env): Promise<Value> {
  const samples = await loadInstant(selector, env);
  const series = await instantSeconds(samples, selector, env, (one) =>
    name === 'timestamp' ? one.times : one.startTimes,
  );
  return { kind: 'vector', series: series.map((one) => ({ ...one, isNameDropped: true })) };
}

async function evaluateRange(expr: FunctionCall, func: RangeFunction, env: Env): Promise<Value> {
  const rangeAt = expr.args.findIndex((_, i) => expr.func.args[Math.min(i, expr.func.args.length - 1)] === 'matrix');
  const arg = expr.args[rangeAt];
  const range = unwrapped(arg);
  if (range.kind === 'matrixSelector' && isExtended(range.selector)) {
    checkExtended(range.selector, expr.func.name);
    const all = await loadExtended(range, env);
    const series: StepSeries[] = [];
    for (const one of all) series.push(...(await extendedFunction(expr.func.name, one, range, env)));
    return { kind: 'vector', series };
  }
  const paramExprs = expr.args.filter((_, i) => i !== rangeAt);
  const params: Float64Array[] = [];
  for (const param of paramExprs) params.push(scalarsOf(await evaluate(param, env), env.steps));
  const { samples, shift, rangeMs } = await rangeOf(arg, env);
  const context = { env, arg, rangeMs, params, paramExprs };
  return { kind: 'vector', series: await overWindows(samples, await windowsAt(shift, rangeMs, env), func, context) };
}

async function overWindows(
  samples: readonly SampleSeries[],
  windows: Windows,
  { run, keepsName }: RangeFunction,
  context: RangeContext,
): Promise<StepSeries[]> {
  const { limits } = context.env;
  const found: StepSeries[] = [];
  for (const series of samples) {
    if (series.times.length === 0) continue;
    limits.spend(series.times.length);
    if (limits.isDue) await limits.yield();
    const result = newSeries(series.labels, context.env, series.isNameDropped === true || !keepsName);
    const filling = fillWindows(windows, series, limits);
    if (filling !== undefined) await filling;
    const running = run(series, windows, result, context);
    if (running !== undefined) await running;
    if (hasSamples(result)) found.push(result);
  }
  return found;
}

async function absentOverTime(expr: FunctionCall, env: Env): Promise<Value> {
  const [arg] = expr.args;
  const { samples, shift, rangeMs } = await rangeOf(arg, env);
  const isPresent = new Uint8Array(env.steps);
  const windows = await windowsAt(shift, rangeMs, env);
  for (const one of samples) {
    env.limits.spend(SERIES_WORK);
    if (env.limits.isDue) await env.limits.yield();
    await fillWindows(windows, one, env.limits);
    await env.limits.inSlices(env.steps, (from, to) => {
      for (let step = from; step < to; step++) if (windows.to[step] > windows.from[step]) isPresent[step] = 1;
    });
  }
  const labels = arg.kind === 'matrixSelector' ? absentLabels(arg.selector.matchers) : NO_LABELS;
  return absentSeries(isPresent, labels, env);
}

/** The samples of a range vector, and how its windows lie. */
async function rangeOf(expr: Expr, env: Env) {
  const arg = unwrapped(expr);
  if (arg.kind === 'matrixSelector') {
    return { samples: await loadRange(arg, env), shift: arg.selector, rangeMs: arg.rangeMs };
  }
  invariant(arg.kind === 'subquery', 'a range function has no range');
  return { samples: await evaluateSubquery(arg, env), shift: arg, rangeMs: arg.rangeMs };
}

/** The expression at the subquery's own steps, which are multiples of their length, as samples. */
export async function evaluateSubquery(expr: Subquery, env: Env): Promise<SampleSeries[]> {
  const stepMs = expr.stepMs === 0 ? env.defaultStepMs : expr.stepMs;
  const first = referenceMs(expr, env, 0) - expr.rangeMs;
  const last = referenceMs(expr, env, env.steps - 1);
  let startMs = stepMs * Math.trunc(first / stepMs);
  if (startMs <= first) startMs += stepMs;
  const steps = Math.floor((last - startMs) / stepMs) + 1;
  if (steps <= 0) return [];
  // Refused before anything is made that long.
  env.limits.add(steps);
  const inner: Env = { ...env, startMs, stepMs, steps, isInstant: false };
  const value = await evaluate(expr.expr, inner);
  const samples: SampleSeries[] = [];
  for (const series of vectorOf(value)) samples.push(await samplesOf(series, inner));
  return samples;
}

/** A series of steps as samples. What was known of resets between its histograms is not true of these. */
async function samplesOf(
  { labels, kinds, values, histograms, isNameDropped }: StepSeries,
  env: Env,
): Promise<SampleSeries> {
  const { limits } = env;
  let count = 0;
  await limits.inSlices(kinds.length, (from, to) => {
    for (let step = from; step < to; step++) if (kinds[step] !== NO_SAMPLE) count++;
  });
  const times = new Float64Array(count);
  // Nobody changes what a series has once it is made.
  const samples = { labels, times, values: count === values.length ? values : new Float64Array(count), isNameDropped };
  const kept = histograms === undefined ? undefined : new Array<Histogram | undefined>(count);
  let next = 0;
  await limits.inSlices(kinds.length, (from, to) => {
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
  for (const one of vectorOf(value)) {
    if (env.limits.isDue) await env.limits.yield();
    const result = newSeries(one.labels, env, true);
    for (let step = 0; step < one.kinds.length; step++) {
      if (one.kinds[step] === NO_SAMPLE) continue;
      if (one.kinds[step] !== HISTOGRAM_SAMPLE) setFloat(result, step, -one.values[step]);
      else setHistogram(result, step, { ...mapCounts(histogramAt(one, step), (x) => -x), hint: 'gauge' });
    }
    series.push(result);
  }
  return { kind: 'vector', series };
}

/** The same number at all steps. */
async function filledScalar(value: number, { steps, limits }: Env): Promise<Value> {
  const values = new Float64Array(steps);
  await limits.inSlices(steps, (from, to) => values.fill(value, from, to));
  return { kind: 'scalar', values };
}

/** A value of one step at each of many. */
async function repeated(value: Value, env: Env): Promise<Value> {
  const { steps, limits } = env;
  if (value.kind === 'string') return value;
  if (value.kind === 'scalar') return filledScalar(value.values[0], env);
  const series: StepSeries[] = [];
  for (const one of value.series) {
    const result = newSeries(one.labels, env, one.isNameDropped);
    const { histograms } = one;
    if (histograms !== undefined) result.histograms = new Array<Histogram | undefined>(steps);
    await limits.inSlices(steps, (from, to) => {
      result.kinds.fill(one.kinds[0], from, to);
      result.values.fill(one.values[0], from, to);
      if (histograms !== undefined) result.histograms?.fill(histograms[0], from, to);
    });
    series.push(result);
  }
  return { kind: 'vector', series };
}
