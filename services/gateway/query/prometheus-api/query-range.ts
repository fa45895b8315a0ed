import { limitParameter, namedResult, queryOptions, rangeParameters, withTimeout } from '../prom-parameters.js';
import { PROM_QUERY, PROM_QUERY_OPTIONS, PROM_RESULT, PROM_STEP, PROM_WINDOW, promDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

/** Evaluates a query at many times. */
export const queryRange: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/query_range',
  doc: promDoc({
    summary: 'Evaluates a query at many times',
    parameters: [PROM_QUERY, ...PROM_WINDOW, PROM_STEP, ...PROM_QUERY_OPTIONS],
    data: PROM_RESULT,
    example: { parameters: { query: 'orders', start: '1699999990', end: '1700000010', step: '5' } },
  }),
  run({ form, database, call }, { querier, nowMs }) {
    const limit = limitParameter(form);
    const { startMs, endMs, stepMs } = rangeParameters(form);
    const timed = withTimeout(call, form, nowMs());
    const { lookbackMs, stats } = queryOptions(form);
    const request = { database, query: form.value('query'), startMs, endMs, stepMs, limit, lookbackMs, stats };
    return { texts: namedResult('query', querier.promQuery(request, timed)) };
  },
};
