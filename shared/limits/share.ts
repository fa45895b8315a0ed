const MEBIBYTE = 1024 * 1024;

/** What a process holds outside all budgets: code (85 MiB), and objects of V8 (95 MiB under load). */
const PROGRAM_BYTES = 192 * MEBIBYTE;
/** Percent of the rest that budgets divide. Allocators keep freed memory: a quarter of what is in use under load. */
const BUDGETS_PERCENT = 80;
/** Percent of a limit that budgets divide at least, however small it is. */
const BUDGETS_PERCENT_MIN = 60;

/** Returns `percent` of a size, rounded down to whole bytes. */
export function shareOf(bytes: number, percent: number): number {
  return Math.floor((bytes * percent) / 100);
}

/**
 * Returns the bytes of a budget that gets `percent` of what a memory limit leaves for budgets.
 *
 * @param limitBytes of the whole process: code, objects and freed memory count, too.
 */
export function budgetOf(limitBytes: number, percent: number): number {
  const left = shareOf(limitBytes - PROGRAM_BYTES, BUDGETS_PERCENT);
  return shareOf(Math.max(left, shareOf(limitBytes, BUDGETS_PERCENT_MIN)), percent);
}
