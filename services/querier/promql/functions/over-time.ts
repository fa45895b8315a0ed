import { NeumaierSum, RunningMean } from '../common/compensated-sum.js';
import { numberText } from '../common/number-text.js';
import { areEqualHistograms, isCounterReset } from '../histogram/compare.js';
import type { Histogram } from '../histogram/histogram.js';
import { metricName } from '../runtime/annotations.js';
import { combineHistograms } from '../runtime/combine-histograms.js';
import { isStartReset } from '../runtime/counter-resets.js';
import type { QueryLimits } from '../runtime/limits.js';
import { quantileOf } from '../runtime/quantile.js';
import { setFloat, type SampleSeries, type SampleValue } from '../runtime/samples.js';
import { inUnits, type Units } from '../runtime/scheduler.js';
import { WindowExtremes, WindowSums } from '../runtime/window-sums.js';
import { extendedCount } from './extended.js';
import type { FloatRange, FunctionDefinition, RangeContext, RangeFunction } from './function.js';
import { histogramsIn, isMixed, floatsIn, ofNumbers, perLongWindow, perWindow } from './range-function.js';

function combined(isMean: boolean, floats: FloatRange): RangeFunction {
  const general = perLongWindow(function* (window, context) {
    if (isMixed(window, context)) return undefined;
    const histograms = histogramsIn(window);
    if (histograms.length > 0) {
      const name = metricName(window.series.labels);
      return yield* combineHistograms(histograms, isMean, { env: context.env, at: context.arg, name });
    }
    const values = floatsIn(window);
    return isMean ? meanOf(values) : new WindowSums(values).sum(0, values.length);
  });
  return { ...general, floats };
}

function meanOf(values: Float64Array): number {
  const mean = new RunningMean();
  for (const value of values) mean.add(value);
  return mean.value;
}

const sums: FloatRange = ({ values }, windows, result, _context, steps) => {
  const { from, to } = windows;
  const all = new WindowSums(values, from[steps.from], to[steps.to - 1]);
  for (let step = steps.from; step < steps.to; step++) {
    if (from[step] < to[step]) setFloat(result, step, all.sum(from[step], to[step]));
  }
};

const means: FloatRange = ({ values }, windows, result, _context, steps) => {
  const { from, to } = windows;
  const all = new WindowSums(values, from[steps.from], to[steps.to - 1]);
  for (let step = steps.from; step < steps.to; step++) {
    const count = to[step] - from[step];
    if (count <= 0) continue;
    const sum = all.sum(from[step], to[step]);
    // The mean of a sum that overflows may be finite.
    const mean = Number.isFinite(sum) ? sum / count : meanOf(values.subarray(from[step], to[step]));
    setFloat(result, step, mean);
  }
};

function extremes(isMax: boolean): RangeFunction {
  const general = ofNumbers(function* (floats) {
    return new WindowExtremes(floats, isMax).extreme(0, floats.length);
  });
  const floats: FloatRange = ({ values }, windows, result, _context, steps) => {
    const { from, to } = windows;
    const all = new WindowExtremes(values, isMax, from[steps.from], to[steps.to - 1]);
    for (let step = steps.from; step < steps.to; step++) {
      if (from[step] < to[step]) setFloat(result, step, all.extreme(from[step], to[step]));
    }
  };
  return { ...general, floats };
}

/** Builds a function of the first and last index of a window, which works for floats and histograms. */
function ofEnds(value: (series: SampleSeries, from: number, to: number) => number): RangeFunction {
  const floats: FloatRange = (series, { from, to }, result, _context, steps) => {
    for (let step = steps.from; step < steps.to; step++) {
      if (from[step] < to[step]) setFloat(result, step, value(series, from[step], to[step]));
    }
  };
  return { ...perWindow(({ series, from, to }) => value(series, from, to)), floats };
}

/** Population variance by Welford's algorithm, with compensated sums. */
function* variance(floats: Float64Array, limits: QueryLimits): Units<number> {
  const mean = new NeumaierSum();
  const squares = new NeumaierSum();
  yield* inUnits(floats.length, limits, (from, to) => {
    for (let i = from; i < to; i++) {
      const distance = floats[i] - mean.value;
      mean.add(distance / (i + 1));
      squares.add(distance * (floats[i] - mean.value));
    }
  });
  return squares.value / floats.length;
}

/** Builds a function that returns the time of the last extreme value, in seconds. */
function extremeTime(isBetter: (x: number, best: number) => boolean): RangeFunction {
  return ofNumbers(function* (_, { series, from, to }, { env }) {
    const { histograms, values, times } = series;
    let best = -1;
    yield* inUnits(to - from, env.limits, (first, end) => {
      for (let i = from + first; i < from + end; i++) {
        if (histograms?.[i] !== undefined) continue;
        if (best < 0 || isBetter(values[i], values[best]) || Number.isNaN(values[best])) best = i;
      }
    });
    return times[best] / 1000;
  });
}

/** Builds a function that counts pairs of neighbours: once for the series, so each window costs one subtraction. */
function countPairs(differ: (series: SampleSeries, i: number) => boolean): RangeFunction {
  return {
    kind: 'range',
    *run(series, { from, to }, result, { env }) {
      const { limits } = env;
      const first = from[0];
      const upTo = new Int32Array(Math.max(0, to[to.length - 1] - first));
      yield* inUnits(upTo.length, limits, (begin, end) => {
        for (let i = Math.max(begin, 1); i < end; i++) upTo[i] = upTo[i - 1] + (differ(series, first + i) ? 1 : 0);
      });
      yield* inUnits(from.length, limits, (firstStep, endStep) => {
        for (let step = firstStep; step < endStep; step++) {
          if (from[step] < to[step]) setFloat(result, step, upTo[to[step] - 1 - first] - upTo[from[step] - first]);
        }
      });
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

/** Median of the distances from the median; NaN if one of them is. */
function* absoluteDeviation(floats: Float64Array, limits: QueryLimits): Units<number> {
  const middle = yield* quantileOf(0.5, floats, limits);
  const distances = new Float64Array(floats.length);
  let hasNan = false;
  yield* inUnits(floats.length, limits, (from, to) => {
    for (let i = from; i < to; i++) {
      const x = floats[i];
      hasNan ||= Number.isNaN(x);
      distances[i] = Math.abs(x - middle);
    }
  });
  return hasNan ? NaN : yield* quantileOf(0.5, distances, limits);
}

function quantileAt(floats: Float64Array, step: number, { env, params, paramExprs }: RangeContext): Units<number> {
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
const stddev = ofNumbers(function* (floats, _, { env }) {
  return Math.sqrt(yield* variance(floats, env.limits));
});
const stdvar = ofNumbers((floats, _, { env }) => variance(floats, env.limits));
const mad = ofNumbers((floats, _, { env }) => absoluteDeviation(floats, env.limits));
const quantile = ofNumbers((floats, { step }, context) => quantileAt(floats, step, context));

/** Functions that aggregate the samples of a range. */
export const OVER_TIME_FUNCTIONS: readonly FunctionDefinition[] = [
  overTime('avg_over_time', 'Mean of the samples.', combined(true, means)),
  overTime('sum_over_time', 'Sum of the samples.', combined(false, sums)),
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
