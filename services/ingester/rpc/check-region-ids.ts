import { AlmanacError } from '#shared/errors/almanac-error';

/** Limit of `cluster.regions`, the regions of a table. */
const REGIONS_MAX = 1024;

/**
 * Checks the region list of a call. Each region that is not open costs a metadata call, and each duplicate a second
 * reply: a small message must not cause that much work.
 *
 * @throws `invalid_arguments` if the call names more regions than a table can have, or one of them twice.
 */
export function checkRegionIds(regionIds: readonly number[]): void {
  if (regionIds.length > REGIONS_MAX) {
    const text = `a call names at most ${REGIONS_MAX} regions, not ${regionIds.length}`;
    throw new AlmanacError('invalid_arguments', text);
  }
  if (new Set(regionIds).size < regionIds.length) {
    throw new AlmanacError('invalid_arguments', 'a call must name each region once');
  }
}
