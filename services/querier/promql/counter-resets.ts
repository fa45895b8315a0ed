import { isReset } from './histogram/compare.js';
import type { SampleSeries } from './samples.js';
import { isStartReset } from './start-times.js';
import { WindowSums } from './window-sums.js';

/** Where a series of numbers began anew, and what it had reached by then. */
export class CounterResets {
  /** How many resets there are among samples 1 to i. */
  readonly #upTo: Int32Array;
  /** The value before each reset. */
  readonly #lost: WindowSums;

  constructor(series: SampleSeries) {
    const { values } = series;
    const count = values.length;
    this.#upTo = new Int32Array(count);
    let lost = EMPTY;
    let resets = 0;
    for (let i = 1; i < count; i++) {
      if (values[i] < values[i - 1] || (series.startTimes !== undefined && isStartReset(series, i))) {
        // Few counters begin anew at all.
        if (resets === 0) lost = new Float64Array(count);
        lost[resets++] = values[i - 1];
      }
      this.#upTo[i] = resets;
    }
    this.#lost = new WindowSums(lost, resets);
  }

  /** What is missing from the difference between the ends of `[from, to)`. */
  lost(from: number, to: number): number {
    const first = this.#upTo[from];
    const last = this.#upTo[to - 1];
    return first === last ? 0 : this.#lost.sum(first, last);
  }
}

const EMPTY = new Float64Array(0);

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
