import { decodeHistogram } from '#shared/histogram/histogram-bytes';
import { RESET_HINTS, type BucketSpan } from '#shared/histogram/native-histogram';

import type { Buckets, Histogram } from '../promql/histogram/histogram.js';

/** Decodes a stored histogram for the engine; `histogram` is undefined for a staleness marker. */
export function readHistogram(bytes: Uint8Array): {
  readonly histogram: Histogram | undefined;
  readonly startMs: number;
} {
  const stored = decodeHistogram(bytes);
  if (stored.isStale) return { histogram: undefined, startMs: 0 };
  const histogram: Histogram = {
    schema: stored.schema,
    count: stored.count,
    sum: stored.sum,
    zeroThreshold: stored.zeroThreshold,
    zeroCount: stored.zeroCount,
    positive: bucketsOf(stored.positiveSpans, stored.positiveBuckets),
    negative: bucketsOf(stored.negativeSpans, stored.negativeBuckets),
    custom: stored.customValues,
    hint: stored.resetHint === RESET_HINTS.gauge ? 'gauge' : 'unknown',
  };
  return { histogram, startMs: stored.startMs };
}

function bucketsOf(spans: readonly BucketSpan[], counts: readonly number[]): Buckets {
  const indexes: number[] = [];
  let index = 0;
  for (const { offset, length } of spans) {
    index += offset;
    for (let i = 0; i < length; i++) indexes.push(index++);
  }
  return { indexes, counts };
}
