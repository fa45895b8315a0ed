import { numberText } from '../common/number-text.js';
import { bucketsOf, type Bucket, type Histogram } from './histogram.js';

/** Formats a histogram as JSON, as Prometheus's HTTP API does. */
export function histogramJson(histogram: Histogram): string {
  const buckets = bucketsOf(histogram).map(
    (bucket) => `[${boundsRule(bucket)},${[bucket.lower, bucket.upper, bucket.count].map(quotedNumber).join(',')}]`,
  );
  const head = `{"count":${quotedNumber(histogram.count)},"sum":${quotedNumber(histogram.sum)}`;
  return buckets.length === 0 ? `${head}}` : `${head},"buckets":[${buckets.join(',')}]}`;
}

/** Returns which bounds are inclusive: 0 the upper, 1 the lower, 2 none, 3 both. */
function boundsRule({ lowerInclusive, upperInclusive }: Bucket): number {
  if (lowerInclusive) return upperInclusive ? 3 : 1;
  return upperInclusive ? 0 : 2;
}

function quotedNumber(value: number): string {
  return `"${numberText(value)}"`;
}

/** Formats a histogram as a label value: `{count:10, sum:20, [-0.001,0.001]:2, (0.5,1]:4}`. */
export function histogramText(histogram: Histogram): string {
  const parts = [`count:${numberText(histogram.count)}`, `sum:${numberText(histogram.sum)}`];
  for (const { lower, upper, count, lowerInclusive, upperInclusive } of bucketsOf(histogram)) {
    const range = `${lowerInclusive ? '[' : '('}${numberText(lower)},${numberText(upper)}${upperInclusive ? ']' : ')'}`;
    parts.push(`${range}:${numberText(count)}`);
  }
  return `{${parts.join(', ')}}`;
}
