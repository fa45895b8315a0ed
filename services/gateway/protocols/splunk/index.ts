import { flag } from '#shared/config/key';

import { defineProtocol } from '../protocol.js';

/** HTTP event collector of Splunk (spec: docs/protocols/splunk.md). */
export const splunk = defineProtocol({
  name: 'splunk',
  config: {
    name: 'splunk',
    keys: { enable: flag({ default: true, doc: 'Accept events of the Splunk HTTP event collector.' }) },
  },
  elapsedMetric: {
    name: 'servers_http_splunk_write_elapsed',
    help: 'duration of Splunk event collector writes in seconds',
  },
  open: async (_settings, deps) => (await import('./routes.js')).splunkRoutes(deps),
});
