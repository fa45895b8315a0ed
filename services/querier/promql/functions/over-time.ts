import { combineHistograms } from '../runtime/combine-histograms.js';
import { areEqualHistograms, isCounterReset } from '../histogram/compare.js';
import type { Histogram } from '../histogram/histogram.js';
import { after, type QueryLimits } from '../runtime/limits.js';
import { Mean, NeumaierSum } from '../common/compensated-sum.js';
import { metricName } from '../runtime/annotations.js';
import { numberText } from '../syntax/print.js';
import { quantileOf } from '../runtime/quantile.js';
import { setFloat, type MutableSeries, type SampleSeries } from '../runtime/samples.js';
import type { Windows } from '../runtime/select.js';
import { isStartReset } from '../runtime/counter-resets.js';
import { histogramsIn, isMixed, floatsIn, ofNumbers, perWindow, windowsInSlices } from './range-function.js';
import { WindowExtremes, WindowSums } from '../runtime/window-sums.js';
import type { RangeContext, RangeFunction } from './function.js';

/** A function with a shorter way for series that have no histograms. */
function withFloats(
  general: RangeFunction,
  floats: (series: SampleSeries, windows: Windows, result: MutableSeries, limits: QueryLimits) => void | Promise<void>,
): RangeFunction {
  return {
    ...general,
    run(series, windows, result, context) {
      if (series.histograms !== undefined) return general.run(series, windows, result, context);
      return floats(series, windows, result, context.env.limits);
    },
  };
}

function combined(isMean: boolean): RangeFunction {
  return perWindow((window, context) => {
    if (isMixed(window, context)) return undefined;
    const histograms = histogramsIn(window);
    if (histograms.length > 0) {
      const name = metricName(window.series.labels);
      return combineHistograms(histograms, isMean, { env: context.env, at: context.arg, name });
    }
    const floats = floatsIn(window);
    return isMean ? meanOf(floats, context.env.limits) : new WindowSums(floats).sum(0, floats.length);
  });
}

function meanOf(values: Float64Array, limits: QueryLimits): number | Promise<number> {
  const mean = new Mean();
  const added = limits.inSlices(values.length, (from, to) => {
    for (let i = from; i < to; i++) mean.add(values[i]);
  });
  return after(added, () => mean.value);
}

function sums({ values }: SampleSeries, windows: Windows, result: MutableSeries, limits: QueryLimits): void | Promise<void> {
  const { from, to } = windows;
  const all = new WindowSums(values);
  return after(all.prepare(limits), () =>
    windowsInSlices(windows, limits, (firstStep, endStep) => {
      for (let step = firstStep; step < endStep; step++) {
        if (from[step] < to[step]) setFloat(result, step, all.sum(from[step], to[step]));
      }
    }),
  );
}

function means(
  { values }: SampleSeries,
  windows: Windows,
  result: MutableSeries,
  limits: QueryLimits,
): void | Promise<void> {
  const { from, to } = windows;
  const all = new WindowSums(values);
  /** Where the sum is too great for a number, the mean need not be. */
  const others: number[] = [];
  const summed = after(all.prepare(limits), () =>
    windowsInSlices(windows, limits, (firstStep, endStep) => {
      for (let step = firstStep; step < endStep; step++) {
        const count = to[step] - from[step];
        if (count <= 0) continue;
        const sum = all.sum(from[step], to[step]);
        if (Number.isFinite(sum)) setFloat(result, step, sum / count);
        else others.push(step);
      }
    }),
  );
  return after(summed, () =>
    others.length === 0 ? undefined : meansOneByOne(values, windows, others, result, limits),
  );
}

async function meansOneByOne(
  ...[values, { from, to }, steps, result, limits]: [Float64Array, Windows, readonly number[], MutableSeries, QueryLimits]
): Promise<void> {
  for (const step of steps) setFloat(result, step, await meanOf(values.subarray(from[step], to[step]), limits));
}

function extremes(isMax: boolean): RangeFunction {
  const general = ofNumbers((floats) => new WindowExtremes(floats, isMax).extreme(0, floats.length));
  return withFloats(general, ({ values }, windows, result, limits) => {
    const { from, to } = windows;
    const all = new WindowExtremes(values, isMax);
    return after(all.prepare(limits), () =>
      windowsInSlices(windows, limits, (firstStep, endStep) => {
        for (let step = firstStep; step < endStep; step++) {
          if (from[step] < to[step]) setFloat(result, step, all.extreme(from[step], to[step]));
        }
      }),
    );
  });
}

/** Something of the ends of a window that is a number for all kinds of samples. */
function ofEnds(value: (series: SampleSeries, from: number, to: number) => number): RangeFunction {
  return {
    kind: 'range',
    keepsName: false,
    run(series, { from, to }, result, { env }) {
      return env.limits.inSlices(from.length, (firstStep, endStep) => {
        for (let step = firstStep; step < endStep; step++) {
          if (from[step] < to[step]) setFloat(result, step, value(series, from[step], to[step]));
        }
      });
    },
  };
}

/** Welford's population variance with compensation. */
function variance(floats: Float64Array, limits: QueryLimits): number | Promise<number> {
  const mean = new NeumaierSum();
  const squares = new NeumaierSum();
  const added = limits.inSlices(floats.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const distance = floats[i] - mean.value;
      mean.add(distance / (i + 1));
      squares.add(distance * (floats[i] - mean.value));
    }
  });
  return after(added, () => squares.value / floats.length);
}

function deviation(floats: Float64Array, limits: QueryLimits): number | Promise<number> {
  const squared = variance(floats, limits);
  return squared instanceof Promise ? squared.then(Math.sqrt) : Math.sqrt(squared);
}

/** The time, in seconds, of the last number that is the extreme. */
function extremeTime(isBetter: (x: number, best: number) => boolean): RangeFunction {
  return ofNumbers((_, { series, from, to }, { env }) => {
    const { histograms, values, times } = series;
    let best = -1;
    const looked = env.limits.inSlices(to - from, (first, end) => {
      for (let i = from + first; i < from + end; i++) {
        if (histograms?.[i] !== undefined) continue;
        if (best < 0 || isBetter(values[i], values[best]) || Number.isNaN(values[best])) best = i;
      }
    });
    return after(looked, () => times[best] / 1000);
  });
}

/** How many neighbours in a window differ in a way: counted once for the series, then each window is a subtraction. */
function pairs(differ: (series: SampleSeries, i: number) => boolean): RangeFunction {
  return {
    kind: 'range',
    keepsName: false,
    run(series, { from, to }, result, { env }) {
      const { limits } = env;
      const upTo = new Int32Array(series.times.length);
      const counted = limits.inSlices(upTo.length, (first, end) => {
        for (let i = Math.max(first, 1); i < end; i++) upTo[i] = upTo[i - 1] + (differ(series, i) ? 1 : 0);
      });
      return after(counted, () =>
        limits.inSlices(from.length, (firstStep, endStep) => {
          for (let step = firstStep; step < endStep; step++) {
            if (from[step] < to[step]) setFloat(result, step, upTo[to[step] - 1] - upTo[from[step]]);
          }
        }),
      );
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
  return !areEqualHistograms(before, now);
}

function sampleAt(series: SampleSeries, i: number): number | Histogram {
  return series.histograms?.[i] ?? series.values[i];
}

function absoluteDeviation(floats: Float64Array, limits: QueryLimits): number | Promise<number> {
  const middle = quantileOf(0.5, floats, limits);
  return middle instanceof Promise
    ? middle.then((known) => deviationFrom(known, floats, limits))
    : deviationFrom(middle, floats, limits);
}

/** The median of the distances from a number; NaN if one of them is. */
function deviationFrom(middle: number, floats: Float64Array, limits: QueryLimits): number | Promise<number> {
  const distances = new Float64Array(floats.length);
  let hasNan = false;
  const measured = limits.inSlices(floats.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const x = floats[i];
      hasNan ||= Number.isNaN(x);
      distances[i] = Math.abs(x - middle);
    }
  });
  return after(measured, () => (hasNan ? NaN : quantileOf(0.5, distances, limits)));
}

function quantileAt(
  floats: Float64Array,
  step: number,
  { env, params, paramExprs }: RangeContext,
): number | Promise<number> {
  const q = params[0][step];
  if (!(q >= 0 && q <= 1)) {
    env.annotations.warn(`quantile value should be between 0 and 1, got ${numberText(q)}`, paramExprs[0]);
  }
  return quantileOf(q, floats, env.limits);
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
  stdvar_over_time: ofNumbers((floats, _, { env }) => variance(floats, env.limits)),
  stddev_over_time: ofNumbers((floats, _, { env }) => deviation(floats, env.limits)),
  mad_over_time: ofNumbers((floats, _, { env }) => absoluteDeviation(floats, env.limits)),
  quantile_over_time: ofNumbers((floats, { step }, context) => quantileAt(floats, step, context)),
  changes: pairs((series, i) => differs(series, i, isChange, areUnequal)),
  resets: pairs((series, i) => differs(series, i, isDrop, isCounterReset) || isStartReset(series, i)),
};
