import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const TIME = '1700000000000000000';
const MANY = Array.from({ length: 100_000 }, (_, i) => i);
const BIG = 'x'.repeat(1024 * 1024);
const JSON_TYPE = 'application/json';
const LINES_TYPE = 'application/x-ndjson';

type Members = Readonly<Record<string, unknown>>;

const attribute = (key: string, text: string): Members => ({ key, value: { stringValue: text } });
const membersOf = (value: unknown): Members => Object.fromEntries(MANY.map((i) => [`m${i}`, value]));

function gauge(name: string, attributes: readonly Members[]): Members {
  return { name, gauge: { dataPoints: [{ asInt: 1, timeUnixNano: TIME, attributes }] } };
}

const metrics = (items: readonly Members[]): string =>
  JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics: items }] }] });
const logs = (items: readonly Members[]): string =>
  JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: items }] }] });

function spans(items: readonly (readonly Members[])[]): string {
  const ids = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
  const all = items.map((attributes) => ({ ...ids, name: 'n', startTimeUnixNano: TIME, attributes }));
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: all }] }] });
}

const push = (labels: readonly Members[]): string =>
  JSON.stringify({ streams: labels.map((stream) => ({ stream, values: [[TIME, 'line']] })) });
const events = (items: readonly Members[]): string => items.map((item) => JSON.stringify(item)).join('');
const point = (metric: string, tags: Members): Members => ({ metric, timestamp: 1_700_000_000, value: 1, tags });
const documents = (items: readonly (readonly [index: string, document: Members])[]): string =>
  items.map(([index, document]) => `{"create":{"_index":"${index}"}}\n${JSON.stringify(document)}\n`).join('');

interface Case {
  readonly what: string;
  readonly path: string;
  readonly body: () => string;
  readonly type?: string;
  readonly status: number;
  readonly reply: RegExp;
}

const OTLP = '/v1/otlp/v1';
const LOKI = '/v1/loki/api/v1/push';
const SPLUNK = '/v1/splunk/services/collector/event';
const OPENTSDB = '/v1/opentsdb/api/put';
const BULK = '/v1/elasticsearch/_bulk';

const REFUSED: readonly Case[] = [
  {
    what: 'a metric with a name of 1 MiB',
    ...{ path: `${OTLP}/metrics`, body: () => metrics([gauge(BIG, [])]), status: 400 },
    reply: /^\{"code":3,"message":"metric \\"x{256}\\": invalid metric name/,
  },
  {
    what: 'a point with 100,000 labels',
    ...{
      path: `${OTLP}/metrics`,
      body: () =>
        metrics([
          gauge(
            'm',
            MANY.map((i) => attribute(`l${i}`, 'v')),
          ),
        ]),
      status: 400,
    },
    reply: /"code":3,.*would have 10000\d label names/,
  },
  {
    what: '100,000 points with a label of its own each',
    ...{
      path: `${OTLP}/metrics`,
      body: () => metrics(MANY.map((i) => gauge('m', [attribute(`l${i}`, 'v')]))),
      status: 400,
    },
    reply: /"code":3,.*would have 10000\d label names/,
  },
  {
    what: 'a span with a key of 1 MiB',
    ...{ path: `${OTLP}/traces`, body: () => spans([[attribute(BIG, 'v')]]), status: 400 },
    reply: /"code":3,.*invalid column name/,
  },
  {
    what: 'a span with 100,000 attributes',
    ...{ path: `${OTLP}/traces`, body: () => spans([MANY.map((i) => attribute(`a${i}`, 'v'))]), status: 400 },
    reply: /"code":3,"message":"request has too many attributes"/,
  },
  {
    what: '100,000 spans with an attribute of its own each',
    ...{ path: `${OTLP}/traces`, body: () => spans(MANY.map((i) => [attribute(`a${i}`, 'v')])), status: 400 },
    reply: /"code":3,"message":"request has too many attributes"/,
  },
  {
    what: 'a label with a name of 1 MiB',
    ...{ path: LOKI, body: () => push([{ [BIG]: 'v' }]), status: 400 },
    reply: /^invalid column name/,
  },
  {
    what: 'a stream with 100,000 labels',
    ...{ path: LOKI, body: () => push([membersOf('v')]), status: 400 },
    reply: /^stream has more than 4096 labels\n$/,
  },
  {
    what: '100,000 streams with a label of its own each',
    ...{ path: LOKI, body: () => push(MANY.map((i) => ({ [`l${i}`]: 'v' }))), status: 400 },
    reply: /^a table has at most 4096 columns/,
  },
  {
    what: '100,000 indexes',
    ...{ path: SPLUNK, body: () => events(MANY.map((i) => ({ event: 'e', index: `i${i}` }))), status: 413 },
    reply: /"reason":"request writes to more than 10000 tables"/,
  },
  {
    what: 'an event with 100,000 members',
    ...{ path: SPLUNK, body: () => events([{ event: membersOf(1) }]), status: 413 },
    reply: /"reason":"request has more than 100000 names of members"/,
  },
  {
    what: '100,000 events with a member of its own each',
    ...{ path: SPLUNK, body: () => events(MANY.map((i) => ({ event: { [`m${i}`]: 1 } }))), status: 400 },
    reply: /"code":6,"invalid-event-number":4095,"reason":"table \\"splunk_logs\\" has too many columns"/,
  },
  {
    what: '100,000 metrics',
    ...{ path: OPENTSDB, body: () => JSON.stringify(MANY.map((i) => point(`o${i}`, { a: 'b' }))), status: 413 },
    reply: /"message":"request writes to more than 10000 tables"/,
  },
  {
    what: '100,000 points with a tag of its own each',
    ...{ path: OPENTSDB, body: () => JSON.stringify(MANY.map((i) => point('o', { [`t${i}`]: 'b' }))), status: 400 },
    reply: /"message":"a table has at most 4096 columns/,
  },
  {
    what: '100,000 documents for an index of its own each',
    ...{ path: BULK, body: () => documents(MANY.map((i) => [`e${i}`, { a: 1 }])), type: LINES_TYPE, status: 413 },
    reply: /"type":"content_too_long_exception","reason":"request writes to more than 10000 tables"/,
  },
  {
    what: 'a document with 100,000 members',
    ...{ path: BULK, body: () => documents([['wide', membersOf(1)]]), type: LINES_TYPE, status: 200 },
    reply: /"errors":true,"items":\[\{"create":\{"_index":"wide","status":400,.*too many columns/,
  },
];

describe('requests with too much of everything', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  for (const { what, path, body, type = JSON_TYPE, status, reply } of REFUSED) {
    it(`${path} refuses ${what}, and stores nothing`, async () => {
      const answer = await almanac.post(path, body(), { 'content-type': type });
      expect(answer.status, answer.text.slice(0, 500)).to.equal(status);
      expect(answer.text).to.match(reply);
      // Less than a refused row would say: no error quotes all that was sent.
      expect(answer.text.length).to.be.lessThan(16 * 1024);
      expect(await almanac.rows('SHOW TABLES')).to.deep.equal([]);
      expect((await almanac.get('/health')).status).to.equal(200);
    });
  }

  it('values of 1 MiB are stored as they are', async () => {
    const send = async (path: string, body: string, type = JSON_TYPE): Promise<void> => {
      const { status, text } = await almanac.post(path, body, { 'content-type': type });
      expect(status, text).to.be.oneOf([200, 204]);
    };
    await send(`${OTLP}/metrics`, metrics([gauge('big_metric', [attribute('k', BIG)])]));
    await send(
      `${OTLP}/logs`,
      logs([{ timeUnixNano: TIME, body: { stringValue: BIG }, attributes: [attribute('a', BIG)] }]),
    );
    await send(`${OTLP}/traces`, spans([[attribute('a', BIG)]]));
    await send(LOKI, JSON.stringify({ streams: [{ stream: { a: BIG }, values: [[TIME, BIG]] }] }));
    await send(SPLUNK, events([{ event: BIG, host: BIG }]));
    await send(OPENTSDB, JSON.stringify(point('big_point', { a: BIG })));
    await send(BULK, documents([['big', { a: BIG }]]), LINES_TYPE);
    for (const [table, column] of [
      ['big_metric', 'k'],
      ['opentelemetry_logs', 'body'],
      ['opentelemetry_traces', '"span_attributes.a"'],
      ['loki_logs', 'a'],
      ['loki_logs', 'line'],
      ['splunk_logs', 'event'],
      ['splunk_logs', 'host'],
      ['big_point', 'a'],
      ['big', 'a'],
    ]) {
      const rows = await almanac.rows(
        `SELECT count(*), length(min(${column})), replace(min(${column}), 'x', '') FROM ${table}`,
      );
      expect(rows, `${table}.${column}`).to.deep.equal([[1, BIG.length, '']]);
    }
  });
}).timeout(120_000);
