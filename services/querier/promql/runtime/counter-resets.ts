import { isCounterReset } from '../histogram/compare.js';
import { after, type QueryLimits } from './limits.js';
import type { SampleSeries } from './samples.js';
import { WindowSums } from './window-sums.js';

/** The counter resets of a series of floats and the values that they lost. */
export class CounterResets {
  /** Number of resets among the samples 1 to i; undefined if there are none. */
  #upTo: Int32Array | undefined;
  /** Value before each reset, and sums of them. */
  #values: Float64Array | undefined;
  #lost: WindowSums | undefined;

  /** Finds the resets of a series. Returns a promise only if it yields. */
  static of(series: SampleSeries, limits: QueryLimits): CounterResets | Promise<CounterResets> {
    const found = new CounterResets();
    const { values } = series;
    let resets = 0;
    const looked = limits.inSlices(values.length, (from, to) => {
      resets = found.#find(series, Math.max(from, 1), to, resets);
    });
    return after(looked, () => {
      if (found.#values === undefined) return found;
      const lost = new WindowSums(found.#values, resets);
      found.#lost = lost;
      return after(lost.prepare(limits), () => found);
    });
  }

  /** @returns the number of resets before sample `to`. */
  #find(series: SampleSeries, from: number, to: number, before: number): number {
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
    COMPARISON_WORK,
  );
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
