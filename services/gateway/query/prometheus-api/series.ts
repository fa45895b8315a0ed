import { AlmanacError } from '#shared/errors/almanac-error';

import { limitParameter, namedResult, windowParameters } from '../prom-parameters.js';
import type { PromEndpoint } from './endpoint.js';

/** Returns the label sets of series. */
export const series: PromEndpoint = {
  methods: ['GET', 'POST'],
  path: '/series',
  run({ form, database, call }, { querier }) {
    const matches = form.values('match[]');
    if (matches.length === 0) throw new AlmanacError('invalid_arguments', 'no match[] parameter provided');
    const limit = limitParameter(form);
    const request = { kind: 'series', database, name: '', matches, limit, ...windowParameters(form) };
    const texts = querier.promSeries(request, call);
    return { texts: namedResult('match[]', texts, ['invalid_syntax', 'invalid_arguments']) };
  },
};
