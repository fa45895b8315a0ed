import { Client } from '@elastic/elasticsearch';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { bodyV1 } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const PUSH = '/v1/loki/api/v1/push';
const EVENTS = '/v1/splunk/services/collector/event';
const SPLUNK = { authorization: 'Splunk a:b' };
/** One stream `{app="x"}` with the line `hi` at 1700000000.000000005, and metadata. */
const SNAPPY_PUSH = Buffer.from(
  '25900a230a097b6170703d2278227d12160a080880e2cfaa061005120268691a060a016b120176',
  'hex',
);

type Reply = Promise<{ status: number; text: string }>;

describe('pipelines of log protocols', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function upload(name: string, text: string): Promise<void> {
    const reply = await almanac.post(`/v1/pipelines/${name}`, text, YAML);
    expect(reply.status, reply.text).to.equal(200);
  }

  async function expectReply(reply: Reply, status: number, text: string | RegExp = ''): Promise<void> {
    const given = await reply;
    expect(given.status, given.text).to.equal(status);
    if (typeof text === 'string') expect(given.text).to.contain(text);
    else expect(given.text).to.match(text);
  }

  async function expectNoTable(table: string): Promise<void> {
    expect(await almanac.rows(`SHOW TABLES LIKE '${table}'`)).to.deep.equal([]);
  }

  describe('of Loki push', () => {
    const named = (name: string, table: string): Record<string, string> => {
      return { 'x-almanac-pipeline-name': name, 'x-almanac-log-table-name': table };
    };
    const push = (values: unknown, stream: unknown = { app: 'x' }): string => {
      return JSON.stringify({ streams: [{ stream, values }] });
    };

    before(() =>
      upload(
        'loki_kv',
        "processors:\n  - dissect: {field: loki_line, pattern: '%{verb} %{ms}'}\n  - epoch: {field: greptime_timestamp}\n" +
          'transform:\n  - {field: loki_label_app, type: string, tag: true}\n  - {fields: [verb, loki_metadata_k], type: string}\n' +
          '  - {field: ms, type: int32}\n  - {field: greptime_timestamp, type: timestamp, index: timestamp}\n',
      ),
    );

    it('take entries of JSON and protobuf, with labels, metadata and times', async () => {
      const body = push([
        ['1700000000000000001', 'GET 12', { k: 'v' }],
        ['1700000000000000002', 'PUT 7'],
      ]);
      await expectReply(almanac.post(PUSH, body, { ...JSON_TYPE, ...named('loki_kv', 'lk') }), 204);
      const columns = 'loki_label_app, verb, ms, loki_metadata_k';
      expect(await almanac.rows(`SELECT ${columns} FROM lk ORDER BY greptime_timestamp`)).to.deep.equal([
        ['x', 'GET', 12, 'v'],
        ['x', 'PUT', 7, null],
      ]);
      await upload('loki_auto', 'processors:\n  - epoch: {field: almanac_timestamp, resolution: ns}\n');
      await expectReply(almanac.post(PUSH, SNAPPY_PUSH, named('loki_auto', 'la')), 204);
      const found = await almanac.rows('SELECT loki_line, loki_label_app, loki_metadata_k FROM la');
      expect(found).to.deep.equal([['hi', 'x', 'v']]);
      // JavaScript does not read the nanoseconds, but they are in the text.
      expect((await almanac.sql('SELECT almanac_timestamp FROM la')).text).to.contain('1700000000000000005');
    });

    it('take the identity pipeline, which keeps the times of entries', async () => {
      const body = push([['1700000000000000000', 'a']]);
      await expectReply(almanac.post(PUSH, body, { ...JSON_TYPE, ...named('greptime_identity', 'li') }), 204);
      const rows = await almanac.rows(
        "SELECT loki_line, loki_label_app FROM li WHERE almanac_timestamp = '2023-11-14 22:13:20'",
      );
      expect(rows).to.deep.equal([['a', 'x']]);
    });

    it('refuse the whole push if one entry fails, or leave it out', async () => {
      const body = push([
        ['1', 'GET 12'],
        ['2', 'GET slow'],
      ]);
      const headers = { ...JSON_TYPE, ...named('loki_kv', 'lf') };
      await expectReply(
        almanac.post(PUSH, body, headers),
        400,
        /'slow' to type 'INT32' \(column ms\) \(item 1, transform\)/,
      );
      await expectNoTable('lf');
      const skipping = { ...headers, 'x-greptime-pipeline-params': 'skip_error=true' };
      await expectReply(almanac.post(PUSH, body, skipping), 204);
      expect(await almanac.rows('SELECT ms FROM lf')).to.deep.equal([[12]]);
      await expectReply(
        almanac.post(PUSH, body, { ...JSON_TYPE, ...named('absent', 'lf') }),
        400,
        'Pipeline not found',
      );
      const older = { ...headers, 'x-almanac-pipeline-version': 'today' };
      await expectReply(almanac.post(PUSH, body, older), 400, 'Invalid pipeline version format: today');
    });
  });

  describe('of OTLP', () => {
    before(() =>
      upload(
        'otlp_errors',
        'processors:\n  - epoch: {field: Timestamp, resolution: ns}\n' +
          '  - simple_extract: {field: "LogAttributes, code", key: http.code}\n' +
          '  - simple_extract: {field: "ResourceAttributes, service", key: team}\n' +
          'transform:\n  - {field: Timestamp, type: timestamp, index: timestamp}\n  - {field: service, type: string, tag: true}\n' +
          '  - {fields: [Body, SeverityText, ScopeName, TraceId], type: string}\n  - {field: code, type: int32}\n' +
          '  - {fields: [SeverityNumber, TraceFlags], type: int32}\n  - {field: LogAttributes, type: json}\n',
      ),
    );

    it('take log records of a real exporter', async () => {
      const headers = { 'x-greptime-pipeline-name': 'otlp_errors', 'x-greptime-log-table-name': 'ol' };
      const exporter = new OTLPLogExporter({ url: `${almanac.url}/v1/otlp/v1/logs`, headers });
      const provider = new LoggerProvider({
        resource: resourceFromAttributes({ team: 'shop' }),
        processors: [new SimpleLogRecordProcessor({ exporter })],
      });
      const logger = provider.getLogger('scope');
      const attributes = { http: { code: 503 }, list: [1, 'a'], ratio: 0.5, ok: true };
      logger.emit({ body: 'down', severityText: 'ERROR', severityNumber: SeverityNumber.ERROR, attributes });
      await provider.shutdown();
      const rows = await almanac.rows(
        'SELECT service, Body, SeverityText, ScopeName, code, SeverityNumber, LogAttributes FROM ol',
      );
      expect(rows).to.deep.equal([['shop', 'down', 'ERROR', 'scope', 503, 17, attributes]]);
    });

    const logs = (...bodies: readonly unknown[]): string => {
      const logRecords = bodies.map((body, i) => ({ timeUnixNano: `170000000000000000${i}`, body }));
      return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
    };

    it('take log records of JSON, and the identity pipeline', async () => {
      const headers = { ...JSON_TYPE, 'x-almanac-pipeline-name': 'almanac_identity', 'x-almanac-log-table-name': 'oi' };
      const body = logs({ stringValue: 'a' }, { kvlistValue: { values: [{ key: 'k', value: { intValue: '5' } }] } });
      await expectReply(almanac.post('/v1/otlp/v1/logs', body, headers), 200, '{}');
      const rows = await almanac.rows('SELECT Body, "Timestamp" - 1700000000000000000 FROM oi ORDER BY "Timestamp"');
      expect(rows).to.deep.equal([
        ['a', 0],
        ['{"k":5}', 1],
      ]);
    });

    it('are refused in the form of the protocol, and where they do not exist', async () => {
      await upload('otlp_int', 'transform:\n  - {field: Body, type: int32}\n');
      const headers = { ...JSON_TYPE, 'x-almanac-pipeline-name': 'otlp_int', 'x-almanac-log-table-name': 'of' };
      const body = logs({ stringValue: '1' }, { stringValue: 'x' });
      await expectReply(almanac.post('/v1/otlp/v1/logs', body, headers), 400, /^{"code":3,"message":"Failed to coerce/);
      await expectNoTable('of');
      const trace = { ...headers, 'x-almanac-pipeline-name': 'greptime_trace_v1' };
      await expectReply(almanac.post('/v1/otlp/v1/logs', body, trace), 400, 'Unsupported pipeline for logs');
      const spans = almanac.post('/v1/otlp/v1/traces', '{"resourceSpans":[]}', headers);
      await expectReply(spans, 400, 'Unsupported pipeline for trace');
    });
  });

  describe('of the event collector', () => {
    before(() =>
      upload(
        'hec',
        'processors:\n  - simple_extract: {field: "event, code", key: code}\n' +
          'transform:\n  - {fields: [host, sourcetype, env], type: string, tag: true}\n  - {field: code, type: int32}\n' +
          '  - {field: n, type: float64}\n  - {field: almanac_timestamp, type: timestamp, index: timestamp}\n',
      ),
    );

    it('take events with their fields, by header and by parameter', async () => {
      const event = { time: 1_700_000_000.25, host: 'w1', fields: { env: 'prod', n: 3 }, event: { code: 7 } };
      const body = JSON.stringify(event) + JSON.stringify({ event: { code: 8 }, index: 'other', time: 1 });
      await expectReply(almanac.post(`${EVENTS}?pipeline_name=hec&table=sp`, body, SPLUNK), 200, '"code":0');
      expect(await almanac.rows('SELECT host, env, code, n, almanac_timestamp FROM sp')).to.deep.equal([
        ['w1', 'prod', 7, 3, 1_700_000_000_250_000_000],
      ]);
      expect(await almanac.rows('SELECT host, code FROM other')).to.deep.equal([[null, 8]]);
    });

    it('take raw text', async () => {
      await upload(
        'hec_raw',
        "processors:\n  - dissect: {field: message, pattern: '%{verb} %{path}'}\ntransform:\n  - {fields: [verb, path, host], type: string}\n",
      );
      const path = '/v1/splunk/services/collector/raw?table=sr&host=h&linebreaker=%0A';
      const headers = { ...SPLUNK, 'x-greptime-log-pipeline-name': 'hec_raw' };
      await expectReply(almanac.post(path, 'GET /a\nPUT /b\n', headers), 200, '"code":0');
      expect(await almanac.rows('SELECT verb, path, host FROM sr ORDER BY verb')).to.deep.equal([
        ['GET', '/a', 'h'],
        ['PUT', '/b', 'h'],
      ]);
    });

    it('refuse all events if one fails, with its number', async () => {
      const body = '{"event":{"code":1}}{"event":{"code":"x"}}';
      const reply = almanac.post(`${EVENTS}?pipeline_name=hec&table=sf`, body, SPLUNK);
      await expectReply(reply, 400, /"code":6,"invalid-event-number":1,"reason":"Failed to coerce/);
      await expectNoTable('sf');
      const skipping = { ...SPLUNK, 'x-almanac-pipeline-params': 'skip_error=1' };
      await expectReply(almanac.post(`${EVENTS}?pipeline_name=hec&table=sf`, body, skipping), 200, '"code":0');
      expect(await almanac.rows('SELECT code FROM sf')).to.deep.equal([[1]]);
    });
  });

  describe('of Elasticsearch bulk', () => {
    before(() =>
      upload(
        'bulk',
        'processors:\n  - simple_extract: {field: "user, id", key: id}\n' +
          'transform:\n  - {field: message, type: string}\n  - {field: id, type: int64}\n',
      ),
    );

    it('take documents of a real client, with a status for each', async () => {
      const node = `${almanac.url}/v1/elasticsearch`;
      const client = new Client({ node, headers: { 'x-almanac-pipeline-name': 'bulk' } });
      const documents = [
        { message: 'a', user: { id: 1 } },
        { message: 'b', user: { id: 'x' } },
        { message: 'c', user: { name: 'n' } },
      ];
      const operations = documents.flatMap((document) => [{ create: { _index: 'eb' } }, document]);
      const { errors, items } = await client.bulk({ operations });
      await client.close();
      expect(errors).to.equal(true);
      expect(items.map(({ create }) => create?.status)).to.deep.equal([201, 400, 201]);
      expect(items[1].create?.error?.reason).to.contain("'x' to type 'INT64' (column id) (item 1, transform)");
      expect(await almanac.rows('SELECT message, id FROM eb ORDER BY message')).to.deep.equal([
        ['a', 1],
        ['c', null],
      ]);
    });

    it('take the text of a member as the document', async () => {
      const lines = [
        { index: { _index: 'em' } },
        { log: '{"message":"m","user":{"id":5}}', other: 1 },
        { index: {} },
        { log: 'plain' },
      ];
      const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      const path = '/v1/elasticsearch/em/_bulk?pipeline_name=bulk&msg_field=log';
      await expectReply(almanac.post(path, body, JSON_TYPE), 200, '"errors":true');
      expect(await almanac.rows('SELECT message, id FROM em')).to.deep.equal([['m', 5]]);
    });
  });

  describe('of remote write', () => {
    const headers = (name: string): Record<string, string> => ({ 'x-greptime-pipeline-name': name });
    const body = (...series: Parameters<typeof bodyV1>[0]): Uint8Array<ArrayBuffer> => {
      return compressSync(bodyV1(series)) as Uint8Array<ArrayBuffer>;
    };
    const write = (name: string, sent: Uint8Array<ArrayBuffer>): ReturnType<Almanac['post']> => {
      return almanac.post('/v1/prometheus/write', sent, headers(name));
    };

    it('take samples, whose table is the metric', async () => {
      await upload(
        'rw',
        'processors:\n  - epoch: {field: greptime_timestamp, resolution: ms}\n' +
          'transform:\n  - {field: job, type: string, tag: true}\n  - {field: "greptime_value, v", type: float64}\n' +
          '  - {field: "greptime_timestamp, ts", type: "timestamp, ms", index: timestamp}\n',
      );
      const labels = [
        ['__name__', 'up'],
        ['job', 'n'],
        ['pod', 'p'],
      ] as const;
      const samples = [1, 2].map((value) => ({ value, timestamp: 1_700_000_000_000 + value }));
      const reply = await write('rw', body({ labels, samples }));
      expect(reply.status, reply.text).to.equal(204);
      expect(reply.headers.get('x-prometheus-remote-write-samples-written')).to.equal('2');
      expect(await almanac.rows('SELECT job, v, ts FROM up ORDER BY v')).to.deep.equal([
        ['n', 1, 1_700_000_000_001],
        ['n', 2, 1_700_000_000_002],
      ]);
    });

    it('take the identity pipeline, which stores metrics as without one', async () => {
      const labels = [
        ['__name__', 'ident'],
        ['job', 'n'],
      ] as const;
      const samples = [{ value: 5, timestamp: 1_700_000_000_000 }];
      await expectReply(write('greptime_identity', body({ labels, samples })), 204);
      expect(await almanac.rows('SELECT job, almanac_value FROM ident')).to.deep.equal([['n', 5]]);
    });

    it('refuse the whole request if one sample fails', async () => {
      await upload('rw_int', 'transform:\n  - {field: pod, type: int32}\n');
      const series = ['1', 'x'].map((pod) => {
        return {
          labels: [
            ['__name__', 'rwf'],
            ['pod', pod],
          ] as const,
          samples: [{ value: 1, timestamp: 1 }],
        };
      });
      await expectReply(write('rw_int', body(...series)), 400, /{"error":"Failed to coerce.*"code":1004}/);
      await expectNoTable('rwf');
      const skipping = { ...headers('rw_int'), 'x-almanac-pipeline-params': 'skip_error=true' };
      const reply = await almanac.post('/v1/prometheus/write', body(...series), skipping);
      expect(reply.headers.get('x-prometheus-remote-write-samples-written')).to.equal('1');
      expect(await almanac.rows('SELECT pod FROM rwf')).to.deep.equal([[1]]);
    });
  });
});
