import { AlmanacError } from '#shared/errors/almanac-error';

import { Annotations } from './runtime/annotations.js';
import { typeOf, unwrapped, type Expr } from './syntax/ast.js';
import { SERIES_WORK, type Env, type SeriesSource, SlabAllocator } from './runtime/env.js';
import { evaluate, evaluateSubquery } from './eval/evaluate.js';
import { extendedPoints, isExtended, loadExtended } from './functions/extended.js';
import { SIGNATURES } from './functions/signatures.js';
import { compareLabels } from '../series/labels.js';
import type { QueryLimits } from './runtime/limits.js';
import { withoutDroppedNames, withoutDroppedSampleNames } from './runtime/merge-series.js';
import { parseQuery, type Dialect } from './syntax/parse.js';
import { resolveTimes } from './syntax/resolve-times.js';
import type { SampleSeries, StepSeries } from './runtime/samples.js';
import { fillWindows, loadRange, windowsAt, type Windows } from './runtime/select.js';
import { sortedInSlices } from './runtime/sort.js';
import { statsSelectors } from './runtime/stats-only.js';

/** A query and the times at which it is asked. */
export interface PromQuery {
  readonly query: string;
  readonly startMs: number;
  /** The time of an instant query again. */
  readonly endMs: number;
  /** 0 for an instant query. */
  readonly stepMs: number;
  /** How far back an instant selector looks for a sample. */
  readonly lookbackMs: number;
  /** Step of subqueries that name none. */
  readonly defaultStepMs: number;
  /** Most steps that are answered. */
  readonly stepsMax: number;
}

/** What a query has given; a vector of an instant query has one step. */
export type PromValue =
  | { readonly kind: 'scalar'; readonly values: Float64Array }
  | { readonly kind: 'string'; readonly value: string }
  /** In the order of evaluation for an instant query, by labels otherwise. */
  | { readonly kind: 'vector'; readonly series: readonly StepSeries[] }
  /** By labels, with the times of the samples themselves. */
  | { readonly kind: 'matrix'; readonly series: readonly SampleSeries[] };

export interface PromResult {
  readonly value: PromValue;
  /** How many steps there are, from `startMs` on. */
  readonly steps: number;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** The language as it is spoken here: all functions, experimental ones too. */
export const DIALECT: Dialect = { functions: SIGNATURES, isExperimental: true };

const TYPE_NAMES = { scalar: 'scalar', string: 'string', vector: 'instant vector', matrix: 'range vector' };

/**
 * Parses and evaluates a query over what a source has.
 *
 * @throws `invalid_syntax` with Prometheus's text for a query that cannot be asked.
 * @throws `execute_query` for one that cannot be answered, or needs too many samples.
 * @throws `deadline_exceeded`, `cancelled` if its time was over before.
 */
export async function runQuery(
  asked: PromQuery,
  source: SeriesSource,
  limits: QueryLimits,
  dialect: Dialect = DIALECT,
): Promise<PromResult> {
  const { query, startMs, endMs, stepMs, lookbackMs, defaultStepMs } = asked;
  const expr = resolveTimes(parseQuery(query, dialect), query, asked);
  const steps = stepsOf(asked, expr);
  const notes = new Annotations(query);
  const isInstant = stepMs === 0;
  const env: Env = {
    ...{ startMs, stepMs, steps, lookbackMs, defaultStepMs, source, limits, annotations: notes, isInstant },
    ...{ statsOnly: statsSelectors(expr), slabs: new SlabAllocator() },
  };
  const value = await valueOf(expr, { ...env, startMs: isInstant ? endMs : startMs });
  return { value, steps, warnings: notes.warnings, infos: notes.infos };
}

function stepsOf({ startMs, endMs, stepMs, stepsMax }: PromQuery, expr: Expr): number {
  if (stepMs === 0) return 1;
  const type = typeOf(expr);
  if (type === 'matrix' || type === 'string') {
    const text = `invalid expression type "${TYPE_NAMES[type]}" for range query, must be Scalar or instant Vector`;
    throw new AlmanacError('invalid_syntax', text);
  }
  return stepCount({ startMs, endMs, stepMs, stepsMax });
}

/** How many steps there are. @throws `invalid_syntax` if that is too many. */
export function stepCount(of: Pick<PromQuery, 'startMs' | 'endMs' | 'stepMs' | 'stepsMax'>): number {
  const { startMs, endMs, stepMs, stepsMax } = of;
  const steps = Math.floor((endMs - startMs) / stepMs) + 1;
  if (steps - 1 <= stepsMax) return Math.max(steps, 0);
  const most = stepsMax.toLocaleString('en-US');
  const text = `exceeded maximum resolution of ${most} points per timeseries. Try decreasing the query resolution (?step=XX)`;
  throw new AlmanacError('invalid_syntax', text);
}

async function valueOf(expr: Expr, env: Env): Promise<PromValue> {
  if (typeOf(expr) === 'matrix') {
    const matrix = await withoutDroppedSampleNames(await matrixOf(expr, env), env.limits);
    return { kind: 'matrix', series: await sortedInSlices(matrix, byLabels, env.limits) };
  }
  const value = await evaluate(expr, env);
  if (value.kind !== 'vector') return value;
  const series = await withoutDroppedNames(value.series, env.limits);
  return { kind: 'vector', series: env.isInstant ? series : await sortedInSlices(series, byLabels, env.limits) };
}

function byLabels(one: { readonly labels: SampleSeries['labels'] }, other: typeof one): number {
  return compareLabels(one.labels, other.labels);
}

/** A range vector by itself: the samples of its one window. */
async function matrixOf(expr: Expr, env: Env): Promise<SampleSeries[]> {
  const range = unwrapped(expr);
  if (range.kind === 'subquery') {
    return inWindows(await evaluateSubquery(range, env), await windowsAt(range, range.rangeMs, env), env);
  }
  if (range.kind !== 'matrixSelector') return [];
  if (isExtended(range.selector)) {
    const series = await loadExtended(range, env);
    const matrix: SampleSeries[] = [];
    for (const one of series) {
      if (env.limits.isDue) await env.limits.yield();
      const points = await extendedPoints(one, range, env);
      const times = Float64Array.from(points, ({ timeMs }) => timeMs);
      const values = Float64Array.from(points, ({ value }) => Number(value));
      if (points.length > 0) matrix.push({ labels: one.labels, times, values });
    }
    return matrix;
  }
  const windows = await windowsAt(range.selector, range.rangeMs, env);
  return inWindows(await loadRange(range, env), windows, env);
}

async function inWindows(all: readonly SampleSeries[], windows: Windows, { limits }: Env): Promise<SampleSeries[]> {
  const matrix: SampleSeries[] = [];
  for (const one of all) {
    limits.spend(SERIES_WORK);
    if (limits.isDue) await limits.yield();
    const filling = fillWindows(windows, one, limits);
    if (filling !== undefined) await filling;
    matrix.push(...inWindow(one, windows));
  }
  return matrix;
}

function inWindow(series: SampleSeries, windows: Windows): SampleSeries[] {
  const [from] = windows.from;
  const [to] = windows.to;
  if (from >= to) return [];
  const { labels, times, values, histograms, isNameDropped = false } = series;
  const slice = { labels, times: times.subarray(from, to), values: values.subarray(from, to), isNameDropped };
  return [histograms === undefined ? slice : { ...slice, histograms: histograms.slice(from, to) }];
}
