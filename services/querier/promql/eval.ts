import { aggregate } from './aggregate.js';
import { scalarBinary, vectorBinary, vectorScalarBinary } from './binary.js';
import { unwrapped, type Aggregation, type BinaryExpr, type Call, type Expr, type Subquery } from './ast.js';
import { firstStep, timeOf, type Env } from './env.js';
import { scalarsOf, stringOf, vectorOf, type RangeFunction } from './functions/function.js';
import { absentLabels, absentSeries } from './functions/vector-functions.js';
import { FUNCTIONS } from './functions/registry.js';
import { invariant, InvariantError } from '#shared/errors/invariant';
import { mapCounts } from './histogram/histogram.js';
import { checkExtended, extendedFunction, isExtended, loadExtended, smoothedInstant } from './extended.js';
import { addInfo } from './info.js';
import { isStepInvariant } from './invariant-steps.js';
import { NO_LABELS } from './labels.js';
import {
  emptySeries,
  hasSamples,
  HISTOGRAM,
  histogramAt,
  NONE,
  setFloat,
  setHistogram,
  type SampleSeries,
  type StepSeries,
} from './samples.js';
import { instantSeries, instantTimes, loadInstant, loadRange, referenceMs, windowsOf } from './select.js';
import type { Value } from './value.js';

/** Evaluates an expression at all steps at once. @throws `execute_query` with Prometheus's text. */
export async function evaluate(expr: Expr, env: Env): Promise<Value> {
  if (env.steps > 1 && expr.kind !== 'number' && expr.kind !== 'string' && isStepInvariant(expr)) {
    return repeated(await evaluateNode(expr, firstStep(env)), env.steps);
  }
  return evaluateNode(expr, env);
}

async function evaluateNode(expr: Expr, env: Env): Promise<Value> {
  env.limits.check();
  switch (expr.kind) {
    case 'number':
      return { kind: 'scalar', values: new Float64Array(env.steps).fill(expr.value) };
    case 'string':
      return { kind: 'string', value: expr.value };
    case 'paren':
      return evaluate(expr.expr, env);
    case 'unary':
      return expr.op === '+' ? evaluate(expr.expr, env) : negated(await evaluate(expr.expr, env));
    case 'binary':
      return evaluateBinary(expr, env);
    case 'aggregation':
      return evaluateAggregation(expr, env);
    case 'call':
      return evaluateCall(expr, env);
    case 'vectorSelector': {
      if (expr.isSmoothed) return { kind: 'vector', series: await smoothedInstant(expr, env) };
      const samples = await loadInstant(expr, env);
      return { kind: 'vector', series: samples.flatMap((one) => instantSeries(one, expr, env) ?? []) };
    }
    case 'matrixSelector':
    case 'subquery':
      throw new InvariantError('a range vector was evaluated as a vector');
  }
}

async function evaluateBinary(expr: BinaryExpr, env: Env): Promise<Value> {
  const lhs = await evaluate(expr.lhs, env);
  const rhs = await evaluate(expr.rhs, env);
  if (lhs.kind === 'scalar' && rhs.kind === 'scalar') {
    return { kind: 'scalar', values: scalarBinary(expr, lhs.values, rhs.values) };
  }
  if (lhs.kind === 'scalar') {
    return { kind: 'vector', series: vectorScalarBinary(expr, vectorOf(rhs), lhs.values, true, env) };
  }
  if (rhs.kind === 'scalar') {
    return { kind: 'vector', series: vectorScalarBinary(expr, vectorOf(lhs), rhs.values, false, env) };
  }
  return { kind: 'vector', series: vectorBinary(expr, vectorOf(lhs), vectorOf(rhs), env) };
}

async function evaluateAggregation(expr: Aggregation, env: Env): Promise<Value> {
  const param = expr.param === undefined ? undefined : await evaluate(expr.param, env);
  const vector = vectorOf(await evaluate(expr.expr, env));
  const params = param?.kind === 'scalar' ? param.values : undefined;
  return { kind: 'vector', series: aggregate(vector, { expr, env, param: params }, stringOf(param)) };
}

async function evaluateCall(expr: Call, env: Env): Promise<Value> {
  const { name } = expr.func;
  if (name === 'absent_over_time') return absentOverTime(expr, env);
  if (name === 'info')
    return { kind: 'vector', series: await addInfo(expr, vectorOf(await evaluate(expr.args[0], env)), env) };
  if (name === 'timestamp') {
    const arg = unwrapped(expr.args[0]);
    if (arg.kind === 'vectorSelector') {
      const samples = await loadInstant(arg, env);
      const series = samples.flatMap((one) => instantTimes(one, arg, env) ?? []);
      return { kind: 'vector', series: series.map((one) => ({ ...one, isNameDropped: true })) };
    }
  }
  const found = FUNCTIONS.get(name);
  invariant(found !== undefined, `function ${name} has no body`);
  if (found.kind === 'range') return evaluateRange(expr, found, env);
  const args: Value[] = [];
  for (const arg of expr.args) args.push(await evaluate(arg, env));
  return found.run({ expr, env, args });
}

async function evaluateRange(expr: Call, { run, keepsName }: RangeFunction, env: Env): Promise<Value> {
  const rangeAt = expr.args.findIndex((_, i) => expr.func.args[Math.min(i, expr.func.args.length - 1)] === 'matrix');
  const arg = expr.args[rangeAt];
  const range = unwrapped(arg);
  if (range.kind === 'matrixSelector' && isExtended(range.selector)) {
    checkExtended(range.selector, expr.func.name);
    const all = await loadExtended(range, env);
    return { kind: 'vector', series: all.flatMap((one) => extendedFunction(expr.func.name, one, range, env) ?? []) };
  }
  const paramExprs = expr.args.filter((_, i) => i !== rangeAt);
  const params: Float64Array[] = [];
  for (const param of paramExprs) params.push(scalarsOf(await evaluate(param, env), env.steps));
  const { samples, shift, rangeMs } = await rangeOf(arg, env);
  const context = { env, arg, rangeMs, params, paramExprs };
  const series: StepSeries[] = [];
  for (const one of samples) {
    if (one.times.length === 0) continue;
    const result = emptySeries(one.labels, env.steps, one.isNameDropped === true || !keepsName);
    run(one, windowsOf(one, shift, rangeMs, env), result, context);
    if (hasSamples(result)) series.push(result);
  }
  return { kind: 'vector', series };
}

async function absentOverTime(expr: Call, env: Env): Promise<Value> {
  const [arg] = expr.args;
  const { samples, shift, rangeMs } = await rangeOf(arg, env);
  const isPresent = new Uint8Array(env.steps);
  for (const one of samples) {
    const { from, to } = windowsOf(one, shift, rangeMs, env);
    for (let step = 0; step < env.steps; step++) if (to[step] > from[step]) isPresent[step] = 1;
  }
  const labels = arg.kind === 'matrixSelector' ? absentLabels(arg.selector.matchers) : NO_LABELS;
  return absentSeries(isPresent, labels);
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
  const inner: Env = { ...env, startMs, stepMs, steps, isInstant: false };
  const value = await evaluate(expr.expr, inner);
  return vectorOf(value).map((series) => samplesOf(series, inner));
}

/** A series of steps as samples. What was known of resets between its histograms is not true of these. */
function samplesOf(series: StepSeries, env: Env): SampleSeries {
  const { labels, kinds, values, isNameDropped } = series;
  const at: number[] = [];
  for (let step = 0; step < kinds.length; step++) if (kinds[step] !== NONE) at.push(step);
  const samples = {
    labels,
    times: Float64Array.from(at, (step) => timeOf(env, step)),
    values: Float64Array.from(at, (step) => values[step]),
    isNameDropped,
  };
  if (series.histograms === undefined) return samples;
  const histograms = at.map((step) => {
    if (kinds[step] !== HISTOGRAM) return undefined;
    const histogram = histogramAt(series, step);
    return histogram.hint === 'gauge' ? histogram : { ...histogram, hint: 'unknown' as const };
  });
  return { ...samples, histograms };
}

function negated(value: Value): Value {
  if (value.kind === 'scalar') return { kind: 'scalar', values: value.values.map((x) => -x) };
  const series = vectorOf(value).map((one) => {
    const result = emptySeries(one.labels, one.kinds.length, true);
    for (let step = 0; step < one.kinds.length; step++) {
      if (one.kinds[step] === NONE) continue;
      if (one.kinds[step] !== HISTOGRAM) setFloat(result, step, -one.values[step]);
      else setHistogram(result, step, { ...mapCounts(histogramAt(one, step), (x) => -x), hint: 'gauge' });
    }
    return result;
  });
  return { kind: 'vector', series };
}

/** A value of one step at each of many. */
function repeated(value: Value, steps: number): Value {
  if (value.kind === 'string') return value;
  if (value.kind === 'scalar') return { kind: 'scalar', values: new Float64Array(steps).fill(value.values[0]) };
  const series = value.series.map((one): StepSeries => {
    const base = {
      labels: one.labels,
      kinds: new Uint8Array(steps).fill(one.kinds[0]),
      values: new Float64Array(steps).fill(one.values[0]),
      isNameDropped: one.isNameDropped,
    };
    return one.histograms === undefined
      ? base
      : { ...base, histograms: Array.from({ length: steps }, () => one.histograms?.[0]) };
  });
  return { kind: 'vector', series };
}
