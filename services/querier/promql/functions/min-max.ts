/** Go's `max`: NaN wins, but for infinity. */
export function greater(one: number, other: number): number {
  if (one === Infinity || other === Infinity) return Infinity;
  return Math.max(one, other);
}

/** Go's `min`: NaN wins, but for minus infinity. */
export function smaller(one: number, other: number): number {
  if (one === -Infinity || other === -Infinity) return -Infinity;
  return Math.min(one, other);
}
