import { checkDatabaseName } from '#shared/schema/names';
import { canonicalTtl } from '#shared/schema/ttl';

import { duration, flag, optionalText, text, textList } from './key.js';

/** Keys of the section `export_metrics`. */
export const EXPORT_METRICS_KEYS = {
  enable: flag({
    default: false,
    doc: 'Store the metrics of the server: a standalone server its own, a gateway those of all processes of the cluster. Set it in all gateways. With remote_write_url every process sends its own instead.',
  }),
  write_interval: duration({ default: '30s', min: '1s', max: '1h', doc: 'Time between two exports.' }),
  self_import_db: optionalText({
    check: checkDatabaseName,
    allowed: 'a name of a database',
    doc: 'Database that stores the metrics, created if it is missing. Unset: almanac_metrics (greptime_metrics).',
  }),
  self_import_ttl: text({
    default: '7d',
    check: canonicalTtl,
    allowed: 'a duration such as "7d", or "forever"',
    doc: 'How long they are kept. Has an effect when their table is created.',
  }),
  remote_write_url: optionalText({
    pattern: /^https?:\/\/\S+$/,
    allowed: 'an http or https URL',
    doc: 'Where each process sends its metrics by Prometheus remote write 1.0, instead of storing them here.',
  }),
  remote_write_headers: textList({
    default: [],
    pattern: /^[\w-]+=[^\r\n]*$/,
    allowed: 'a list of "name=value"',
    shown: (header) => header.replace(/=.*$/s, '=***'),
    doc: 'Headers that are sent with them, such as credentials.',
  }),
} as const;
