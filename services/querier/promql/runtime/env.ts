import type { Annotations } from './annotations.js';
import type { VectorSelector } from '../syntax/ast.js';
import type { LabelMatcher } from '../../series/matcher.js';
import type { Labels } from '../../series/labels.js';
import type { Limits } from './limits.js';
import type { MutableSeries, SampleSeries } from './samples.js';
import type { Slabs } from './slabs.js';

/** Where samples come from. */
export interface SeriesSource {
  /** Series that fit all matchers, with their samples in `(fromMs, toMs]`, ascending, staleness markers included. */
  select(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): Promise<readonly SampleSeries[]>;
}

/** When an expression is evaluated, and over what. */
export interface Env {
  /** Time of the first step; the others follow at equal distance. */
  readonly startMs: number;
  readonly stepMs: number;
  readonly steps: number;
  /** How far back an instant selector looks for a sample. */
  readonly lookbackMs: number;
  /** Step of subqueries that name none. */
  readonly defaultStepMs: number;
  readonly source: SeriesSource;
  readonly notes: Annotations;
  readonly limits: Limits;
  /** Where the arrays of results come from. */
  readonly slabs: Slabs;
  /** Whether it is a query of one step from outside: its vectors may be in an order of their own. */
  readonly isInstant: boolean;
  /** Selectors of histograms of which only count and sum are looked at. */
  readonly statsOnly: ReadonlySet<VectorSelector>;
}

/** Time of a step. */
export function timeOf({ startMs, stepMs }: Env, step: number): number {
  return startMs + step * stepMs;
}

/** The same with the first step only. */
export function firstStep(env: Env): Env {
  return { ...env, steps: 1 };
}

/** Work of a series by itself, however few steps it has, in numbers that are looked at. */
export const SERIES_WORK = 64;

/** A series with nothing at any step of the query yet. @throws `execute_query` if that is one too many. */
export function newSeries(labels: Labels, env: Env, isNameDropped: boolean): MutableSeries {
  env.limits.add(env.steps);
  env.limits.spend(SERIES_WORK);
  const { kinds, values } = env.slabs.take(env.steps);
  return { labels, kinds, values, isNameDropped };
}
