import { AlmanacError } from '#shared/errors/almanac-error';

import { LIMIT_PARAMETER, requiredParameter } from '../../openapi/parameters.js';
import { listOf } from '../../openapi/schemas.js';
import { limitParameter, namedResult, windowParameters } from '../prom-parameters.js';
import { PROM_LABELS, PROM_MATCHES, PROM_WINDOW, promDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

/** Returns the label sets of series. */
export const series: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/series',
  doc: promDoc({
    summary: 'Returns the labels of series',
    parameters: [requiredParameter(PROM_MATCHES), ...PROM_WINDOW, LIMIT_PARAMETER],
    data: listOf(PROM_LABELS),
    example: { parameters: { 'match[]': 'orders' } },
  }),
  run({ form, database, call }, { querier }) {
    const matches = form.values('match[]');
    if (matches.length === 0) throw new AlmanacError('invalid_arguments', 'no match[] parameter provided');
    const limit = limitParameter(form);
    const request = { kind: 'series', database, name: '', matches, limit, ...windowParameters(form) };
    const texts = querier.promSeries(request, call);
    return { texts: namedResult('match[]', texts, ['invalid_syntax', 'invalid_arguments']) };
  },
};
