import { AlmanacError } from '#shared/errors/almanac-error';

import type { MatrixSelector, VectorSelector } from './ast.js';
import { isReset } from './histogram/compare.js';
import { compacted, scaled, type Histogram } from './histogram/histogram.js';
import { HistogramSum } from './histogram/sum.js';
import type { Env } from './env.js';
import { metricName } from './metric-name.js';
import { emptySeries, hasSamples, setFloat, setHistogram, type SampleSeries, type StepSeries } from './samples.js';
import { referenceMs } from './select.js';

type Sample = number | Histogram;

/** A sample with its time. */
interface Point {
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
  return env.source.select(selector.matchers, first, last);
}

/** `rate`, `increase`, `delta`, `changes` and `resets` over such windows. */
export function extendedFunction(
  name: string,
  series: SampleSeries,
  { selector, rangeMs, start }: MatrixSelector,
  env: Env,
): StepSeries | undefined {
  const result = emptySeries(series.labels, env.steps, true);
  for (let step = 0; step < env.steps; step++) {
    const endMs = referenceMs(selector, env, step);
    const startMs = endMs - rangeMs;
    const points = pointsBetween(series, startMs - env.lookbackMs, endMs + (selector.isSmoothed ? env.lookbackMs : 0));
    if (name === 'changes' || name === 'resets') {
      const count = countPairs(name, points, startMs);
      if (count !== undefined) setFloat(result, step, count);
      continue;
    }
    const edges = windowOf(points, startMs, endMs, selector.isSmoothed);
    if (edges === undefined) continue;
    const areHistograms = edges.map(({ value }) => typeof value !== 'number');
    if (areHistograms.includes(true) && areHistograms.includes(false)) {
      const metric = JSON.stringify(metricName(series.labels));
      env.notes.warn(`encountered a mix of histograms and floats for metric name ${metric}`, { start });
      continue;
    }
    const isCounter = name !== 'delta';
    const ends = smoothedEnds(edges, startMs, endMs, selector.isSmoothed, isCounter);
    const total = difference(ends, isCounter);
    const factor = name === 'rate' ? 1000 / rangeMs : 1;
    if (typeof total === 'number') setFloat(result, step, name === 'rate' ? total / (rangeMs / 1000) : total);
    else setHistogram(result, step, compacted({ ...scaled(total, factor), hint: 'gauge' }));
  }
  return hasSamples(result) ? result : undefined;
}

function pointsBetween(series: SampleSeries, fromMs: number, toMs: number): Point[] {
  const points: Point[] = [];
  for (let i = 0; i < series.times.length; i++) {
    const timeMs = series.times[i];
    if (timeMs <= fromMs || timeMs > toMs || series.stale?.[i] === 1) continue;
    points.push({ timeMs, value: series.histograms?.[i] ?? series.values[i] });
  }
  return points;
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
  if (isCounter && isReset(before.value, after.value)) return { timeMs, value: scaled(after.value, share) };
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
  for (let i = 1; isCounter && i < points.length; i++) {
    const [before, now] = [points[i - 1].value, points[i].value];
    if (typeof before === 'number' || typeof now === 'number') continue;
    if (isReset(before, now)) total.add({ ...before, hint: 'unknown' });
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
  return name === 'resets' ? isReset(before, after) : JSON.stringify(before) !== JSON.stringify(after);
}

/** `m smoothed`: the value between the samples around each step. */
export async function smoothedInstant(selector: VectorSelector, env: Env): Promise<StepSeries[]> {
  const first = referenceMs(selector, env, 0) - env.lookbackMs;
  const last = referenceMs(selector, env, env.steps - 1) + env.lookbackMs;
  const all = await env.source.select(selector.matchers, first, last);
  return all.flatMap((series) => {
    const result = emptySeries(series.labels, env.steps, false);
    for (let step = 0; step < env.steps; step++) {
      const atMs = referenceMs(selector, env, step);
      const points = pointsBetween(series, atMs - env.lookbackMs, atMs + env.lookbackMs);
      const before = lastIndex(points, atMs);
      if (before < 0) continue;
      const [point, after] = [points[before], points.at(before + 1)];
      const isExact = point.timeMs === atMs || after === undefined;
      const areCounters =
        typeof point.value !== 'number' &&
        !(point.value.hint === 'gauge' && typeof after?.value !== 'number' && after?.value.hint === 'gauge');
      const { value } = isExact ? point : interpolated(point, after, atMs, areCounters);
      if (typeof value === 'number') setFloat(result, step, value);
      else setHistogram(result, step, value);
    }
    return hasSamples(result) ? [result] : [];
  });
}

/** `m[5m] anchored` by itself: points at both ends of the window, and those within. */
export function extendedPoints(series: SampleSeries, { selector, rangeMs }: MatrixSelector, env: Env): Point[] {
  const endMs = referenceMs(selector, env, 0);
  const startMs = endMs - rangeMs;
  const points = pointsBetween(series, startMs - env.lookbackMs, endMs + (selector.isSmoothed ? env.lookbackMs : 0));
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
