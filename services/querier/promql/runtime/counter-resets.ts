import { isReset } from '../histogram/compare.js';
import { after, type Limits } from './limits.js';
import type { SampleSeries } from './samples.js';
import { isStartReset } from './start-times.js';
import { WindowSums } from './window-sums.js';

/** Where a series of numbers began anew, and what it had reached by then. */
export class CounterResets {
  /** How many resets there are among samples 1 to i; absent if there is none, as for most counters. */
  #upTo: Int32Array | undefined;
  /** The value before each reset, and their sums. */
  #values: Float64Array | undefined;
  #lost: WindowSums | undefined;

  /** Looks at all samples; a promise where there are so many that others are served meanwhile. */
  static of(series: SampleSeries, limits: Limits): CounterResets | Promise<CounterResets> {
    const found = new CounterResets();
    const { values } = series;
    let resets = 0;
    const looked = limits.inTurns(values.length, (from, to) => {
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
export async function histogramResets(series: SampleSeries, limits: Limits): Promise<Uint8Array> {
  const { histograms = [] } = series;
  const resets = new Uint8Array(histograms.length);
  await limits.inTurns(
    histograms.length,
    (from, to) => {
      for (let i = Math.max(from, 1); i < to; i++) {
        const before = histograms[i - 1];
        const now = histograms[i];
        if (before === undefined || now === undefined) continue;
        if (isStartReset(series, i) || isReset(before, now)) resets[i] = 1;
      }
    },
    COMPARISON,
  );
  return resets;
}
