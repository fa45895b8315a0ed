import { AlmanacError } from '#shared/errors/almanac-error';

import { listOf, NUMBER, objectOf, TEXT } from '../../openapi/schemas.js';
import { windowParameters } from '../prom-parameters.js';
import { PROM_LABELS, PROM_QUERY, PROM_WINDOW, promDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

const EXEMPLAR = objectOf({ labels: PROM_LABELS, value: TEXT, timestamp: NUMBER });

/** Returns the exemplars of the series that a query selects. */
export const exemplars: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/query_exemplars',
  doc: promDoc({
    summary: 'Returns the exemplars of the series that a query selects',
    parameters: [PROM_QUERY, ...PROM_WINDOW],
    data: listOf(objectOf({ seriesLabels: PROM_LABELS, exemplars: listOf(EXEMPLAR) })),
    example: { parameters: { query: 'orders', start: '1699999990', end: '1700000010' } },
  }),
  run({ form, database, call }, { querier }) {
    const window = windowParameters(form);
    if (window.toMs < window.fromMs) {
      throw new AlmanacError('invalid_arguments', 'end timestamp must not be before start timestamp');
    }
    const request = { kind: 'exemplars', database, name: form.value('query'), matches: [], ...window };
    return { texts: querier.promSeries(request, call) };
  },
};
