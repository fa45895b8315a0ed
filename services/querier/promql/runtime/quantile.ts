import type { Limits } from './limits.js';
import { selected } from './select-rank.js';

/**
 * The value at rank `q * (n - 1)` of the sorted values, interpolated between neighbours; NaN counts as smallest.
 *
 * @returns NaN for no values or a `q` that is NaN; infinities for a `q` outside of 0 to 1. A promise of it only for many
 *   values, while which others are served.
 */
export function quantileOf(q: number, values: Float64Array, limits: Limits): number | Promise<number> {
  if (values.length === 0 || Number.isNaN(q)) return NaN;
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
  const rank = q * (values.length - 1);
  const lower = Math.max(0, Math.floor(rank));
  const upper = Math.min(values.length - 1, lower + 1);
  const weight = rank - Math.floor(rank);
  if (values.length > SORTED_MAX) {
    return selected(values, lower, limits).then(({ value, next }) => {
      return value * (1 - weight) + (upper === lower ? value : next) * weight;
    });
  }
  // NaN is put last.
  const sorted = values.length > INSERTION_MAX ? values.slice().sort() : inserted(values);
  let numbers = sorted.length;
  while (numbers > 0 && Number.isNaN(sorted[numbers - 1])) numbers--;
  const at = (place: number): number => sorted[(place + numbers) % sorted.length];
  return at(lower) * (1 - weight) + at(upper) * weight;
}

/** Sorting more takes longer than others should wait. */
const SORTED_MAX = 1 << 15;

/** Up to so many values, insertion is several times as fast as the engine's own sorting of typed arrays. */
const INSERTION_MAX = 48;

function inserted(values: Float64Array): Float64Array {
  const sorted = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const x = values[i];
    let at = i;
    for (; at > 0 && (sorted[at - 1] > x || sorted[at - 1] !== sorted[at - 1]); at--) sorted[at] = sorted[at - 1];
    sorted[at] = x;
  }
  return sorted;
}
