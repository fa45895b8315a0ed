import { isCounterReset } from '../histogram/compare.js';
import { compacted, divided, isCustom, reduced, scaled, type Histogram } from '../histogram/histogram.js';
import { areCompatible, HistogramSum } from '../histogram/sum.js';
import { metricName, MIXED_SCHEMAS, quotedMetricName } from '../runtime/annotations.js';
import {
  CounterResets,
  histogramResets,
  isStartReset,
  overlapsPrevious,
  startWithin,
} from '../runtime/counter-resets.js';
import { FLOAT_SAMPLE, setHistogram, type MutableSeries, type SampleSeries } from '../runtime/samples.js';
import type { Units } from '../runtime/scheduler.js';
import type { Windows } from '../runtime/select.js';
import { extendedDifference } from './extended.js';
import type { FunctionDefinition, RangeContext, RangeFunction, StepRange } from './function.js';
import { histogramsIn, isMixed, perWindow, type Window } from './range-function.js';

/** The variants of the difference over a window. */
interface RateKind {
  /** A value below the previous one is a counter reset. */
  readonly isCounter: boolean;
  /** The result is per second. */
  readonly isRate: boolean;
}

/** Difference over the window, extrapolated to those ends that samples come close to. */
function extrapolated(kind: RateKind): RangeFunction {
  const notes = (series: SampleSeries, windows: Windows, steps: StepRange, context: RangeContext): void => {
    if (!kind.isCounter) return;
    noteCounterName(series, context);
    if (series.startTimes !== undefined) warnOfOverlaps(series, windows, steps, context);
  };
  return {
    kind: 'range',
    *run(series, windows, result, context) {
      yield* mixedRates({ series, windows, result, context, kind });
      const steps = { from: 0, to: windows.from.length };
      if (result.kinds.includes(FLOAT_SAMPLE)) notes(series, windows, steps, context);
    },
    floats(series, windows, result, context, steps) {
      const hasResults = putRates({ series, windows, result, context, kind }, steps);
      if (hasResults) notes(series, windows, steps, context);
    },
  };
}

/** Computes the differences of windows that hold floats only. @returns whether there are any. */
function putRates({ series, windows, result, context, kind }: RangeRun, steps: StepRange): boolean {
  const { isCounter } = kind;
  const { times, values } = series;
  const { from: starts, to: ends, startMs, endMs } = windows;
  const scale = kind.isRate ? 1000 / context.rangeMs : 1;
  const facts = isCounter ? CounterResets.of(series) : undefined;
  const resets = facts?.hasResets === true ? facts : undefined;
  const hasStarts = isCounter && series.startTimes !== undefined;
  let hasResults = false;
  for (let step = steps.from; step < steps.to; step++) {
    const from = starts[step];
    const to = ends[step];
    const count = to - from;
    if (count < 1) continue;
    const counterStartMs = hasStarts ? startWithin(series, from, startMs[step]) : 0;
    if (count < 2 && counterStartMs === 0) continue;
    const first = values[from];
    const toEnd = (endMs[step] - times[to - 1]) / 1000;
    const sampled = (times[to - 1] - times[from]) / 1000;
    let difference = values[to - 1] - first;
    if (resets !== undefined) difference += resets.lost(from, to);
    let factor: number;
    if (counterStartMs !== 0) {
      difference += first;
      factor = stretchSince((times[to - 1] - counterStartMs) / 1000, sampled, count, toEnd);
    } else {
      const toZero = isCounter ? secondsToZero(sampled, first, difference) : Infinity;
      factor = stretch(sampled, count, (times[from] - startMs[step]) / 1000, toEnd, toZero);
    }
    hasResults = true;
    result.kinds[step] = FLOAT_SAMPLE;
    result.values[step] = difference * (factor * scale);
  }
  return hasResults;
}

/** Returns how long before its first sample a steadily growing counter was zero, in seconds. */
function secondsToZero(sampled: number, first: number, difference: number): number {
  return difference > 0 && first >= 0 ? sampled * (first / difference) : Infinity;
}

/**
 * Returns the factor that extrapolates the difference between the first and the last sample to the window.
 *
 * @param sampled seconds from the first sample to the last.
 * @param toStart seconds from the start of the window to the first sample.
 * @param toEnd seconds from the last sample to the end of the window.
 * @param toZero limit of the extrapolation to the left, in seconds: a counter is never negative.
 */
function stretch(sampled: number, count: number, toStart: number, toEnd: number, toZero: number): number {
  if (sampled === 0) return 1;
  const average = sampled / (count - 1);
  const threshold = average * 1.1;
  const before = toStart >= threshold ? average / 2 : toStart;
  const past = toEnd >= threshold ? average / 2 : toEnd;
  return (sampled + Math.min(before, toZero) + past) / sampled;
}

/** Returns the factor where the start of the counter is known. @param since seconds from that start to the last sample. */
function stretchSince(since: number, sampled: number, count: number, toEnd: number): number {
  const average = count > 1 ? sampled / (count - 1) : 0;
  return (since + (toEnd >= average * 1.1 ? average / 2 : toEnd)) / since;
}

/** Notes, once per series, that a metric name does not look like that of a counter. */
function noteCounterName(series: SampleSeries, { env, arg }: RangeContext): void {
  if (CounterResets.of(series).isNamedCounter) return;
  const name = metricName(series.labels);
  const what = 'metric might not be a counter, name does not end in _total/_sum/_count/_bucket';
  env.annotations.info(`${what}: ${JSON.stringify(name)}`, arg);
}

/** Warns, once per series, of a sample whose counter started before the previous counter ended. */
function warnOfOverlaps(
  series: SampleSeries,
  { from, to }: Windows,
  steps: StepRange,
  { env, arg }: RangeContext,
): void {
  let next = 1;
  for (let step = steps.from; step < steps.to; step++) {
    for (next = Math.max(next, from[step] + 1); next < to[step]; next++) {
      if (!overlapsPrevious(series, next)) continue;
      const text = 'sample has start time that overlaps with previous sample timestamp for metric';
      env.annotations.warnCounted(`${text} ${quotedMetricName(series.labels)}`, arg);
      return;
    }
  }
}

/** One series and where its results go. */
interface RangeRun {
  readonly series: SampleSeries;
  readonly windows: Windows;
  readonly result: MutableSeries;
  readonly context: RangeContext;
  readonly kind: RateKind;
}

/** Computes the differences of a series that has histograms. */
function* mixedRates(run: RangeRun): Units<void> {
  const { series, windows, result, context, kind } = run;
  const { limits } = context.env;
  const resets = kind.isCounter ? yield* histogramResets(series, limits) : new Uint8Array(0);
  for (let step = 0; step < windows.from.length; step++) {
    const from = windows.from[step];
    const to = windows.to[step];
    if (from >= to) continue;
    const window = { series, from, to, step, startMs: windows.startMs[step], endMs: windows.endMs[step] };
    limits.spend(to - from);
    if (limits.scheduler.isDue) yield;
    if (isMixed(window, context)) continue;
    if (series.histograms?.[from] === undefined) {
      putRates(run, { from: step, to: step + 1 });
      continue;
    }
    const value = yield* histogramRate(window, resets, context, kind);
    if (value !== undefined) setHistogram(result, step, value);
  }
}

function* histogramRate(
  window: Window,
  resets: Uint8Array,
  context: RangeContext,
  kind: RateKind,
): Units<Histogram | undefined> {
  const { series, from, to, startMs, endMs } = window;
  const counterStartMs = kind.isCounter ? startWithin(series, from, startMs) : 0;
  const count = to - from;
  if (count < 2 && counterStartMs === 0) return undefined;
  const histograms = histogramsIn(window);
  const total = yield* histogramDelta(histograms, window, resets, context, kind);
  if (total === undefined) return undefined;
  const { times } = series;
  const [first] = histograms;
  const sampled = (times[to - 1] - times[from]) / 1000;
  const toEnd = (endMs - times[to - 1]) / 1000;
  let factor: number;
  if (counterStartMs !== 0) {
    if (areCompatible(first, histograms[count - 1])) total.add({ ...first, hint: 'unknown' });
    factor = stretchSince((times[to - 1] - counterStartMs) / 1000, sampled, count, toEnd);
  } else {
    const toZero = kind.isCounter ? secondsToZero(sampled, first.count, total.result().count) : Infinity;
    factor = stretch(sampled, count, (times[from] - startMs) / 1000, toEnd, toZero);
  }
  const seconds = kind.isRate ? context.rangeMs / 1000 : 1;
  return scaled(compacted({ ...total.result(), hint: 'gauge' }), factor / seconds);
}

/** Returns the last histogram minus the first, for counters plus what resets lost. */
function* histogramDelta(
  histograms: readonly Histogram[],
  { series, from }: Window,
  resets: Uint8Array,
  context: RangeContext,
  { isCounter }: RateKind,
): Units<HistogramSum | undefined> {
  const { env, arg } = context;
  const { annotations, limits } = env;
  const last = histograms[histograms.length - 1];
  if (isCounter) warnOfGauges(histograms, series, context);
  else warnOfCounters([histograms[0], last], series, context);
  // If the second sample follows a reset, nothing of the first counts and its layout does not matter.
  const isFirstReset = isCounter && resets[from + 1] === 1 && histograms.length > 1;
  const first = isFirstReset ? emptied(histograms[1]) : histograms[0];
  const used = isCounter ? [first, ...histograms.slice(1)] : [first, last];
  if (used.some((it) => isCustom(it) !== isCustom(last))) {
    annotations.warn(`${MIXED_SCHEMAS} for metric name ${quotedMetricName(series.labels)}`, arg);
    return undefined;
  }
  const schema = used.reduce((least, it) => Math.min(least, it.schema), last.schema);
  const coarse = (it: Histogram): Histogram => reduced({ ...it, hint: 'unknown' }, schema);
  const total = new HistogramSum(coarse(last));
  total.add(coarse(first), -1);
  if (total.hasReconciledBounds) {
    annotations.info('mismatched custom buckets were reconciled during subtraction', arg);
  }
  if (!isCounter) return total;
  let wasReconciled = false;
  for (let i = 2; i < used.length; i++) {
    if (resets[from + i] === 0) continue;
    limits.spend(HISTOGRAM_WORK);
    if (limits.scheduler.isDue) yield;
    const isReconciled = total.hasReconciledBounds;
    total.add(coarse(used[i - 1]));
    wasReconciled ||= !isReconciled && total.hasReconciledBounds;
  }
  if (wasReconciled) annotations.info('mismatched custom buckets were reconciled during addition', arg);
  return total;
}

/** Cost of adding a histogram, in units of reading one float. */
const HISTOGRAM_WORK = 100;

function warnOfGauges(histograms: readonly Histogram[], { labels }: SampleSeries, { env, arg }: RangeContext): void {
  if (histograms.every(({ hint }) => hint !== 'gauge')) return;
  env.annotations.warn(`this native histogram metric is not a counter: ${quotedMetricName(labels)}`, arg);
}

function warnOfCounters(histograms: readonly Histogram[], { labels }: SampleSeries, { env, arg }: RangeContext): void {
  if (histograms.every(({ hint }) => hint === 'gauge')) return;
  env.annotations.warn(`this native histogram metric is not a gauge: ${quotedMetricName(labels)}`, arg);
}

function emptied(histogram: Histogram): Histogram {
  const none = { indexes: [], counts: [] };
  return { ...histogram, count: 0, sum: 0, zeroCount: 0, positive: none, negative: none, hint: 'unknown' };
}

/** Difference of the two newest samples. */
function instantaneous(isRate: boolean): RangeFunction {
  return perWindow((window, context) => {
    const { series, to, from } = window;
    if (to - from < 2) return undefined;
    const pair = { ...window, from: to - 2 };
    if (isMixed(pair, context)) return undefined;
    const seconds = (series.times[to - 1] - series.times[to - 2]) / 1000;
    if (seconds === 0) return undefined;
    const isRestarted = isRate && isStartReset(series, to - 1);
    const [before, now] = histogramsIn(pair);
    if (now === undefined) {
      const [earlier, newest] = [series.values[to - 2], series.values[to - 1]];
      if (!isRate) return newest - earlier;
      return (newest < earlier || isRestarted ? newest : newest - earlier) / seconds;
    }
    if (!isRate) {
      warnOfCounters([before, now], series, context);
      return subtracted(before, now, series, context);
    }
    warnOfGauges([before, now], series, context);
    // A change between exponential and custom buckets is a reset, too: then the newest histogram is the increase.
    const increase =
      isRestarted || isCounterReset(before, now) ? compacted(now) : subtracted(before, now, series, context);
    return increase && { ...divided(increase, seconds), hint: 'gauge' };
  });
}

function subtracted(
  before: Histogram,
  now: Histogram,
  { labels }: SampleSeries,
  { env: { annotations }, arg }: RangeContext,
): Histogram | undefined {
  if (isCustom(before) !== isCustom(now)) {
    annotations.warn(`${MIXED_SCHEMAS} for metric name ${quotedMetricName(labels)}`, arg);
    return undefined;
  }
  const total = new HistogramSum({ ...now, hint: 'unknown' });
  total.add({ ...before, hint: 'unknown' }, -1);
  if (total.hasReconciledBounds) {
    annotations.info('mismatched custom buckets were reconciled during subtraction', arg);
  }
  return { ...total.result(), hint: 'gauge' };
}

/** Functions of counters and gauges over a range. */
export const RATE_FUNCTIONS: readonly FunctionDefinition[] = [
  {
    name: 'rate',
    args: { v: 'matrix' },
    doc: 'Per-second increase of a counter, averaged over the range and extrapolated to its ends.',
    body: extrapolated({ isCounter: true, isRate: true }),
    extended: extendedDifference(true, true),
  },
  {
    name: 'increase',
    args: { v: 'matrix' },
    doc: 'Increase of a counter over the range, extrapolated to its ends.',
    body: extrapolated({ isCounter: true, isRate: false }),
    extended: extendedDifference(true, false),
  },
  {
    name: 'delta',
    args: { v: 'matrix' },
    doc: 'Difference of a gauge over the range, extrapolated to its ends.',
    body: extrapolated({ isCounter: false, isRate: false }),
    extended: extendedDifference(false, false),
  },
  {
    name: 'irate',
    args: { v: 'matrix' },
    doc: 'Per-second increase of a counter between the two newest samples.',
    body: instantaneous(true),
  },
  {
    name: 'idelta',
    args: { v: 'matrix' },
    doc: 'Difference of the two newest samples.',
    body: instantaneous(false),
  },
];
