/** Returns a number of bytes rounded up to a multiple of 8, at which every kind of array may begin. */
export function padded(bytes: number): number {
  return (bytes + 7) & ~7;
}
