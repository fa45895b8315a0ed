import { CUSTOM_SCHEMA } from '#shared/histogram/native-histogram';

import { bucketLowerBound, bucketUpperBound } from './bounds.js';

/** What is known about counter resets before a histogram. */
export type CounterHint = 'unknown' | 'reset' | 'not_reset' | 'gauge';

/** Buckets of one side, ascending by index; gaps are empty buckets. */
export interface Buckets {
  readonly indexes: readonly number[];
  readonly counts: readonly number[];
}

/**
 * A native histogram with float counts; immutable.
 *
 * Exponential schemas are -4 to 8; bucket i of the positive side covers (2^((i-1)*2^-schema), 2^(i*2^-schema)], the
 * negative side mirrors it. Schema -53 has custom bounds, one side and no zero bucket.
 *
 * @see https://prometheus.io/docs/specs/native_histograms/
 */
export interface Histogram {
  readonly schema: number;
  readonly count: number;
  readonly sum: number;
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  readonly positive: Buckets;
  readonly negative: Buckets;
  /** Ascending upper bounds; empty for exponential schemas. */
  readonly custom: readonly number[];
  readonly hint: CounterHint;
}

/** A bucket with its bounds. */
export interface Bucket {
  readonly lower: number;
  readonly upper: number;
  readonly count: number;
  readonly lowerInclusive: boolean;
  readonly upperInclusive: boolean;
}

/** A side without buckets. */
export const NO_BUCKETS: Buckets = { indexes: [], counts: [] };

/** Reports whether the histogram has custom bounds. */
export function isCustom({ schema }: Histogram): boolean {
  return schema === CUSTOM_SCHEMA;
}

/** Returns the populated buckets in ascending order, with the zero bucket if its count is positive. */
export function bucketsOf(histogram: Histogram): Bucket[] {
  const { negative, positive, zeroCount } = histogram;
  const buckets: Bucket[] = [];
  for (let i = negative.indexes.length - 1; i >= 0; i--) {
    if (negative.counts[i] !== 0) buckets.push(negativeBucket(histogram, negative.indexes[i], negative.counts[i]));
  }
  if (zeroCount > 0) buckets.push(zeroBucket(histogram));
  for (let i = 0; i < positive.indexes.length; i++) {
    if (positive.counts[i] !== 0) buckets.push(positiveBucket(histogram, positive.indexes[i], positive.counts[i]));
  }
  return buckets;
}

function positiveBucket(histogram: Histogram, index: number, count: number): Bucket {
  const lower = Math.max(bucketLowerBound(histogram, index), isCustom(histogram) ? -Infinity : histogram.zeroThreshold);
  const lowerInclusive = isCustom(histogram) && index === 0;
  return { lower, upper: bucketUpperBound(histogram, index), count, lowerInclusive, upperInclusive: true };
}

function negativeBucket(histogram: Histogram, index: number, count: number): Bucket {
  const upper = Math.min(-bucketLowerBound(histogram, index), -histogram.zeroThreshold);
  return { lower: -bucketUpperBound(histogram, index), upper, count, lowerInclusive: true, upperInclusive: false };
}

function zeroBucket({ zeroThreshold, zeroCount }: Histogram): Bucket {
  const bounds = { lower: -zeroThreshold, upper: zeroThreshold };
  return { ...bounds, count: zeroCount, lowerInclusive: true, upperInclusive: true };
}

/** Applies a function to every count and to the sum. */
export function mapCounts(histogram: Histogram, change: (count: number) => number): Histogram {
  const { count, sum, zeroCount, positive, negative } = histogram;
  return {
    ...histogram,
    count: change(count),
    sum: change(sum),
    zeroCount: change(zeroCount),
    positive: { indexes: positive.indexes, counts: positive.counts.map(change) },
    negative: { indexes: negative.indexes, counts: negative.counts.map(change) },
  };
}

/** Multiplies all counts and the sum; with a negative factor the result is a gauge. */
export function scaled(histogram: Histogram, factor: number): Histogram {
  const result = mapCounts(histogram, (count) => count * factor);
  return factor < 0 ? { ...result, hint: 'gauge' } : result;
}

/** Divides all counts and the sum. Division by zero removes all buckets and makes the rest infinite or NaN. */
export function divided(histogram: Histogram, divisor: number): Histogram {
  const result = mapCounts(histogram, (count) => count / divisor);
  if (divisor === 0) return { ...result, positive: NO_BUCKETS, negative: NO_BUCKETS };
  return divisor < 0 ? { ...result, hint: 'gauge' } : result;
}

/** Removes empty buckets. */
export function compacted(histogram: Histogram): Histogram {
  const { positive, negative } = histogram;
  if (!positive.counts.includes(0) && !negative.counts.includes(0)) return histogram;
  return { ...histogram, positive: withoutEmpty(positive), negative: withoutEmpty(negative) };
}

function withoutEmpty({ indexes, counts }: Buckets): Buckets {
  const kept = indexes.filter((_, i) => counts[i] !== 0);
  return { indexes: kept, counts: counts.filter((count) => count !== 0) };
}

/** Converts to a coarser exponential schema. */
export function reduced(histogram: Histogram, schema: number): Histogram {
  if (histogram.schema === schema) return histogram;
  const shift = histogram.schema - schema;
  const { positive, negative } = histogram;
  return { ...histogram, schema, positive: coarser(positive, shift), negative: coarser(negative, shift) };
}

/** Returns the index of the bucket of a coarser schema that contains a bucket. @param shift difference of the schemas. */
export function coarserIndex(index: number, shift: number): number {
  return Math.floor((index - 1) / 2 ** shift) + 1;
}

function coarser({ indexes, counts }: Buckets, shift: number): Buckets {
  const result = { indexes: [] as number[], counts: [] as number[] };
  for (let i = 0; i < indexes.length; i++) {
    const index = coarserIndex(indexes[i], shift);
    if (result.indexes.at(-1) === index) {
      result.counts[result.counts.length - 1] += counts[i];
    } else {
      result.indexes.push(index);
      result.counts.push(counts[i]);
    }
  }
  return result;
}

/**
 * Returns the zero bucket of the same observations for a wider threshold. A threshold within a populated bucket is widened
 * to the far bound of that bucket.
 */
export function widerZero(
  histogram: Histogram,
  threshold: number,
): { readonly count: number; readonly threshold: number } {
  const { positive, negative } = histogram;
  let wide = threshold;
  for (;;) {
    const above = withinZero(histogram, positive, wide);
    if (above.threshold !== wide) wide = above.threshold;
    const below = withinZero(histogram, negative, wide);
    if (below.threshold === wide) return { count: histogram.zeroCount + above.count + below.count, threshold: wide };
    wide = below.threshold;
  }
}

function withinZero(
  histogram: Histogram,
  { indexes, counts }: Buckets,
  threshold: number,
): { readonly count: number; readonly threshold: number } {
  let count = 0;
  for (let i = 0; i < indexes.length && bucketLowerBound(histogram, indexes[i]) < threshold; i++) {
    count += counts[i];
    const upper = bucketUpperBound(histogram, indexes[i]);
    if (upper > threshold) return { count, threshold: counts[i] === 0 ? threshold : upper };
  }
  return { count, threshold };
}

/** Widens the zero bucket and removes the buckets within it. */
export function withZero(histogram: Histogram, zeroCount: number, zeroThreshold: number): Histogram {
  const { positive, negative } = histogram;
  const beyond = (buckets: Buckets): Buckets => {
    const isKept = buckets.indexes.map((index) => bucketUpperBound(histogram, index) > zeroThreshold);
    const indexes = buckets.indexes.filter((_, i) => isKept[i]);
    return { indexes, counts: buckets.counts.filter((_, i) => isKept[i]) };
  };
  return { ...histogram, zeroCount, zeroThreshold, positive: beyond(positive), negative: beyond(negative) };
}

/** Sizes by which Prometheus converts histograms to samples. */
const BASE_BYTES = 168;
const NUMBER_BYTES = 8;
const SAMPLE_BYTES = 16;

/** Returns the number of samples that a histogram counts as. */
export function sampleSize({ positive, negative, custom }: Histogram): number {
  const numbers = spans(positive) + spans(negative) + positive.counts.length + negative.counts.length + custom.length;
  return Math.floor((BASE_BYTES + NUMBER_BYTES * numbers + NUMBER_BYTES) / SAMPLE_BYTES);
}

/** Returns the number of runs of buckets without gaps. */
function spans({ indexes }: Buckets): number {
  let count = 0;
  for (let i = 0; i < indexes.length; i++) if (i === 0 || indexes[i] !== indexes[i - 1] + 1) count++;
  return count;
}
