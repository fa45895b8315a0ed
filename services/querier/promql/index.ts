import { AlmanacError } from '#shared/errors/almanac-error';

import { compareLabels } from '../series/labels.js';
import { sortedInSlices } from '../series/sliced-collections.js';
import { AGGREGATIONS } from './aggregations/registry.js';
import { toValidUtf8 } from './common/go-string.js';
import { evaluate, rangeSamples } from './eval/evaluate.js';
import { extendedSamples, isExtended, loadExtended } from './functions/extended.js';
import { FUNCTIONS } from './functions/registry.js';
import { Annotations } from './runtime/annotations.js';
import { SERIES_WORK, SlabAllocator, type Env, type SeriesSource, type Value } from './runtime/env.js';
import type { QueryLimits } from './runtime/limits.js';
import { withoutDroppedNames, withoutDroppedSampleNames } from './runtime/merge-series.js';
import type { SampleSeries } from './runtime/samples.js';
import { fillWindows, type Windows } from './runtime/select.js';
import { statsSelectors } from './runtime/stats-only.js';
import { typeOf, unwrapped, type Expr } from './syntax/ast.js';
import { TYPE_NAMES } from './syntax/check.js';
import { parseQuery, type Dialect } from './syntax/parse.js';
import { resolveTimes } from './syntax/resolve-times.js';

/** A query and its evaluation times. */
export interface PromQuery {
  readonly query: string;
  readonly startMs: number;
  /** Equal to `startMs` for an instant query. */
  readonly endMs: number;
  /** 0 for an instant query. */
  readonly stepMs: number;
  /** How far back an instant selector looks for a sample. */
  readonly lookbackMs: number;
  /** Step of subqueries without one. */
  readonly defaultStepMs: number;
  /** Largest number of steps. */
  readonly stepsMax: number;
}

/**
 * Value of a query; a vector of an instant query has one step. Vectors of range queries and matrices are sorted by labels;
 * a matrix has the times of the samples.
 */
export type PromValue = Value | { readonly kind: 'matrix'; readonly series: readonly SampleSeries[] };

/** Result of a query. */
export interface PromResult {
  readonly value: PromValue;
  /** Number of steps from `startMs` on. */
  readonly steps: number;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** All functions, aggregations and experimental features of PromQL. */
export const DIALECT: Dialect = { functions: FUNCTIONS, aggregations: AGGREGATIONS, isExperimental: true };

/**
 * Parses and evaluates a query over the series of a source.
 *
 * @throws `invalid_syntax` with the text of Prometheus for an invalid query.
 * @throws `execute_query` for a query that fails, or needs too many samples.
 * @throws `deadline_exceeded`, `cancelled` if the query ran out of time or was cancelled.
 */
export async function runQuery(
  promQuery: PromQuery,
  source: SeriesSource,
  limits: QueryLimits,
  dialect: Dialect = DIALECT,
): Promise<PromResult> {
  return runParsed(parseQuery(promQuery.query, dialect), promQuery, source, limits);
}

/** Evaluates a query that is parsed already. @throws as `runQuery`. */
export async function runParsed(
  parsed: Expr,
  promQuery: PromQuery,
  source: SeriesSource,
  limits: QueryLimits,
): Promise<PromResult> {
  const { query, startMs, endMs, stepMs, lookbackMs, defaultStepMs } = promQuery;
  const expr = resolveTimes(parsed, query, promQuery);
  const steps = stepsOf(promQuery, expr);
  const annotations = new Annotations(query);
  const isInstant = stepMs === 0;
  const env: Env = {
    startMs: isInstant ? endMs : startMs,
    stepMs,
    steps,
    lookbackMs,
    defaultStepMs,
    source,
    limits,
    scheduler: limits.scheduler,
    annotations,
    isInstant,
    statsOnly: statsSelectors(expr),
    slabs: new SlabAllocator(),
  };
  const value = await valueOf(expr, env);
  return { value, steps, warnings: annotations.warnings, infos: annotations.infos };
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

/** Returns the number of steps of a range query. @throws `invalid_syntax` above `stepsMax`. */
export function stepCount(query: Pick<PromQuery, 'startMs' | 'endMs' | 'stepMs' | 'stepsMax'>): number {
  const { startMs, endMs, stepMs, stepsMax } = query;
  const steps = Math.floor((endMs - startMs) / stepMs) + 1;
  if (steps - 1 <= stepsMax) return Math.max(steps, 0);
  const most = stepsMax.toLocaleString('en-US');
  const text = `exceeded maximum resolution of ${most} points per timeseries. Try decreasing the query resolution (?step=XX)`;
  throw new AlmanacError('invalid_syntax', text);
}

async function valueOf(expr: Expr, env: Env): Promise<PromValue> {
  if (typeOf(expr) === 'matrix') {
    const matrix = await withoutDroppedSampleNames(await matrixOf(expr, env), env.limits);
    return { kind: 'matrix', series: await sortedInSlices(matrix, byLabels, env.scheduler) };
  }
  const value = await evaluate(expr, env);
  if (value.kind === 'string') return { kind: 'string', value: toValidUtf8(value.value) };
  if (value.kind === 'scalar') return value;
  const series = await withoutDroppedNames(value.series, env.limits);
  return { kind: 'vector', series: env.isInstant ? series : await sortedInSlices(series, byLabels, env.scheduler) };
}

function byLabels(one: { readonly labels: SampleSeries['labels'] }, other: typeof one): number {
  return compareLabels(one.labels, other.labels);
}

/** Evaluates a range vector that is the whole query: the samples of its only window. */
async function matrixOf(expr: Expr, env: Env): Promise<SampleSeries[]> {
  const range = unwrapped(expr);
  const matrix: SampleSeries[] = [];
  if (range.kind === 'matrixSelector' && isExtended(range.selector)) {
    for (const one of await loadExtended(range, env)) {
      const samples = await env.scheduler.finish(extendedSamples(one, range, env));
      if (samples !== undefined) matrix.push(samples);
    }
    return matrix;
  }
  const { samples, windows } = await rangeSamples(range, env);
  await env.scheduler.each(samples, SERIES_WORK, (one) => {
    fillWindows(windows, one, 0, env.steps);
    matrix.push(...inWindow(one, windows));
  });
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
