import { defineProtocol } from '#services/gateway/protocols/protocol';
import { flag, integer } from '#shared/config/key';

/** Points as JSON: a protocol for tests that has every part of one, in one folder. */
export const jsonPoints = defineProtocol({
  name: 'json-points',
  config: {
    name: 'json_points',
    keys: {
      enable: flag({ default: false, doc: 'Accept points as JSON.' }),
      max_points: integer({ default: 1_000, min: 1, max: 1_000_000, doc: 'Largest number of points of a request.' }),
    },
  },
  elapsedMetric: { name: 'servers_http_json_points_elapsed', help: 'duration of writes of JSON points in seconds' },
  open: async ({ maxPoints }) => (await import('./routes.js')).jsonPointsRoutes(maxPoints),
});
