import { AlmanacError } from '#shared/errors/almanac-error';

import type { PromForm } from '../prom-form.js';
import { MAX_TIME_MS, MIN_TIME_MS } from '../prom-times.js';
import type { PromEndpoint } from './endpoint.js';

const MOST = 2 ** 32 - 1;

/** Type, help and unit of metrics. */
export const metadata: PromEndpoint = {
  methods: ['GET'],
  path: '/metadata',
  answer({ form, database, call }, { querier }) {
    const limit = numberOf(form, 'limit');
    const limitPerMetric = numberOf(form, 'limit_per_metric');
    const window = { fromMs: MIN_TIME_MS, toMs: MAX_TIME_MS };
    const request = { kind: 'metadata', database, name: form.value('metric'), matches: [], ...window };
    return { pieces: querier.promSeries({ ...request, limit, limitPerMetric }, call) };
  },
};

/** @returns undefined for no limit: none is given, or a negative one. */
function numberOf(form: PromForm, name: string): number | undefined {
  const text = form.value(name);
  if (text === '') return undefined;
  if (!/^[+-]?\d+$/.test(text)) throw new AlmanacError('invalid_arguments', `${name} must be a number`);
  const number = Number(text);
  return number < 0 ? undefined : Math.min(number, MOST);
}
