/** Native histograms of Prometheus and their validation. */

/** A run of adjacent buckets: the gap after the previous run (for the first: from bucket 0), and the number of buckets. */
export interface BucketSpan {
  readonly offset: number;
  readonly length: number;
}

/** A native histogram sample with bucket counts as absolute values. */
export interface NativeHistogram {
  /** Whether counts are doubles; otherwise they are integers, exact up to 2^53. */
  readonly isFloat: boolean;
  /** Whether this is a staleness marker; then all other members are meaningless. */
  readonly isStale: boolean;
  /** -4 to 8 (up to 52 on the wire): exponential buckets; -53: bounds are `customValues`. */
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly sum: number;
  readonly resetHint: ResetHint;
  /** Milliseconds since 1970; 0 means unknown. */
  readonly startMs: number;
  readonly count: number;
  readonly zeroCount: number;
  readonly customValues: readonly number[];
  readonly positiveSpans: readonly BucketSpan[];
  readonly negativeSpans: readonly BucketSpan[];
  /** Absolute counts of the buckets, not differences. */
  readonly positiveBuckets: readonly number[];
  readonly negativeBuckets: readonly number[];
}

/** Counter reset hints with their numbers on the wire. */
export const RESET_HINTS = { unknown: 0, yes: 1, no: 2, gauge: 3 } as const;
/** A counter reset hint, as its number on the wire. */
export type ResetHint = (typeof RESET_HINTS)[keyof typeof RESET_HINTS];

/** Schema of histograms with custom bucket bounds. */
export const CUSTOM_SCHEMA = -53;
const SCHEMA_MIN = -4;
/** The finest stored exponential schema; clients may send finer ones. */
export const SCHEMA_MAX = 8;
const SENT_SCHEMA_MAX = 52;
const INDEX_MAX = 2 ** 31 - 1;
const INT64_END = 2 ** 63;
/** Low word of the NaN that marks a series as stale. */
export const STALE_LOW = 2;
/** High word of that NaN. */
export const STALE_HIGH = 0x7ff00000;

/** Returns why a histogram is invalid; an empty text if it is valid. */
export function histogramProblem(histogram: NativeHistogram): string {
  if (histogram.isStale) return '';
  const { schema } = histogram;
  const isCustom = schema === CUSTOM_SCHEMA;
  if (!isCustom && (schema < SCHEMA_MIN || schema > SENT_SCHEMA_MAX)) return `unsupported histogram schema ${schema}`;
  return (
    (isCustom ? customProblem(histogram) : exponentialProblem(histogram)) ||
    spansProblem('positive', histogram.positiveSpans, histogram.positiveBuckets.length, histogram) ||
    spansProblem('negative', histogram.negativeSpans, histogram.negativeBuckets.length, histogram) ||
    countsProblem(histogram)
  );
}

function exponentialProblem({ customValues }: NativeHistogram): string {
  return customValues.length > 0 ? 'histogram with exponential buckets has custom values' : '';
}

function customProblem(histogram: NativeHistogram): string {
  const { customValues, zeroCount, zeroThreshold, negativeSpans, negativeBuckets } = histogram;
  if (zeroCount !== 0 || zeroThreshold !== 0) return 'histogram with custom buckets has a zero bucket';
  if (negativeSpans.length > 0 || negativeBuckets.length > 0) {
    return 'histogram with custom buckets has negative buckets';
  }
  let before = Number.NEGATIVE_INFINITY;
  for (const [i, bound] of customValues.entries()) {
    const isAbove = i === 0 ? !Number.isNaN(bound) : bound > before;
    if (!isAbove || bound === Number.POSITIVE_INFINITY) {
      return 'custom values of a histogram must be finite and increase';
    }
    before = bound;
  }
  return '';
}

function spansProblem(
  side: string,
  spans: readonly BucketSpan[],
  bucketCount: number,
  { schema, customValues }: NativeHistogram,
): string {
  const isCustom = schema === CUSTOM_SCHEMA;
  const end = isCustom ? customValues.length + 1 : INDEX_MAX;
  let index = 0;
  let needed = 0;
  for (const [i, { offset, length }] of spans.entries()) {
    if (offset < 0 && (i > 0 || isCustom)) return `histogram has a ${side} span with a negative offset`;
    index += offset + length;
    needed += length;
    if (index > end) return `histogram has a ${side} bucket out of range`;
  }
  return needed === bucketCount ? '' : `histogram has ${bucketCount} ${side} buckets, its spans need ${needed}`;
}

function countsProblem({ isFloat, count, zeroCount, sum, ...buckets }: NativeHistogram): string {
  let total = zeroCount;
  for (const bucket of buckets.positiveBuckets) total += bucket;
  for (const bucket of buckets.negativeBuckets) total += bucket;
  const all = [count, zeroCount, ...buckets.positiveBuckets, ...buckets.negativeBuckets];
  if (all.some((value) => value < 0)) return 'histogram has a negative count';
  if (isFloat) return '';
  if (all.some((value) => value >= INT64_END)) return 'histogram has a count beyond 64 bits';
  // Beyond 2^53 sums are inexact.
  if (total > Number.MAX_SAFE_INTEGER || count > Number.MAX_SAFE_INTEGER) return '';
  // Observations of NaN are counted, but are in no bucket.
  const isRight = Number.isNaN(sum) ? total <= count : total === count;
  return isRight ? '' : `histogram has ${total} observations in its buckets, its count is ${count}`;
}
