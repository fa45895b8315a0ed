import { combineHistograms } from '../combine-histograms.js';
import { areEqual, isReset } from '../histogram/compare.js';
import type { Histogram } from '../histogram/histogram.js';
import { Mean } from '../mean.js';
import { metricName } from '../metric-name.js';
import { NeumaierSum } from '../neumaier.js';
import { numberText } from '../print.js';
import { quantileOf } from '../quantile.js';
import { setFloat, type MutableSeries, type SampleSeries } from '../samples.js';
import type { Windows } from '../select.js';
import { isStartReset } from '../start-times.js';
import { histogramsIn, isMixed, floatsIn, ofNumbers, perWindow } from '../window.js';
import { WindowExtremes, WindowSums } from '../window-sums.js';
import type { RangeContext, RangeFunction } from './function.js';

/** A function with a shorter way for series that have no histograms. */
function withFloats(
  general: RangeFunction,
  floats: (series: SampleSeries, windows: Windows, result: MutableSeries) => void,
): RangeFunction {
  return {
    ...general,
    run(series, windows, result, context) {
      if (series.histograms !== undefined) return general.run(series, windows, result, context);
      floats(series, windows, result);
    },
  };
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
    return isMean ? meanOf(floats, 0, floats.length) : new WindowSums(floats).sum(0, floats.length);
  });
}

function meanOf(values: Float64Array, from: number, to: number): number {
  const mean = new Mean();
  for (let i = from; i < to; i++) mean.add(values[i]);
  return mean.value;
}

function sums({ values }: SampleSeries, { from, to }: Windows, result: MutableSeries): void {
  const all = new WindowSums(values);
  for (let step = 0; step < from.length; step++) {
    if (from[step] < to[step]) setFloat(result, step, all.sum(from[step], to[step]));
  }
}

function means({ values }: SampleSeries, { from, to }: Windows, result: MutableSeries): void {
  const all = new WindowSums(values);
  for (let step = 0; step < from.length; step++) {
    const count = to[step] - from[step];
    if (count <= 0) continue;
    const sum = all.sum(from[step], to[step]);
    // Where the sum is too great for a number, the mean need not be.
    setFloat(result, step, Number.isFinite(sum) ? sum / count : meanOf(values, from[step], to[step]));
  }
}

function extremes(isMax: boolean): RangeFunction {
  const general = ofNumbers((floats) => new WindowExtremes(floats, isMax).extreme(0, floats.length));
  return withFloats(general, ({ values }, { from, to }, result) => {
    const all = new WindowExtremes(values, isMax);
    for (let step = 0; step < from.length; step++) {
      if (from[step] < to[step]) setFloat(result, step, all.extreme(from[step], to[step]));
    }
  });
}

/** Something of the ends of a window that is a number for all kinds of samples. */
function ofEnds(value: (series: SampleSeries, from: number, to: number) => number): RangeFunction {
  return {
    kind: 'range',
    keepsName: false,
    run(series, { from, to }, result) {
      for (let step = 0; step < from.length; step++) {
        if (from[step] < to[step]) setFloat(result, step, value(series, from[step], to[step]));
      }
    },
  };
}

/** Welford's population variance with compensation. */
function variance(floats: Float64Array): number {
  const mean = new NeumaierSum();
  const squares = new NeumaierSum();
  for (let i = 0; i < floats.length; i++) {
    const distance = floats[i] - mean.value;
    mean.add(distance / (i + 1));
    squares.add(distance * (floats[i] - mean.value));
  }
  return squares.value / floats.length;
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

/** How many neighbours in a window differ in a way: counted once for the series, then each window is a subtraction. */
function pairs(differ: (series: SampleSeries, i: number) => boolean): RangeFunction {
  return {
    kind: 'range',
    keepsName: false,
    run(series, { from, to }, result, { env }) {
      const count = series.times.length;
      env.limits.spend(count);
      const upTo = new Int32Array(count);
      for (let i = 1; i < count; i++) upTo[i] = upTo[i - 1] + (differ(series, i) ? 1 : 0);
      for (let step = 0; step < from.length; step++) {
        if (from[step] < to[step]) setFloat(result, step, upTo[to[step] - 1] - upTo[from[step]]);
      }
    },
  };
}

/** Whether sample `i` is another kind than the one before, or differs from it. */
function differs(
  { values, histograms }: SampleSeries,
  i: number,
  differ: (before: number, now: number) => boolean,
  differHistograms: (before: Histogram, now: Histogram) => boolean,
): boolean {
  const before = histograms?.[i - 1];
  const now = histograms?.[i];
  if (before === undefined && now === undefined) return differ(values[i - 1], values[i]);
  return before === undefined || now === undefined || differHistograms(before, now);
}

function isChange(before: number, now: number): boolean {
  return before !== now && !(Number.isNaN(before) && Number.isNaN(now));
}

function isDrop(before: number, now: number): boolean {
  return now < before;
}

function areUnequal(before: Histogram, now: Histogram): boolean {
  return !areEqual(before, now);
}

function sampleAt(series: SampleSeries, i: number): number | Histogram {
  return series.histograms?.[i] ?? series.values[i];
}

function absoluteDeviation(floats: Float64Array): number {
  if (floats.some(Number.isNaN)) return NaN;
  const middle = quantileOf(0.5, floats);
  return quantileOf(
    0.5,
    floats.map((x) => Math.abs(x - middle)),
  );
}

function quantileAt(floats: Float64Array, step: number, { env, params, paramExprs }: RangeContext): number {
  const q = params[0][step];
  if (!(q >= 0 && q <= 1)) {
    env.notes.warn(`quantile value should be between 0 and 1, got ${numberText(q)}`, paramExprs[0]);
  }
  return quantileOf(q, floats);
}

export const OVER_TIME: Readonly<Record<string, RangeFunction>> = {
  avg_over_time: withFloats(combined(true), means),
  sum_over_time: withFloats(combined(false), sums),
  min_over_time: extremes(false),
  max_over_time: extremes(true),
  ts_of_min_over_time: extremeTime((x, best) => x <= best),
  ts_of_max_over_time: extremeTime((x, best) => x >= best),
  count_over_time: ofEnds((_, from, to) => to - from),
  present_over_time: ofEnds(() => 1),
  first_over_time: perWindow(({ series, from }) => sampleAt(series, from), true),
  last_over_time: perWindow(({ series, to }) => sampleAt(series, to - 1), true),
  ts_of_first_over_time: ofEnds(({ times }, from) => times[from] / 1000),
  ts_of_last_over_time: ofEnds(({ times }, _, to) => times[to - 1] / 1000),
  stdvar_over_time: ofNumbers(variance),
  stddev_over_time: ofNumbers((floats) => Math.sqrt(variance(floats))),
  mad_over_time: ofNumbers(absoluteDeviation),
  quantile_over_time: ofNumbers((floats, { step }, context) => quantileAt(floats, step, context)),
  changes: pairs((series, i) => differs(series, i, isChange, areUnequal)),
  resets: pairs((series, i) => differs(series, i, isDrop, isReset) || isStartReset(series, i)),
};
