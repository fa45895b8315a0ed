import type { Histogram } from '../histogram/histogram.js';
import { MIXED_KINDS, quotedMetricName } from '../runtime/annotations.js';
import { UNIT_WORK, type Units } from '../runtime/scheduler.js';
import { setFloat, setHistogram, type SampleSeries } from '../runtime/samples.js';
import type { RangeContext, RangeFunction } from './function.js';

/** One window: the samples `[from, to)` of a series, at least one. */
export interface Window {
  readonly series: SampleSeries;
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** Builds a function that reads each window independently; its cost is the number of samples of all windows. */
export function perWindow(
  run: (window: Window, context: RangeContext) => number | Histogram | undefined,
): RangeFunction {
  return perLongWindow(function* (window, context) {
    return run(window, context);
  });
}

/** Builds the same from a function that divides long windows into units. */
export function perLongWindow(
  run: (window: Window, context: RangeContext) => Units<number | Histogram | undefined>,
): RangeFunction {
  return {
    kind: 'range',
    *run(series, windows, result, context) {
      const { limits } = context.env;
      for (let step = 0; step < windows.from.length; step++) {
        const from = windows.from[step];
        const to = windows.to[step];
        if (from >= to) continue;
        limits.spend(Math.min(to - from, WINDOW_WORK_MAX));
        if (limits.scheduler.isDue) yield;
        const value = yield* run(
          { series, from, to, step, startMs: windows.startMs[step], endMs: windows.endMs[step] },
          context,
        );
        if (typeof value === 'number') setFloat(result, step, value);
        else if (value !== undefined) setHistogram(result, step, value);
      }
    },
  };
}

/** Longest window whose work is counted in advance; functions count longer ones while they read them. */
const WINDOW_WORK_MAX = UNIT_WORK;

/** Builds a function of the floats of a window; histograms among them are ignored, with an info annotation. */
export function ofNumbers(
  run: (floats: Float64Array, window: Window, context: RangeContext) => Units<number>,
): RangeFunction {
  return perLongWindow(function* (window, context) {
    const floats = floatsIn(window);
    if (floats.length === 0) return undefined;
    if (floats.length < window.to - window.from) noteIgnored(window.series, context);
    return yield* run(floats, window, context);
  });
}

/** Returns the histograms of a window. */
export function histogramsIn({ series, from, to }: Window): Histogram[] {
  const found: Histogram[] = [];
  if (series.histograms === undefined) return found;
  for (let i = from; i < to; i++) {
    const histogram = series.histograms[i];
    if (histogram !== undefined) found.push(histogram);
  }
  return found;
}

/** Returns the floats of a window. The array may be a view of the samples: do not change it. */
export function floatsIn({ series, from, to }: Window): Float64Array {
  const { histograms, values } = series;
  if (histograms === undefined) return values.subarray(from, to);
  const found: number[] = [];
  for (let i = from; i < to; i++) if (histograms[i] === undefined) found.push(values[i]);
  return Float64Array.from(found);
}

/** Notes that a window holds histograms which its function ignores. */
export function noteIgnored({ labels }: SampleSeries, { env, arg }: RangeContext): void {
  const what = 'ignored histograms in a range containing both floats and histograms';
  env.annotations.info(`${what} for metric name ${quotedMetricName(labels)}`, arg);
}

/** Reports whether a window holds both floats and histograms, and warns if so. */
export function isMixed({ series, from, to }: Window, { env, arg }: RangeContext): boolean {
  if (series.histograms === undefined) return false;
  let histograms = 0;
  for (let i = from; i < to; i++) if (series.histograms[i] !== undefined) histograms++;
  if (histograms === 0 || histograms === to - from) return false;
  env.annotations.warn(`${MIXED_KINDS} for metric name ${quotedMetricName(series.labels)}`, arg);
  return true;
}
