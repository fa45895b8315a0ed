/** A bucket of a classic histogram: the number of observations at or below the bound. */
export interface ClassicBucket {
  readonly bound: number;
  readonly count: number;
}

/** The counts that were raised to make the buckets monotonic. */
export interface Correction {
  readonly fromBound: number;
  readonly toBound: number;
  readonly largest: number;
}

/** Largest relative difference that counts as a rounding error. */
const TOLERANCE = 1e-12;

/**
 * Estimates the quantile `q` from cumulative buckets.
 *
 * @returns NaN without a bucket to infinity, with fewer than two buckets, or without observations.
 */
export function classicQuantile(
  q: number,
  unsorted: readonly ClassicBucket[],
): { readonly value: number; readonly correction: Correction | undefined } {
  const plain = (value: number) => ({ value, correction: undefined });
  if (Number.isNaN(q)) return plain(NaN);
  if (q < 0) return plain(-Infinity);
  if (q > 1) return plain(Infinity);
  const merged = mergedBuckets(unsorted);
  if (merged.at(-1)?.bound !== Infinity) return plain(NaN);
  const { buckets, correction } = monotonic(merged);
  const total = buckets[buckets.length - 1].count;
  if (buckets.length < 2 || total === 0) return { value: NaN, correction };
  return { value: valueAt(q * total, buckets), correction };
}

function valueAt(rank: number, buckets: readonly ClassicBucket[]): number {
  const last = buckets.length - 1;
  const found = buckets.findIndex(({ count }, i) => i < last && count >= rank);
  if (found < 0) return buckets[last - 1].bound;
  const { bound, count } = buckets[found];
  if (found === 0 && bound <= 0) return bound;
  const lower = found === 0 ? 0 : buckets[found - 1].bound;
  const before = found === 0 ? 0 : buckets[found - 1].count;
  return lower + (bound - lower) * ((rank - before) / (count - before));
}

/** Estimates the fraction of the observations between two values. */
export function classicFraction(lower: number, upper: number, unsorted: readonly ClassicBucket[]): number {
  const merged = mergedBuckets(unsorted);
  if (merged.at(-1)?.bound !== Infinity) return NaN;
  const { buckets } = monotonic(merged);
  const total = buckets[buckets.length - 1].count;
  if (total === 0 || Number.isNaN(lower) || Number.isNaN(upper)) return NaN;
  if (lower >= upper) return 0;
  return (rankOf(upper, buckets) - rankOf(lower, buckets)) / total;
}

function rankOf(value: number, buckets: readonly ClassicBucket[]): number {
  let before = 0;
  let from = buckets[0].bound > 0 ? 0 : -Infinity;
  for (const { bound, count } of buckets) {
    if (value <= from) return before;
    if (value < bound) {
      if (from === -Infinity) return count;
      return bound === Infinity ? before : before + (count - before) * ((value - from) / (bound - from));
    }
    before = count;
    from = bound;
  }
  return before;
}

function mergedBuckets(unsorted: readonly ClassicBucket[]): readonly ClassicBucket[] {
  if (isStrictlyAscending(unsorted)) return unsorted;
  const merged: ClassicBucket[] = [];
  for (const bucket of [...unsorted].sort((a, b) => a.bound - b.bound)) {
    const last = merged.at(-1);
    if (last?.bound === bucket.bound) merged[merged.length - 1] = { ...last, count: last.count + bucket.count };
    else merged.push(bucket);
  }
  return merged;
}

function isStrictlyAscending(buckets: readonly ClassicBucket[]): boolean {
  for (let i = 1; i < buckets.length; i++) if (!(buckets[i - 1].bound < buckets[i].bound)) return false;
  return true;
}

function monotonic(buckets: readonly ClassicBucket[]): {
  readonly buckets: readonly ClassicBucket[];
  readonly correction: Correction | undefined;
} {
  let correction: Correction | undefined;
  let before = buckets[0].count;
  const raised: ClassicBucket[] = [];
  for (const { bound, count } of buckets) {
    const isSame = count === before || isAlmostEqual(count, before);
    const isLess = !isSame && !(count > before);
    if (!isSame && !isLess) before = count;
    raised.push({ bound, count: before });
    if (!isLess) continue;
    correction = {
      fromBound: Math.min(correction?.fromBound ?? bound, bound),
      toBound: Math.max(correction?.toBound ?? bound, bound),
      largest: Math.max(correction?.largest ?? 0, before - count),
    };
  }
  return { buckets: raised, correction };
}

function isAlmostEqual(one: number, other: number): boolean {
  const sum = Math.abs(one) + Math.abs(other);
  const difference = Math.abs(one - other);
  if (one === 0 || other === 0 || sum < 2 ** -1022) return difference < TOLERANCE * 2 ** -1022;
  return difference / Math.min(sum, Number.MAX_VALUE) < TOLERANCE;
}
