import { isCounterReset } from '../histogram/compare.js';
import { after, type QueryLimits } from './limits.js';
import type { SampleSeries } from './samples.js';
import { WindowSums } from './window-sums.js';

/** Where a series of numbers began anew, and what it had reached by then. */
export class CounterResets {
  /** How many resets there are among samples 1 to i; absent if there is none, as for most counters. */
  #upTo: Int32Array | undefined;
  /** The value before each reset, and their sums. */
  #values: Float64Array | undefined;
  #lost: WindowSums | undefined;

  /** Looks at all samples; a promise where there are so many that others are served meanwhile. */
  static of(series: SampleSeries, limits: QueryLimits): CounterResets | Promise<CounterResets> {
    const found = new CounterResets();
    const { values } = series;
    let resets = 0;
    const looked = limits.inSlices(values.length, (from, to) => {
      resets = found.#look(series, Math.max(from, 1), to, resets);
    });
    return after(looked, () => {
      if (found.#values === undefined) return found;
      const lost = new WindowSums(found.#values, resets);
      found.#lost = lost;
      return after(lost.prepare(limits), () => found);
    });
  }

  /** @returns how many resets there are up to sample `to`. */
  #look(series: SampleSeries, from: number, to: number, before: number): number {
    const { values, startTimes } = series;
    let i = from;
    if (this.#upTo === undefined) {
      while (i < to && !(values[i] < values[i - 1] || (startTimes !== undefined && isStartReset(series, i)))) i++;
      if (i >= to) return before;
    }
    const upTo = (this.#upTo ??= new Int32Array(values.length));
    const lost = (this.#values ??= new Float64Array(values.length));
    let resets = before;
    for (; i < to; i++) {
      if (values[i] < values[i - 1] || isStartReset(series, i)) lost[resets++] = values[i - 1];
      upTo[i] = resets;
    }
    return resets;
  }

  /** What is missing from the difference between the ends of `[from, to)`. */
  lost(from: number, to: number): number {
    if (this.#upTo === undefined || this.#lost === undefined) return 0;
    const first = this.#upTo[from];
    const last = this.#upTo[to - 1];
    return first === last ? 0 : this.#lost.sum(first, last);
  }
}

/** Work of comparing two histograms, in numbers that are looked at. */
const COMPARISON = 64;

/** 1 for each sample that is a histogram after a reset of the histogram in front of it. */
export async function histogramResets(series: SampleSeries, limits: QueryLimits): Promise<Uint8Array> {
  const { histograms = [] } = series;
  const resets = new Uint8Array(histograms.length);
  await limits.inSlices(
    histograms.length,
    (from, to) => {
      for (let i = Math.max(from, 1); i < to; i++) {
        const before = histograms[i - 1];
        const now = histograms[i];
        if (before === undefined || now === undefined) continue;
        if (isStartReset(series, i) || isCounterReset(before, now)) resets[i] = 1;
      }
    },
    COMPARISON,
  );
  return resets;
}

/** Whether it follows from its start that the counter began anew between sample `i - 1` and sample `i`. */
export function isStartReset({ times, startTimes }: SampleSeries, i: number): boolean {
  if (startTimes === undefined) return false;
  const start = startTimes[i];
  const before = times[i - 1];
  if (start === 0 || start >= times[i] || start < before) return false;
  if (start > before) return true;
  // It starts where the last one was read. So do readings of deltas, and cumulative ones whose start nobody knew.
  const previous = startTimes[i - 1];
  return previous !== 0 && previous < before;
}

/** Whether sample `i` began before the one in front of it was read, and is not of the same counter. */
export function overlapsPrevious({ times, startTimes }: SampleSeries, i: number): boolean {
  if (startTimes === undefined) return false;
  const start = startTimes[i];
  return start !== 0 && start < times[i - 1] && start !== startTimes[i - 1];
}

/** When the counter of sample `i` began, if that is within the window before it; else 0. */
export function startWithin({ times, startTimes }: SampleSeries, i: number, startMs: number): number {
  const start = startTimes?.[i] ?? 0;
  return start !== 0 && start > startMs && start < times[i] ? start : 0;
}
