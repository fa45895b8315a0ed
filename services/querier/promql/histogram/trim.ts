import { bucketLowerBound, bucketUpperBound } from './bounds.js';
import { compacted, isCustom, type Buckets, type Histogram } from './histogram.js';

/** An interval of values and the number of observations in it that are kept. */
interface Interval {
  readonly lower: number;
  readonly upper: number;
  readonly kept: number;
  /** Whether values are assumed to be spread evenly; otherwise their logarithms are. */
  readonly isLinear: boolean;
}

/**
 * Removes the observations above a value (`h </ x`) or below it (`h >/ x`). A bucket that contains the value keeps an
 * interpolated part. Sum and count are estimated from the remaining observations, unless all remain.
 */
export function trimmed(histogram: Histogram, op: '</' | '>/', value: number): Histogram {
  const isBelow = op === '</';
  const intervals: Interval[] = [];
  let isChanged = false;
  const trim = (buckets: Buckets, sign: 1 | -1): Buckets => {
    const counts = buckets.indexes.map((index, i) => {
      const count = buckets.counts[i];
      const [lower, upper] = boundsOf(histogram, index, sign);
      const interval = cut(histogram, { lower, upper, kept: count, isLinear: isCustom(histogram) }, value, isBelow);
      if (interval.kept !== count) isChanged = true;
      if (interval.kept !== 0) intervals.push(interval);
      return interval.kept;
    });
    return { indexes: buckets.indexes, counts };
  };
  const positive = trim(histogram.positive, 1);
  const negative = trim(histogram.negative, -1);
  const zero = cut(histogram, zeroInterval(histogram), value, isBelow);
  if (zero.kept !== histogram.zeroCount) isChanged = true;
  if (zero.kept !== 0) intervals.push(zero);
  if (!isChanged) return histogram;
  const count = intervals.reduce((all, { kept }) => all + kept, 0);
  const sum = intervals.reduce((all, interval) => all + interval.kept * middle(interval), 0);
  return compacted({ ...histogram, positive, negative, zeroCount: zero.kept, count, sum });
}

function boundsOf(histogram: Histogram, index: number, sign: 1 | -1): readonly [number, number] {
  const lower = bucketLowerBound(histogram, index);
  const upper = bucketUpperBound(histogram, index);
  return sign === 1 ? [lower, upper] : [-upper, -lower];
}

/** Returns the zero bucket, on one side only if all other observations are on that side. */
function zeroInterval({ zeroThreshold, zeroCount, positive, negative }: Histogram): Interval {
  const hasPositive = positive.counts.some((count) => count !== 0);
  const hasNegative = negative.counts.some((count) => count !== 0);
  const lower = hasPositive && !hasNegative ? 0 : -zeroThreshold;
  const upper = hasNegative && !hasPositive ? 0 : zeroThreshold;
  return { lower, upper, kept: zeroCount, isLinear: true };
}

/** Returns the part of an interval on the kept side of the value. */
function cut(histogram: Histogram, interval: Interval, value: number, isBelow: boolean): Interval {
  const { lower, upper, kept } = interval;
  if (kept === 0) return interval;
  if (isCustom(histogram) && lower === -Infinity) return cutFirst(interval, value, isBelow);
  if (upper === Infinity && value < Infinity) {
    return isBelow ? { ...interval, kept: 0 } : { ...interval, lower: Math.max(lower, value) };
  }
  if (value >= upper) return isBelow ? interval : { ...interval, kept: 0 };
  if (value <= lower) return isBelow ? { ...interval, kept: 0 } : interval;
  const share = shareBelow(lower, upper, value, interval.isLinear);
  if (isBelow) return { ...interval, upper: value, kept: kept * share };
  return { ...interval, lower: value, kept: kept * (1 - share) };
}

/** Cuts a bucket that starts at minus infinity, as if it started at zero where its end is positive. */
function cutFirst(interval: Interval, value: number, isBelow: boolean): Interval {
  const { upper, kept } = interval;
  const none = { ...interval, kept: 0 };
  if (isBelow) {
    if (value >= upper) return interval;
    if (value > 0 && upper > 0 && upper < Infinity) {
      return { ...interval, lower: 0, upper: value, kept: (kept * value) / upper };
    }
    return upper <= 0 ? { ...interval, upper: value } : none;
  }
  if (value === -Infinity) return interval;
  if (!(value >= 0 && upper > value) || upper === Infinity) return none;
  return { ...interval, lower: value, kept: kept * (1 - value / upper) };
}

function shareBelow(lower: number, upper: number, value: number, isLinear: boolean): number {
  if (isLinear || (lower <= 0 && upper >= 0)) return (value - lower) / (upper - lower);
  const from = Math.log2(Math.abs(lower));
  return (Math.log2(Math.abs(value)) - from) / (Math.log2(Math.abs(upper)) - from);
}

/** Returns the value that represents an interval. */
function middle({ lower, upper, isLinear }: Interval): number {
  if (lower === -Infinity) return upper > 0 ? upper / 2 : upper;
  if (upper === Infinity) return lower;
  if (isLinear || (lower <= 0 && upper >= 0)) return (lower + upper) / 2;
  const size = Math.sqrt(Math.abs(lower) * Math.abs(upper));
  return lower < 0 ? -size : size;
}
