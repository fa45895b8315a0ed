import { AlmanacError } from '#shared/errors/almanac-error';

import { windowParameters } from '../prom-parameters.js';
import type { PromEndpoint } from './endpoint.js';

/** Returns the exemplars of the series that a query selects. */
export const exemplars: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/query_exemplars',
  run({ form, database, call }, { querier }) {
    const window = windowParameters(form);
    if (window.toMs < window.fromMs) {
      throw new AlmanacError('invalid_arguments', 'end timestamp must not be before start timestamp');
    }
    const request = { kind: 'exemplars', database, name: form.value('query'), matches: [], ...window };
    return { texts: querier.promSeries(request, call) };
  },
};
