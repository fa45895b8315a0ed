import { compressSync } from 'snappy';

import { invariant } from '#shared/errors/invariant';

import type { Almanac } from './almanac.js';
import { bodyV1 } from './remote-write-messages.js';

/** A row that a writer sends; time and value depend on its number only. */
export interface NumberedRow {
  readonly n: number;
  readonly value: number;
}

/** How one protocol is written, and how its rows are read. */
export interface CrashWriter {
  readonly name: string;
  /** Sends rows. @returns the status, or 0 if the connection broke. @throws if rows were refused. */
  send(almanac: Almanac, rows: readonly NumberedRow[]): Promise<number>;
  /** SQL with the columns n, number of rows, least and greatest value. */
  readonly sql: string;
}

const START_MS = 1_700_000_000_000;
const JSON_TYPE = 'application/json';
const LINE_KINDS = ['in-order', 'late', 'duplicate', 'append'] as const;

type Send = (rows: readonly NumberedRow[]) => {
  readonly path: string;
  readonly body: string | Buffer;
  readonly type?: string;
};

const grouped = (table: string, n: string, value: string, condition: string): string =>
  `SELECT ${n} AS n, count(*), min(${value}), max(${value}) FROM "${table}" WHERE ${condition} GROUP BY 1`;

/** Rows of metrics are numbered by their times. */
const MILLISECOND = `epoch_ms(almanac_timestamp) - ${START_MS}`;

/** Writers of all protocols, two of each kind of line protocol. */
export const CRASH_WRITERS: readonly CrashWriter[] = [
  ...LINE_KINDS.flatMap((kind) => [0, 1].map((i) => lineWriter(kind, `${kind}${i}`))),
  writer('remote-write', grouped('crash_remote', MILLISECOND, 'almanac_value', "host = 'w'"), (rows) => {
    const samples = rows.map(({ n, value }) => ({ value, timestamp: START_MS + n }));
    const labels = [
      ['__name__', 'crash_remote'],
      ['host', 'w'],
    ] as const;
    return {
      path: '/v1/prometheus/write',
      body: compressSync(bodyV1([{ labels, samples }])),
      type: 'application/x-protobuf',
    };
  }),
  writer('otlp-metrics', grouped('crash_otlp', MILLISECOND, 'almanac_value', "host = 'w'"), (rows) => {
    const dataPoints = rows.map(({ n, value }) => ({
      attributes: attributes({ host: 'w' }),
      timeUnixNano: nanoseconds(n),
      asDouble: value,
    }));
    const scopeMetrics = [{ metrics: [{ name: 'crash.otlp', gauge: { dataPoints } }] }];
    return { path: '/v1/otlp/v1/metrics', body: JSON.stringify({ resourceMetrics: [{ scopeMetrics }] }) };
  }),
  writer('otlp-logs', grouped('opentelemetry_logs', ...inText('body'), "scope_name = 'crash'"), (rows) => {
    const logRecords = rows.map((row) => ({ timeUnixNano: nanoseconds(row.n), body: { stringValue: textOf(row) } }));
    const scopeLogs = [{ scope: { name: 'crash' }, logRecords }];
    return { path: '/v1/otlp/v1/logs', body: JSON.stringify({ resourceLogs: [{ scopeLogs }] }) };
  }),
  writer(
    'otlp-traces',
    grouped('opentelemetry_traces', '"span_attributes.n"', '"span_attributes.v"', "service_name = 'crash'"),
    (rows) => {
      const spans = rows.map(({ n, value }) => ({
        traceId: (n + 1).toString(16).padStart(32, '0'),
        spanId: (n + 1).toString(16).padStart(16, '0'),
        name: 'write',
        startTimeUnixNano: nanoseconds(n),
        endTimeUnixNano: nanoseconds(n + 1),
        attributes: [
          { key: 'n', value: { intValue: n } },
          { key: 'v', value: { doubleValue: value } },
        ],
      }));
      const resourceSpans = [
        { resource: { attributes: attributes({ 'service.name': 'crash' }) }, scopeSpans: [{ spans }] },
      ];
      return { path: '/v1/otlp/v1/traces', body: JSON.stringify({ resourceSpans }) };
    },
  ),
  writer('loki', grouped('loki_logs', ...inText('line'), "app = 'crash'"), (rows) => {
    const values = rows.map((row) => [nanoseconds(row.n), textOf(row)]);
    return { path: '/v1/loki/api/v1/push', body: JSON.stringify({ streams: [{ stream: { app: 'crash' }, values }] }) };
  }),
  writer('splunk', grouped('splunk_logs', '"event.n"', '"event.v"', "host = 'crash'"), (rows) => {
    const events = rows.map(({ n, value }) =>
      JSON.stringify({ time: (START_MS + n) / 1000, host: 'crash', event: { n, v: value } }),
    );
    return { path: '/v1/splunk/services/collector/event', body: events.join('') };
  }),
  writer('opentsdb', grouped('crash_opentsdb', MILLISECOND, 'almanac_value', "host = 'w'"), (rows) => {
    const points = rows.map(({ n, value }) => ({
      metric: 'crash_opentsdb',
      timestamp: START_MS + n,
      value,
      tags: { host: 'w' },
    }));
    return { path: '/v1/opentsdb/api/put', body: JSON.stringify(points) };
  }),
  writer('elasticsearch', grouped('crash_documents', 'n', 'v', "host = 'crash'"), (rows) => {
    const lines = rows.map(({ n, value }) => `{"create":{}}\n${JSON.stringify({ host: 'crash', n, v: value })}\n`);
    return { path: '/v1/elasticsearch/crash_documents/_bulk', body: lines.join(''), type: 'application/x-ndjson' };
  }),
];

/** Every value has a fraction, so that no protocol stores it as an integer. */
export function rowOf(n: number): NumberedRow {
  return { n, value: (n % 1000) + 0.5 };
}

function writer(name: string, sql: string, send: Send): CrashWriter {
  return {
    name,
    sql,
    async send(almanac, rows) {
      const { path, body, type = JSON_TYPE } = send(rows);
      const bytes = typeof body === 'string' ? body : new Uint8Array(body);
      const answer = await almanac.post(path, bytes, { 'content-type': type }).catch(() => undefined);
      if (answer === undefined) return 0;
      // Partial success has a status of success, too.
      invariant(!/"errors":true|partialSuccess|partial_success/.test(answer.text), `${name}: ${answer.text}`);
      return answer.status;
    },
  };
}

/** Rows of line protocol: in order, late, twice in a request, or in a table that keeps every row. */
function lineWriter(kind: (typeof LINE_KINDS)[number], name: string): CrashWriter {
  const table = kind === 'append' ? 'appended' : 'versioned';
  return {
    name,
    sql: grouped(table, 'n', 'v', `host = '${name}'`),
    async send(almanac, rows) {
      const lines = rows.flatMap(({ n, value }) => {
        // Late writers go back and forth by up to an hour, without using a time twice.
        const seconds = kind === 'late' ? (n * 1789) % 3600 : 0;
        const time = BigInt(START_MS) * 1_000_000n + BigInt(seconds) * 1_000_000_000n + BigInt(n) * 1_000n;
        const line = `${table},host=${name} n=${n}i,v=${value} ${time}`;
        // The same row again in the same request is still one row.
        return kind === 'duplicate' ? [line, line] : [line];
      });
      const answer = await almanac.write(lines.join('\n')).catch(() => undefined);
      return answer?.status ?? 0;
    },
  };
}

function attributes(texts: Readonly<Record<string, string>>): unknown[] {
  return Object.entries(texts).map(([key, text]) => ({ key, value: { stringValue: text } }));
}

function nanoseconds(n: number): string {
  return `${START_MS + n}000000`;
}

function textOf({ n, value }: NumberedRow): string {
  return `${n} ${value}`;
}

function inText(column: string): [n: string, value: string] {
  return [`split_part(${column}, ' ', 1)::BIGINT`, `split_part(${column}, ' ', 2)::DOUBLE`];
}
