import type { PlotValues } from './align.js';

/**
 * Stacks series: each value becomes the sum of itself and those of later series with its sign, so that series drawn in
 * this order, each filled down to zero, cover all but their own part of the earlier ones. Negative values stack downward.
 */
export function stackSeries(values: readonly PlotValues[]): readonly PlotValues[] {
  const length = values[0]?.length ?? 0;
  const [above, below] = [new Float64Array(length), new Float64Array(length)];
  const stacked: PlotValues[] = [];
  for (const one of values.toReversed()) {
    const sums = new Array<number | null | undefined>(length);
    for (let i = 0; i < length; i++) {
      const value = one[i];
      if (typeof value !== 'number') sums[i] = value;
      else if (value < 0) sums[i] = below[i] += value;
      else sums[i] = above[i] += value;
    }
    stacked.push(sums);
  }
  return stacked.reverse();
}
