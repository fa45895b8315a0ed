import type { Runs } from '../columns/runs.js';
import type { LongCells } from '#shared/duckdb/column-cells';
import type { TimeBounds } from '#shared/segments/bands';
import { NotForKernels, type TimeBuckets } from './query.js';

/** The time buckets of a query that can have rows, numbered from 0. */
export interface TimeGrid {
  /** Undefined: all rows are in bucket 0. */
  readonly buckets: TimeBuckets | undefined;
  /** Number of the first bucket, counted from the origin. */
  readonly first: bigint;
  readonly count: number;
}

/** Bounds and buckets relative to a time, as doubles: nanoseconds since 1970 do not fit one. */
export interface RelativeGrid {
  /** `[from, to)`; infinite if there is no bound, or it is further away than the times of the row group. */
  readonly from: number;
  readonly to: number;
  /** Length of a bucket; infinite if there is one only. */
  readonly step: number;
  /** Bucket in which the base is, and the time from its start to the base. */
  readonly bucket: number;
  readonly rest: number;
}

/** Buckets are at most this long, so that sums with times of a row group are exact as doubles. */
export const STEP_MAX = 2n ** 52n;
/** Products with the number of labels are exact as doubles. */
const COUNT_MAX = 2n ** 31n;
/** Times of a row group are at most this far from its base. */
const RANGE_MAX = 2n ** 52n;

/** Returns the buckets of the times from `first` to `last`. @throws `NotForKernels` if they are too many. */
export function timeGrid(buckets: TimeBuckets | undefined, first: bigint, last: bigint): TimeGrid {
  if (buckets === undefined) return { buckets, first: 0n, count: 1 };
  const from = bucketOf(first, buckets);
  const count = bucketOf(last, buckets) - from + 1n;
  if (count > COUNT_MAX) throw new NotForKernels('the time range has too many buckets');
  return { buckets, first: from, count: Number(count) };
}

/** Returns the start of a bucket of the grid. */
export function startOf({ buckets, first }: TimeGrid, bucket: number): bigint {
  return buckets === undefined ? 0n : buckets.origin + (first + BigInt(bucket)) * buckets.step;
}

/** Returns how to get the starts of buckets of the grid; for many of them, this takes less time than `startOf`. */
export function startsOf(grid: TimeGrid): (bucket: number) => bigint {
  const first = startOf(grid, 0);
  const step = Number(grid.buckets?.step ?? 0n);
  if (grid.count * step > Number.MAX_SAFE_INTEGER) return (bucket) => startOf(grid, bucket);
  return (bucket) => first + BigInt(bucket * step);
}

/** Returns the starts of buckets of the grid without big integers; undefined if these are further apart than a double is exact. */
export function startWords(grid: TimeGrid, buckets: readonly number[]): LongCells | undefined {
  const step = Number(grid.buckets?.step ?? 0n);
  if (grid.count * step > Number.MAX_SAFE_INTEGER) return undefined;
  const first = BigInt.asIntN(64, startOf(grid, 0));
  const firstLow = Number(BigInt.asUintN(32, first));
  const firstHigh = Number(first >> 32n);
  const words = new Int32Array(2 * buckets.length);
  for (let i = 0; i < buckets.length; i++) {
    const offset = buckets[i] * step;
    const high = Math.floor(offset / 2 ** 32);
    const low = firstLow + (offset - high * 2 ** 32);
    words[2 * i] = low;
    words[2 * i + 1] = firstHigh + high + (low >= 2 ** 32 ? 1 : 0);
  }
  return { words };
}

/** Returns bounds and buckets relative to the base of a row group. */
export function relativeTo(base: bigint, { buckets, first }: TimeGrid, { from, to }: TimeBounds): RelativeGrid {
  const [start, end] = [distance(from, base, -Infinity), distance(to, base, Infinity)];
  if (buckets === undefined) return { from: start, to: end, step: Infinity, bucket: 0, rest: 0 };
  const number = bucketOf(base, buckets);
  const rest = Number(base - buckets.origin - number * buckets.step);
  return { from: start, to: end, step: Number(buckets.step), bucket: Number(number - first), rest };
}

function distance(time: bigint | undefined, base: bigint, unbounded: number): number {
  if (time === undefined) return unbounded;
  const difference = time - base;
  if (difference > RANGE_MAX) return Infinity;
  return difference < -RANGE_MAX ? -Infinity : Number(difference);
}

/** Returns the number of the bucket of a time, counted from the origin. */
export function bucketOf(time: bigint, { step, origin }: TimeBuckets): bigint {
  const distanceTo = time - origin;
  const quotient = distanceTo / step;
  return distanceTo < 0n && quotient * step !== distanceTo ? quotient - 1n : quotient;
}

/** Returns the first row of a run at or after a time; the row after the run if there is none. */
export function rowAt({ rows, first, steps, times }: Runs, run: number, time: number): number {
  const [from, to] = [rows[run], rows[run + 1]];
  if (time <= first[run]) return from;
  const step = steps[run];
  if (step !== 0) return Math.min(to, from + Math.ceil((time - first[run]) / step));
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times?.[middle] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the time of a row of a run, relative to the base of the row group. */
export function timeAt({ rows, first, steps, times }: Runs, run: number, row: number): number {
  return steps[run] === 0 ? (times?.[row] ?? 0) : first[run] + (row - rows[run]) * steps[run];
}
