import type { SeededRandom } from '../tsbs/seeded-random.js';
import type { ProtocolLoad } from './bodies.js';

/** Turns a line of nginx's access log into typed columns. */
const ACCESS_LOG = `
processors:
  - dissect:
      field: message
      pattern: '%{client} - %{user} [%{at}] "%{method} %{path} %{protocol}" %{status} %{bytes} "%{referrer}" "%{agent}"'
  - date:
      field: at
      formats: ['%d/%b/%Y:%H:%M:%S %z']
transform:
  - {field: at, type: 'timestamp, ns', index: timestamp}
  - {fields: [client, user, method, path, protocol, referrer, agent], type: string}
  - {field: status, type: int32}
  - {field: bytes, type: int64}
`;

const START_MS = 1_700_000_000_000;
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
const METHODS = ['GET', 'GET', 'GET', 'POST', 'PUT'];
const PATHS = ['/', '/api/v1/orders', '/api/v1/users', '/static/app.js', '/login'];
const AGENTS = [
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148',
  'curl/8.4.0',
];

/** Loads through pipelines. */
export const PIPELINE_LOADS: Readonly<Record<string, ProtocolLoad>> = {
  'access-log': {
    setup: { path: '/v1/pipelines/access', contentType: 'application/yaml', body: ACCESS_LOG },
    path: '/v1/ingest?table=access_log&pipeline_name=access',
    contentType: 'text/plain',
    batch: 2_000,
    table: 'access_log',
    body: (index, batch, random) => lines(batch, (i) => accessLine(START_MS + (index * batch + i) * 10, random)),
  },
  'json-lines': {
    path: '/v1/ingest?table=json_lines&pipeline_name=almanac_identity',
    contentType: 'application/x-ndjson',
    batch: 2_000,
    table: 'json_lines',
    body: (index, batch, random) => lines(batch, (i) => jsonLine(START_MS + (index * batch + i) * 10, random)),
  },
};

function lines(count: number, line: (i: number) => string): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, i) => line(i)).join('\n'));
}

/** A line of nginx's combined format. */
export function accessLine(timeMs: number, random: SeededRandom): string {
  const time = new Date(timeMs);
  const pad = (value: number): string => String(value).padStart(2, '0');
  const day = `${pad(time.getUTCDate())}/${MONTHS[time.getUTCMonth()]}/${time.getUTCFullYear()}`;
  const at = `${day}:${pad(time.getUTCHours())}:${pad(time.getUTCMinutes())}:${pad(time.getUTCSeconds())} +0000`;
  const client = `10.${random.below(256)}.${random.below(256)}.${random.below(256)}`;
  const path = `${one(PATHS, random)}/${random.below(100_000)}`;
  const request = `${one(METHODS, random)} ${path} HTTP/1.1`;
  const status = random.below(20) === 0 ? 500 : 200;
  const referrer = `https://shop.example.com/${random.below(500)}`;
  return `${client} - - [${at}] "${request}" ${status} ${random.below(60_000)} "${referrer}" "${one(AGENTS, random)}"`;
}

/** An object of ten members, about 250 bytes. */
function jsonLine(timeMs: number, random: SeededRandom): string {
  return JSON.stringify({
    time: new Date(timeMs).toISOString(),
    level: random.below(20) === 0 ? 'error' : 'info',
    service: `service-${random.below(20)}`,
    host: `host-${random.below(100)}.example.com`,
    message: `request for ${one(PATHS, random)}/${random.below(100_000)} served`,
    status: 200 + random.below(5),
    bytes: random.below(60_000),
    duration: random.below(1_000_000) / 1000 + 0.5,
    cached: random.below(2) === 0,
    trace_id:
      random
        .below(2 ** 31)
        .toString(16)
        .padStart(8, '0') +
      random
        .below(2 ** 31)
        .toString(16)
        .padStart(8, '0'),
  });
}

function one<T>(values: readonly T[], random: SeededRandom): T {
  return values[random.below(values.length)];
}
