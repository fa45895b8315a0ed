/** So many percent of a size, in whole bytes. */
export function shareOf(bytes: number, percent: number): number {
  return Math.floor((bytes * percent) / 100);
}
