import { AlmanacError } from '#shared/errors/almanac-error';

import { inQuery } from '../../openapi/parameters.js';
import { enumOf, listOf, objectOf } from '../../openapi/schemas.js';
import { promDoc, refusedPromDoc } from '../prometheus-doc.js';
import type { PromEndpoint } from './endpoint.js';

/** Empty results for what Prometheus does besides storing: Almanac has no rules and scrapes nothing. */
const EMPTY: Readonly<Record<string, unknown>> = {
  '/alerts': { alerts: [] },
  '/alertmanagers': { activeAlertmanagers: [], droppedAlertmanagers: [] },
  '/targets': { activeTargets: [], droppedTargets: [], droppedTargetCounts: {} },
  '/targets/metadata': [],
  '/scrape_pools': { scrapePools: [] },
  '/features': {},
  '/notifications': [],
};

const empty = Object.entries(EMPTY).map(([path, data]): PromEndpoint => ({
  methods: ['GET'],
  path,
  needsNoData: true,
  doc: promDoc({ summary: 'Returns an empty result', data: { const: data } }),
  run: () => ({ data }),
}));

const rules: PromEndpoint = {
  methods: ['GET'],
  path: '/rules',
  doc: promDoc({
    summary: 'Returns no rules',
    parameters: [inQuery('type', 'Kind of rules.', enumOf('alert', 'record'))],
    data: objectOf({ groups: listOf({}) }),
  }),
  needsNoData: true,
  run({ form }) {
    const type = form.value('type').toLowerCase();
    if (type === '' || type === 'alert' || type === 'record') return { data: { groups: [] } };
    const text = `invalid parameter "type": not supported value ${JSON.stringify(form.value('type'))}`;
    throw new AlmanacError('invalid_arguments', text);
  },
};

const administration = ['/admin/tsdb/delete_series', '/admin/tsdb/clean_tombstones', '/admin/tsdb/snapshot'].map(
  (path): PromEndpoint => ({
    methods: ['POST'],
    path,
    needsNoData: true,
    doc: refusedPromDoc('Refused: SQL deletes rows'),
    run() {
      throw new AlmanacError('unsupported', 'admin APIs disabled', { http: 503 });
    },
  }),
);

/** Endpoints of features that Almanac does not have. */
export const absentParts: readonly PromEndpoint[] = [rules, ...empty, ...administration];
