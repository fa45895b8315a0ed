import { expect } from 'chai';

import type { HttpApi } from './almanac.js';
import { writeSeries } from './dashboard-metrics.js';

/** Texts that would be executed if they were HTML, or that break layouts and programs. */
export const MARKUP = '<img src=x onerror=attack()>';
export const SCRIPT = '<script>attack()</script>';
export const BREAKOUT = '"><svg onload=attack()>';
export const DIRECTION = '\u202e\u2067abc\u202d';
export const LONG = 'W'.repeat(250);
export const EMOJI = '👨‍👩‍👧‍👦𝔘𝔫\u0301\u0301';
/** Names that a table may have. */
const NAMES = [
  ...[
    MARKUP,
    SCRIPT,
    BREAKOUT,
    DIRECTION,
    LONG,
    EMOJI,
    "'; DROP TABLE x; --",
    '=1+1',
    '{{7*7}} ${attack()}',
    '%3Cimg%3E',
  ],
  ...['__proto__', 'constructor', 'toString'],
];
export const CONTROL = 'a\u0001\u0007\u001b[31m\r\n\tb\u007f\u2028';
/** Values that texts may have. */
export const VALUES = [
  ...NAMES,
  CONTROL,
  '@SUM(1)',
  'javascript:attack()',
  'https://example.test/"onmouseover=attack()',
];
/** Names that labels may have. */
const LABELS = ['__proto__', 'constructor', 'toString', 'host'];
const MIB_TEXT = MARKUP.repeat(Math.ceil(1_048_576 / MARKUP.length)).slice(0, 1_048_576);
export const HOSTILE_TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const JSON_TYPE = { 'content-type': 'application/json' };

/** Returns a name for SQL. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Writes hostile texts as names and values of everything that the dashboard shows. */
export async function writeHostileData(almanac: HttpApi): Promise<void> {
  await Promise.all([writeTables(almanac), writeMetrics(almanac), writeHostileLogs(almanac), writeTraces(almanac)]);
}

async function writeTables(almanac: HttpApi): Promise<void> {
  const name = (text: string): string => text.replaceAll(/[ ,=]/g, '\\$&');
  const value = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  const lines = NAMES.flatMap((table) =>
    VALUES.map((_, row) => {
      const fields = NAMES.slice(1).map((field, i) => `${name(field)}=${value(VALUES[(row + i) % VALUES.length])}`);
      const tags = `${name(MARKUP)}=${name(NAMES[row % NAMES.length])},host=${name(LONG)}`;
      return `${name(table)},${tags} v=${row},${fields.join(',')} ${nowNs - BigInt(row) * 1_000_000_000n}`;
    }),
  );
  await almanac.written(lines.join('\n'));
  await almanac.written(`large,host=a text=${value(MIB_TEXT)}`);
}

async function writeMetrics(almanac: HttpApi): Promise<void> {
  const nowMs = Date.now();
  const times = { fromMs: nowMs - 600_000, toMs: nowMs, stepMs: 15_000 };
  const series = ['constructor', '__proto__', 'odd'].flatMap((metric) =>
    VALUES.map((value, i) => ({
      labels: Object.fromEntries([
        ['__name__', metric],
        ...LABELS.filter((label) => (i + label.length) % 3 > 0).map((label) => [label, value]),
        ['number', String(i)],
      ]) as Record<string, string>,
      value: () => i,
    })),
  );
  const buckets = [MARKUP, SCRIPT, '+Inf', '1', 'NaN'].map((le) => ({
    labels: { __name__: 'odd_bucket', le, host: MARKUP },
    value: (ms: number) => (ms - times.fromMs) / 1000,
  }));
  await writeSeries(almanac, [...series, ...buckets], times, [
    { type: 1, metric_family_name: 'odd', help: `${MARKUP}${SCRIPT}${LONG}`, unit: MARKUP },
  ]);
}

/** Writes lines of now. */
export async function writeHostileLogs(almanac: HttpApi): Promise<void> {
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  const lines = [...VALUES, MIB_TEXT, JSON.stringify(Object.fromEntries(VALUES.map((value) => [value, value])))];
  const streams = VALUES.map((value) => ({
    stream: Object.fromEntries([...LABELS.map((label) => [label, value]), ['level', value]]) as object,
    values: lines.map((line, i) => [String(nowNs - BigInt(i) * 1_000_000_000n), line]),
  }));
  const body = JSON.stringify({
    streams: [streams[0], ...streams.slice(1).map((one) => ({ ...one, values: one.values.slice(0, 3) }))],
  });
  const { status, text } = await almanac.post('/v1/loki/api/v1/push', body, JSON_TYPE);
  expect(status, text).to.equal(204);
}

async function writeTraces(almanac: HttpApi): Promise<void> {
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  const attributes = VALUES.map((value) => ({ key: value.slice(0, 200), value: { stringValue: value } }));
  const resourceSpans = VALUES.map((value, i) => ({
    resource: { attributes: [{ key: 'service.name', value: { stringValue: value } }, ...attributes] },
    scopeSpans: [
      {
        spans: [
          {
            traceId: HOSTILE_TRACE_ID,
            spanId: (i + 1).toString(16).padStart(16, '0'),
            ...(i === 0 ? {} : { parentSpanId: '1'.padStart(16, '0') }),
            name: value,
            startTimeUnixNano: String(nowNs - 1_000_000_000n),
            endTimeUnixNano: String(nowNs - 1_000_000n * BigInt(i)),
            attributes,
            events: [{ name: value, timeUnixNano: String(nowNs - 500_000_000n), attributes }],
            status: { code: 2, message: value },
          },
        ],
      },
    ],
  }));
  const body = JSON.stringify({ resourceSpans });
  const { status, text } = await almanac.post('/v1/otlp/v1/traces', body, JSON_TYPE);
  expect(status, text).to.equal(200);
}
