import { flag, oneOf } from '#shared/config/key';

import { defineProtocol } from '../protocol.js';

/** Line protocol of InfluxDB 1.x and 2.x (spec: docs/protocols/lineproto.md). */
export const lineproto = defineProtocol({
  name: 'lineproto',
  config: {
    name: 'influxdb',
    keys: {
      enable: flag({ default: true, doc: 'Accept line protocol.' }),
      default_merge_mode: oneOf(['last_non_null', 'last_row'], {
        default: 'last_non_null',
        doc: 'How tables created by line protocol merge rows with equal tags and time.',
      }),
    },
  },
  elapsedMetric: {
    name: 'servers_http_influxdb_write_elapsed',
    help: 'duration of line protocol writes in seconds',
  },
  open: async ({ defaultMergeMode }, deps) => (await import('./routes.js')).lineprotoRoutes(defaultMergeMode, deps),
});
