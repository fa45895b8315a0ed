/**
 * The value at rank `q * (n - 1)` of the sorted values, interpolated between neighbours; NaN counts as smallest.
 *
 * @returns NaN for no values or a `q` that is NaN; infinities for a `q` outside of 0 to 1.
 */
export function quantileOf(q: number, values: Float64Array): number {
  if (values.length === 0 || Number.isNaN(q)) return NaN;
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
  // Sorting puts NaN last.
  const sorted = values.slice().sort();
  let numbers = sorted.length;
  while (numbers > 0 && Number.isNaN(sorted[numbers - 1])) numbers--;
  const at = (place: number): number => sorted[(place + numbers) % sorted.length];
  const rank = q * (sorted.length - 1);
  const lower = Math.max(0, Math.floor(rank));
  const upper = Math.min(sorted.length - 1, lower + 1);
  const weight = rank - Math.floor(rank);
  return at(lower) * (1 - weight) + at(upper) * weight;
}
