import type { Annotations } from './annotations.js';
import type { VectorSelector } from '../syntax/ast.js';
import type { LabelMatcher } from '../../series/matcher.js';
import type { Labels } from '../../series/labels.js';
import type { QueryLimits } from './limits.js';
import type { MutableSeries, SampleSeries, StepSeries } from './samples.js';

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
  readonly annotations: Annotations;
  readonly limits: QueryLimits;
  /** Where the arrays of results come from. */
  readonly slabs: SlabAllocator;
  /** Whether it is a query of one step from outside: its vectors may be in an order of their own. */
  readonly isInstant: boolean;
  /** Selectors of histograms of which only count and sum are looked at. */
  readonly statsOnly: ReadonlySet<VectorSelector>;
}

/** Time of a step. */
export function stepTimeMs({ startMs, stepMs }: Env, step: number): number {
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

/** What an expression gives, for all steps of a query at once. */
export type Value =
  | { readonly kind: 'scalar'; readonly values: Float64Array }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'vector'; readonly series: readonly StepSeries[] };

/** Steps of a slab: half a megabyte of values. */
const SLAB_STEPS = 1 << 16;
/** Series longer than this have arrays of their own. */
const SHARED_STEPS_MAX = 1 << 12;

/** Room for one series. */
export interface StepArrays {
  readonly kinds: Uint8Array;
  readonly values: Float64Array;
}

/**
 * Makes the arrays of many short series from few long ones: an array with a buffer of its own costs a microsecond, and
 * more when it is collected.
 */
export class SlabAllocator {
  #kinds = new Uint8Array(0);
  #values = new Float64Array(0);
  #used = 0;

  /** Zeros for so many steps. */
  take(steps: number): StepArrays {
    if (steps > SHARED_STEPS_MAX) return { kinds: new Uint8Array(steps), values: new Float64Array(steps) };
    if (this.#used + steps > this.#kinds.length) this.#begin(steps);
    const from = this.#used;
    this.#used += steps;
    return { kinds: this.#kinds.subarray(from, this.#used), values: this.#values.subarray(from, this.#used) };
  }

  /** Slabs grow with what is asked for, so that a small query does not pay for a large one. */
  #begin(steps: number): void {
    const length = Math.max(steps, Math.min(SLAB_STEPS, 4 * this.#kinds.length));
    this.#kinds = new Uint8Array(length);
    this.#values = new Float64Array(length);
    this.#used = 0;
  }
}
