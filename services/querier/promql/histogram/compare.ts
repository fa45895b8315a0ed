import { commonBounds, reboundBuckets } from './sum.js';
import { isCustom, reduced, widerZero, withZero, type Buckets, type Histogram } from './histogram.js';

/** Reports whether two histograms are identical, apart from their hints. */
export function areEqualHistograms(one: Histogram, other: Histogram): boolean {
  return (
    one.schema === other.schema &&
    one.zeroThreshold === other.zeroThreshold &&
    Object.is(one.count, other.count) &&
    Object.is(one.sum, other.sum) &&
    Object.is(one.zeroCount, other.zeroCount) &&
    areSameNumbers(one.custom, other.custom) &&
    areSameBuckets(one.positive, other.positive) &&
    areSameBuckets(one.negative, other.negative)
  );
}

function areSameBuckets(one: Buckets, other: Buckets): boolean {
  return areSameNumbers(one.indexes, other.indexes) && areSameNumbers(one.counts, other.counts);
}

function areSameNumbers(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((value, i) => Object.is(value, other[i]));
}

/**
 * Reports whether the counter was reset between two samples: a count decreased, or the layout became finer or different.
 *
 * @see https://prometheus.io/docs/specs/native_histograms/#counter-reset-considerations
 */
export function isCounterReset(previous: Histogram, current: Histogram): boolean {
  if (current.hint === 'reset') return true;
  if (current.hint === 'not_reset') return false;
  if (current.count < previous.count) return true;
  if (isCustom(current) || isCustom(previous)) {
    return isCustom(current) !== isCustom(previous) || isCustomReset(previous, current);
  }
  if (current.schema > previous.schema || current.zeroThreshold < previous.zeroThreshold) return true;
  const { count, threshold } = widerZero(previous, current.zeroThreshold);
  if (threshold !== current.zeroThreshold || current.zeroCount < count) return true;
  const before = reduced(withZero(previous, count, threshold), current.schema);
  return isAnySmaller(before.positive, current.positive) || isAnySmaller(before.negative, current.negative);
}

function isCustomReset(previous: Histogram, current: Histogram): boolean {
  if (areSameNumbers(previous.custom, current.custom)) return isAnySmaller(previous.positive, current.positive);
  const bounds = commonBounds(previous.custom, current.custom);
  return isAnySmaller(reboundBuckets(previous, bounds), reboundBuckets(current, bounds));
}

/** Reports whether any bucket has a lower count than before. */
function isAnySmaller(before: Buckets, now: Buckets): boolean {
  let at = 0;
  for (let i = 0; i < before.indexes.length; i++) {
    if (before.counts[i] === 0) continue;
    while (at < now.indexes.length && now.indexes[at] < before.indexes[i]) at++;
    const count = now.indexes[at] === before.indexes[i] ? now.counts[at] : 0;
    if (count < before.counts[i]) return true;
  }
  return false;
}
