import type { MatrixSelector, TimeShift, VectorSelector } from '../syntax/ast.js';
import { newSeries, SERIES_WORK, stepTimeMs, type Env } from './env.js';
import { sampleSize, type Histogram } from '../histogram/histogram.js';
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
  /** Times of the series to which `from` and `to` refer: all series of a target share theirs. */
  times: Float64Array | undefined;
  /** Number of steps for which they are set. */
  filledSteps: number;
}

/** Returns the time that a selector or subquery reads at a step. */
export function referenceMs({ atMs, offsetMs }: TimeShift, env: Env, step: number): number {
  return (atMs ?? stepTimeMs(env, step)) - offsetMs;
}

/** Returns the times that a selector or subquery reads at all steps. */
async function references(shift: TimeShift, env: Env): Promise<Float64Array> {
  const times = new Float64Array(env.steps);
  await env.scheduler.ranges(env.steps, 1, (from, to) => {
    for (let step = from; step < to; step++) times[step] = referenceMs(shift, env, step);
  });
  return times;
}

/** Reads the samples of an instant selector, and possibly more before and after them. */
export async function loadInstant(selector: VectorSelector, env: Env): Promise<readonly SampleSeries[]> {
  const { first, last } = referenceRange(selector, env);
  const series = await loadAround(selector, first - env.lookbackMs, last, env);
  if (!env.statsOnly.has(selector)) return series;
  const ends = await references(selector, env);
  return mapSeries(series, env, (one) => withStats(one, ends, env.lookbackMs, false));
}

/** Reads the samples of a range selector, without staleness markers, and possibly more before and after them. */
export async function loadRange({ selector, rangeMs }: MatrixSelector, env: Env): Promise<readonly SampleSeries[]> {
  const { first, last } = referenceRange(selector, env);
  const isStats = env.statsOnly.has(selector);
  // The sample on the left edge is in no window, but shows whether the next one follows a reset.
  const fromMs = first - rangeMs - (isStats ? 1 : 0);
  const all = await loadAround(selector, fromMs, last, env);
  let series = WITHOUT_STALE.get(all);
  if (series === undefined) {
    series = await mapSeries(all, env, staleRemover());
    WITHOUT_STALE.set(all, series);
  }
  if (!isStats) return series;
  const ends = await references(selector, env);
  return mapSeries(series, env, (one) => withStats(one, ends, rangeMs, true));
}

/** Series without staleness markers, by the series that a source returned, which may be those of many queries. */
const WITHOUT_STALE = new WeakMap<readonly SampleSeries[], readonly SampleSeries[]>();

/** Maps each series. */
async function mapSeries<T>(
  all: readonly SampleSeries[],
  { scheduler }: Env,
  map: (series: SampleSeries) => T,
): Promise<T[]> {
  const results: T[] = [];
  await scheduler.each(all, SERIES_WORK, (series) => {
    scheduler.spend(series.times.length);
    results.push(map(series));
  });
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
  await countSamples(series, -Infinity, Infinity, env);
  return series;
}

/** Reads the same, and possibly more before and after it, which does not count. */
async function loadAround(
  selector: VectorSelector,
  fromMs: number,
  toMs: number,
  env: Env,
): Promise<readonly SampleSeries[]> {
  const { source } = env;
  if (source.selectAround === undefined) return loadBetween(selector, fromMs, toMs, env);
  const series = await source.selectAround(selector.matchers, fromMs, toMs);
  await countSamples(series, fromMs, toMs, env);
  return series;
}

async function countSamples(all: readonly SampleSeries[], fromMs: number, toMs: number, env: Env): Promise<void> {
  const { limits } = env;
  limits.check();
  let counted = COUNTED.get(all);
  if (counted === undefined) {
    counted = await countedSeries(all, env);
    COUNTED.set(all, counted);
  }
  await env.scheduler.each(counted.runs, 1, ({ times, count }) => {
    const to = toMs === Infinity ? times.length : firstAfter(times, toMs, 0, times.length);
    limits.add(count * (to - (fromMs === -Infinity ? 0 : firstAfter(times, fromMs, 0, to))));
  });
  await env.scheduler.each(counted.histograms, 1, (histograms) => {
    for (const histogram of histograms) if (histogram !== undefined) limits.add(sampleSize(histogram));
  });
}

/** Series as their samples are counted. */
interface CountedSeries {
  /** Consecutive series that share their times. */
  readonly runs: readonly { readonly times: Float64Array; readonly count: number }[];
  readonly histograms: readonly (readonly (Histogram | undefined)[])[];
}

/** By the series that a source returned, which may be those of many queries. */
const COUNTED = new WeakMap<readonly SampleSeries[], CountedSeries>();

async function countedSeries(all: readonly SampleSeries[], { scheduler }: Env): Promise<CountedSeries> {
  const runs: { readonly times: Float64Array; count: number }[] = [];
  const found: (readonly (Histogram | undefined)[])[] = [];
  await scheduler.each(all, 1, ({ times, histograms }) => {
    const last = runs.at(-1);
    if (last?.times === times) last.count++;
    else runs.push({ times, count: 1 });
    if (histograms !== undefined) found.push(histograms);
  });
  return { runs, histograms: found };
}

function referenceRange(shift: TimeShift, env: Env): { readonly first: number; readonly last: number } {
  return { first: referenceMs(shift, env, 0), last: referenceMs(shift, env, env.steps - 1) };
}

/** Returns the newest sample in the lookback window of each step, unless it is a staleness marker. */
export async function instantVector(
  all: readonly SampleSeries[],
  selector: VectorSelector,
  env: Env,
): Promise<StepSeries[]> {
  return newest(all, await instantPicker(selector, env), env, storeSamples);
}

/** Stores the picked samples of a series. */
export function storeSamples(series: SampleSeries, picked: Int32Array, result: MutableSeries, first: number): void {
  const { values, histograms } = series;
  if (histograms === undefined) {
    putFloats(values, picked, result, first);
    return;
  }
  for (let i = 0; i < picked.length; i++) {
    const at = picked[i];
    if (at < 0) continue;
    const histogram = histograms[at];
    if (histogram === undefined) setFloat(result, first + i, values[at]);
    else setHistogram(result, first + i, histogram);
  }
}

function putFloats(from: Float64Array, picked: Int32Array, { kinds, values }: MutableSeries, first: number): void {
  for (let i = 0; i < picked.length; i++) {
    if (picked[i] < 0) continue;
    kinds[first + i] = FLOAT_SAMPLE;
    values[first + i] = from[picked[i]];
  }
}

/** Returns a time, in seconds, of the sample that an instant selector has at each step. */
export async function instantSeconds(
  all: readonly SampleSeries[],
  selector: VectorSelector,
  env: Env,
  timesOf: (series: SampleSeries) => Float64Array | undefined,
): Promise<StepSeries[]> {
  return newest(all, await instantPicker(selector, env), env, (series, picked, result, first) => {
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
  picker: NewestPicker,
  env: Env,
  store: StoreSamples,
): Promise<StepSeries[]> {
  const { scheduler, steps } = env;
  const most = Math.min(steps, env.limits.stepsPerChunk);
  const found: StepSeries[] = [];
  for (const series of all) {
    let result: MutableSeries | undefined;
    for (let first = 0; first < steps; first += most) {
      if (scheduler.isDue) await scheduler.yield();
      if (first > 0) env.limits.spend(most);
      const picked = picker.pick(series, first, Math.min(most, steps - first));
      if (picked === undefined) continue;
      result ??= newSeries(series.labels, env, false);
      store(series, picked, result, first);
    }
    if (result !== undefined) found.push(result);
  }
  return found;
}

/** Returns a picker of the samples that an instant selector has. */
export async function instantPicker(selector: VectorSelector, env: Env): Promise<NewestPicker> {
  const ends = await references(selector, env);
  return new NewestPicker(ends, env.lookbackMs, Math.min(env.steps, env.limits.stepsPerChunk));
}

/** Picks the newest samples of series at ascending times. */
export class NewestPicker {
  readonly #ends: Float64Array;
  readonly #lookbackMs: number;
  readonly #picked: Int32Array;
  /** The last series and steps. */
  #times: Float64Array | undefined;
  #stale: Uint8Array | undefined;
  #from = 0;
  #count = 0;
  #isAny = false;
  #next = 0;

  /** @param stepsMax largest number of steps that are picked at once. */
  constructor(ends: Float64Array, lookbackMs: number, stepsMax: number) {
    this.#ends = ends;
    this.#lookbackMs = lookbackMs;
    this.#picked = new Int32Array(stepsMax);
  }

  /**
   * @returns the index of a sample for each of the steps, -1 for none; undefined if there is none at all. Valid until the
   *   next call.
   */
  pick({ times, stale }: SampleSeries, from: number, count: number): Int32Array | undefined {
    const picked = this.#picked.subarray(0, count);
    if (times === this.#times && stale === this.#stale && from === this.#from && count === this.#count) {
      return this.#isAny ? picked : undefined;
    }
    const isNext = times === this.#times && from === this.#from + this.#count;
    this.#times = times;
    this.#stale = stale;
    this.#from = from;
    this.#count = count;
    const ends = this.#ends;
    const lookbackMs = this.#lookbackMs;
    let isAny = false;
    let next = isNext ? this.#next : 0;
    for (let i = 0; i < count; i++) {
      const end = ends[from + i];
      next = firstAfter(times, end, next, times.length);
      const at = next - 1;
      const isThere = at >= 0 && times[at] > end - lookbackMs && stale?.[at] !== 1;
      picked[i] = isThere ? at : -1;
      isAny ||= isThere;
    }
    this.#next = next;
    this.#isAny = isAny;
    return isAny ? picked : undefined;
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
  const { steps, scheduler } = env;
  const endMs = await references(shift, env);
  const startMs = new Float64Array(steps);
  await scheduler.ranges(steps, 1, (from, to) => {
    for (let step = from; step < to; step++) startMs[step] = endMs[step] - rangeMs;
  });
  const [from, to] = [new Int32Array(steps), new Int32Array(steps)];
  return { from, to, startMs, endMs, times: undefined, filledSteps: 0 };
}

/** Sets the samples of a series that are in the windows of the steps `[fromStep, toStep)`, which follow those set before. */
export function fillWindows(windows: Windows, { times }: SampleSeries, fromStep: number, toStep: number): void {
  if (windows.times !== times) {
    windows.times = times;
    windows.filledSteps = 0;
  }
  if (windows.filledSteps >= toStep) return;
  const { from, to, startMs, endMs } = windows;
  let first = fromStep === 0 ? 0 : from[fromStep - 1];
  let next = fromStep === 0 ? 0 : to[fromStep - 1];
  for (let step = fromStep; step < toStep; step++) {
    next = firstAfter(times, endMs[step], next, times.length);
    first = firstAfter(times, startMs[step], first, next);
    from[step] = first;
    to[step] = next;
  }
  windows.filledSteps = toStep;
}

/** Returns a function that removes staleness markers. Results with equal times share them if their sources do. */
function staleRemover(): (series: SampleSeries) => SampleSeries {
  let known: { readonly from: SampleSeries; readonly kept: Int32Array; readonly times: Float64Array } | undefined;
  return (series) => {
    const { stale, times, values, histograms, startTimes } = series;
    if (stale?.includes(1) !== true) return series;
    if (known?.from.times !== times || known.from.stale !== stale) {
      const kept = withoutMarked(stale);
      known = { from: series, kept, times: pickedFrom(times, kept) };
    }
    const { kept } = known;
    const own = pickedFrom(values, kept);
    const floats = { labels: series.labels, times: known.times, values: own, counter: undefined };
    const base = startTimes === undefined ? floats : { ...floats, startTimes: pickedFrom(startTimes, kept) };
    return histograms === undefined ? base : { ...base, histograms: Array.from(kept, (i) => histograms[i]) };
  };
}

/** Returns the positions that are not marked. */
function withoutMarked(marks: Uint8Array): Int32Array {
  let count = 0;
  for (const mark of marks) if (mark !== 1) count++;
  const kept = new Int32Array(count);
  for (let i = 0, next = 0; i < marks.length; i++) if (marks[i] !== 1) kept[next++] = i;
  return kept;
}

function pickedFrom(values: Float64Array, positions: Int32Array): Float64Array {
  const picked = new Float64Array(positions.length);
  for (let i = 0; i < picked.length; i++) picked[i] = values[positions[i]];
  return picked;
}
