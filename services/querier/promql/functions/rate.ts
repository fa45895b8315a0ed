import { CounterResets, histogramResets, isStartReset, overlapsPrevious, startWithin } from '../runtime/counter-resets.js';
import { isCounterReset } from '../histogram/compare.js';
import { compacted, isCustom, reduced, scaled, type Histogram } from '../histogram/histogram.js';
import { areCompatible, HistogramSum } from '../histogram/sum.js';
import { after } from '../runtime/limits.js';
import { metricName } from '../runtime/annotations.js';
import { FLOAT_SAMPLE, setHistogram, type MutableSeries, type SampleSeries } from '../runtime/samples.js';
import type { Windows } from '../runtime/select.js';
import { histogramsIn, isMixed, MIXED_SCHEMAS, nameOf, perWindow, windowsInSlices, type Window } from './range-function.js';
import type { RangeContext, RangeFunction } from './function.js';

/** What of a range is wanted. */
interface Kind {
  /** Whether a value below the one before means that the counter began anew. */
  readonly isCounter: boolean;
  /** Whether the result is for each second. */
  readonly isRate: boolean;
}

const COUNTER_NAME = /_(?:total|sum|count|bucket)$/;

export const rate = extrapolated({ isCounter: true, isRate: true });
export const increase = extrapolated({ isCounter: true, isRate: false });
export const delta = extrapolated({ isCounter: false, isRate: false });

/** The difference over the window, extrapolated to its ends where samples come close to them. */
function extrapolated(kind: Kind): RangeFunction {
  return {
    kind: 'range',
    keepsName: false,
    run(series, windows, result, context) {
      const { limits } = context.env;
      const resets = kind.isCounter ? CounterResets.of(series, limits) : undefined;
      const runAll = (known: CounterResets | undefined): void | Promise<void> => {
        const floats = new FloatRate(series, windows, context, kind, known);
        const running =
          series.histograms === undefined
            ? windowsInSlices(windows, limits, (from, to) => {
                for (let step = from; step < to; step++) floats.put(result, step);
              })
            : mixedRates(floats, { series, windows, result, context, kind });
        return after(running, () => noteCounter(series, windows, context, kind, floats));
      };
      return resets instanceof Promise ? resets.then(runAll) : runAll(resets);
    },
  };
}

function noteCounter(
  ...[series, windows, context, { isCounter }, { hasResults }]: [
    SampleSeries,
    Windows,
    RangeContext,
    Kind,
    Pick<FloatRate, 'hasResults'>,
  ]
): void | Promise<void> {
  if (!isCounter) return;
  if (hasResults) noteCounterName(series, context);
  if (series.startTimes !== undefined) return warnOfOverlaps(series, windows, context);
}

/** The differences of the windows of a series as far as they hold numbers only. */
class FloatRate {
  readonly #series: SampleSeries;
  readonly #times: Float64Array;
  readonly #values: Float64Array;
  readonly #windows: Windows;
  readonly #isCounter: boolean;
  /** By what a difference is to be multiplied. */
  readonly #scale: number;
  readonly #resets: CounterResets | undefined;
  /** Whether there was a result. */
  hasResults = false;

  constructor(
    ...[series, windows, { rangeMs }, { isCounter, isRate }, resets]: [
      SampleSeries,
      Windows,
      RangeContext,
      Kind,
      CounterResets | undefined,
    ]
  ) {
    this.#series = series;
    this.#times = series.times;
    this.#values = series.values;
    this.#windows = windows;
    this.#isCounter = isCounter;
    this.#scale = isRate ? 1000 / rangeMs : 1;
    this.#resets = resets;
  }

  put(result: MutableSeries, step: number): void {
    const windows = this.#windows;
    const from = windows.from[step];
    const to = windows.to[step];
    const count = to - from;
    const isStarted = this.#isCounter && this.#series.startTimes !== undefined;
    if (count < 1 || (count < 2 && !isStarted)) return;
    const times = this.#times;
    const values = this.#values;
    const startMs = windows.startMs[step];
    const beganMs = isStarted ? startWithin(this.#series, from, startMs) : 0;
    if (count < 2 && beganMs === 0) return;
    const first = values[from];
    const toEnd = (windows.endMs[step] - times[to - 1]) / 1000;
    const sampled = (times[to - 1] - times[from]) / 1000;
    let difference = values[to - 1] - first;
    if (this.#resets !== undefined) difference += this.#resets.lost(from, to);
    let factor: number;
    if (beganMs !== 0) {
      difference += first;
      factor = stretchSince((times[to - 1] - beganMs) / 1000, sampled, count, toEnd);
    } else {
      const toZero = this.#isCounter ? secondsToZero(sampled, first, difference) : Infinity;
      factor = stretch(sampled, count, (times[from] - startMs) / 1000, toEnd, toZero);
    }
    this.hasResults = true;
    result.kinds[step] = FLOAT_SAMPLE;
    result.values[step] = difference * (factor * this.#scale);
  }
}

/** How long before its first sample a counter that grew evenly was at zero. */
function secondsToZero(sampled: number, first: number, difference: number): number {
  return difference > 0 && first >= 0 ? sampled * (first / difference) : Infinity;
}

/**
 * By how much the difference between first and last sample is to be multiplied.
 *
 * @param sampled seconds from the first sample to the last.
 * @param toStart seconds from the start of the window to the first sample.
 * @param toEnd seconds from the last sample to the end of the window.
 * @param toZero most seconds before the first sample that count: a counter was not below zero.
 */
function stretch(sampled: number, count: number, toStart: number, toEnd: number, toZero: number): number {
  if (sampled === 0) return 1;
  const average = sampled / (count - 1);
  const threshold = average * 1.1;
  const before = toStart >= threshold ? average / 2 : toStart;
  const after = toEnd >= threshold ? average / 2 : toEnd;
  return (sampled + Math.min(before, toZero) + after) / sampled;
}

/** The same where it is known when the counter began: nothing has to be guessed on the left. @param since then, in seconds. */
function stretchSince(since: number, sampled: number, count: number, toEnd: number): number {
  const average = count > 1 ? sampled / (count - 1) : 0;
  return (since + (toEnd >= average * 1.1 ? average / 2 : toEnd)) / since;
}

/** Notes, once a series, that a counter's name does not look like one. */
function noteCounterName({ labels }: SampleSeries, { env, arg }: RangeContext): void {
  const name = metricName(labels);
  if (name === '' || COUNTER_NAME.test(name)) return;
  const what = 'metric might not be a counter, name does not end in _total/_sum/_count/_bucket';
  env.annotations.info(`${what}: ${JSON.stringify(name)}`, arg);
}

/** Warns, once a series, of samples whose counter began before other counters of the series ended. */
function warnOfOverlaps(series: SampleSeries, windows: Windows, { env, arg }: RangeContext): void | Promise<void> {
  const { from, to } = windows;
  let isWarned = false;
  let next = 1;
  return windowsInSlices(windows, env.limits, (firstStep, endStep) => {
    for (let step = firstStep; step < endStep && !isWarned; step++) {
      for (next = Math.max(next, from[step] + 1); next < to[step] && !isWarned; next++) {
        if (!overlapsPrevious(series, next)) continue;
        const text = 'sample has start time that overlaps with previous sample timestamp for metric';
        env.annotations.warnCounted(`${text} ${nameOf(series)}`, arg);
        isWarned = true;
      }
    }
  });
}

interface RangeRun {
  readonly series: SampleSeries;
  readonly windows: Windows;
  readonly result: MutableSeries;
  readonly context: RangeContext;
  readonly kind: Kind;
}

/** Windows of a series that has histograms. */
async function mixedRates(floats: FloatRate, { series, windows, result, context, kind }: RangeRun): Promise<void> {
  const { limits } = context.env;
  const resets = kind.isCounter ? await histogramResets(series, limits) : new Uint8Array(0);
  for (let step = 0; step < windows.from.length; step++) {
    const from = windows.from[step];
    const to = windows.to[step];
    if (from >= to) continue;
    const window = { series, from, to, step, startMs: windows.startMs[step], endMs: windows.endMs[step] };
    limits.spend(to - from);
    if (limits.isDue) await limits.yield();
    if (isMixed(window, context)) continue;
    if (series.histograms?.[from] === undefined) {
      floats.put(result, step);
      continue;
    }
    const value = await histogramRate(window, resets, context, kind);
    if (value !== undefined) setHistogram(result, step, value);
  }
}

async function histogramRate(
  window: Window,
  resets: Uint8Array,
  context: RangeContext,
  kind: Kind,
): Promise<Histogram | undefined> {
  const { series, from, to, startMs, endMs } = window;
  const beganMs = kind.isCounter ? startWithin(series, from, startMs) : 0;
  const count = to - from;
  if (count < 2 && beganMs === 0) return undefined;
  const histograms = histogramsIn(window);
  const total = await histogramDelta(histograms, window, resets, context, kind);
  if (total === undefined) return undefined;
  const { times } = series;
  const [first] = histograms;
  const sampled = (times[to - 1] - times[from]) / 1000;
  const toEnd = (endMs - times[to - 1]) / 1000;
  let factor: number;
  if (beganMs !== 0) {
    if (areCompatible(first, histograms[count - 1])) total.add({ ...first, hint: 'unknown' });
    factor = stretchSince((times[to - 1] - beganMs) / 1000, sampled, count, toEnd);
  } else {
    const toZero = kind.isCounter ? secondsToZero(sampled, first.count, total.result().count) : Infinity;
    factor = stretch(sampled, count, (times[from] - startMs) / 1000, toEnd, toZero);
  }
  const seconds = kind.isRate ? context.rangeMs / 1000 : 1;
  return scaled(compacted({ ...total.result(), hint: 'gauge' }), factor / seconds);
}

/** The last histogram less the first; for counters, what was lost at resets is added. */
async function histogramDelta(
  histograms: readonly Histogram[],
  { series, from }: Window,
  resets: Uint8Array,
  context: RangeContext,
  { isCounter }: Kind,
): Promise<HistogramSum | undefined> {
  const { annotations: notes, limits } = context.env;
  const { arg } = context;
  const last = histograms[histograms.length - 1];
  if (isCounter) warnOfGauges(histograms, series, context);
  else warnOfCounters([histograms[0], last], series, context);
  // A reset right behind the first sample makes it one of another layout, and nothing of it counts.
  const startsAnew = isCounter && resets[from + 1] === 1 && histograms.length > 1;
  const first = startsAnew ? emptied(histograms[1]) : histograms[0];
  const looked = isCounter ? [first, ...histograms.slice(1)] : [first, last];
  if (looked.some((it) => isCustom(it) !== isCustom(last))) {
    notes.warn(`${MIXED_SCHEMAS} for metric name ${nameOf(series)}`, arg);
    return undefined;
  }
  const schema = looked.reduce((least, it) => Math.min(least, it.schema), last.schema);
  const coarse = (it: Histogram): Histogram => reduced({ ...it, hint: 'unknown' }, schema);
  const total = new HistogramSum(coarse(last));
  total.add(coarse(first), -1);
  if (total.notes.isReconciled) notes.info('mismatched custom buckets were reconciled during subtraction', arg);
  if (!isCounter) return total;
  let wasReconciled = false;
  for (let i = 2; i < looked.length; i++) {
    if (resets[from + i] === 0) continue;
    limits.spend(HISTOGRAM_WORK);
    if (limits.isDue) await limits.yield();
    const { isReconciled } = total.notes;
    total.add(coarse(looked[i - 1]));
    wasReconciled ||= !isReconciled && total.notes.isReconciled;
  }
  if (wasReconciled) notes.info('mismatched custom buckets were reconciled during addition', arg);
  return total;
}

/** Work of adding a histogram, in numbers that are looked at. */
const HISTOGRAM_WORK = 100;

function warnOfGauges(histograms: readonly Histogram[], series: SampleSeries, { env, arg }: RangeContext): void {
  if (histograms.every(({ hint }) => hint !== 'gauge')) return;
  env.annotations.warn(`this native histogram metric is not a counter: ${nameOf(series)}`, arg);
}

function warnOfCounters(histograms: readonly Histogram[], series: SampleSeries, { env, arg }: RangeContext): void {
  if (histograms.every(({ hint }) => hint === 'gauge')) return;
  env.annotations.warn(`this native histogram metric is not a gauge: ${nameOf(series)}`, arg);
}

function emptied(histogram: Histogram): Histogram {
  const none = { indexes: [], counts: [] };
  return { ...histogram, count: 0, sum: 0, zeroCount: 0, positive: none, negative: none, hint: 'unknown' };
}

export const irate = instantaneous(true);
export const idelta = instantaneous(false);

/** The difference of the two newest samples. */
function instantaneous(isRate: boolean): RangeFunction {
  return perWindow((window, context) => {
    const { series, to, from } = window;
    if (to - from < 2) return undefined;
    const pair = { ...window, from: to - 2 };
    if (isMixed(pair, context)) return undefined;
    const seconds = (series.times[to - 1] - series.times[to - 2]) / 1000;
    if (seconds === 0) return undefined;
    const startsAnew = isRate && isStartReset(series, to - 1);
    const [before, after] = histogramsIn(pair);
    if (after !== undefined) {
      if (!isRate) return histogramPair(before, after, pair, context);
      const difference = histogramIncrease(before, after, startsAnew, pair, context);
      return difference === undefined ? undefined : scaled(difference, 1 / seconds);
    }
    const [earlier, now] = [series.values[to - 2], series.values[to - 1]];
    if (!isRate) return now - earlier;
    return (now < earlier || startsAnew ? now : now - earlier) / seconds;
  });
}

function histogramIncrease(
  before: Histogram,
  after: Histogram,
  startsAnew: boolean,
  window: Window,
  context: RangeContext,
): Histogram | undefined {
  warnOfGauges([before, after], window.series, context);
  if (isCustom(before) === isCustom(after) && (startsAnew || isCounterReset(before, after))) {
    return { ...after, hint: 'gauge' };
  }
  return subtracted(before, after, window, context);
}

function histogramPair(
  before: Histogram,
  after: Histogram,
  window: Window,
  context: RangeContext,
): Histogram | undefined {
  warnOfCounters([before, after], window.series, context);
  return subtracted(before, after, window, context);
}

function subtracted(
  before: Histogram,
  after: Histogram,
  { series }: Window,
  { env: { annotations: notes }, arg }: RangeContext,
): Histogram | undefined {
  if (isCustom(before) !== isCustom(after)) {
    notes.warn(`${MIXED_SCHEMAS} for metric name ${nameOf(series)}`, arg);
    return undefined;
  }
  const total = new HistogramSum({ ...after, hint: 'unknown' });
  total.add({ ...before, hint: 'unknown' }, -1);
  if (total.notes.isReconciled) notes.info('mismatched custom buckets were reconciled during subtraction', arg);
  return { ...total.result(), hint: 'gauge' };
}
