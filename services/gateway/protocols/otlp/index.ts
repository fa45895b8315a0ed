import { flag } from '#shared/config/key';

import { defineProtocol } from '../protocol.js';

/** Metrics, traces and logs of OpenTelemetry over HTTP (spec: docs/protocols/otlp.md). */
export const otlp = defineProtocol({
  name: 'otlp',
  config: {
    name: 'otlp',
    keys: {
      enable: flag({ default: true, doc: 'Accept metrics, traces and logs of OpenTelemetry (OTLP over HTTP).' }),
    },
  },
  elapsedMetric: {
    name: 'servers_http_otlp_write_elapsed',
    help: 'duration of OTLP writes in seconds',
  },
  open: async (_settings, deps) => (await import('./routes.js')).otlpRoutes(deps),
});
