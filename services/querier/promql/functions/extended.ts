import { AlmanacError } from '#shared/errors/almanac-error';

import type { Labels } from '../../series/labels.js';
import { isCounterReset } from '../histogram/compare.js';
import { compacted, isCustom, scaled, type Histogram } from '../histogram/histogram.js';
import { HistogramSum } from '../histogram/sum.js';
import { MIXED_KINDS, MIXED_SCHEMAS, quotedMetricName, type Annotations } from '../runtime/annotations.js';
import { newSeries, type Env } from '../runtime/env.js';
import { hasSamples, putSample, type SampleSeries, type SampleValue, type StepSeries } from '../runtime/samples.js';
import { inUnits, type Units } from '../runtime/scheduler.js';
import { loadBetween, referenceMs } from '../runtime/select.js';
import type { MatrixSelector, Span, VectorSelector } from '../syntax/ast.js';

/** A sample with its time. */
interface Point {
  readonly timeMs: number;
  readonly value: SampleValue;
}

/** A window of an `anchored` or `smoothed` selector. */
interface ExtendedWindow {
  /** Samples from a lookback before the window, and to a lookback after it for `smoothed`. */
  readonly points: readonly Point[];
  readonly startMs: number;
  readonly endMs: number;
  readonly isSmoothed: boolean;
}

/** What annotations about a window refer to. */
interface AnnotationTarget {
  readonly annotations: Annotations;
  readonly labels: Labels;
  readonly at: Pick<Span, 'start'>;
}

/** Evaluation of a range function over the windows of `anchored` and `smoothed` selectors. */
export interface ExtendedFunction {
  readonly isSmoothable: boolean;
  readonly run: (window: ExtendedWindow, target: AnnotationTarget) => SampleValue | undefined;
}

/** Returns `rate`, `increase` or `delta` over extended windows, which need no extrapolation. */
export function extendedDifference(isCounter: boolean, isRate: boolean): ExtendedFunction {
  return {
    isSmoothable: true,
    run(window, target) {
      const edges = windowOf(window);
      if (edges === undefined || !canSubtract(isCounter, edges, target)) return undefined;
      const total = difference(smoothedEnds(edges, window, isCounter), isCounter);
      const seconds = isRate ? (window.endMs - window.startMs) / 1000 : 1;
      if (typeof total === 'number') return total / seconds;
      return compacted({ ...scaled(total, 1 / seconds), hint: 'gauge' });
    },
  };
}

/** Returns `changes` or `resets` over anchored windows. */
export function extendedCount(
  isCounted: (before: number, now: number) => boolean,
  areCounted: (before: Histogram, now: Histogram) => boolean,
): ExtendedFunction {
  const differs = (before: SampleValue, now: SampleValue): boolean => {
    if (typeof before === 'number' && typeof now === 'number') return isCounted(before, now);
    return typeof before === 'number' || typeof now === 'number' || areCounted(before, now);
  };
  return {
    isSmoothable: false,
    run({ points, startMs }) {
      if (points.length === 0 || points[points.length - 1].timeMs <= startMs) return undefined;
      let count = 0;
      for (let i = Math.max(0, lastIndex(points, startMs)) + 1; i < points.length; i++) {
        if (differs(points[i - 1].value, points[i].value)) count++;
      }
      return count;
    },
  };
}

/** Reports whether a selector is `anchored` or `smoothed`. */
export function isExtended({ isAnchored, isSmoothed }: VectorSelector): boolean {
  return isAnchored || isSmoothed;
}

/** Returns the extended variant of a function. @throws `execute_query` if it does not support the modifier. */
export function checkExtended(
  { name, extended }: NamedFunction,
  { isAnchored }: VectorSelector,
  all: Iterable<NamedFunction>,
): ExtendedFunction {
  const supports = (func: ExtendedFunction | undefined): boolean =>
    func !== undefined && (isAnchored || func.isSmoothable);
  if (extended !== undefined && supports(extended)) return extended;
  const allowed = [...all].filter((func) => supports(func.extended)).map((func) => func.name);
  const modifier = isAnchored ? 'anchored' : 'smoothed';
  const text = `${modifier} modifier can only be used with: ${allowed.sort().join(', ')} - not with ${name}`;
  throw new AlmanacError('execute_query', text);
}

interface NamedFunction {
  readonly name: string;
  readonly extended?: ExtendedFunction;
}

/** Reads samples from a lookback before the range, and to a lookback after it for `smoothed`. */
export async function loadExtended({ selector, rangeMs }: MatrixSelector, env: Env): Promise<readonly SampleSeries[]> {
  const first = referenceMs(selector, env, 0) - rangeMs - env.lookbackMs;
  const last = referenceMs(selector, env, env.steps - 1) + (selector.isSmoothed ? env.lookbackMs : 0);
  return loadBetween(selector, first, last, env);
}

/** Evaluates a function over the extended windows of one series. */
export function* runExtended(
  func: ExtendedFunction,
  series: SampleSeries,
  { selector, rangeMs, start }: MatrixSelector,
  env: Env,
): Units<StepSeries[]> {
  const { labels } = series;
  const { isSmoothed } = selector;
  const result = newSeries(labels, env, true);
  const points = yield* Points.of(series, env);
  for (let step = 0; step < env.steps; step++) {
    if (env.scheduler.isDue) yield;
    const endMs = referenceMs(selector, env, step);
    const startMs = endMs - rangeMs;
    const near = points.between(startMs - env.lookbackMs, endMs + (isSmoothed ? env.lookbackMs : 0));
    const target = { annotations: env.annotations, labels, at: { start } };
    putSample(result, step, func.run({ points: near, startMs, endMs, isSmoothed }, target));
  }
  return hasSamples(result) ? [result] : [];
}

/** Reports whether all samples of a window are of one kind; warns about mixed and misused histograms. */
function canSubtract(
  isCounter: boolean,
  points: readonly Point[],
  { annotations, labels, at }: AnnotationTarget,
): boolean {
  const histograms = histogramsOf(points);
  if (histograms.length === 0) return true;
  const metric = quotedMetricName(labels);
  if (histograms.length < points.length) {
    annotations.warn(`${MIXED_KINDS} for metric name ${metric}`, at);
    return false;
  }
  const ends = [histograms[0], histograms[histograms.length - 1]];
  if (isCounter && histograms.some(({ hint }) => hint === 'gauge')) {
    annotations.warn(`this native histogram metric is not a counter: ${metric}`, at);
  }
  if (!isCounter && ends.some(({ hint }) => hint !== 'gauge')) {
    annotations.warn(`this native histogram metric is not a gauge: ${metric}`, at);
  }
  if (new Set((isCounter ? histograms : ends).map(isCustom)).size === 1) return true;
  annotations.warn(`${MIXED_SCHEMAS} for metric name ${metric}`, at);
  return false;
}

function histogramsOf(points: readonly Point[]): Histogram[] {
  return points.flatMap(({ value }) => (typeof value === 'number' ? [] : [value]));
}

/** Cost of creating a point, in units of reading one float. */
const POINT_WORK = 8;

/** The samples of a series without staleness markers, for windows that only move forward. */
class Points {
  readonly #points: Point[] = [];
  readonly #env: Env;
  #from = 0;
  #to = 0;

  private constructor(env: Env) {
    this.#env = env;
  }

  static *of({ times, values, histograms, stale }: SampleSeries, env: Env): Units<Points> {
    const made = new Points(env);
    const add = (from: number, to: number): void => {
      for (let i = from; i < to; i++) {
        if (stale?.[i] !== 1) made.#points.push({ timeMs: times[i], value: histograms?.[i] ?? values[i] });
      }
    };
    yield* inUnits(times.length, env.limits, add, POINT_WORK);
    return made;
  }

  /** Returns the points in `(fromMs, toMs]`; neither bound may be less than in the previous call. */
  between(fromMs: number, toMs: number): readonly Point[] {
    const points = this.#points;
    while (this.#to < points.length && points[this.#to].timeMs <= toMs) this.#to++;
    while (this.#from < this.#to && points[this.#from].timeMs <= fromMs) this.#from++;
    this.#env.limits.spend(this.#to - this.#from);
    return points.slice(this.#from, this.#to);
  }
}

/** Returns the points from the last one at or before the start to the last at or before, or first at or after, the end. */
function windowOf({ points, startMs, endMs, isSmoothed }: ExtendedWindow): Point[] | undefined {
  if (points.length === 0) return undefined;
  const first = Math.max(0, lastIndex(points, startMs));
  let last = lastIndex(points, endMs);
  if (isSmoothed && (last < 0 || points[last].timeMs < endMs)) last = Math.min(last + 1, points.length - 1);
  if (last < first || points[last].timeMs <= startMs || points[first].timeMs > endMs) return undefined;
  return points.slice(first, last + 1);
}

/** Returns the index of the last point at or before a time; -1 if there is none. */
function lastIndex(points: readonly Point[], atMs: number): number {
  for (let i = points.length - 1; i >= 0; i--) if (points[i].timeMs <= atMs) return i;
  return -1;
}

/** Returns the points with the first and the last one moved to the bounds of a smoothed window. */
function smoothedEnds(
  points: readonly Point[],
  { startMs, endMs, isSmoothed }: ExtendedWindow,
  isCounter: boolean,
): Point[] {
  const result = [...points];
  if (!isSmoothed || points.length < 2) return result;
  const last = points.length - 1;
  if (points[0].timeMs < startMs) result[0] = interpolated(points[0], points[1], startMs, isCounter);
  if (points[last].timeMs > endMs) result[last] = interpolated(points[last - 1], points[last], endMs, isCounter);
  return result;
}

function interpolated(before: Point, after: Point, timeMs: number, isCounter: boolean): Point {
  const share = (timeMs - before.timeMs) / (after.timeMs - before.timeMs);
  if (typeof before.value === 'number' && typeof after.value === 'number') {
    // A counter that was reset started at zero.
    const from = isCounter && after.value < before.value ? 0 : before.value;
    return { timeMs, value: from + (after.value - from) * share };
  }
  if (typeof before.value === 'number' || typeof after.value === 'number') return { timeMs, value: before.value };
  if (isCounter && isCounterReset(before.value, after.value)) return { timeMs, value: scaled(after.value, share) };
  const change = new HistogramSum(after.value);
  change.add(before.value, -1);
  const sum = new HistogramSum(before.value);
  sum.add(scaled(change.result(), share));
  return { timeMs, value: sum.result() };
}

function difference(points: readonly Point[], isCounter: boolean): SampleValue {
  const first = points[0].value;
  const last = points[points.length - 1].value;
  if (typeof first === 'number' || typeof last === 'number') {
    const values = points.map(({ value }) => Number(value));
    let total = values[values.length - 1] - values[0];
    for (let i = 1; isCounter && i < values.length; i++) if (values[i] < values[i - 1]) total += values[i - 1];
    return total;
  }
  const total = new HistogramSum({ ...last, hint: 'unknown' });
  total.add({ ...first, hint: 'unknown' }, -1);
  const histograms = isCounter ? histogramsOf(points) : [];
  for (let i = 1; i < histograms.length; i++) {
    const before = histograms[i - 1];
    if (isCounterReset(before, histograms[i])) total.add({ ...before, hint: 'unknown' });
  }
  return total.result();
}

/** Evaluates `m smoothed`: at each step, the value interpolated between the neighbouring samples. */
export async function smoothedInstant(selector: VectorSelector, env: Env): Promise<StepSeries[]> {
  const first = referenceMs(selector, env, 0) - env.lookbackMs;
  const last = referenceMs(selector, env, env.steps - 1) + env.lookbackMs;
  const all = await loadBetween(selector, first, last, env);
  const found: StepSeries[] = [];
  for (const series of all) {
    const result = await env.scheduler.finish(smoothed(series, selector, env));
    if (hasSamples(result)) found.push(result);
  }
  return found;
}

function* smoothed(series: SampleSeries, selector: VectorSelector, env: Env): Units<StepSeries> {
  const result = newSeries(series.labels, env, false);
  const points = yield* Points.of(series, env);
  for (let step = 0; step < env.steps; step++) {
    if (env.scheduler.isDue) yield;
    const atMs = referenceMs(selector, env, step);
    const near = points.between(atMs - env.lookbackMs, atMs + env.lookbackMs);
    const before = lastIndex(near, atMs);
    if (before < 0) continue;
    const { value, mix } = smoothedValue(near[before], near.at(before + 1), atMs);
    putSample(result, step, value);
    if (mix !== '') env.annotations.warn(`${mix} for metric name ${quotedMetricName(series.labels)}`, selector);
  }
  return result;
}

interface SmoothedValue {
  readonly value: SampleValue | undefined;
  /** Text of the warning if the neighbours cannot be combined, else empty. */
  readonly mix: string;
}

function smoothedValue(point: Point, after: Point | undefined, atMs: number): SmoothedValue {
  const { timeMs, value } = point;
  if (timeMs === atMs || after === undefined) return { value, mix: '' };
  const next = after.value;
  if (typeof value === 'number' || typeof next === 'number') {
    if (typeof value !== typeof next) return { value: undefined, mix: MIXED_KINDS };
    return { value: interpolated(point, after, atMs, false).value, mix: '' };
  }
  if (isCustom(value) !== isCustom(next)) return { value: undefined, mix: MIXED_SCHEMAS };
  const areGauges = value.hint === 'gauge' && next.hint === 'gauge';
  return { value: interpolated(point, after, atMs, !areGauges).value, mix: '' };
}

/** Evaluates `m[5m] anchored` as a whole query: a float at each end of the window and those within it. */
export function* extendedSamples(
  series: SampleSeries,
  { selector, rangeMs }: MatrixSelector,
  env: Env,
): Units<SampleSeries | undefined> {
  const { isAnchored, isSmoothed } = selector;
  const endMs = referenceMs(selector, env, 0);
  const startMs = endMs - rangeMs;
  const all = yield* Points.of(series, env);
  const points = all.between(startMs - env.lookbackMs, endMs + (isSmoothed ? env.lookbackMs : 0));
  if (points.some(({ value }) => typeof value !== 'number')) {
    const modifier = isAnchored ? 'anchored' : 'smoothed';
    throw new AlmanacError('execute_query', `${modifier} modifier is not supported with histograms`);
  }
  const window = { points, startMs, endMs, isSmoothed };
  const edges = windowOf(window);
  if (edges === undefined) return undefined;
  const ends = smoothedEnds(edges, window, false);
  const inner = edges.filter(({ timeMs }) => timeMs > startMs && timeMs < endMs);
  const times = [startMs, ...inner.map(({ timeMs }) => timeMs), endMs];
  const values = [ends[0], ...inner, ends[ends.length - 1]].map(({ value }) => Number(value));
  return { labels: series.labels, times: Float64Array.from(times), values: Float64Array.from(values) };
}
