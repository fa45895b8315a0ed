import { isCounterReset } from '../histogram/compare.js';
import { metricName } from './annotations.js';
import type { CounterFacts, SampleSeries } from './samples.js';
import { inUnits, type Units } from './scheduler.js';
import type { QueryLimits } from './limits.js';
import { WindowSums } from './window-sums.js';

const COUNTER_SUFFIXES: readonly string[] = ['_total', '_bucket', '_count', '_sum'];

/** The counter resets of a series of floats and the values that they lost. */
export class CounterResets implements CounterFacts {
  readonly isNamedCounter: boolean;
  hasResets = false;
  /** Number of resets among the samples 1 to i; undefined if there are none. */
  #upTo: Int32Array | undefined;
  #lost: WindowSums | undefined;

  /** Returns the resets of a series, which it keeps. */
  static of(series: SampleSeries): CounterFacts {
    return (series.counter ??= new CounterResets(series));
  }

  private constructor(series: SampleSeries) {
    const { labels, values, startTimes } = series;
    const name = metricName(labels);
    this.isNamedCounter = name === '' || COUNTER_SUFFIXES.some((suffix) => name.endsWith(suffix));
    const count = values.length;
    let i = 1;
    if (startTimes === undefined) while (i < count && !(values[i] < values[i - 1])) i++;
    else while (i < count && !(values[i] < values[i - 1] || isStartReset(series, i))) i++;
    if (i >= count) return;
    this.hasResets = true;
    const upTo = (this.#upTo = new Int32Array(count));
    const lost = new Float64Array(count);
    let resets = 0;
    for (; i < count; i++) {
      if (values[i] < values[i - 1] || isStartReset(series, i)) lost[resets++] = values[i - 1];
      upTo[i] = resets;
    }
    this.#lost = new WindowSums(lost.slice(0, resets));
  }

  /** Returns what resets lost from the difference between the ends of `[from, to)`. */
  lost(from: number, to: number): number {
    if (this.#upTo === undefined || this.#lost === undefined) return 0;
    const first = this.#upTo[from];
    const last = this.#upTo[to - 1];
    return first === last ? 0 : this.#lost.sum(first, last);
  }
}

/** Cost of comparing two histograms, in units of reading one float. */
const COMPARISON_WORK = 64;

/** Returns 1 for each histogram that follows a reset since the previous histogram. */
export function* histogramResets(series: SampleSeries, limits: QueryLimits): Units<Uint8Array> {
  const { histograms = [] } = series;
  const resets = new Uint8Array(histograms.length);
  const compare = (from: number, to: number): void => {
    for (let i = Math.max(from, 1); i < to; i++) {
      const before = histograms[i - 1];
      const now = histograms[i];
      if (before === undefined || now === undefined) continue;
      if (isStartReset(series, i) || isCounterReset(before, now)) resets[i] = 1;
    }
  };
  yield* inUnits(histograms.length, limits, compare, COMPARISON_WORK);
  return resets;
}

/** Reports whether start times show a counter reset between the samples `i - 1` and `i`. */
export function isStartReset({ times, startTimes }: SampleSeries, i: number): boolean {
  if (startTimes === undefined) return false;
  const start = startTimes[i];
  const before = times[i - 1];
  if (start === 0 || start >= times[i] || start < before) return false;
  if (start > before) return true;
  // It starts at the previous sample, as delta samples do, and cumulative ones whose true start is unknown.
  const previous = startTimes[i - 1];
  return previous !== 0 && previous < before;
}

/** Reports whether the counter of sample `i` started before the previous sample, which belongs to another counter. */
export function overlapsPrevious({ times, startTimes }: SampleSeries, i: number): boolean {
  if (startTimes === undefined) return false;
  const start = startTimes[i];
  return start !== 0 && start < times[i - 1] && start !== startTimes[i - 1];
}

/** Returns the start time of the counter of sample `i` if it is within the window, else 0. */
export function startWithin({ times, startTimes }: SampleSeries, i: number, startMs: number): number {
  const start = startTimes?.[i] ?? 0;
  return start !== 0 && start > startMs && start < times[i] ? start : 0;
}
