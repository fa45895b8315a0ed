import type { Histogram } from '../histogram/histogram.js';
import { MIXED_KINDS, quotedMetricName } from '../runtime/annotations.js';
import type { QueryLimits } from '../runtime/limits.js';
import { setFloat, setHistogram, type SampleSeries } from '../runtime/samples.js';
import type { Windows } from '../runtime/select.js';
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

/** Result of a window; a promise if the function yields within the window because it is long. */
type WindowResult<T> = T | undefined | Promise<T | undefined>;

/** Builds a function that reads each window independently; its cost is the number of samples of all windows. */
export function perWindow(
  run: (window: Window, context: RangeContext) => WindowResult<number | Histogram>,
): RangeFunction {
  return {
    kind: 'range',
    async run(series, windows, result, context) {
      const { limits } = context.env;
      for (let step = 0; step < windows.from.length; step++) {
        const from = windows.from[step];
        const to = windows.to[step];
        if (from >= to) continue;
        limits.spend(Math.min(to - from, WINDOW_WORK_MAX));
        if (limits.isDue) await limits.yield();
        const made = run(
          { series, from, to, step, startMs: windows.startMs[step], endMs: windows.endMs[step] },
          context,
        );
        const value = made instanceof Promise ? await made : made;
        if (typeof value === 'number') setFloat(result, step, value);
        else if (value !== undefined) setHistogram(result, step, value);
      }
    },
  };
}

/** Longest window whose work is counted in advance; functions count longer ones while they read them. */
const WINDOW_WORK_MAX = 1 << 14;

/** Builds a function of the floats of a window; histograms among them are ignored, with an info annotation. */
export function ofNumbers(
  run: (floats: Float64Array, window: Window, context: RangeContext) => WindowResult<number>,
): RangeFunction {
  return perWindow((window, context) => {
    const floats = floatsIn(window);
    if (floats.length === 0) return undefined;
    if (floats.length < window.to - window.from) noteIgnored(window.series, context);
    return run(floats, window, context);
  });
}

/** Number of samples that cost as much as one window, where blocks of samples are summed in advance. */
const SAMPLES_PER_WORK = 32;

/**
 * Visits all windows of a series in order, in slices short enough for other work of the process.
 *
 * @returns a promise only if it yields before the last slice.
 */
export function windowsInSlices(
  { from, to }: Windows,
  limits: QueryLimits,
  run: (firstStep: number, endStep: number) => void,
): void | Promise<void> {
  for (let step = 0; step < from.length;) {
    if (limits.isDue) return windowsFrom(step, { from, to }, limits, run);
    step = runSlice(step, { from, to }, limits, run);
  }
}

type WindowRanges = Pick<Windows, 'from' | 'to'>;

async function windowsFrom(
  first: number,
  windows: WindowRanges,
  limits: QueryLimits,
  run: (firstStep: number, endStep: number) => void,
): Promise<void> {
  for (let step = first; step < windows.from.length;) {
    if (limits.isDue) await limits.yield();
    step = runSlice(step, windows, limits, run);
  }
}

/** Runs one slice of windows. @returns the step after it. */
function runSlice(
  first: number,
  { from, to }: WindowRanges,
  limits: QueryLimits,
  run: (firstStep: number, endStep: number) => void,
): number {
  let work = 0;
  let end = first;
  for (; end < from.length && work < WINDOW_WORK_MAX; end++) work += 1 + (to[end] - from[end]) / SAMPLES_PER_WORK;
  run(first, end);
  limits.spend(work);
  return end;
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
