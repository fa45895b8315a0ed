import { flag } from '#shared/config/key';

import { defineProtocol } from '../protocol.js';

/** JSON and text through pipelines (docs/protocols/ingest.md). */
export const ingest = defineProtocol({
  name: 'ingest',
  config: { name: 'ingest', keys: { enable: flag({ default: true, doc: 'Accept JSON and text through pipelines.' }) } },
  elapsedMetric: {
    name: 'servers_http_logs_ingestion_elapsed',
    help: 'duration of writes through pipelines in seconds',
  },
  open: async (_settings, deps) => (await import('./routes.js')).ingestRoutes(deps),
});
