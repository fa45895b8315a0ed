import { combineHistograms } from '../aggregations/sum-avg.js';
import { Mean } from '../aggregations/mean.js';
import { areEqual, isReset } from '../histogram/compare.js';
import type { Histogram } from '../histogram/histogram.js';
import { metricName } from '../metric-name.js';
import { NeumaierSum } from '../neumaier.js';
import { numberText } from '../print.js';
import { quantileOf } from '../quantile.js';
import { setFloat, setHistogram, type MutableSeries, type SampleSeries } from '../samples.js';
import type { Windows } from '../select.js';
import type { RangeContext, RangeFunction } from './function.js';

/** One window: the samples `[from, to)` of a series. */
export interface Window {
  readonly series: SampleSeries;
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** A function that looks at each window by itself. */
export function perWindow(
  run: (window: Window, context: RangeContext) => number | Histogram | undefined,
  keepsName = false,
): RangeFunction {
  return {
    kind: 'range',
    keepsName,
    run(series: SampleSeries, windows: Windows, result: MutableSeries, context: RangeContext) {
      for (let step = 0; step < windows.from.length; step++) {
        const [from, to] = [windows.from[step], windows.to[step]];
        if (from >= to) continue;
        const bounds = { startMs: windows.startMs[step], endMs: windows.endMs[step] };
        const value = run({ series, from, to, step, ...bounds }, context);
        if (typeof value === 'number') setFloat(result, step, value);
        else if (value !== undefined) setHistogram(result, step, value);
      }
    },
  };
}

export function histogramsIn({ series, from, to }: Window): Histogram[] {
  const found: Histogram[] = [];
  for (let i = from; i < to; i++) {
    const histogram = series.histograms?.[i];
    if (histogram !== undefined) found.push(histogram);
  }
  return found;
}

export function floatsIn({ series, from, to }: Window): number[] {
  const found: number[] = [];
  for (let i = from; i < to; i++) if (series.histograms?.[i] === undefined) found.push(series.values[i]);
  return found;
}

export function nameOf({ series }: Window): string {
  return JSON.stringify(metricName(series.labels));
}

/** A function of the numbers of a window; histograms among them are left out, with an info. */
function ofNumbers(
  run: (floats: number[], window: Window, context: RangeContext) => number | undefined,
): RangeFunction {
  return perWindow((window, context) => {
    const floats = floatsIn(window);
    if (floats.length === 0) return undefined;
    if (floats.length < window.to - window.from) noteIgnored(window, context);
    return run(floats, window, context);
  });
}

export function noteIgnored(window: Window, { env, arg }: RangeContext): void {
  const what = 'ignored histograms in a range containing both floats and histograms';
  env.notes.info(`${what} for metric name ${nameOf(window)}`, arg);
}

/** Warns of a window with both kinds. @returns whether it is one. */
export function isMixed(window: Window, { env, arg }: RangeContext): boolean {
  const histograms = histogramsIn(window).length;
  if (histograms === 0 || histograms === window.to - window.from) return false;
  env.notes.warn(`encountered a mix of histograms and floats for metric name ${nameOf(window)}`, arg);
  return true;
}

function combined(isMean: boolean): RangeFunction {
  return perWindow((window, context) => {
    if (isMixed(window, context)) return undefined;
    const histograms = histogramsIn(window);
    if (histograms.length > 0) {
      const name = metricName(window.series.labels);
      return combineHistograms(histograms, isMean, { notes: context.env.notes, at: context.arg, name });
    }
    const floats = floatsIn(window);
    return isMean ? meanOf(floats) : sumOf(floats);
  });
}

function meanOf(floats: readonly number[]): number {
  const mean = new Mean();
  for (const x of floats) mean.add(x);
  return mean.value;
}

function sumOf(floats: readonly number[]): number {
  const sum = new NeumaierSum();
  for (const x of floats) sum.add(x);
  return sum.value;
}

/** Welford's population variance with compensation. */
function variance(floats: readonly number[]): number {
  const mean = new NeumaierSum();
  const squares = new NeumaierSum();
  for (const [i, x] of floats.entries()) {
    const distance = x - mean.value;
    mean.add(distance / (i + 1));
    squares.add(distance * (x - mean.value));
  }
  return squares.value / floats.length;
}

function extreme(isBetter: (x: number, best: number) => boolean): (floats: readonly number[]) => number {
  return (floats) => floats.reduce((best, x) => (isBetter(x, best) || Number.isNaN(best) ? x : best));
}

/** The time, in seconds, of the last number that is the extreme. */
function extremeTime(isBetter: (x: number, best: number) => boolean): RangeFunction {
  return ofNumbers((_, { series, from, to }) => {
    let best = -1;
    for (let i = from; i < to; i++) {
      if (series.histograms?.[i] !== undefined) continue;
      if (best < 0 || isBetter(series.values[i], series.values[best]) || Number.isNaN(series.values[best])) best = i;
    }
    return series.times[best] / 1000;
  });
}

function median(values: number[]): number {
  return quantileOf(0.5, values);
}

/** Pairs of neighbours that differ in a way; another kind of sample counts as one. */
function pairs(
  differ: (before: number, after: number) => boolean,
  differHistograms: (before: Histogram, after: Histogram) => boolean,
): RangeFunction {
  return perWindow(({ series, from, to }) => {
    let count = 0;
    for (let i = from + 1; i < to; i++) {
      const before = series.histograms?.[i - 1];
      const after = series.histograms?.[i];
      if (before === undefined && after === undefined) {
        if (differ(series.values[i - 1], series.values[i])) count++;
      } else if (before === undefined || after === undefined || differHistograms(before, after)) {
        count++;
      }
    }
    return count;
  });
}

function sampleAt(series: SampleSeries, i: number): number | Histogram {
  return series.histograms?.[i] ?? series.values[i];
}

export const OVER_TIME: Readonly<Record<string, RangeFunction>> = {
  avg_over_time: combined(true),
  sum_over_time: combined(false),
  min_over_time: ofNumbers(extreme((x, best) => x < best)),
  max_over_time: ofNumbers(extreme((x, best) => x > best)),
  ts_of_min_over_time: extremeTime((x, best) => x <= best),
  ts_of_max_over_time: extremeTime((x, best) => x >= best),
  count_over_time: perWindow(({ from, to }) => to - from),
  present_over_time: perWindow(() => 1),
  first_over_time: perWindow(({ series, from }) => sampleAt(series, from), true),
  last_over_time: perWindow(({ series, to }) => sampleAt(series, to - 1), true),
  ts_of_first_over_time: perWindow(({ series, from }) => series.times[from] / 1000),
  ts_of_last_over_time: perWindow(({ series, to }) => series.times[to - 1] / 1000),
  stdvar_over_time: ofNumbers(variance),
  stddev_over_time: ofNumbers((floats) => Math.sqrt(variance(floats))),
  mad_over_time: ofNumbers((floats) => {
    if (floats.some(Number.isNaN)) return NaN;
    const middle = median([...floats]);
    return median(floats.map((x) => Math.abs(x - middle)));
  }),
  quantile_over_time: ofNumbers((floats, { step }, { env, params, paramExprs }) => {
    const q = params[0][step];
    if (!(q >= 0 && q <= 1)) {
      env.notes.warn(`quantile value should be between 0 and 1, got ${numberText(q)}`, paramExprs[0]);
    }
    return quantileOf(q, floats);
  }),
  changes: pairs(
    (before, after) => before !== after && !(Number.isNaN(before) && Number.isNaN(after)),
    (before, after) => !areEqual(before, after),
  ),
  resets: pairs((before, after) => after < before, isReset),
};
