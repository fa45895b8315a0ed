import { AlmanacError } from '#shared/errors/almanac-error';

import type { SampleSources } from '../../samples/sample-source.js';

/** Databases whose tables PromQL does not read. */
export const NO_SOURCES: SampleSources = {
  open: () => Promise.reject(new AlmanacError('unsupported', 'PromQL over stored tables is not supported')),
};
