import { SCHEMA_MAX, type BucketSpan, type NativeHistogram } from './native-histogram.js';

/**
 * Converts a valid histogram to a schema that can be stored: finer exponential buckets are merged into the finest stored
 * schema, `2^shift` neighbours into one.
 *
 * @see https://prometheus.io/docs/specs/native_histograms/#schema
 */
export function coarsened(histogram: NativeHistogram): NativeHistogram {
  const shift = histogram.schema - SCHEMA_MAX;
  if (shift <= 0) return histogram;
  const positive = coarserSide(histogram.positiveSpans, histogram.positiveBuckets, shift);
  const negative = coarserSide(histogram.negativeSpans, histogram.negativeBuckets, shift);
  return {
    ...histogram,
    schema: SCHEMA_MAX,
    positiveSpans: positive.spans,
    negativeSpans: negative.spans,
    positiveBuckets: positive.buckets,
    negativeBuckets: negative.buckets,
  };
}

function coarserSide(
  spans: readonly BucketSpan[],
  buckets: readonly number[],
  shift: number,
): { readonly spans: readonly BucketSpan[]; readonly buckets: readonly number[] } {
  const wide: { offset: number; length: number }[] = [];
  const sums: number[] = [];
  let index = 0;
  let at = 0;
  /** Index after the last merged bucket. */
  let end = 0;
  for (const { offset, length } of spans) {
    index += offset;
    for (let i = 0; i < length; i++, index++, at++) {
      // The upper bound of bucket i is base^i, so bucket 1 begins a merged one. Shifts may exceed 32 bits.
      const target = Math.floor((index - 1) / 2 ** shift) + 1;
      const last = wide.at(-1);
      if (last !== undefined && target < end) {
        sums[sums.length - 1] += buckets[at];
        continue;
      }
      sums.push(buckets[at]);
      if (last !== undefined && target === end) last.length++;
      else wide.push({ offset: target - end, length: 1 });
      end = target + 1;
    }
  }
  return { spans: wide, buckets: sums };
}
