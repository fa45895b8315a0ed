import { flag, integer } from '#shared/config/key';
import type { ConfigSection } from '#shared/config/schema';

/** Section of the configuration of the query API of Loki (spec: docs/protocols/loki-query.md). */
export const LOKI_QUERY_SECTION = {
  name: 'loki_query',
  keys: {
    enable: flag({ default: true, doc: 'Serve logs through the query API of Loki, and `/v1/logs`.' }),
    max_entries: integer({
      default: 5_000,
      min: 1,
      max: 1_000_000,
      doc: 'Largest number of lines in one result of LogQL.',
    }),
    max_series: integer({ default: 500, min: 1, max: 50_000, doc: 'Largest number of series in one result of LogQL.' }),
    max_lines: integer({
      default: 20_000_000,
      min: 1_000,
      max: 2_000_000_000,
      doc: 'Largest number of lines that one LogQL query parses; lines that filters drop in the engine do not count.',
    }),
    max_tails: integer({ default: 100, min: 0, max: 10_000, doc: 'Largest number of live tails of logs at once.' }),
  },
} as const satisfies ConfigSection;

/** Bases of the API: clients of Loki append `/loki/api/v1` to the URL that users enter. */
export const LOKI_BASES = ['/v1/loki', '/v1/logpush'].flatMap((prefix) => [
  `${prefix}/loki/api/v1`,
  `${prefix}/api/v1`,
]);
