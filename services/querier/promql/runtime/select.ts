import type { MatrixSelector, TimeShift, VectorSelector } from '../syntax/ast.js';
import { newSeries, SERIES_WORK, stepTimeMs, type Env } from './env.js';
import { sampleSize } from '../histogram/histogram.js';
import type { QueryLimits } from './limits.js';
import {
  FLOAT_SAMPLE,
  setFloat,
  setHistogram,
  type MutableSeries,
  type SampleSeries,
  type StepSeries,
} from './samples.js';
import { withStats } from './stats-only.js';

/** The window of each step and the samples `[from, to)` of a series in it. */
export interface Windows {
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Milliseconds; exclusive. */
  readonly startMs: Float64Array;
  /** Milliseconds; inclusive. */
  readonly endMs: Float64Array;
}

/** Returns the time that a selector or subquery reads at a step. */
export function referenceMs({ atMs, offsetMs }: TimeShift, env: Env, step: number): number {
  return (atMs ?? stepTimeMs(env, step)) - offsetMs;
}

/** Returns the times that a selector or subquery reads at all steps. */
async function references(shift: TimeShift, env: Env): Promise<Float64Array> {
  const times = new Float64Array(env.steps);
  await env.limits.inSlices(env.steps, (from, to) => {
    for (let step = from; step < to; step++) times[step] = referenceMs(shift, env, step);
  });
  return times;
}

/** Reads the samples of an instant selector. */
export async function loadInstant(selector: VectorSelector, env: Env): Promise<readonly SampleSeries[]> {
  const { first, last } = referenceRange(selector, env);
  const series = await loadBetween(selector, first - env.lookbackMs, last, env);
  if (!env.statsOnly.has(selector)) return series;
  const ends = await references(selector, env);
  return mapSeries(series, env, (one) => withStats(one, ends, env.lookbackMs, false));
}

/** Reads the samples of a range selector, without staleness markers. */
export async function loadRange({ selector, rangeMs }: MatrixSelector, env: Env): Promise<readonly SampleSeries[]> {
  const { first, last } = referenceRange(selector, env);
  const isStats = env.statsOnly.has(selector);
  // The sample on the left edge is in no window, but shows whether the next one follows a reset.
  const fromMs = first - rangeMs - (isStats ? 1 : 0);
  const series = await mapSeries(await loadBetween(selector, fromMs, last, env), env, withoutStale);
  if (!isStats) return series;
  const ends = await references(selector, env);
  return mapSeries(series, env, (one) => withStats(one, ends, rangeMs, true));
}

/** Maps each series; yields between them. */
async function mapSeries<T>(
  all: readonly SampleSeries[],
  { limits }: Env,
  map: (series: SampleSeries) => T,
): Promise<T[]> {
  const results: T[] = [];
  for (const series of all) {
    limits.spend(SERIES_WORK + series.times.length);
    if (limits.isDue) await limits.yield();
    results.push(map(series));
  }
  return results;
}

/** Reads the samples of a selector in `(fromMs, toMs]` and counts them. @throws `execute_query` for too many. */
export async function loadBetween(
  selector: VectorSelector,
  fromMs: number,
  toMs: number,
  env: Env,
): Promise<readonly SampleSeries[]> {
  const series = await env.source.select(selector.matchers, fromMs, toMs);
  env.limits.check();
  for (const { times, histograms } of series) {
    env.limits.add(times.length);
    if (env.limits.isDue) await env.limits.yield();
    if (histograms === undefined) continue;
    for (const histogram of histograms) if (histogram !== undefined) env.limits.add(sampleSize(histogram));
  }
  return series;
}

function referenceRange(shift: TimeShift, env: Env): { readonly first: number; readonly last: number } {
  return { first: referenceMs(shift, env, 0), last: referenceMs(shift, env, env.steps - 1) };
}

/** Returns the newest sample in the lookback window of each step, unless it is a staleness marker. */
export function instantVector(all: readonly SampleSeries[], selector: VectorSelector, env: Env): Promise<StepSeries[]> {
  return newest(all, selector, env, ({ values, histograms }, picked, result, first) => {
    if (histograms === undefined) return putFloats(values, picked, result, first);
    for (let i = 0; i < picked.length; i++) {
      const at = picked[i];
      if (at < 0) continue;
      const histogram = histograms[at];
      if (histogram === undefined) setFloat(result, first + i, values[at]);
      else setHistogram(result, first + i, histogram);
    }
  });
}

function putFloats(from: Float64Array, picked: Int32Array, { kinds, values }: MutableSeries, first: number): void {
  for (let i = 0; i < picked.length; i++) {
    if (picked[i] < 0) continue;
    kinds[first + i] = FLOAT_SAMPLE;
    values[first + i] = from[picked[i]];
  }
}

/** Returns a time, in seconds, of the sample that an instant selector has at each step. */
export function instantSeconds(
  all: readonly SampleSeries[],
  selector: VectorSelector,
  env: Env,
  timesOf: (series: SampleSeries) => Float64Array | undefined,
): Promise<StepSeries[]> {
  return newest(all, selector, env, (series, picked, result, first) => {
    const times = timesOf(series);
    for (let i = 0; i < picked.length; i++) {
      if (picked[i] >= 0) setFloat(result, first + i, (times?.[picked[i]] ?? 0) / 1000);
    }
  });
}

/** Stores the samples picked for the steps from `first` on; -1 is no sample. */
type StoreSamples = (series: SampleSeries, picked: Int32Array, result: MutableSeries, first: number) => void;

/** Finds the newest sample of each series at each step. */
async function newest(
  all: readonly SampleSeries[],
  selector: VectorSelector,
  env: Env,
  store: StoreSamples,
): Promise<StepSeries[]> {
  const { limits, steps } = env;
  const ends = await references(selector, env);
  const most = Math.min(steps, limits.stepsPerChunk);
  const buffer = new Int32Array(most);
  const found: StepSeries[] = [];
  for (const series of all) {
    if (limits.isDue) await limits.yield();
    let result: MutableSeries | undefined;
    const picker = new NewestPicker(series, env.lookbackMs);
    for (let first = 0; first < steps; first += most) {
      if (first > 0) limits.spend(most);
      if (first > 0 && limits.isDue) await limits.yield();
      const picked = buffer.subarray(0, Math.min(most, steps - first));
      if (!picker.pick(ends.subarray(first, first + picked.length), picked)) continue;
      result ??= newSeries(series.labels, env, false);
      store(series, picked, result, first);
    }
    if (result !== undefined) found.push(result);
  }
  return found;
}

/** Picks the newest samples of a series for ascending times. */
class NewestPicker {
  readonly #series: SampleSeries;
  readonly #lookbackMs: number;
  #next = 0;

  constructor(series: SampleSeries, lookbackMs: number) {
    this.#series = series;
    this.#lookbackMs = lookbackMs;
  }

  /** @param picked receives the index of a sample for each end, -1 for none. @returns whether there is any. */
  pick(ends: Float64Array, picked: Int32Array): boolean {
    const { times, stale } = this.#series;
    const lookbackMs = this.#lookbackMs;
    let isAny = false;
    let next = this.#next;
    for (let step = 0; step < ends.length; step++) {
      const end = ends[step];
      next = firstAfter(times, end, next, times.length);
      const at = next - 1;
      const isThere = at >= 0 && times[at] > end - lookbackMs && stale?.[at] !== 1;
      picked[step] = isThere ? at : -1;
      isAny ||= isThere;
    }
    this.#next = next;
    return isAny;
  }
}

/** Number of samples that are searched linearly before an exponential search. */
const NEAR = 16;

/** Returns the index of the first of the samples `[from, to)` after a time; `to` if there is none. */
function firstAfter(times: Float64Array, timeMs: number, from: number, to: number): number {
  const near = Math.min(to, from + NEAR);
  let low = from;
  while (low < near && times[low] <= timeMs) low++;
  if (low < near || low === to) return low;
  let high = low;
  for (let stride = NEAR; high < to && times[high] <= timeMs; stride *= 2) {
    low = high + 1;
    high += stride;
  }
  high = Math.min(high, to);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle] <= timeMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the window of a range at each step, without samples. */
export async function windowsAt(shift: TimeShift, rangeMs: number, env: Env): Promise<Windows> {
  const { steps, limits } = env;
  const endMs = await references(shift, env);
  const startMs = new Float64Array(steps);
  await limits.inSlices(steps, (from, to) => {
    for (let step = from; step < to; step++) startMs[step] = endMs[step] - rangeMs;
  });
  return { from: new Int32Array(steps), to: new Int32Array(steps), startMs, endMs };
}

/** Sets the samples of a series that are in each window. Returns a promise only if it yields. */
export function fillWindows(
  { from, to, startMs, endMs }: Windows,
  { times }: SampleSeries,
  limits: QueryLimits,
): void | Promise<void> {
  let first = 0;
  let next = 0;
  return limits.inSlices(endMs.length, (firstStep, endStep) => {
    for (let step = firstStep; step < endStep; step++) {
      next = firstAfter(times, endMs[step], next, times.length);
      first = firstAfter(times, startMs[step], first, next);
      from[step] = first;
      to[step] = next;
    }
  });
}

/** Removes staleness markers. */
function withoutStale(series: SampleSeries): SampleSeries {
  const { stale, times, values, histograms, startTimes } = series;
  if (stale?.includes(1) !== true) return series;
  let count = 0;
  for (const isStale of stale) if (isStale !== 1) count++;
  const kept = new Int32Array(count);
  for (let i = 0, next = 0; i < times.length; i++) if (stale[i] !== 1) kept[next++] = i;
  const of = (from: Float64Array): Float64Array => {
    const some = new Float64Array(count);
    for (let i = 0; i < count; i++) some[i] = from[kept[i]];
    return some;
  };
  const floats = { labels: series.labels, times: of(times), values: of(values) };
  const base = startTimes === undefined ? floats : { ...floats, startTimes: of(startTimes) };
  return histograms === undefined ? base : { ...base, histograms: Array.from(kept, (i) => histograms[i]) };
}
