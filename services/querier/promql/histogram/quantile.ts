import { bucketsOf, isCustom, type Bucket, type Histogram } from './histogram.js';

/** Text about the effect of NaN observations on a quantile. */
export type NanNote = 'result is NaN' | 'result is skewed higher' | undefined;

/** A quantile and the text of its annotation. */
interface Quantile {
  readonly value: number;
  readonly note: NanNote;
}

/** Estimates the quantile `q` of the observations. */
export function nativeQuantile(q: number, histogram: Histogram): Quantile {
  if (!(q >= 0 && q <= 1) || histogram.count === 0) return { value: outside(q), note: undefined };
  const { count } = histogram;
  const hasNan = Number.isNaN(histogram.sum);
  // From the nearer end; from the lower one if NaN observations, which are in no bucket, are missing at the upper one.
  const isUpward = hasNan || q < 0.5;
  const buckets = bucketsOf(histogram);
  const rank = (isUpward ? q : 1 - q) * count;
  const found = walkTo(isUpward ? buckets : [...buckets].reverse(), rank);
  if (found.bucket === undefined) return notReached(NaN, hasNan);
  const bucket = zeroSided(found.bucket, histogram);
  const atEdge = isCustom(histogram) ? openEnded(bucket) : undefined;
  if (atEdge !== undefined) return { value: atEdge, note: undefined };
  const reached = Math.min(found.reached, count);
  if (reached < rank) return notReached(bucket.upper, hasNan);
  const inBucket = isUpward ? rank - (reached - bucket.count) : reached - rank;
  const isShort = hasNan && buckets.reduce((total, it) => total + it.count, 0) < count;
  return { value: valueIn(bucket, inBucket, histogram), note: isShort ? 'result is skewed higher' : undefined };
}

/** The buckets hold fewer observations than the rank, because of NaN observations or rounding. */
function notReached(value: number, hasNan: boolean): Quantile {
  return hasNan ? { value: NaN, note: 'result is NaN' } : { value, note: undefined };
}

function valueIn({ lower, upper, count }: Bucket, inBucket: number, histogram: Histogram): number {
  if (!isCustom(histogram)) return interpolated(lower, upper, inBucket / count, false);
  return interpolated(lower === -Infinity ? 0 : lower, upper, inBucket / count, true);
}

/** The quantile for an invalid `q` or an empty histogram. */
function outside(q: number): number {
  if (q < 0) return -Infinity;
  return q > 1 ? Infinity : NaN;
}

/** Returns the value for a bucket with one finite bound; undefined if interpolation is possible. */
function openEnded({ lower, upper }: Bucket): number | undefined {
  if (lower === -Infinity) return upper <= 0 ? upper : undefined;
  return upper === Infinity ? lower : undefined;
}

function walkTo(
  buckets: readonly Bucket[],
  rank: number,
): { readonly bucket: Bucket | undefined; readonly reached: number } {
  let reached = 0;
  let last: Bucket | undefined;
  for (const bucket of buckets) {
    reached += bucket.count;
    last = bucket;
    if (reached >= rank) break;
  }
  return { bucket: last, reached };
}

/** Cuts the zero bucket at zero if all other observations are on one side. */
function zeroSided(bucket: Bucket, { positive, negative }: Histogram): Bucket {
  if (!(bucket.lower < 0 && bucket.upper > 0)) return bucket;
  const hasPositive = positive.counts.some((count) => count !== 0);
  const hasNegative = negative.counts.some((count) => count !== 0);
  if (hasPositive && !hasNegative) return { ...bucket, lower: 0 };
  return hasNegative && !hasPositive ? { ...bucket, upper: 0 } : bucket;
}

function interpolated(lower: number, upper: number, share: number, isLinear: boolean): number {
  if (isLinear || (lower <= 0 && upper >= 0)) return lower + (upper - lower) * share;
  const from = Math.log2(Math.abs(lower));
  const to = Math.log2(Math.abs(upper));
  return lower > 0 ? 2 ** (from + (to - from) * share) : -(2 ** (to + (from - to) * (1 - share)));
}

/**
 * Estimates the fraction of the observations between two values. NaN observations are in no interval.
 *
 * @returns NaN for no observations or a bound that is NaN.
 */
export function nativeFraction(
  lower: number,
  upper: number,
  histogram: Histogram,
): { readonly value: number; readonly hasNan: boolean } {
  const { count, sum } = histogram;
  if (count === 0 || Number.isNaN(lower) || Number.isNaN(upper)) return { value: NaN, hasNan: false };
  if (lower >= upper) return { value: 0, hasNan: false };
  const buckets = bucketsOf(histogram).map((bucket) => bounded(bucket, histogram));
  const hasNan = Number.isNaN(sum);
  const total = hasNan ? buckets.reduce((all, it) => all + it.count, 0) : count;
  const rankOf = (bound: number): number => Math.min(rank(buckets, bound, isCustom(histogram)) ?? total, total);
  return { value: (rankOf(upper) - rankOf(lower)) / count, hasNan: hasNan && total < count };
}

/** Custom buckets are assumed to hold positive values where they can. */
function bounded(bucket: Bucket, histogram: Histogram): Bucket {
  if (!isCustom(histogram)) return zeroSided(bucket, histogram);
  return bucket.lower <= 0 && bucket.upper >= 0 ? { ...bucket, lower: 0 } : bucket;
}

/** Returns the number of observations below a bound; undefined if all are. */
function rank(buckets: readonly Bucket[], bound: number, isLinear: boolean): number | undefined {
  let below = 0;
  for (const { lower, upper, count } of buckets) {
    if (bound <= lower) return below;
    if (bound < upper) return below + count * shareBelow(lower, upper, bound, isLinear);
    below += count;
    if (bound === upper) return below;
  }
  return undefined;
}

function shareBelow(lower: number, upper: number, bound: number, isLinear: boolean): number {
  if (lower === -Infinity) return 1;
  if (upper === Infinity) return 0;
  if (isLinear || (lower <= 0 && upper >= 0)) return (bound - lower) / (upper - lower);
  const from = Math.log2(Math.abs(lower));
  const to = Math.log2(Math.abs(upper));
  return (Math.log2(Math.abs(bound)) - from) / (to - from);
}
