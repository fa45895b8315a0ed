import { NeumaierSum, RunningMean } from '../common/compensated-sum.js';
import { numberText } from '../common/number-text.js';
import { areEqualHistograms, isCounterReset } from '../histogram/compare.js';
import type { Histogram } from '../histogram/histogram.js';
import { metricName } from '../runtime/annotations.js';
import { combineHistograms } from '../runtime/combine-histograms.js';
import { isStartReset } from '../runtime/counter-resets.js';
import { after, type QueryLimits } from '../runtime/limits.js';
import { quantileOf } from '../runtime/quantile.js';
import { setFloat, type MutableSeries, type SampleSeries, type SampleValue } from '../runtime/samples.js';
import type { Windows } from '../runtime/select.js';
import { WindowExtremes, WindowSums } from '../runtime/window-sums.js';
import { extendedCount } from './extended.js';
import type { FunctionDefinition, RangeContext, RangeFunction } from './function.js';
import { histogramsIn, isMixed, floatsIn, ofNumbers, perWindow, windowsInSlices } from './range-function.js';

/** Adds a faster body for series without histograms. */
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
  const mean = new RunningMean();
  const added = limits.inSlices(values.length, (from, to) => {
    for (let i = from; i < to; i++) mean.add(values[i]);
  });
  return after(added, () => mean.value);
}

function sums(
  { values }: SampleSeries,
  windows: Windows,
  result: MutableSeries,
  limits: QueryLimits,
): void | Promise<void> {
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
  // Steps whose sum overflows; their mean may be finite.
  const overflowed: number[] = [];
  const summed = after(all.prepare(limits), () =>
    windowsInSlices(windows, limits, (firstStep, endStep) => {
      for (let step = firstStep; step < endStep; step++) {
        const count = to[step] - from[step];
        if (count <= 0) continue;
        const sum = all.sum(from[step], to[step]);
        if (Number.isFinite(sum)) setFloat(result, step, sum / count);
        else overflowed.push(step);
      }
    }),
  );
  const addOverflowed = async (): Promise<void> => {
    for (const step of overflowed) {
      setFloat(result, step, await meanOf(values.subarray(from[step], to[step]), limits));
    }
  };
  return after(summed, () => (overflowed.length === 0 ? undefined : addOverflowed()));
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

/** Builds a function of the first and last index of a window, which works for floats and histograms. */
function ofEnds(value: (series: SampleSeries, from: number, to: number) => number): RangeFunction {
  return {
    kind: 'range',
    run(series, { from, to }, result, { env }) {
      return env.limits.inSlices(from.length, (firstStep, endStep) => {
        for (let step = firstStep; step < endStep; step++) {
          if (from[step] < to[step]) setFloat(result, step, value(series, from[step], to[step]));
        }
      });
    },
  };
}

/** Population variance by Welford's algorithm, with compensated sums. */
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

/** Builds a function that returns the time of the last extreme value, in seconds. */
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

/** Builds a function that counts pairs of neighbours: once for the series, so each window costs one subtraction. */
function countPairs(differ: (series: SampleSeries, i: number) => boolean): RangeFunction {
  return {
    kind: 'range',
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

/** Reports whether sample `i` differs from the previous one, in its kind or by a predicate. */
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

function valueAt(series: SampleSeries, i: number): SampleValue {
  return series.histograms?.[i] ?? series.values[i];
}

function absoluteDeviation(floats: Float64Array, limits: QueryLimits): number | Promise<number> {
  const middle = quantileOf(0.5, floats, limits);
  return middle instanceof Promise
    ? middle.then((known) => deviationFrom(known, floats, limits))
    : deviationFrom(middle, floats, limits);
}

/** Median of the distances from a number; NaN if one of them is. */
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

/** Counts the samples that differ from the previous one, also for `anchored` selectors. */
function countFunction(
  name: string,
  doc: string,
  isCounted: (before: number, now: number) => boolean,
  areCounted: (before: Histogram, now: Histogram) => boolean,
  isStartCounted = false,
): FunctionDefinition {
  const differ = (series: SampleSeries, i: number): boolean =>
    differs(series, i, isCounted, areCounted) || (isStartCounted && isStartReset(series, i));
  return { name, args: { v: 'matrix' }, doc, body: countPairs(differ), extended: extendedCount(isCounted, areCounted) };
}

/** Declares a function with a range vector as its only argument. */
function overTime(name: string, doc: string, body: RangeFunction): FunctionDefinition {
  return { name, args: { v: 'matrix' }, doc, body };
}

/** Declares an experimental function with a range vector as its only argument. */
function experimentalOverTime(name: string, doc: string, body: RangeFunction): FunctionDefinition {
  return { ...overTime(name, doc, body), isExperimental: true };
}

const countSamples = ofEnds((_, from, to) => to - from);
const anySample = ofEnds(() => 1);
const newest = perWindow(({ series, to }) => valueAt(series, to - 1));
const oldest = perWindow(({ series, from }) => valueAt(series, from));
const newestTime = ofEnds(({ times }, _, to) => times[to - 1] / 1000);
const oldestTime = ofEnds(({ times }, from) => times[from] / 1000);
const lastLeastTime = extremeTime((x, best) => x <= best);
const lastGreatestTime = extremeTime((x, best) => x >= best);
const stddev = ofNumbers((floats, _, { env }) => deviation(floats, env.limits));
const stdvar = ofNumbers((floats, _, { env }) => variance(floats, env.limits));
const mad = ofNumbers((floats, _, { env }) => absoluteDeviation(floats, env.limits));
const quantile = ofNumbers((floats, { step }, context) => quantileAt(floats, step, context));

/** Functions that aggregate the samples of a range. */
export const OVER_TIME_FUNCTIONS: readonly FunctionDefinition[] = [
  overTime('avg_over_time', 'Mean of the samples.', withFloats(combined(true), means)),
  overTime('sum_over_time', 'Sum of the samples.', withFloats(combined(false), sums)),
  overTime('min_over_time', 'Least float.', extremes(false)),
  overTime('max_over_time', 'Greatest float.', extremes(true)),
  overTime('count_over_time', 'Number of samples.', countSamples),
  {
    name: 'quantile_over_time',
    args: { q: 'scalar', v: 'matrix' },
    doc: 'The `q` quantile of the floats, 0 ≤ `q` ≤ 1.',
    body: quantile,
  },
  overTime('stddev_over_time', 'Population standard deviation of the floats.', stddev),
  overTime('stdvar_over_time', 'Population variance of the floats.', stdvar),
  experimentalOverTime('mad_over_time', 'Median absolute deviation of the floats.', mad),
  { ...overTime('last_over_time', 'The newest sample.', newest), keepsName: true },
  { ...overTime('first_over_time', 'The oldest sample.', oldest), keepsName: true },
  overTime('present_over_time', 'Returns 1 if there is a sample.', anySample),
  countFunction('changes', 'Number of times the value changed.', isChange, areUnequal),
  countFunction('resets', 'Number of counter resets.', isDrop, isCounterReset, true),
  experimentalOverTime('ts_of_min_over_time', 'Time of the last least float, in seconds.', lastLeastTime),
  experimentalOverTime('ts_of_max_over_time', 'Time of the last greatest float, in seconds.', lastGreatestTime),
  experimentalOverTime('ts_of_first_over_time', 'Time of the oldest sample, in seconds.', oldestTime),
  experimentalOverTime('ts_of_last_over_time', 'Time of the newest sample, in seconds.', newestTime),
];
