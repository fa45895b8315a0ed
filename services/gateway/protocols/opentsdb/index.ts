import { flag } from '#shared/config/key';

import { defineProtocol } from '../protocol.js';

/** HTTP API of OpenTSDB for writes (spec: docs/protocols/opentsdb.md). */
export const opentsdb = defineProtocol({
  name: 'opentsdb',
  config: { name: 'opentsdb', keys: { enable: flag({ default: true, doc: 'Accept points of OpenTSDB over HTTP.' }) } },
  elapsedMetric: { name: 'servers_http_opentsdb_write_elapsed', help: 'duration of OpenTSDB writes in seconds' },
  open: async (_settings, deps) => (await import('./routes.js')).opentsdbRoutes(deps),
});
