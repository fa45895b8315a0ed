import { isReset } from './histogram/compare.js';
import type { SampleSeries } from './samples.js';
import { isStartReset } from './start-times.js';
import { WindowSums } from './window-sums.js';

/** Where a series of numbers began anew, and what it had reached by then. */
export class CounterResets {
  /** How many resets there are among samples 1 to i; absent if there is none, as for most counters. */
  #upTo: Int32Array | undefined;
  /** The value before each reset. */
  #lost: WindowSums | undefined;

  constructor(series: SampleSeries) {
    const { values, startTimes } = series;
    for (let i = 1; i < values.length; i++) {
      if (values[i] < values[i - 1] || (startTimes !== undefined && isStartReset(series, i))) {
        this.#collect(series, i);
        return;
      }
    }
  }

  /** @param first sample behind a reset. */
  #collect(series: SampleSeries, first: number): void {
    const { values } = series;
    const upTo = new Int32Array(values.length);
    const lost = new Float64Array(values.length);
    let resets = 0;
    for (let i = first; i < values.length; i++) {
      if (values[i] < values[i - 1] || isStartReset(series, i)) lost[resets++] = values[i - 1];
      upTo[i] = resets;
    }
    this.#upTo = upTo;
    this.#lost = new WindowSums(lost, resets);
  }

  /** What is missing from the difference between the ends of `[from, to)`. */
  lost(from: number, to: number): number {
    if (this.#upTo === undefined || this.#lost === undefined) return 0;
    const first = this.#upTo[from];
    const last = this.#upTo[to - 1];
    return first === last ? 0 : this.#lost.sum(first, last);
  }
}

/** 1 for each sample that is a histogram after a reset of the histogram in front of it. */
export function histogramResets(series: SampleSeries): Uint8Array {
  const { histograms = [] } = series;
  const resets = new Uint8Array(histograms.length);
  for (let i = 1; i < histograms.length; i++) {
    const before = histograms[i - 1];
    const now = histograms[i];
    if (before === undefined || now === undefined) continue;
    if (isStartReset(series, i) || isReset(before, now)) resets[i] = 1;
  }
  return resets;
}
