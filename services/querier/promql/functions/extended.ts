import { AlmanacError } from '#shared/errors/almanac-error';

import type { MatrixSelector, VectorSelector } from '../syntax/ast.js';
import { newSeries, type Env } from '../runtime/env.js';
import { areEqualHistograms, isCounterReset } from '../histogram/compare.js';
import { compacted, isCustom, scaled, type Histogram } from '../histogram/histogram.js';
import { HistogramSum } from '../histogram/sum.js';
import {
  hasSamples,
  setFloat,
  setHistogram,
  type MutableSeries,
  type SampleSeries,
  type StepSeries,
} from '../runtime/samples.js';
import { loadBetween, referenceMs } from '../runtime/select.js';
import { MIXED_KINDS, MIXED_SCHEMAS, nameOf } from './range-function.js';

type Sample = number | Histogram;

/** A sample with its time. */
export interface Point {
  readonly timeMs: number;
  readonly value: Sample;
}

const ANCHORED = ['changes', 'delta', 'increase', 'rate', 'resets'];
const SMOOTHED = ['delta', 'increase', 'rate'];

/** Whether the selector's windows reach beyond their ends, so that nothing has to be extrapolated. */
export function isExtended({ isAnchored, isSmoothed }: VectorSelector): boolean {
  return isAnchored || isSmoothed;
}

/** @throws `execute_query` if the function knows nothing of such windows. */
export function checkExtended({ isAnchored }: VectorSelector, name: string): void {
  const allowed = isAnchored ? ANCHORED : SMOOTHED;
  if (allowed.includes(name)) return;
  const modifier = isAnchored ? 'anchored' : 'smoothed';
  const text = `${modifier} modifier can only be used with: ${allowed.join(', ')} - not with ${name}`;
  throw new AlmanacError('execute_query', text);
}

/** Reads samples up to a lookback before the window and, for `smoothed`, behind it. */
export async function loadExtended({ selector, rangeMs }: MatrixSelector, env: Env): Promise<readonly SampleSeries[]> {
  const first = referenceMs(selector, env, 0) - rangeMs - env.lookbackMs;
  const last = referenceMs(selector, env, env.steps - 1) + (selector.isSmoothed ? env.lookbackMs : 0);
  return loadBetween(selector, first, last, env);
}

/** `rate`, `increase`, `delta`, `changes` and `resets` over such windows. */
export async function extendedFunction(
  name: string,
  series: SampleSeries,
  range: MatrixSelector,
  env: Env,
): Promise<StepSeries[]> {
  const { selector, rangeMs } = range;
  const result = newSeries(series.labels, env, true);
  const points = await Points.of(series, env);
  for (let step = 0; step < env.steps; step++) {
    if (env.limits.isDue) await env.limits.yield();
    const endMs = referenceMs(selector, env, step);
    const startMs = endMs - rangeMs;
    const near = points.between(startMs - env.lookbackMs, endMs + (selector.isSmoothed ? env.lookbackMs : 0));
    if (name === 'changes' || name === 'resets') {
      const count = countPairs(name, near, startMs);
      if (count !== undefined) setFloat(result, step, count);
      continue;
    }
    const edges = windowOf(near, startMs, endMs, selector.isSmoothed);
    if (edges === undefined || !canSubtract(name, edges, series, range, env)) continue;
    const isCounter = name !== 'delta';
    const ends = smoothedEnds(edges, startMs, endMs, selector.isSmoothed, isCounter);
    putDifference(result, step, difference(ends, isCounter), name === 'rate' ? rangeMs / 1000 : 1);
  }
  return hasSamples(result) ? [result] : [];
}

function putDifference(result: MutableSeries, step: number, total: Sample, seconds: number): void {
  if (typeof total === 'number') setFloat(result, step, total / seconds);
  else setHistogram(result, step, compacted({ ...scaled(total, 1 / seconds), hint: 'gauge' }));
}

/** Whether the samples of a window are of a kind; warns of what is odd about them. */
function canSubtract(
  name: string,
  points: readonly Point[],
  series: SampleSeries,
  { start }: MatrixSelector,
  { annotations: notes }: Env,
): boolean {
  const histograms = histogramsOf(points);
  if (histograms.length === 0) return true;
  const metric = nameOf(series);
  if (histograms.length < points.length) {
    notes.warn(`${MIXED_KINDS} for metric name ${metric}`, { start });
    return false;
  }
  const isCounter = name !== 'delta';
  const ends = [histograms[0], histograms[histograms.length - 1]];
  if (isCounter && histograms.some(({ hint }) => hint === 'gauge')) {
    notes.warn(`this native histogram metric is not a counter: ${metric}`, { start });
  }
  if (!isCounter && ends.some(({ hint }) => hint !== 'gauge')) {
    notes.warn(`this native histogram metric is not a gauge: ${metric}`, { start });
  }
  if (new Set((isCounter ? histograms : ends).map(isCustom)).size === 1) return true;
  notes.warn(`${MIXED_SCHEMAS} for metric name ${metric}`, { start });
  return false;
}

function histogramsOf(points: readonly Point[]): Histogram[] {
  return points.flatMap(({ value }) => (typeof value === 'number' ? [] : [value]));
}

/** Work of making a point, in numbers that are looked at. */
const POINT_WORK = 8;

/** The samples of a series, without staleness markers, for windows that only move forward. */
class Points {
  readonly #points: Point[] = [];
  readonly #env: Env;
  #from = 0;
  #to = 0;

  private constructor(env: Env) {
    this.#env = env;
  }

  static async of({ times, values, histograms, stale }: SampleSeries, env: Env): Promise<Points> {
    const made = new Points(env);
    await env.limits.inSlices(
      times.length,
      (from, to) => {
        for (let i = from; i < to; i++) {
          if (stale?.[i] !== 1) made.#points.push({ timeMs: times[i], value: histograms?.[i] ?? values[i] });
        }
      },
      POINT_WORK,
    );
    return made;
  }

  /** Those in `(fromMs, toMs]`; both never less than in the call before. */
  between(fromMs: number, toMs: number): readonly Point[] {
    const points = this.#points;
    while (this.#to < points.length && points[this.#to].timeMs <= toMs) this.#to++;
    while (this.#from < this.#to && points[this.#from].timeMs <= fromMs) this.#from++;
    this.#env.limits.spend(this.#to - this.#from);
    return points.slice(this.#from, this.#to);
  }
}

/** From the last point at or before the start to the last at or before the end, or the first at or behind it. */
function windowOf(points: readonly Point[], startMs: number, endMs: number, isSmoothed: boolean): Point[] | undefined {
  if (points.length === 0) return undefined;
  const first = Math.max(0, lastIndex(points, startMs));
  let last = lastIndex(points, endMs);
  if (isSmoothed && (last < 0 || points[last].timeMs < endMs)) last = Math.min(last + 1, points.length - 1);
  if (last < first || points[last].timeMs <= startMs || points[first].timeMs > endMs) return undefined;
  return points.slice(first, last + 1);
}

function lastIndex(points: readonly Point[], atMs: number): number {
  for (let i = points.length - 1; i >= 0; i--) if (points[i].timeMs <= atMs) return i;
  return -1;
}

/** The points with the first and the last one moved to the ends of the window. */
function smoothedEnds(
  points: readonly Point[],
  startMs: number,
  endMs: number,
  isSmoothed: boolean,
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
    // A counter that began anew did so at zero.
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

function difference(points: readonly Point[], isCounter: boolean): Sample {
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

function countPairs(name: 'changes' | 'resets', points: readonly Point[], startMs: number): number | undefined {
  const first = Math.max(0, lastIndex(points, startMs));
  if (points.length === 0 || points[points.length - 1].timeMs <= startMs) return undefined;
  let count = 0;
  for (let i = first + 1; i < points.length; i++) if (differs(name, points[i - 1].value, points[i].value)) count++;
  return count;
}

function differs(name: 'changes' | 'resets', before: Sample, after: Sample): boolean {
  if (typeof before === 'number' && typeof after === 'number') {
    return name === 'resets' ? after < before : !Object.is(before, after) && before !== after;
  }
  if (typeof before === 'number' || typeof after === 'number') return true;
  return name === 'resets' ? isCounterReset(before, after) : !areEqualHistograms(before, after);
}

/** `m smoothed`: the value between the samples around each step. */
export async function smoothedInstant(selector: VectorSelector, env: Env): Promise<StepSeries[]> {
  const first = referenceMs(selector, env, 0) - env.lookbackMs;
  const last = referenceMs(selector, env, env.steps - 1) + env.lookbackMs;
  const all = await loadBetween(selector, first, last, env);
  const found: StepSeries[] = [];
  for (const series of all) {
    const result = newSeries(series.labels, env, false);
    const points = await Points.of(series, env);
    for (let step = 0; step < env.steps; step++) {
      if (env.limits.isDue) await env.limits.yield();
      const atMs = referenceMs(selector, env, step);
      const near = points.between(atMs - env.lookbackMs, atMs + env.lookbackMs);
      const before = lastIndex(near, atMs);
      if (before < 0) continue;
      const { value, mix } = smoothedValue(near[before], near.at(before + 1), atMs);
      if (typeof value === 'number') setFloat(result, step, value);
      else if (value !== undefined) setHistogram(result, step, value);
      if (mix !== '') env.annotations.warn(`${mix} for metric name ${nameOf(series)}`, selector);
    }
    if (hasSamples(result)) found.push(result);
  }
  return found;
}

interface SmoothedValue {
  readonly value: Sample | undefined;
  /** What cannot be mixed, if that is why there is no value. */
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

/** `m[5m] anchored` by itself: points at both ends of the window, and those within. */
export async function extendedPoints(
  series: SampleSeries,
  { selector, rangeMs }: MatrixSelector,
  env: Env,
): Promise<Point[]> {
  const endMs = referenceMs(selector, env, 0);
  const startMs = endMs - rangeMs;
  const points = (await Points.of(series, env)).between(
    startMs - env.lookbackMs,
    endMs + (selector.isSmoothed ? env.lookbackMs : 0),
  );
  if (points.some(({ value }) => typeof value !== 'number')) {
    const modifier = selector.isAnchored ? 'anchored' : 'smoothed';
    throw new AlmanacError('execute_query', `${modifier} modifier is not supported with histograms`);
  }
  const window = windowOf(points, startMs, endMs, selector.isSmoothed);
  if (window === undefined) return [];
  const ends = smoothedEnds(window, startMs, endMs, selector.isSmoothed, false);
  const inner = window.filter(({ timeMs }) => timeMs > startMs && timeMs < endMs);
  return [{ timeMs: startMs, value: ends[0].value }, ...inner, { timeMs: endMs, value: ends[ends.length - 1].value }];
}
