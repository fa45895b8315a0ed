import type { MatrixSelector, TimeShift, VectorSelector } from './ast.js';
import { newSeries, timeOf, type Env } from './env.js';
import { sampleSize } from './histogram/size.js';
import { FLOAT, HISTOGRAM, type MutableSeries, type SampleSeries, type StepSeries } from './samples.js';
import { withStats } from './stats-only.js';

/** For each step the samples `[from, to)` of a series that are in its window, and the ends of the window. */
export interface Windows {
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Milliseconds; a window is open on the left. */
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
}

/** The time that a selector or subquery refers to at a step. */
export function referenceMs({ atMs, offsetMs }: TimeShift, env: Env, step: number): number {
  return (atMs ?? timeOf(env, step)) - offsetMs;
}

/** The times that a selector or subquery refers to at all steps. */
function references(shift: TimeShift, env: Env): Float64Array {
  const times = new Float64Array(env.steps);
  for (let step = 0; step < env.steps; step++) times[step] = referenceMs(shift, env, step);
  return times;
}

/** Reads the samples that an instant selector may need. */
export async function loadInstant(selector: VectorSelector, env: Env): Promise<readonly SampleSeries[]> {
  const { first, last } = referenceRange(selector, env);
  const series = await loadBetween(selector, first - env.lookbackMs, last, env);
  if (!env.statsOnly.has(selector)) return series;
  const ends = references(selector, env);
  return series.map((one) => withStats(one, ends, env.lookbackMs, false));
}

/** Reads the samples that a range selector may need; staleness markers are left out. */
export async function loadRange({ selector, rangeMs }: MatrixSelector, env: Env): Promise<readonly SampleSeries[]> {
  const { first, last } = referenceRange(selector, env);
  const isStats = env.statsOnly.has(selector);
  // The sample on the left edge, which is in no window, tells whether the next one follows a reset.
  const fromMs = first - rangeMs - (isStats ? 1 : 0);
  const series = (await loadBetween(selector, fromMs, last, env)).map(withoutStale);
  if (!isStats) return series;
  const ends = references(selector, env);
  return series.map((one) => withStats(one, ends, rangeMs, true));
}

/** Reads the samples of a selector in `(fromMs, toMs]`, and counts them. */
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
    if (histograms === undefined) continue;
    for (const histogram of histograms) if (histogram !== undefined) env.limits.add(sampleSize(histogram));
  }
  return series;
}

function referenceRange(shift: TimeShift, env: Env): { readonly first: number; readonly last: number } {
  return { first: referenceMs(shift, env, 0), last: referenceMs(shift, env, env.steps - 1) };
}

/** What an instant selector has at each step: the newest sample of the lookback window, unless the series ended. */
export function instantVector(all: readonly SampleSeries[], selector: VectorSelector, env: Env): Promise<StepSeries[]> {
  return newest(all, selector, env, ({ values, histograms }, picked, result) => {
    if (histograms === undefined) return putFloats(values, picked, result);
    for (let step = 0; step < picked.length; step++) {
      const at = picked[step];
      if (at < 0) continue;
      const histogram = histograms[at];
      result.kinds[step] = histogram === undefined ? FLOAT : HISTOGRAM;
      if (histogram === undefined) result.values[step] = values[at];
      else (result.histograms ??= new Array(picked.length))[step] = histogram;
    }
  });
}

function putFloats(from: Float64Array, picked: Int32Array, { kinds, values }: MutableSeries): void {
  for (let step = 0; step < picked.length; step++) {
    if (picked[step] < 0) continue;
    kinds[step] = FLOAT;
    values[step] = from[picked[step]];
  }
}

/** A number, in seconds, of the samples that an instant selector has at each step. */
export function instantSeconds(
  all: readonly SampleSeries[],
  selector: VectorSelector,
  env: Env,
  timesOf: (series: SampleSeries) => Float64Array | undefined,
): Promise<StepSeries[]> {
  return newest(all, selector, env, (series, picked, result) => {
    const times = timesOf(series);
    for (let step = 0; step < picked.length; step++) {
      if (picked[step] < 0) continue;
      result.kinds[step] = FLOAT;
      result.values[step] = (times?.[picked[step]] ?? 0) / 1000;
    }
  });
}

/** Series by series: which sample is the newest at each step, -1 for none. */
async function newest(
  all: readonly SampleSeries[],
  selector: VectorSelector,
  env: Env,
  put: (series: SampleSeries, picked: Int32Array, result: MutableSeries) => void,
): Promise<StepSeries[]> {
  const ends = references(selector, env);
  const picked = new Int32Array(env.steps);
  const found: StepSeries[] = [];
  for (const series of all) {
    if (env.limits.isDue) await env.limits.turn();
    if (!pick(series, ends, env.lookbackMs, picked)) continue;
    const result = newSeries(series.labels, env, false);
    put(series, picked, result);
    found.push(result);
  }
  return found;
}

/** @returns whether there is any. */
function pick({ times, stale }: SampleSeries, ends: Float64Array, lookbackMs: number, picked: Int32Array): boolean {
  let isAny = false;
  let next = 0;
  for (let step = 0; step < ends.length; step++) {
    const end = ends[step];
    while (next < times.length && times[next] <= end) next++;
    const at = next - 1;
    const isThere = at >= 0 && times[at] > end - lookbackMs && stale?.[at] !== 1;
    picked[step] = isThere ? at : -1;
    isAny ||= isThere;
  }
  return isAny;
}

/** The windows of a range at each step, without samples yet. */
export function windowsAt(shift: TimeShift, rangeMs: number, env: Env): Windows {
  const endMs = references(shift, env);
  return {
    from: new Int32Array(env.steps),
    to: new Int32Array(env.steps),
    startMs: endMs.map((end) => end - rangeMs),
    endMs,
  };
}

/** Says which samples of a series are in the windows. */
export function fillWindows({ from, to, startMs, endMs }: Windows, { times }: SampleSeries): void {
  let first = 0;
  let next = 0;
  for (let step = 0; step < endMs.length; step++) {
    const start = startMs[step];
    const end = endMs[step];
    while (next < times.length && times[next] <= end) next++;
    while (first < next && times[first] <= start) first++;
    from[step] = first;
    to[step] = next;
  }
}

function withoutStale(series: SampleSeries): SampleSeries {
  const { stale, times, values, histograms, startTimes } = series;
  if (stale === undefined) return series;
  const kept: number[] = [];
  for (let i = 0; i < times.length; i++) if (stale[i] !== 1) kept.push(i);
  const of = (from: Float64Array): Float64Array => Float64Array.from(kept, (i) => from[i]);
  const floats = { labels: series.labels, times: of(times), values: of(values) };
  const base = startTimes === undefined ? floats : { ...floats, startTimes: of(startTimes) };
  return histograms === undefined ? base : { ...base, histograms: kept.map((i) => histograms[i]) };
}
