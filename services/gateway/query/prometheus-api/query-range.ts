import { limitParameter, namedAnswer, queryOptions, rangeParameters, withTimeout } from '../prom-parameters.js';
import type { PromEndpoint } from './endpoint.js';

/** A query at many times. */
export const queryRange: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/query_range',
  answer({ form, database, call }, { querier, nowMs }) {
    const limit = limitParameter(form);
    const times = rangeParameters(form);
    const timed = withTimeout(call, form, nowMs());
    const request = { database, query: form.value('query'), ...times, limit, ...queryOptions(form) };
    return { pieces: namedAnswer('query', querier.promQuery(request, timed)) };
  },
};
