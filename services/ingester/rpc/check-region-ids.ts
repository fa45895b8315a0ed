import { AlmanacError } from '#shared/errors/almanac-error';

/** As many as a table can have (`cluster.regions`). */
const REGIONS_MAX = 1024;

/**
 * Each region that is not open costs a question to metadata, and each that is named twice a second answer: a small message
 * must not become that much work.
 *
 * @throws `invalid_arguments` if a call names more regions than a table can have, or one of them twice.
 */
export function checkRegionIds(regionIds: readonly number[]): void {
  if (regionIds.length > REGIONS_MAX) {
    const text = `a call names at most ${REGIONS_MAX} regions, not ${regionIds.length}`;
    throw new AlmanacError('invalid_arguments', text);
  }
  if (new Set(regionIds).size < regionIds.length) {
    throw new AlmanacError('invalid_arguments', 'a call names each region once');
  }
}
