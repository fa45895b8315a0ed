import type { AlmanacError } from '#shared/errors/almanac-error';

/** Rows of one batch of deletions, at most: each is looked for among the rows that were written since. */
export const DELETIONS_MAX = 50_000;

/** Details of the refusal of deletions because of rows that were written since they were decided on. */
export const OUTRUN = { outrun: 'true' };

export function isOutrun({ details }: AlmanacError): boolean {
  return details['outrun'] === OUTRUN.outrun;
}
