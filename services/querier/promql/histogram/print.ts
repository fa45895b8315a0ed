import { numberText } from '../syntax/print.js';
import { bucketsOf, type Histogram } from './histogram.js';

/** The histogram as a label value tells it: `{count:10, sum:20, [-0.001,0.001]:2, (0.5,1]:4}`. */
export function printHistogram(histogram: Histogram): string {
  const parts = [`count:${numberText(histogram.count)}`, `sum:${numberText(histogram.sum)}`];
  for (const { lower, upper, count, lowerInclusive, upperInclusive } of bucketsOf(histogram)) {
    const range = `${lowerInclusive ? '[' : '('}${numberText(lower)},${numberText(upper)}${upperInclusive ? ']' : ')'}`;
    parts.push(`${range}:${numberText(count)}`);
  }
  return `{${parts.join(', ')}}`;
}
