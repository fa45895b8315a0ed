import type { RangeContext, RangeFunction } from './function.js';
import type { Histogram } from '../histogram/histogram.js';
import type { QueryLimits } from '../runtime/limits.js';
import { metricName } from '../runtime/annotations.js';
import { setFloat, setHistogram, type SampleSeries } from '../runtime/samples.js';
import type { Windows } from '../runtime/select.js';

/** What annotations say of samples that do not go together. */
export const MIXED_KINDS = 'encountered a mix of histograms and floats';
export const MIXED_SCHEMAS = 'vector contains a mix of histograms with exponential and custom buckets schemas';

/** One window: the samples `[from, to)` of a series, never none. */
export interface Window {
  readonly series: SampleSeries;
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** What a function makes of a window; a promise of it where the window is so long that others are served meanwhile. */
type OfWindow<T> = T | undefined | Promise<T | undefined>;

/** A function that looks at each window by itself; its cost is that of all samples of all windows. */
export function perWindow(
  run: (window: Window, context: RangeContext) => OfWindow<number | Histogram>,
  keepsName = false,
): RangeFunction {
  return {
    kind: 'range',
    keepsName,
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

/** Longer windows count what is done with them while it is done. */
const WINDOW_WORK_MAX = 1 << 14;

/** A function of the numbers of a window; histograms among them are left out, with an info. */
export function ofNumbers(
  run: (floats: Float64Array, window: Window, context: RangeContext) => OfWindow<number>,
): RangeFunction {
  return perWindow((window, context) => {
    const floats = floatsIn(window);
    if (floats.length === 0) return undefined;
    if (floats.length < window.to - window.from) noteIgnored(window.series, context);
    return run(floats, window, context);
  });
}

/** Samples of a window that cost as much as a window itself, where blocks of them were added up before. */
const SAMPLES_PER_WORK = 32;

/**
 * Looks at all windows of a series in order, so many at once that others do not wait long.
 *
 * @returns a promise only where others are served before all is done.
 */
export function windowsInSlices(
  { from, to }: Windows,
  limits: QueryLimits,
  run: (firstStep: number, endStep: number) => void,
): void | Promise<void> {
  for (let step = 0; step < from.length;) {
    if (limits.isDue) return windowsFrom(step, { from, to }, limits, run);
    step = someWindows(step, { from, to }, limits, run);
  }
}

type SomeWindows = Pick<Windows, 'from' | 'to'>;

async function windowsFrom(
  first: number,
  windows: SomeWindows,
  limits: QueryLimits,
  run: (firstStep: number, endStep: number) => void,
): Promise<void> {
  for (let step = first; step < windows.from.length;) {
    if (limits.isDue) await limits.yield();
    step = someWindows(step, windows, limits, run);
  }
}

function someWindows(
  first: number,
  { from, to }: SomeWindows,
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

/** The histograms of a window. */
export function histogramsIn({ series, from, to }: Window): Histogram[] {
  const found: Histogram[] = [];
  if (series.histograms === undefined) return found;
  for (let i = from; i < to; i++) {
    const histogram = series.histograms[i];
    if (histogram !== undefined) found.push(histogram);
  }
  return found;
}

/** The numbers of a window; may be a view of the samples themselves, so it is not to be changed. */
export function floatsIn({ series, from, to }: Window): Float64Array {
  const { histograms, values } = series;
  if (histograms === undefined) return values.subarray(from, to);
  const found: number[] = [];
  for (let i = from; i < to; i++) if (histograms[i] === undefined) found.push(values[i]);
  return Float64Array.from(found);
}

/** The metric name as annotations show it. */
export function nameOf({ labels }: SampleSeries): string {
  return JSON.stringify(metricName(labels));
}

/** Notes that a window held histograms which its function does not look at. */
export function noteIgnored(series: SampleSeries, { env, arg }: RangeContext): void {
  const what = 'ignored histograms in a range containing both floats and histograms';
  env.annotations.info(`${what} for metric name ${nameOf(series)}`, arg);
}

/** Warns of a window with both kinds. @returns whether it is one. */
export function isMixed({ series, from, to }: Window, { env, arg }: RangeContext): boolean {
  if (series.histograms === undefined) return false;
  let histograms = 0;
  for (let i = from; i < to; i++) if (series.histograms[i] !== undefined) histograms++;
  if (histograms === 0 || histograms === to - from) return false;
  env.annotations.warn(`${MIXED_KINDS} for metric name ${nameOf(series)}`, arg);
  return true;
}
