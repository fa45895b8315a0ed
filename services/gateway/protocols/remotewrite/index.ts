import { flag, oneOf } from '#shared/config/key';

import { defineProtocol } from '../protocol.js';

/** Prometheus remote write 1.0 and 2.0 (spec: docs/protocols/prometheus-remote-write.md). */
export const remoteWrite = defineProtocol({
  name: 'prometheus',
  config: {
    name: 'prom_store',
    keys: {
      enable: flag({ default: true, doc: 'Accept Prometheus remote write.' }),
      prom_validation_mode: oneOf(['strict', 'lossy'], {
        default: 'strict',
        doc: 'What to do with label names and values that are not valid UTF-8. strict: refuse the series; lossy: replace the invalid bytes by U+FFFD.',
      }),
      name_validation: oneOf(['utf8', 'legacy'], {
        default: 'utf8',
        doc: 'Allowed label names. utf8: any non-empty name; legacy: letters, digits and `_`, as before Prometheus 3.',
      }),
    },
  },
  elapsedMetric: {
    name: 'servers_http_prometheus_write_elapsed',
    help: 'duration of Prometheus remote writes in seconds',
  },
  open: async (settings, deps) => {
    const isLossy = settings.promValidationMode === 'lossy';
    const isLegacy = settings.nameValidation === 'legacy';
    return (await import('./routes.js')).remoteWriteRoutes({ isLossy, isLegacy }, deps);
  },
});
