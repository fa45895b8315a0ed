import { limitParameter, namedResult, queryOptions, timeParameter, withTimeout } from '../prom-parameters.js';
import { PROM_QUERY, PROM_QUERY_OPTIONS, PROM_RESULT, PROM_TIME, promDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

/** Evaluates a query at one time. */
export const query: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/query',
  doc: promDoc({
    summary: 'Evaluates a query at one time',
    parameters: [PROM_QUERY, PROM_TIME, ...PROM_QUERY_OPTIONS],
    data: PROM_RESULT,
    example: { parameters: { query: '1 + 1' } },
  }),
  run({ form, database, call }, { querier, nowMs }) {
    const limit = limitParameter(form);
    const timeMs = timeParameter(form, 'time', nowMs());
    const timed = withTimeout(call, form, nowMs());
    const { lookbackMs, stats } = queryOptions(form);
    const query = form.value('query');
    const request = { database, query, startMs: timeMs, endMs: timeMs, stepMs: 0, limit, lookbackMs, stats };
    return { texts: namedResult('query', querier.promQuery(request, timed)) };
  },
};
