import { flag } from '#shared/config/key';

import { defineProtocol } from '../protocol.js';

/** Push API of Grafana Loki (spec: docs/protocols/loki.md). */
export const loki = defineProtocol({
  name: 'loki',
  config: { name: 'loki', keys: { enable: flag({ default: true, doc: 'Accept logs of the Loki push API.' }) } },
  elapsedMetric: { name: 'servers_http_loki_write_elapsed', help: 'duration of Loki pushes in seconds' },
  open: async (_settings, deps) => (await import('./routes.js')).lokiRoutes(deps),
});
