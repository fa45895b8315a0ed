import { limitParameter, namedResult, queryOptions, rangeParameters, withTimeout } from '../prom-parameters.js';
import type { PromEndpoint } from './endpoint.js';

/** Evaluates a query at many times. */
export const queryRange: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/query_range',
  run({ form, database, call }, { querier, nowMs }) {
    const limit = limitParameter(form);
    const times = rangeParameters(form);
    const timed = withTimeout(call, form, nowMs());
    const request = { database, query: form.value('query'), ...times, limit, ...queryOptions(form) };
    return { texts: namedResult('query', querier.promQuery(request, timed)) };
  },
};
