import type { MatrixSelector, TimeShift, VectorSelector } from './ast.js';
import { timeOf, type Env } from './env.js';
import {
  emptySeries,
  setFloat,
  setHistogram,
  type MutableSeries,
  type SampleSeries,
  type StepSeries,
} from './samples.js';

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

/** Reads the samples that an instant selector may need. */
export async function loadInstant(selector: VectorSelector, env: Env): Promise<readonly SampleSeries[]> {
  const { first, last } = referenceRange(selector, env);
  const series = await env.source.select(selector.matchers, first - env.lookbackMs, last);
  countSamples(series, env);
  return series;
}

/** Reads the samples that a range selector may need; staleness markers are left out. */
export async function loadRange({ selector, rangeMs }: MatrixSelector, env: Env): Promise<readonly SampleSeries[]> {
  const { first, last } = referenceRange(selector, env);
  const series = await env.source.select(selector.matchers, first - rangeMs, last);
  countSamples(series, env);
  return series.map(withoutStale);
}

function referenceRange(shift: TimeShift, env: Env): { readonly first: number; readonly last: number } {
  return { first: referenceMs(shift, env, 0), last: referenceMs(shift, env, env.steps - 1) };
}

function countSamples(series: readonly SampleSeries[], { limits }: Env): void {
  limits.check();
  let count = 0;
  for (const { times } of series) count += times.length;
  limits.add(count);
}

/** What an instant selector has at each step: the newest sample of the lookback window, unless the series ended. */
export function instantSeries(sample: SampleSeries, selector: VectorSelector, env: Env): StepSeries | undefined {
  return newest(sample, selector, env, (series, step, at) => {
    const histogram = sample.histograms?.[at];
    if (histogram === undefined) setFloat(series, step, sample.values[at]);
    else setHistogram(series, step, histogram);
  });
}

/** The times, in seconds, of the samples that an instant selector has at each step. */
export function instantTimes(sample: SampleSeries, selector: VectorSelector, env: Env): StepSeries | undefined {
  return newest(sample, selector, env, (series, step, at) => setFloat(series, step, sample.times[at] / 1000));
}

function newest(
  sample: SampleSeries,
  selector: VectorSelector,
  env: Env,
  put: (series: MutableSeries, step: number, at: number) => void,
): StepSeries | undefined {
  const { times, stale } = sample;
  const series = emptySeries(sample.labels, env.steps, false);
  let isEmpty = true;
  let next = 0;
  for (let step = 0; step < env.steps; step++) {
    const reference = referenceMs(selector, env, step);
    while (next < times.length && times[next] <= reference) next++;
    const at = next - 1;
    if (at < 0 || times[at] <= reference - env.lookbackMs || stale?.[at] === 1) continue;
    put(series, step, at);
    isEmpty = false;
  }
  return isEmpty ? undefined : series;
}

/** The windows of a range at each step. */
export function windowsOf({ times }: SampleSeries, shift: TimeShift, rangeMs: number, env: Env): Windows {
  const windows = {
    from: new Int32Array(env.steps),
    to: new Int32Array(env.steps),
    startMs: new Float64Array(env.steps),
    endMs: new Float64Array(env.steps),
  };
  let from = 0;
  let to = 0;
  for (let step = 0; step < env.steps; step++) {
    const end = referenceMs(shift, env, step);
    const start = end - rangeMs;
    while (to < times.length && times[to] <= end) to++;
    while (from < times.length && times[from] <= start) from++;
    windows.from[step] = Math.min(from, to);
    windows.to[step] = to;
    windows.startMs[step] = start;
    windows.endMs[step] = end;
  }
  return windows;
}

function withoutStale(series: SampleSeries): SampleSeries {
  const { stale, times, values, histograms } = series;
  if (stale === undefined) return series;
  const kept: number[] = [];
  for (let i = 0; i < times.length; i++) if (stale[i] !== 1) kept.push(i);
  const { labels } = series;
  const base = {
    labels,
    times: Float64Array.from(kept, (i) => times[i]),
    values: Float64Array.from(kept, (i) => values[i]),
  };
  return histograms === undefined ? base : { ...base, histograms: kept.map((i) => histograms[i]) };
}
