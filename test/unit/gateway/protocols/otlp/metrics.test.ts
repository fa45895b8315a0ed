import { gzipSync } from 'node:zlib';

import { expect } from 'chai';

import { protobufOfJson, REQUEST_FORMS } from '#services/gateway/protocols/otlp/json-form';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

interface Row {
  readonly table: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: unknown;
  readonly timeMs: number;
}

const TIME = '1700000000123999999';
const TIME_MS = 1_700_000_000_123;
const PATH = '/v1/otlp/v1/metrics';

function attributes(values: Readonly<Record<string, unknown>>): unknown[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : value,
  }));
}

function request(metrics: readonly unknown[], resource: Readonly<Record<string, unknown>> = {}): unknown {
  return { resourceMetrics: [{ resource: { attributes: attributes(resource) }, scopeMetrics: [{ metrics }] }] };
}

describe('OTLP metrics', () => {
  let rig: GatewayRig;

  before(async () => {
    rig = await startGatewayRig();
  });

  after(() => rig.gateway.stop());

  beforeEach(() => {
    rig.tables.rows.length = 0;
  });

  async function post(
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
    path = PATH,
  ): Promise<{ status: number; answer: unknown; rows: Row[] }> {
    const response = await fetch(rig.url + path, {
      method: 'POST',
      body:
        typeof body === 'string' || body instanceof Uint8Array
          ? (body as Uint8Array<ArrayBuffer>)
          : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
    const text = await response.text();
    return {
      status: response.status,
      answer: text.startsWith('{') ? (JSON.parse(text) as unknown) : text,
      rows: rows(),
    };
  }

  /** Samples in order of their labels. */
  function rows(): Row[] {
    return rig.tables.rows
      .filter(({ table }) => table === 'almanac_physical_table')
      .map(({ table, tags, fields, timeNs }) => {
        const { __name__: name, ...labels } = tags;
        return {
          table: name ?? table,
          labels,
          value: fields['almanac_value']?.[1],
          timeMs: Number(timeNs),
        };
      });
  }

  it('stores a monotonic sum under the name that Prometheus dashboards use', async () => {
    const point = { attributes: attributes({ verb: 'get' }), asInt: '5', timeUnixNano: TIME };
    const metric = {
      name: 'http.io',
      unit: 'By',
      sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: [point] },
    };
    const { status, answer, rows: stored } = await post(request([metric], { 'service.name': 'shop', other: 'x' }));
    expect([status, answer]).to.deep.equal([200, {}]);
    expect(stored).to.deep.equal([
      {
        table: 'http_io_bytes_total',
        labels: { job: 'shop', service_name: 'shop', verb: 'get' },
        value: 5,
        timeMs: TIME_MS,
      },
    ]);
  });

  it('makes job and instance of the resource', async () => {
    const resource = { 'service.name': 'shop', 'service.namespace': 'eu', 'service.instance.id': 'a1' };
    const point = { asDouble: 0.5, timeUnixNano: TIME };
    const { rows: stored } = await post(request([{ name: 'load', gauge: { dataPoints: [point] } }], resource));
    expect(stored[0].labels).to.deep.equal({
      job: 'eu/shop',
      instance: 'a1',
      service_name: 'shop',
      service_namespace: 'eu',
      service_instance_id: 'a1',
    });
  });

  it('writes attribute values of all types as text', async () => {
    const values = {
      int: { intValue: '9007199254740993' },
      double: { doubleValue: 1.5 },
      yes: { boolValue: true },
      list: { arrayValue: { values: [{ intValue: 1 }, { stringValue: 'a"b' }] } },
      map: { kvlistValue: { values: [{ key: 'k', value: { boolValue: false } }] } },
      bytes: { bytesValue: 'AQI=' },
      empty: '',
      none: {},
    };
    const point = { attributes: attributes(values), asInt: 1, timeUnixNano: TIME };
    const { rows: stored } = await post(request([{ name: 'm', gauge: { dataPoints: [point] } }]));
    expect(stored[0].labels).to.deep.equal({
      int: '9007199254740993',
      double: '1.5',
      yes: 'true',
      list: '[1,"a\"b"]'.replace('a"b', String.raw`a\"b`),
      map: '{"k":false}',
      bytes: 'AQI=',
    });
  });

  it('joins the values of attributes with the same label, in order of the keys', async () => {
    const point = { attributes: attributes({ a_b: '2', 'a.b': '1' }), asInt: 1, timeUnixNano: TIME };
    const { rows: stored } = await post(request([{ name: 'm', gauge: { dataPoints: [point] } }]));
    expect(stored[0].labels).to.deep.equal({ a_b: '1;2' });
  });

  it('stores histograms as cumulative buckets, sum and count', async () => {
    const point = { explicitBounds: [5, 10], bucketCounts: ['1', 2, '0'], sum: 21, count: '3', timeUnixNano: TIME };
    const metric = { name: 'lat', unit: 'ms', histogram: { aggregationTemporality: 2, dataPoints: [point] } };
    const { rows: stored } = await post(request([metric]));
    expect(stored.map(({ table, labels, value }) => [table, labels['le'], value])).to.deep.equal([
      ['lat_milliseconds_bucket', '5', 1],
      ['lat_milliseconds_bucket', '10', 3],
      ['lat_milliseconds_bucket', '+Inf', 3],
      ['lat_milliseconds_sum', undefined, 21],
      ['lat_milliseconds_count', undefined, 3],
    ]);
  });

  it('stores a histogram without buckets as its count', async () => {
    const point = { count: '7', timeUnixNano: TIME };
    const { rows: stored } = await post(request([{ name: 'lat', histogram: { dataPoints: [point] } }]));
    expect(stored.map(({ table, labels, value }) => [table, labels['le'], value])).to.deep.equal([
      ['lat_bucket', '+Inf', 7],
      ['lat_count', undefined, 7],
    ]);
  });

  it('stores summaries', async () => {
    const point = {
      count: 4,
      sum: 2.5,
      quantileValues: [
        { quantile: 0.5, value: 1 },
        { quantile: 0.99, value: 2 },
      ],
      timeUnixNano: TIME,
    };
    const { rows: stored } = await post(request([{ name: 's', summary: { dataPoints: [point] } }]));
    expect(stored.map(({ table, labels, value }) => [table, labels['quantile'], value])).to.deep.equal([
      ['s', '0.5', 1],
      ['s', '0.99', 2],
      ['s_sum', undefined, 2.5],
      ['s_count', undefined, 4],
    ]);
  });

  it('stores exponential histograms as native histograms', async () => {
    const positive = { offset: 1661953, bucketCounts: ['1'] };
    const point = { scale: 20, count: 1, sum: 3, positive, timeUnixNano: TIME };
    const metric = { name: 'e', exponentialHistogram: { aggregationTemporality: 2, dataPoints: [point] } };
    const { status } = await post(request([metric]));
    expect(status).to.equal(200);
    const [row] = rig.tables.rows.filter(({ table }) => table === 'almanac_physical_table');
    expect(Object.keys(row.fields)).to.deep.equal(['almanac_native_histogram']);
  });

  it('stores a staleness marker for points without a recorded value', async () => {
    const point = { flags: 1, timeUnixNano: TIME };
    const { rows: stored } = await post(request([{ name: 'm', gauge: { dataPoints: [point] } }]));
    expect(stored[0].value).to.satisfy(Number.isNaN);
  });

  it('skips points without a value and metrics without data', async () => {
    const point = { timeUnixNano: TIME };
    const {
      status,
      answer,
      rows: stored,
    } = await post(request([{ name: 'm', gauge: { dataPoints: [point] } }, { name: 'n' }]));
    expect([status, answer, stored]).to.deep.equal([200, {}, []]);
  });

  it('rejects points alone, and reports how many', async () => {
    const good = { asInt: 1, timeUnixNano: TIME };
    const bad = { explicitBounds: [1, 2], bucketCounts: [1], count: 1, timeUnixNano: TIME };
    const metrics = [
      { name: 'm', gauge: { dataPoints: [good, { asInt: 1 }] } },
      { name: 'h', histogram: { dataPoints: [bad] } },
      { name: '', gauge: { dataPoints: [good] } },
      { name: 'e', exponentialHistogram: { dataPoints: [{ scale: -5, count: 0, timeUnixNano: TIME }] } },
    ];
    const { status, answer, rows: stored } = await post(request(metrics));
    expect(status).to.equal(200);
    expect(stored).to.have.length(1);
    expect(answer).to.deep.equal({
      partialSuccess: {
        rejectedDataPoints: '4',
        errorMessage:
          'metric "m": time is missing or out of range; metric "h": histogram has 1 buckets and 2 bounds; ' +
          'metric "": missing metric name; metric "e": unsupported scale -5 of an exponential histogram',
      },
    });
  });

  it('replies with a status if all points are rejected', async () => {
    const { status, answer } = await post(request([{ name: 'm', gauge: { dataPoints: [{ asInt: 1 }] } }]));
    expect(status).to.equal(400);
    expect(answer).to.deep.equal({ code: 3, message: 'metric "m": time is missing or out of range' });
  });

  it('follows the headers for names and attributes', async () => {
    const scope = { name: 'lib', version: '2', attributes: attributes({ 'x.y': '1' }) };
    const metrics = [
      {
        name: 'a.b',
        gauge: { dataPoints: [{ asInt: 1, timeUnixNano: TIME, attributes: attributes({ 'c.d': 'e' }) }] },
      },
    ];
    const body = {
      resourceMetrics: [
        { resource: { attributes: attributes({ 'r.s': 't', 'u.v': 'w' }) }, scopeMetrics: [{ scope, metrics }] },
      ],
    };
    const { rows: stored } = await post(body, {
      'x-greptime-otlp-metric-translation-strategy': 'NoTranslation',
      'x-almanac-otlp-metric-promote-all-resource-attrs': 'Yes',
      'x-greptime-otlp-metric-ignore-resource-attrs': 'u.v; none',
      'x-greptime-otlp-metric-promote-scope-attrs': 'on',
    });
    expect(stored.map(({ table, labels }) => [table, labels])).to.deep.equal([
      ['a.b', { 'c.d': 'e', 'r.s': 't', otel_scope_name: 'lib', otel_scope_version: '2', 'otel_scope_x.y': '1' }],
    ]);
    const promoted = await post(body, { 'x-greptime-otlp-metric-promote-resource-attrs': 'u.v' });
    expect(promoted.rows.at(-1)?.labels).to.deep.equal({ c_d: 'e', u_v: 'w' });
  });

  it('keeps the labels of a scope, whatever later requests contain', async () => {
    const send = async (host: string, ...scopes: readonly string[]): Promise<Row[]> => {
      const point = { asInt: 1, timeUnixNano: TIME, attributes: attributes({ host }) };
      const metrics = [{ name: 'm', gauge: { dataPoints: [point] } }];
      const scopeMetrics = scopes.map((name) => ({ scope: { name }, metrics }));
      const json = Buffer.from(JSON.stringify({ resourceMetrics: [{ scopeMetrics }] }));
      const body = new Uint8Array(protobufOfJson(json, REQUEST_FORMS.metrics()));
      const headers = { 'content-type': 'application/x-protobuf', 'x-almanac-otlp-metric-promote-scope-attrs': 'on' };
      // Bodies of unknown length are collected in memory that later requests use again.
      const stream = { body: new Blob([body]).stream(), duplex: 'half' } as RequestInit;
      const response = await fetch(rig.url + PATH, { method: 'POST', headers, ...stream });
      expect(response.status).to.equal(200);
      return rows();
    };
    await send('a', 'a library');
    const stored = await send('b', 'another library', 'a library');
    expect(stored.map(({ labels }) => labels)).to.have.deep.members([
      { host: 'a', otel_scope_name: 'a library' },
      { host: 'b', otel_scope_name: 'a library' },
      { host: 'b', otel_scope_name: 'another library' },
    ]);
  });

  describe('replies to bad input:', () => {
    const cases: readonly (readonly [string, unknown, Readonly<Record<string, string>>, number, RegExp, string?])[] = [
      ['text that is not JSON', '{"resourceMetrics":', {}, 400, /JSON is not valid/],
      ['an empty JSON body', '', {}, 400, /JSON is not valid/],
      ['a list', '[]', {}, 400, /must be an object/],
      ['deep JSON', '['.repeat(10_000), {}, 400, /levels/],
      ['a field of another type', { resourceMetrics: {} }, {}, 400, /"resourceMetrics" must be a list/],
      ['a number that is none', request([{ name: 'm', gauge: { dataPoints: [{ asInt: 'x' }] } }]), {}, 400, /"asInt"/],
      [
        'an unknown strategy',
        {},
        { 'x-greptime-otlp-metric-translation-strategy': 'x' },
        400,
        /unknown translation strategy "x"/,
      ],
      ['a content type', {}, { 'content-type': 'text/plain' }, 415, /content type "text\/plain"/],
      ['an encoding', {}, { 'content-encoding': 'lzma' }, 415, /content encoding "lzma"/],
      ['a body that is not gzip', '{}', { 'content-encoding': 'gzip' }, 400, /not valid gzip/],
      [
        'a body that is cut off',
        gzipSync('{"resourceMetrics":[]}').subarray(0, 20),
        { 'content-encoding': 'gzip' },
        400,
        /gzip/,
      ],
      ['a pipeline', {}, { 'x-greptime-pipeline-name': 'p' }, 400, /pipeline "p" is not supported/],
      ['an unknown database', {}, {}, 400, /Database not found: none/, `${PATH}?db=none`],
      ['a hint', {}, { 'x-greptime-hints': 'auto_create_table=perhaps' }, 400, /auto_create_table/],
    ];
    for (const [name, body, headers, status, message, path] of cases) {
      it(name, async () => {
        const reply = await post(body, headers, path);
        expect(reply.status).to.equal(status);
        expect(reply.rows).to.deep.equal([]);
        if (headers['content-type'] === undefined) {
          expect(reply.answer).to.have.property('message').that.matches(message);
        } else expect(reply.answer).to.match(message);
      });
    }

    it('malformed protobuf, in protobuf', async () => {
      const headers = { 'content-type': 'application/x-protobuf' };
      for (const body of [
        [0x0a, 5, 1],
        [0x0d, 1, 2, 3, 4],
        [0x0a, 2, 0x10, 1, 0x07],
      ]) {
        const { status, answer } = await post(Uint8Array.from(body), headers);
        expect([status, answer]).to.deep.equal([400, '\b\x03\x12\x0eunexpected EOF']);
      }
      expect(await post(new Uint8Array(0), headers)).to.deep.equal({ status: 200, answer: '', rows: [] });
    });
  });
});
