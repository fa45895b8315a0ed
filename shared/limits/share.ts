/** Returns `percent` of a size, rounded down to whole bytes. */
export function shareOf(bytes: number, percent: number): number {
  return Math.floor((bytes * percent) / 100);
}
