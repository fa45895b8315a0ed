import { limitParameter, namedResult, queryOptions, timeParameter, withTimeout } from '../prom-parameters.js';
import type { PromEndpoint } from './endpoint.js';

/** Evaluates a query at one time. */
export const query: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/query',
  run({ form, database, call }, { querier, nowMs }) {
    const limit = limitParameter(form);
    const timeMs = timeParameter(form, 'time', nowMs());
    const timed = withTimeout(call, form, nowMs());
    const times = { startMs: timeMs, endMs: timeMs, stepMs: 0 };
    const request = { database, query: form.value('query'), ...times, limit, ...queryOptions(form) };
    return { texts: namedResult('query', querier.promQuery(request, timed)) };
  },
};
