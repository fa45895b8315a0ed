import type { Histogram } from '../histogram/histogram.js';
import { compacted, isCustom, reduced, scaled } from '../histogram/histogram.js';
import { isReset } from '../histogram/compare.js';
import { HistogramSum } from '../histogram/sum.js';
import { metricName } from '../metric-name.js';
import type { RangeContext, RangeFunction } from './function.js';
import { histogramsIn, isMixed, nameOf, perWindow, type Window } from './over-time.js';

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
  return perWindow((window, context) => {
    if (window.to - window.from < 2) return undefined;
    if (isMixed(window, context)) return undefined;
    const histograms = histogramsIn(window);
    if (histograms.length === 0) {
      if (kind.isCounter) noteCounterName(window, context);
      return floatDelta(window, kind) * factorOf(window, context, kind, floatEnds(window, kind));
    }
    const difference = histogramDelta(histograms, window, context, kind);
    if (difference === undefined) return undefined;
    const ends = { first: histograms[0].count, difference: difference.count };
    return scaled(difference, factorOf(window, context, kind, ends));
  });
}

function floatDelta({ series: { values }, from, to }: Window, { isCounter }: Kind): number {
  let difference = values[to - 1] - values[from];
  if (isCounter) {
    for (let i = from + 1; i < to; i++) if (values[i] < values[i - 1]) difference += values[i - 1];
  }
  return difference;
}

interface Ends {
  readonly first: number;
  readonly difference: number;
}

function floatEnds(window: Window, kind: Kind): Ends {
  return { first: window.series.values[window.from], difference: floatDelta(window, kind) };
}

/** By how much the difference between first and last sample is to be multiplied. */
function factorOf(window: Window, { rangeMs }: RangeContext, { isCounter, isRate }: Kind, ends: Ends): number {
  const { series, from, to, startMs, endMs } = window;
  const sampled = (series.times[to - 1] - series.times[from]) / 1000;
  const average = sampled / (to - from - 1);
  const threshold = average * 1.1;
  let toStart = (series.times[from] - startMs) / 1000;
  let toEnd = (endMs - series.times[to - 1]) / 1000;
  if (toStart >= threshold) toStart = average / 2;
  // A counter was not below zero.
  if (isCounter && ends.difference > 0 && ends.first >= 0) {
    toStart = Math.min(toStart, sampled * (ends.first / ends.difference));
  }
  if (toEnd >= threshold) toEnd = average / 2;
  const factor = sampled === 0 ? 1 : (sampled + toStart + toEnd) / sampled;
  return isRate ? factor / (rangeMs / 1000) : factor;
}

export function noteCounterName({ series }: Window, { env, arg }: RangeContext): void {
  const name = metricName(series.labels);
  if (name === '' || COUNTER_NAME.test(name)) return;
  const what = 'metric might not be a counter, name does not end in _total/_sum/_count/_bucket';
  env.notes.info(`${what}: ${JSON.stringify(name)}`, arg);
}

/** The last histogram less the first; for counters, what was lost at resets is added. */
function histogramDelta(
  histograms: readonly Histogram[],
  window: Window,
  { env, arg }: RangeContext,
  { isCounter }: Kind,
): Histogram | undefined {
  const { notes } = env;
  const last = histograms[histograms.length - 1];
  if (isCounter && histograms.some(({ hint }) => hint === 'gauge')) {
    notes.warn(`this native histogram metric is not a counter: ${nameOf(window)}`, arg);
  }
  if (!isCounter && (histograms[0].hint !== 'gauge' || last.hint !== 'gauge')) {
    notes.warn(`this native histogram metric is not a gauge: ${nameOf(window)}`, arg);
  }
  // A reset right behind the first sample makes it one of another layout, and nothing of it counts.
  const startsAnew = isCounter && isReset(histograms[0], histograms[1]);
  const first = startsAnew ? emptied(histograms[1]) : histograms[0];
  const looked = isCounter ? [first, ...histograms.slice(1)] : [first, last];
  if (looked.some((it) => isCustom(it) !== isCustom(last))) {
    const what = 'vector contains a mix of histograms with exponential and custom buckets schemas';
    notes.warn(`${what} for metric name ${nameOf(window)}`, arg);
    return undefined;
  }
  const schema = Math.min(...looked.map((it) => it.schema));
  const coarse = (it: Histogram): Histogram => reduced({ ...it, hint: 'unknown' }, schema);
  const total = new HistogramSum(coarse(last));
  total.add(coarse(first), -1);
  if (total.notes.isReconciled) notes.info('mismatched custom buckets were reconciled during subtraction', arg);
  if (isCounter) {
    const wasReconciled = addResets(total, looked, coarse);
    if (wasReconciled) notes.info('mismatched custom buckets were reconciled during addition', arg);
  }
  return compacted({ ...total.result(), hint: 'gauge' });
}

/** @returns whether custom bounds differed. */
function addResets(
  total: HistogramSum,
  histograms: readonly Histogram[],
  coarse: (histogram: Histogram) => Histogram,
): boolean {
  let wasReconciled = false;
  for (let i = 1; i < histograms.length; i++) {
    if (!isReset(histograms[i - 1], histograms[i])) continue;
    const { isReconciled } = total.notes;
    total.add(coarse(histograms[i - 1]));
    wasReconciled ||= !isReconciled && total.notes.isReconciled;
  }
  return wasReconciled;
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
    const histograms = histogramsIn(pair);
    if (histograms.length === 2) {
      const difference = histogramPair(histograms, pair, context, isRate);
      return difference === undefined || !isRate ? difference : scaled(difference, 1 / seconds);
    }
    const [before, after] = [series.values[to - 2], series.values[to - 1]];
    if (!isRate) return after - before;
    return (after < before ? after : after - before) / seconds;
  });
}

function histogramPair(
  [before, after]: readonly Histogram[],
  window: Window,
  { env: { notes }, arg }: RangeContext,
  isRate: boolean,
): Histogram | undefined {
  const isGauge = [before.hint === 'gauge', after.hint === 'gauge'];
  if (isRate && isGauge.includes(true)) {
    notes.warn(`this native histogram metric is not a counter: ${nameOf(window)}`, arg);
  }
  if (!isRate && isGauge.includes(false)) {
    notes.warn(`this native histogram metric is not a gauge: ${nameOf(window)}`, arg);
  }
  if (isCustom(before) !== isCustom(after)) {
    const what = 'vector contains a mix of histograms with exponential and custom buckets schemas';
    notes.warn(`${what} for metric name ${nameOf(window)}`, arg);
    return undefined;
  }
  if (isRate && isReset(before, after)) return { ...after, hint: 'gauge' };
  const total = new HistogramSum({ ...after, hint: 'unknown' });
  total.add({ ...before, hint: 'unknown' }, -1);
  if (total.notes.isReconciled) notes.info('mismatched custom buckets were reconciled during subtraction', arg);
  return { ...total.result(), hint: 'gauge' };
}
