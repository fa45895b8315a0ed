import type { Buckets, Histogram } from './histogram.js';

/** Bytes of a histogram without buckets, and of each of its numbers, as Prometheus counts them. */
const BASE_BYTES = 168;
const NUMBER_BYTES = 8;
const SAMPLE_BYTES = 16;

/** How many samples a histogram counts for. */
export function sampleSize({ positive, negative, custom }: Histogram): number {
  const numbers = spans(positive) + spans(negative) + positive.counts.length + negative.counts.length + custom.length;
  return Math.floor((BASE_BYTES + NUMBER_BYTES * numbers + NUMBER_BYTES) / SAMPLE_BYTES);
}

/** Runs of buckets without gaps. */
function spans({ indexes }: Buckets): number {
  let count = 0;
  for (let i = 0; i < indexes.length; i++) if (i === 0 || indexes[i] !== indexes[i - 1] + 1) count++;
  return count;
}
