import { expect } from 'chai';

import type { HttpApi } from './almanac.js';

const JSON_TYPE = { 'content-type': 'application/json' };

/** A trace with a log line, and the lines, metrics and rows that every screen of the dashboard shows something of. */
export const SAMPLE_TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

/** Screens with something to show after `writeSampleData`, and what shows that it is there. */
export const FULL_SCREENS: readonly {
  readonly path: string;
  readonly role: 'gridcell' | 'img' | 'columnheader' | 'treeitem' | 'rowheader' | 'region' | 'button' | 'link';
  readonly name: string | RegExp;
}[] = [
  { path: 'query?q=SELECT+host,+usage+FROM+cpu', role: 'gridcell', name: 'web-1' },
  { path: 'query?mode=promql&view=chart&q=cpu', role: 'img', name: /^2 series/ },
  { path: 'metrics?m=cpu', role: 'img', name: /series/ },
  { path: 'logs', role: 'button', name: /^Fields of the line/ },
  { path: `traces?id=${SAMPLE_TRACE_ID}`, role: 'treeitem', name: /GET \/pay/ },
  { path: 'traces?service=shop', role: 'img', name: /^1 trace/ },
  { path: 'tables?t=cpu', role: 'rowheader', name: 'usage' },
  { path: 'pipelines', role: 'gridcell', name: 'nothing in stock' },
  { path: 'ingest', role: 'region', name: 'Prometheus' },
  { path: 'flows', role: 'rowheader', name: 'cpu_by_minute' },
  { path: 'dashboards', role: 'link', name: 'Web servers' },
  { path: 'cluster', role: 'gridcell', name: 'cpu' },
  { path: 'queries?tab=slow', role: 'columnheader', name: /^Longest/ },
  { path: 'profiles', role: 'button', name: 'Take a profile' },
  { path: 'config', role: 'rowheader', name: /enable_api_server/ },
  { path: 'users?user=grafana', role: 'rowheader', name: 'grafana' },
];

/** Of the password "password". */
const PASSWORD_HASH = 'pbkdf2_sha256:4096:73616c74:c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a';

/** Writes rows, a line and a trace of the last minutes, and stores a flow, a dashboard and a user. */
export async function writeSampleData(api: HttpApi): Promise<void> {
  const nowNs = BigInt(Date.now()) * 1_000_000n;
  const at = (secondsAgo: number): string => String(nowNs - BigInt(secondsAgo) * 1_000_000_000n);
  const rows = Array.from({ length: 60 }, (_, i) =>
    ['web-1', 'web-2'].map((host) => `cpu,host=${host} usage=${(i * 7) % 100}.5 ${at(i * 15)}`),
  );
  await api.written(rows.flat().join('\n'));
  const values = [[at(20), `payment refused trace_id=${SAMPLE_TRACE_ID}`]];
  const logs = JSON.stringify({ streams: [{ stream: { app: 'shop', level: 'error' }, values }] });
  expect((await api.post('/v1/loki/api/v1/push', logs, JSON_TYPE)).status).to.equal(204);
  const span = {
    traceId: SAMPLE_TRACE_ID,
    spanId: '1112131415161718',
    name: 'GET /pay',
    startTimeUnixNano: at(20),
    endTimeUnixNano: at(19),
  };
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] };
  const spans = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] });
  const sent = await api.post('/v1/otlp/v1/traces', spans, JSON_TYPE);
  expect(sent.status, sent.text).to.equal(200);
  await api.rows(
    "CREATE FLOW cpu_by_minute SINK TO cpu_by_minute AS SELECT host, date_bin(INTERVAL '1 minute', almanac_timestamp) AS minute, " +
      'avg(usage) AS usage FROM cpu GROUP BY host, minute',
  );
  await api.rows(`CREATE USER grafana PASSWORD '${PASSWORD_HASH}'`);
  const document = JSON.stringify({ almanac: 1, title: 'Web servers', panels: [] });
  const stored = await api.post('/v1/dashboards/web', document, JSON_TYPE);
  expect(stored.status, stored.text).to.equal(200);
}
