import { newSeries, SERIES_WORK, type Env } from '../runtime/env.js';
import {
  FLOAT_SAMPLE,
  hasSamples,
  NO_SAMPLE,
  presence,
  putSample,
  sampleAt,
  type MutableSeries,
  type StepSeries,
} from '../runtime/samples.js';
import type { BinaryExpr } from '../syntax/ast.js';
import { arithmeticOf, isSetOperator, keepsName } from '../syntax/operators.js';
import { GroupMatch, MatchResults } from './binary-match.js';
import { applySamples } from './binary-samples.js';
import { masked, matchGroups, matchingLabels, type MatchGroup } from './matching.js';

/** Applies an operator to two scalars. */
export function scalarBinary({ op }: BinaryExpr, lhs: Float64Array, rhs: Float64Array): Float64Array {
  const operate = arithmeticOf(op);
  return lhs.map((value, step) => operate(value, rhs[step]));
}

/** Applies an operator to a vector and a scalar. @param isSwapped whether the scalar is the left operand. */
export async function vectorScalarBinary(
  expr: BinaryExpr,
  vector: readonly StepSeries[],
  scalar: Float64Array,
  isSwapped: boolean,
  env: Env,
): Promise<StepSeries[]> {
  const dropsName = !keepsName(expr.op, expr.isBool);
  const results: StepSeries[] = [];
  await env.scheduler.each(vector, env.steps, (series) => {
    const result = newSeries(series.labels, env, series.isNameDropped || dropsName);
    if (dropsName && series.histograms === undefined) {
      applyFloats(expr, series, scalar, isSwapped, result);
    } else {
      for (let step = 0; step < env.steps; step++) {
        if (series.kinds[step] === NO_SAMPLE) continue;
        const sample = sampleAt(series, step);
        const [lhs, rhs] = isSwapped ? [scalar[step], sample] : [sample, scalar[step]];
        putSample(result, step, applySamples(expr, lhs, rhs, sample, env.annotations));
      }
    }
    if (hasSamples(result)) results.push(result);
  });
  return results;
}

/** Applies arithmetic or a comparison with `bool` to a series of floats. */
function applyFloats(
  { op }: BinaryExpr,
  series: StepSeries,
  scalar: Float64Array,
  isSwapped: boolean,
  result: MutableSeries,
): void {
  const operate = arithmeticOf(op);
  for (let step = 0; step < scalar.length; step++) {
    if (series.kinds[step] === NO_SAMPLE) continue;
    const value = series.values[step];
    result.kinds[step] = FLOAT_SAMPLE;
    result.values[step] = isSwapped ? operate(scalar[step], value) : operate(value, scalar[step]);
  }
}

/** Applies an operator to two vectors, whose series are matched by labels. */
export async function vectorBinary(
  expr: BinaryExpr,
  lhs: readonly StepSeries[],
  rhs: readonly StepSeries[],
  env: Env,
): Promise<StepSeries[]> {
  const groups = await matchGroups(lhs, rhs, matchingLabels(expr.matching), env.scheduler);
  if (isSetOperator(expr.op)) return setBinary(expr, lhs, rhs, groups, env);
  const results = new MatchResults(expr, env);
  const { fillLeft, fillRight } = expr.matching;
  const haveBoth = bothPresent(await presence(lhs, env), await presence(rhs, env));
  const isFilled = fillLeft !== undefined || fillRight !== undefined;
  for (const group of groups) {
    const match = new GroupMatch(expr, group, results, env);
    await env.scheduler.finish(match.run(isFilled ? undefined : haveBoth));
  }
  return results.all();
}

function bothPresent(one: Uint8Array, other: Uint8Array): Uint8Array {
  return one.map((isPresent, step) => isPresent & other[step]);
}

async function setBinary(
  { op }: BinaryExpr,
  lhs: readonly StepSeries[],
  rhs: readonly StepSeries[],
  groups: readonly MatchGroup[],
  env: Env,
): Promise<StepSeries[]> {
  const { steps, scheduler } = env;
  const kept = new Map<StepSeries, StepSeries | undefined>();
  for (const group of groups) {
    const isLeft = await presence(group.lhs, env);
    const isRight = await presence(group.rhs, env);
    await scheduler.each(group.lhs, SERIES_WORK + steps, (series) => {
      kept.set(series, op === 'or' ? series : masked(series, isRight, op === 'and' ? 1 : 0));
    });
    await scheduler.each(group.rhs, SERIES_WORK + steps, (series) => {
      kept.set(series, op === 'or' ? masked(series, isLeft, 0) : undefined);
    });
  }
  return [...lhs, ...rhs].flatMap((series) => kept.get(series) ?? []);
}
