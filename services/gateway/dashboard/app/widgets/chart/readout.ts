import { nearestSample, type ChartSeries } from './series.js';
import type { SeriesStyle } from './series-style.js';

/** The value of a series at the cursor. */
export interface Reading {
  readonly series: ChartSeries;
  readonly style: SeriesStyle;
  readonly timeMs: number;
  readonly value: number;
}

/** The values at one time, as a tooltip or a pinned card shows them. */
export interface Readout {
  readonly timeMs: number;
  /** The nearest to the pointer first. */
  readonly readings: readonly Reading[];
}

/**
 * Returns the values of all series at a time.
 *
 * @param toleranceMs how far from the time the sample of a series may be.
 * @param distance of a value from the pointer, for the order.
 */
export function readoutAt(
  { series, styles }: { readonly series: readonly ChartSeries[]; readonly styles: readonly SeriesStyle[] },
  timeMs: number,
  toleranceMs: number,
  distance: (value: number, position: number) => number,
): Readout {
  const found: { readonly reading: Reading; readonly far: number }[] = [];
  series.forEach((one, i) => {
    const at = nearestSample(one.times, timeMs, toleranceMs);
    if (at < 0) return;
    const value = one.values[at];
    const far = distance(value, i);
    const reading = { series: one, style: styles[i], timeMs: one.times[at], value };
    // What has no place on the axis has no distance.
    found.push({ reading, far: Number.isNaN(far) ? Infinity : far });
  });
  // Equal distances must not make the difference of two infinities.
  found.sort((a, b) => (a.far === b.far ? 0 : a.far - b.far));
  return { timeMs, readings: found.map(({ reading }) => reading) };
}
