import { AlmanacError } from '#shared/errors/almanac-error';

import { inQuery, LIMIT_PARAMETER } from '../../openapi/parameters.js';
import { listOf, objectOf, TEXT, WHOLE } from '../../openapi/schemas.js';
import type { PromForm } from '../prom-form.js';
import { MAX_TIME_MS, MIN_TIME_MS } from '../prom-times.js';
import { promDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

const LIMIT_MAX = 2 ** 32 - 1;

/** Returns type, help and unit of metrics. */
export const metadata: PromEndpoint = {
  methods: ['GET'],
  path: '/metadata',
  doc: promDoc({
    summary: 'Returns type, help and unit of metrics',
    parameters: [
      inQuery('metric', 'Name of the metric. Default: all.'),
      LIMIT_PARAMETER,
      inQuery('limit_per_metric', 'Largest number of entries for each metric.', WHOLE),
    ],
    data: { type: 'object', additionalProperties: listOf(objectOf({ type: TEXT, help: TEXT, unit: TEXT })) },
  }),
  run({ form, database, call }, { querier }) {
    const limit = numberOf(form, 'limit');
    const limitPerMetric = numberOf(form, 'limit_per_metric');
    const window = { fromMs: MIN_TIME_MS, toMs: MAX_TIME_MS };
    const request = { kind: 'metadata', database, name: form.value('metric'), matches: [], ...window };
    return { texts: querier.promSeries({ ...request, limit, limitPerMetric }, call) };
  },
};

/** Returns a limit; undefined if there is none, or a negative one. */
function numberOf(form: PromForm, name: string): number | undefined {
  const text = form.value(name);
  if (text === '') return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw new AlmanacError('invalid_arguments', `${name} must be a number`);
  const number = Number(text);
  return number < 0 ? undefined : Math.min(number, LIMIT_MAX);
}
