import { checkDatabaseName } from '#shared/schema/names';
import { canonicalTtl } from '#shared/schema/ttl';
import { parseDurationMs } from '#shared/time/duration';
import { parseLogFilter } from '#shared/telemetry/log-filter';

import { duration, flag, oneOf, optionalText, text, textList } from './key.js';

/** A share from 0 to 1. */
const RATIO = /^(0(\.[0-9]+)?|1(\.0+)?)$/;
const RATIO_TEXT = 'a number from 0 to 1, as text';

/** Without a user, which HTTP clients refuse, and which would be shown in /config and in logs. */
const HTTP_URL = /^https?:\/\/[^\s/?#@]+([/?#]\S*)?$/;

/** Keys of what a process tells about itself, in the order in which they are printed. */
export const TELEMETRY_KEYS = {
  logging: {
    level: text({
      default: 'info',
      check: parseLogFilter,
      allowed: 'a level filter such as "info" or "info,gateway=debug"',
      doc: 'trace, debug, info, warn, error or off; for single parts of the program `part=level`: audit, catalog, gateway, grpc, ingester, main, membership, metadata, metrics, profiling, querier, tracing.',
    }),
    enable_otlp_tracing: flag({
      default: false,
      doc: 'Record spans of requests from the start. /debug/enable_trace does it while the process runs.',
    }),
    otlp_endpoint: text({
      default: 'http://localhost:4318/v1/traces',
      pattern: HTTP_URL,
      allowed: 'an http or https URL without a user: credentials belong in logging.otlp_headers',
      doc: 'Where spans are sent by OTLP over HTTP; http://127.0.0.1:4000/v1/otlp/v1/traces stores them in Almanac itself.',
    }),
    otlp_headers: textList({
      default: [],
      pattern: /^[\w-]+=[^\r\n]*$/,
      allowed: 'a list of "name=value"',
      shown: (header) => header.replace(/=.*$/s, '=***'),
      doc: 'Headers that are sent with spans.',
    }),
    tracing_sample_ratio: text({
      default: '1.0',
      pattern: RATIO,
      allowed: RATIO_TEXT,
      doc: 'Share of the traces that begin here and are recorded.',
    }),
    log_format: oneOf(['auto', 'text', 'json'], { default: 'auto', doc: 'auto: text on a terminal, JSON otherwise.' }),
  },
  metrics: {
    unprefixed_process: flag({
      default: false,
      doc: 'Also expose process metrics without the product prefix, for stock dashboards.',
    }),
  },
  export_metrics: {
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
      pattern: HTTP_URL,
      allowed: 'an http or https URL without a user: credentials belong in export_metrics.remote_write_headers',
      doc: 'Where each process sends its metrics by Prometheus remote write 1.0, instead of storing them here.',
    }),
    remote_write_headers: textList({
      default: [],
      pattern: /^[\w-]+=[^\r\n]*$/,
      allowed: 'a list of "name=value"',
      shown: (header) => header.replace(/=.*$/s, '=***'),
      doc: 'Headers that are sent with them, such as credentials.',
    }),
  },
  slow_query: {
    enable: flag({ default: true, doc: 'Record slow queries.' }),
    record_type: oneOf(['system_table', 'log'], {
      default: 'system_table',
      doc: 'Where: in the table slow_queries of the database almanac_private (greptime_private), or in the log.',
    }),
    threshold: duration({ default: '30s', doc: 'Time until the end of the response from which a query is slow.' }),
    sample_ratio: text({
      default: '1.0',
      pattern: RATIO,
      allowed: RATIO_TEXT,
      doc: 'Share of the slow queries that are recorded.',
    }),
    ttl: text({
      default: '90d',
      check: parseDurationMs,
      allowed: 'a duration such as "90d"',
      doc: 'How long they are kept. Has an effect when the table is created.',
    }),
  },
} as const;
