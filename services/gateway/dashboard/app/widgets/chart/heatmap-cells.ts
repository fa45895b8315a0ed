import type { ChartSeries } from './series.js';

/** A range of values, and how many observations it has at each time. */
export interface HeatmapBucket {
  /** Not included; -Infinity for the first bucket, if its bound is not positive. */
  readonly low: number;
  /** Included; Infinity for the last bucket. */
  readonly high: number;
  /** As many as times. NaN where nothing is known. */
  readonly counts: Float64Array;
}

/** What a heatmap draws. */
export interface HeatmapCells {
  /** Milliseconds since 1970, ascending, one step apart. */
  readonly times: Float64Array;
  /** Lowest first. */
  readonly buckets: readonly HeatmapBucket[];
  /** The largest count; 0 if there is none. */
  readonly max: number;
}

/**
 * Returns the cells of cumulative buckets.
 *
 * @param series one for each upper bound, which its label `le` has; others are left out.
 * @param stepMs distance of samples.
 */
export function heatmapCells(series: readonly ChartSeries[], stepMs: number): HeatmapCells {
  const bounded = series
    .map((one) => ({ one, high: boundOf(one.labels['le']) }))
    .filter(({ high }) => !Number.isNaN(high))
    .sort((a, b) => (a.high === b.high ? 0 : a.high - b.high));
  const times = timesOf(
    bounded.map(({ one }) => one),
    stepMs,
  );
  let below: Float64Array = new Float64Array(times.length);
  let [low, max] = [(bounded[0]?.high ?? 0) > 0 ? 0 : -Infinity, 0];
  const buckets = bounded.map(({ one, high }): HeatmapBucket => {
    const cumulative = onTimes(one, times, stepMs);
    // Bounds of a source may differ over time: a bucket never has fewer than none.
    const counts = cumulative.map((count, i) => Math.max(0, count - (Number.isNaN(below[i]) ? 0 : below[i])));
    for (const count of counts) if (count > max) max = count;
    const bucket = { low, high, counts };
    [below, low] = [cumulative, high];
    return bucket;
  });
  return { times, buckets, max };
}

/** Returns the bounds between which a bucket is drawn: those of the outer ones are chosen to look like their neighbours. */
export function drawnBounds(
  buckets: readonly HeatmapBucket[],
  at: number,
): { readonly low: number; readonly high: number } {
  const { low, high } = buckets[at];
  const finite = buckets.map((bucket) => bucket.high).filter(Number.isFinite);
  const isLog = isLogarithmic(buckets);
  const [first = 1, second = isLog ? first * 2 : first + 1] = finite;
  const [last = 1, beforeLast = isLog ? last / 2 : last - 1] = finite.toReversed();
  const isOuterLow = at === 0 && (isLog || !Number.isFinite(low));
  return {
    low: !isOuterLow ? low : isLog ? first * (first / second) : first - (second - first),
    high: Number.isFinite(high) ? high : isLog ? last * (last / beforeLast) : last + (last - beforeLast),
  };
}

/** Returns whether bounds grow by factors rather than by sums, so that a logarithmic axis shows all buckets. */
export function isLogarithmic(buckets: readonly HeatmapBucket[]): boolean {
  const finite = buckets.map(({ high }) => high).filter(Number.isFinite);
  return finite.length > 2 && finite[0] > 0 && finite[finite.length - 1] / finite[0] > finite.length * 2;
}

/** More steps than this are wider than any screen. */
const TIMES_MAX = 20_000;

/** Returns the bucket and its number of observations at a time and a value; undefined where there is none. */
export function cellAt(
  { times, buckets }: HeatmapCells,
  stepMs: number,
  timeMs: number,
  value: number,
): { readonly bucket: HeatmapBucket; readonly count: number } | undefined {
  const column = Math.ceil((timeMs - times[0]) / stepMs);
  const row = buckets.findIndex((_, at) => {
    const { low, high } = drawnBounds(buckets, at);
    return value > low && value <= high;
  });
  const bucket = buckets[row];
  const count = bucket?.counts[column];
  return bucket === undefined || count === undefined || Number.isNaN(count) ? undefined : { bucket, count };
}

function boundOf(text: string | undefined): number {
  if (text === undefined || text.trim() === '') return NaN;
  return text === '+Inf' || text === 'Inf' ? Infinity : Number(text);
}

function timesOf(series: readonly ChartSeries[], stepMs: number): Float64Array {
  let [first, last] = [Infinity, -Infinity];
  for (const { times } of series) {
    if (times.length === 0) continue;
    first = Math.min(first, times[0]);
    last = Math.max(last, times[times.length - 1]);
  }
  if (first > last) return new Float64Array(0);
  const count = Math.min(TIMES_MAX, Math.round((last - first) / stepMs) + 1);
  return Float64Array.from({ length: count }, (_, i) => first + i * stepMs);
}

function onTimes({ times, values }: ChartSeries, all: Float64Array, stepMs: number): Float64Array {
  const placed = new Float64Array(all.length).fill(NaN);
  for (let i = 0; i < times.length; i++) placed[Math.round((times[i] - all[0]) / stepMs)] = values[i];
  return placed;
}
