import type { Clock } from '#shared/clock/clock';
import { Slices } from '#shared/clock/slices';

import type { LabelMatcher } from '../../series/matcher.js';
import type { SeriesSource } from '../../promql/runtime/env.js';
import type { SampleSeries } from '../../promql/runtime/samples.js';
import { timeText } from './json.js';

/** The step times of a query. */
export interface QuerySteps {
  readonly startMs: number;
  readonly endMs: number;
  readonly stepMs: number;
}

/** Keys, by `matchersKey`, of range selectors. */
export type RangeSelectors = ReadonlySet<string>;

/** Source and clock of read statistics. */
export interface StatsDeps {
  readonly source: SeriesSource;
  readonly clock: Clock;
}

/** Returns a key that identifies matchers. */
export function matchersKey(matchers: readonly LabelMatcher[]): string {
  return JSON.stringify(matchers);
}

/**
 * Counts the samples that a query reads. A selector counts the samples in its window at each step; a selector with `@` or
 * within a subquery counts its samples once, at the first step.
 */
export class ReadStats implements SeriesSource {
  readonly #source: SeriesSource;
  readonly #slices: Slices;
  readonly #steps: QuerySteps;
  readonly #ranges: RangeSelectors;
  readonly #queryable: Float64Array;
  readonly #read: Float64Array;

  constructor({ source, clock }: StatsDeps, steps: QuerySteps, ranges: RangeSelectors) {
    const { startMs, endMs, stepMs } = steps;
    const count = stepMs === 0 ? 1 : Math.max(0, Math.floor((endMs - startMs) / stepMs) + 1);
    this.#source = source;
    this.#slices = new Slices(clock);
    this.#steps = steps;
    this.#ranges = ranges;
    this.#queryable = new Float64Array(count);
    this.#read = new Float64Array(count);
  }

  async select(matchers: readonly LabelMatcher[], fromMs: number, toMs: number): Promise<readonly SampleSeries[]> {
    const series = await this.#source.select(matchers, fromMs, toMs);
    const isRange = this.#ranges.has(matchersKey(matchers));
    const { startMs } = this.#steps;
    const windowMs = toMs - fromMs - (this.#lastMs - startMs);
    for (const { times } of series) {
      if (this.#slices.isOver(times.length + this.#queryable.length)) await this.#slices.yield();
      if (windowMs > 0) {
        this.#countWindows(times, { shiftMs: this.#lastMs - toMs, windowMs, isRange });
        continue;
      }
      this.#read[0] += times.length;
      this.#queryable[0] += isRange ? times.length : Math.min(times.length, 1);
    }
    return series;
  }

  /** Returns the member `samples` of a response. @param peak largest number of samples in memory. */
  json(peak: number, isPerStep: boolean): string {
    const totals = [`"totalQueryableSamples":${sum(this.#queryable)}`];
    if (isPerStep) totals.push(`"totalQueryableSamplesPerStep":${this.#perStep(this.#queryable)}`);
    totals.push(`"samplesRead":${sum(this.#read)}`);
    if (isPerStep) totals.push(`"samplesReadPerStep":${this.#perStep(this.#read)}`);
    return `{${totals.join(',')},"peakSamples":${peak}}`;
  }

  get #lastMs(): number {
    return this.#steps.startMs + (this.#queryable.length - 1) * this.#steps.stepMs;
  }

  #countWindows(times: Float64Array, window: { shiftMs: number; windowMs: number; isRange: boolean }): void {
    const { startMs, stepMs } = this.#steps;
    let from = 0;
    let to = 0;
    for (let step = 0; step < this.#queryable.length; step++) {
      const endMs = startMs + step * stepMs - window.shiftMs;
      const counted = to;
      while (to < times.length && times[to] <= endMs) to++;
      while (from < to && times[from] <= endMs - window.windowMs) from++;
      this.#read[step] += to - Math.max(counted, from);
      this.#queryable[step] += window.isRange ? to - from : Math.min(to - from, 1);
    }
  }

  #perStep(counts: Float64Array): string {
    const { startMs, stepMs } = this.#steps;
    return `[${Array.from(counts, (count, step) => `[${timeText(startMs + step * stepMs)},${count}]`).join(',')}]`;
  }
}

function sum(counts: Float64Array): number {
  return counts.reduce((total, count) => total + count, 0);
}
