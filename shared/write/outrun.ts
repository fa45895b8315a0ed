import type { AlmanacError } from '#shared/errors/almanac-error';

/** Largest batch of deletions: each is searched among the rows that were written since. */
export const DELETIONS_MAX = 50_000;

/** Details of the error for deletions of rows that were written again since they were read. */
export const OUTRUN = { outrun: 'true' };

/** Whether deletions were refused for newer rows. */
export function isOutrun({ details }: AlmanacError): boolean {
  return details['outrun'] === OUTRUN.outrun;
}
