import { flag } from '#shared/config/key';

import { defineProtocol } from '../protocol.js';

/** Bulk API of Elasticsearch (spec: docs/protocols/elasticsearch.md). */
export const elasticsearch = defineProtocol({
  name: 'elasticsearch',
  config: {
    name: 'elasticsearch',
    keys: { enable: flag({ default: true, doc: 'Accept documents of the Elasticsearch bulk API.' }) },
  },
  elapsedMetric: {
    name: 'servers_http_elasticsearch_write_elapsed',
    help: 'duration of Elasticsearch bulk writes in seconds',
  },
  open: async (_settings, deps) => (await import('./routes.js')).elasticsearchRoutes(deps),
});
