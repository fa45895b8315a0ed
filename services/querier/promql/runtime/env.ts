import type { Labels } from '../../series/labels.js';
import type { LabelMatcher } from '../../series/matcher.js';
import type { VectorSelector } from '../syntax/ast.js';
import type { Annotations } from './annotations.js';
import type { QueryLimits } from './limits.js';
import { floatSeries, type MutableSeries, type SampleSeries, type StepSeries } from './samples.js';
import type { Scheduler } from './scheduler.js';

/** A source of samples. */
export interface SeriesSource {
  /** Returns the series that match, with their samples in `(fromMs, toMs]`, ascending, including staleness markers. */
  select(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): Promise<readonly SampleSeries[]>;
  /**
   * Returns the same, and possibly further series and samples outside of the range. The array and the series may be shared
   * by many queries, so that what is computed from them can be kept. Histograms are in the range.
   */
  selectAround?(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): Promise<readonly SampleSeries[]>;
}

/** Times, inputs and limits of an evaluation. */
export interface Env {
  /** Time of the first step. */
  readonly startMs: number;
  readonly stepMs: number;
  readonly steps: number;
  /** How far back an instant selector looks for a sample. */
  readonly lookbackMs: number;
  /** Step of subqueries without one. */
  readonly defaultStepMs: number;
  readonly source: SeriesSource;
  readonly annotations: Annotations;
  readonly limits: QueryLimits;
  /** That of the limits. */
  readonly scheduler: Scheduler;
  readonly slabs: SlabAllocator;
  /** Whether this is an instant query, whose vectors may have an order. False within subqueries. */
  readonly isInstant: boolean;
  /** Selectors of histograms of which the query reads only count and sum. */
  readonly statsOnly: ReadonlySet<VectorSelector>;
}

/** Returns the time of a step. */
export function stepTimeMs({ startMs, stepMs }: Env, step: number): number {
  return startMs + step * stepMs;
}

/** Restricts an environment to its first step. */
export function firstStep(env: Env): Env {
  return { ...env, steps: 1 };
}

/** Fixed cost of a series, in units of reading one float. */
export const SERIES_WORK = 64;

/** Allocates a series without samples. @throws `execute_query` if the query then holds too many. */
export function newSeries(labels: Labels, env: Env, isNameDropped: boolean): MutableSeries {
  env.limits.add(env.steps);
  env.limits.spend(SERIES_WORK);
  const { kinds, values } = env.slabs.allocate(env.steps);
  return floatSeries(labels, kinds, values, isNameDropped);
}

/** Value of an expression at all steps. */
export type Value =
  | { readonly kind: 'scalar'; readonly values: Float64Array }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'vector'; readonly series: readonly StepSeries[] };

/** Largest slab, in steps: half a megabyte of values. */
const SLAB_STEPS = 1 << 16;
/** Size of the first slab, in steps. */
const FIRST_STEPS = 64;
/** Longer series do not share a slab. */
const SHARED_STEPS_MAX = 1 << 12;

/** Arrays of one series. */
interface StepArrays {
  readonly kinds: Uint8Array;
  readonly values: Float64Array;
}

/**
 * Allocates the arrays of short series from shared buffers: a separate buffer costs a microsecond, and more when it is
 * collected.
 */
export class SlabAllocator {
  #kinds = new Uint8Array(0);
  #values = new Float64Array(0);
  #used = 0;

  /** Returns zeros for a number of steps. */
  allocate(steps: number): StepArrays {
    if (steps > SHARED_STEPS_MAX) return { kinds: new Uint8Array(steps), values: new Float64Array(steps) };
    if (this.#used + steps > this.#kinds.length) this.#begin(steps);
    const from = this.#used;
    this.#used += steps;
    return { kinds: this.#kinds.subarray(from, this.#used), values: this.#values.subarray(from, this.#used) };
  }

  /** Slabs grow as they are used up, so that a small query allocates little. */
  #begin(steps: number): void {
    const length = Math.max(steps, Math.min(SLAB_STEPS, Math.max(FIRST_STEPS, 4 * this.#kinds.length)));
    this.#kinds = new Uint8Array(length);
    this.#values = new Float64Array(length);
    this.#used = 0;
  }
}
