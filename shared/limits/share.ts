const MEBIBYTE = 1024 * 1024;

/**
 * What a process holds outside all budgets under load: code (85 MiB), V8 (110 MiB), stacks, SQLite, libraries, and what the engine does not
 * count (190 MiB).
 */
const PROGRAM_BYTES = 384 * MEBIBYTE;
/** Percent of the rest that budgets divide. The rest of it is freed memory that allocators keep, and requests in progress. */
const BUDGETS_PERCENT = 80;
/** Percent of a limit that budgets divide at least, however small it is. */
const BUDGETS_PERCENT_MIN = 50;

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
