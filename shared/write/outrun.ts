import type { AlmanacError } from '#shared/errors/almanac-error';

/** Details of the refusal of deletions because of rows that were written since they were decided on. */
export const OUTRUN = { outrun: 'true' };

export function isOutrun({ details }: AlmanacError): boolean {
  return details['outrun'] === OUTRUN.outrun;
}
