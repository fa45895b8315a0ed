import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { SPANS_START_US, spansRequest } from '#test/support/spans';
import { tempFolder } from '#test/support/temp-folder';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const JSON_TYPE = { 'content-type': 'application/json' };

describe('the query API of Tempo', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function json<T>(path: string, headers: Readonly<Record<string, string>> = {}): Promise<T> {
    const response = await fetch(`${almanac.url}/v1/tempo${path}`, { headers });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    return JSON.parse(text) as T;
  }

  it('returns a part of a trace that is too large', async () => {
    const spans = Array.from({ length: 10_001 }, (_none, i) => ({
      ...{ trace: TRACE, span: (i + 1).toString(16).padStart(16, '0'), service: 'large', name: 'n', startUs: i },
    }));
    const { status } = await almanac.post('/v1/otlp/v1/traces', spansRequest(spans), JSON_TYPE);
    expect(status).to.equal(200);
    const reply = await json<{
      trace: { resourceSpans: { scopeSpans: { spans: unknown[] }[] }[] };
      status: string;
      message: string;
    }>(`/api/v2/traces/${TRACE}`);
    expect(reply.status).to.equal('PARTIAL');
    expect(reply.message).to.equal('the trace has more than 10000 spans: these are the first');
    expect(reply.trace.resourceSpans[0].scopeSpans[0].spans).to.have.length(10_000);
    const protobuf = await fetch(`${almanac.url}/v1/tempo/api/v2/traces/${TRACE}`, {
      headers: { accept: 'application/protobuf' },
    });
    expect(Buffer.from(await protobuf.arrayBuffer()).includes('these are the first')).to.equal(true);
  });

  it('returns the first spans of a trace with large attributes', async () => {
    const trace = '1'.repeat(32);
    const large = 'x'.repeat(1024 * 1024);
    for (let i = 1; i <= 34; i++) {
      const attributes = { text: { stringValue: large } };
      const span = { trace, span: String(i).padStart(16, '0'), service: 'large', name: 'n', startUs: i, attributes };
      expect((await almanac.post('/v1/otlp/v1/traces', spansRequest([span]), JSON_TYPE)).status).to.equal(200);
    }
    const reply = await json<{
      trace: { resourceSpans: { scopeSpans: { spans: unknown[] }[] }[] };
      message: string;
    }>(`/api/v2/traces/${trace}`);
    expect(reply.message).to.equal('the trace has more than 33554432 characters: these are its first spans');
    expect(reply.trace.resourceSpans[0].scopeSpans[0].spans).to.have.length(31);
  });

  it('compares whole numbers that doubles cannot hold', async () => {
    const headers = { 'x-almanac-trace-table-name': 'exact' };
    const ids = ['2', '3'].map((digit) => digit.repeat(32));
    const spans = ids.map((id, i) => ({
      ...{ trace: id, span: 'b7ad6b7169203331', service: 'shop', name: 'n' },
      attributes: { n: { intValue: String(9_007_199_254_740_992n + BigInt(i)) } },
    }));
    const sent = await almanac.post('/v1/otlp/v1/traces', spansRequest(spans), { ...JSON_TYPE, ...headers });
    expect(sent.status).to.equal(200);
    const q = encodeURIComponent('{span.n = 9007199254740993}');
    const { traces } = await json<{ traces: { traceID: string }[] }>(`/api/search?q=${q}`, headers);
    expect(traces.map(({ traceID }) => traceID)).to.deep.equal([ids[1]]);
    const infinite = encodeURIComponent('{span.n < 1e999}');
    const refused = await fetch(`${almanac.url}/v1/tempo/api/search?q=${infinite}`, { headers });
    expect([refused.status, await refused.text()]).to.deep.equal([
      400,
      'invalid TraceQL query: number 1e999 is out of range\n',
    ]);
  });

  it('reads other tables and databases, and the older model of spans', async () => {
    await almanac.rows('CREATE DATABASE other');
    const headers = { 'x-almanac-db-name': 'other', 'x-almanac-trace-table-name': 'my spans' };
    const attributes = { 'http.method': { stringValue: 'GET' } };
    const span = { trace: TRACE, span: 'b7ad6b7169203331', service: 'shop', name: 'GET /orders', attributes };
    const sent = { ...JSON_TYPE, ...headers, 'x-almanac-pipeline-name': 'almanac_trace_v0' };
    expect((await almanac.post('/v1/otlp/v1/traces', spansRequest([span]), sent)).status).to.equal(200);
    const q = encodeURIComponent('{span.http.method="GET" && resource.service.name="shop"}');
    const { traces } = await json<{ traces: { traceID: string; startTimeUnixNano: string }[] }>(
      `/api/search?q=${q}`,
      headers,
    );
    expect(traces).to.have.length(1);
    expect(traces[0]).to.include({ traceID: TRACE, startTimeUnixNano: `${SPANS_START_US}000` });
    const { batches } = await json<{ batches: { scopeSpans: { spans: { attributes: unknown }[] }[] }[] }>(
      `/api/traces/${TRACE}`,
      headers,
    );
    expect(batches[0].scopeSpans[0].spans[0].attributes).to.deep.equal([
      { key: 'http.method', value: { stringValue: 'GET' } },
    ]);
  });

  it('reads spans without a service', async () => {
    const scopeSpans = [{ spans: [{ traceId: TRACE, spanId: 'b7ad6b7169203331', startTimeUnixNano: '1', name: 'n' }] }];
    const headers = { 'x-almanac-trace-table-name': 'alone' };
    const body = JSON.stringify({ resourceSpans: [{ scopeSpans }] });
    expect((await almanac.post('/v1/otlp/v1/traces', body, { ...JSON_TYPE, ...headers })).status).to.equal(200);
    const found = async (q: string): Promise<unknown[]> => {
      return (await json<{ traces: unknown[] }>(`/api/search?q=${encodeURIComponent(q)}`, headers)).traces;
    };
    expect(await found('{resource.service.name="shop"}')).to.deep.equal([]);
    expect(await found('{name="n"}')).to.have.length(1);
    expect(await found('{rootServiceName="shop"}')).to.deep.equal([]);
  });

  it('finds an attribute without a scope in the span, and in the resource if the span lacks it', async () => {
    const span = (id: string, attributes: object[]): object => {
      const times = { startTimeUnixNano: '1700000000000000000', endTimeUnixNano: '1700000000000001000' };
      return { traceId: TRACE, spanId: id, ...times, name: id, attributes };
    };
    const env = (stringValue: string): object => ({ key: 'env', value: { stringValue } });
    const scopeSpans = [{ spans: [span('b7ad6b7169203331', [env('a')]), span('b7ad6b7169203332', [])] }];
    const body = JSON.stringify({ resourceSpans: [{ resource: { attributes: [env('b')] }, scopeSpans }] });
    const headers = { 'x-almanac-trace-table-name': 'scoped' };
    expect((await almanac.post('/v1/otlp/v1/traces', body, { ...JSON_TYPE, ...headers })).status).to.equal(200);
    const names = async (q: string): Promise<string[]> => {
      interface Found {
        readonly spanSets: readonly { readonly spans: readonly { readonly name: string }[] }[];
      }
      const path = `/api/search?q=${encodeURIComponent(q)}&spss=10`;
      const { traces } = await json<{ traces: readonly Found[] }>(path, headers);
      return traces.flatMap(({ spanSets }) => spanSets[0].spans.map(({ name }) => name));
    };
    expect(await names('{.env="b"}')).to.deep.equal(['b7ad6b7169203332']);
    expect(await names('{.env="a"}')).to.deep.equal(['b7ad6b7169203331']);
    expect(await names('{.env!="a"}')).to.deep.equal(['b7ad6b7169203332']);
    expect(await names('{resource.env="b"}')).to.have.length(2);
  });

  it('refuses a table that does not hold spans, and IDs and times that are malformed', async () => {
    await almanac.written('cpu v=1 1');
    for (const [path, headers, error] of [
      [
        '/api/search',
        { 'x-almanac-trace-table-name': 'cpu' },
        'table "cpu" has no column "trace_id": it does not hold spans',
      ],
      ['/api/v2/traces/xyz', {}, 'trace ID "xyz" is not 1 to 32 hexadecimal digits'],
      ['/api/search?start=yesterday', {}, "parameter 'start' must be a whole number of at most 9223372036"],
      ['/api/search?db=nowhere', {}, 'Database not found: nowhere'],
      [
        '/api/v2/search/tag/foo/values',
        {},
        'invalid TraceQL query: unknown field "foo": attributes begin with ".", "span." or "resource."',
      ],
    ] as const) {
      const response = await fetch(`${almanac.url}/v1/tempo${path}`, { headers: { ...headers } });
      expect([response.status, await response.text()]).to.deep.equal([400, `${error}\n`]);
    }
  });

  it('is absent if it is disabled', async () => {
    const environment = { ALMANAC_STANDALONE__TEMPO__ENABLE: 'false' };
    const other = await Almanac.start(tempFolder(after), { environment });
    expect((await other.get('/v1/tempo/api/echo')).status).to.equal(404);
    await other.stop();
  });
});
