import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { keyValues, SPANS_START_US, spansRequest, type TestSpan } from '#test/support/spans';
import { tempFolder } from '#test/support/temp-folder';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const OTHER = '00000000000000000000000000000abc';

interface Envelope {
  readonly data: readonly Record<string, unknown>[] | null;
  readonly total: number;
  readonly errors: readonly unknown[];
}

const SPANS: readonly TestSpan[] = [
  {
    trace: TRACE,
    span: 'b7ad6b7169203331',
    service: 'shop',
    name: 'GET /orders',
    kind: 2,
    durationUs: 5_000,
    attributes: {
      'http.response.status_code': { intValue: '500' },
      big: { intValue: '9007199254740993' },
      ratio: { doubleValue: 0.25 },
      cached: { boolValue: true },
      'user name': { stringValue: 'it\'s "me"' },
      list: { arrayValue: { values: [{ stringValue: 'a' }, { intValue: '2' }] } },
    },
    more: {
      status: { code: 2, message: 'no stock' },
      traceState: 'a=b',
      events: [
        {
          name: 'retry',
          timeUnixNano: `${SPANS_START_US + 1_500}000`,
          attributes: keyValues({ attempt: { intValue: '2' }, reason: { stringValue: 'busy' } }),
        },
      ],
      links: [{ traceId: OTHER, spanId: '00000000000000bb' }],
    },
  },
  {
    trace: TRACE,
    span: 'b7ad6b7169203332',
    parent: 'b7ad6b7169203331',
    service: 'store',
    name: 'query',
    kind: 3,
    startUs: 1_000,
  },
  { trace: TRACE, span: 'b7ad6b7169203333', parent: 'b7ad6b7169203332', service: 'store', name: 'row', startUs: 1_200 },
  {
    trace: OTHER,
    span: '00000000000000bb',
    service: 'shop',
    name: 'GET /health',
    kind: 2,
    startUs: 60_000_000,
    durationUs: 100,
    attributes: { 'http.response.status_code': { intValue: '200' }, cached: { boolValue: false } },
  },
];

describe('the query API of Jaeger', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function get(path: string): Promise<Envelope & { readonly status: number }> {
    const { status, text } = await almanac.get(`/v1/jaeger${path}`);
    return { status, ...(JSON.parse(text) as Envelope) };
  }

  async function found(parameters: Readonly<Record<string, string>>): Promise<unknown[]> {
    const { status, data, total } = await get(`/api/traces?${new URLSearchParams(parameters).toString()}`);
    expect(status).to.equal(200);
    expect(total).to.equal(data?.length);
    return (data ?? []).map(({ traceID }) => traceID);
  }

  const empty = { status: 200, data: [], total: 0, limit: 0, offset: 0, errors: [] };
  const failure = (status: number, msg: string): unknown => ({
    ...{ status, data: null, total: 0, limit: 0, offset: 0 },
    errors: [{ code: status, msg }],
  });

  it('has nothing before the first span', async () => {
    expect(await get('/api/services')).to.deep.equal(empty);
    expect(await get('/api/services/shop/operations')).to.deep.equal(empty);
    expect(await get('/api/operations?service=shop')).to.deep.equal(empty);
    expect(await get('/api/traces?service=shop')).to.deep.equal(empty);
    expect(await get('/api/dependencies?endTs=1700000100000&lookback=3600000')).to.deep.equal(empty);
    expect(await get(`/api/traces/${TRACE}`)).to.deep.equal(failure(404, 'trace not found'));
  });

  for (const state of ['from memory', 'from segments'] as const) {
    describe(state, () => {
      before(async () => {
        if (state === 'from segments') return almanac.flush('opentelemetry_traces');
        const headers = { 'content-type': 'application/json' };
        const { status, text } = await almanac.post('/v1/otlp/v1/traces', spansRequest(SPANS), headers);
        expect([status, text]).to.deep.equal([200, '{}']);
      });

      it('lists services and operations', async () => {
        expect((await get('/api/services')).data).to.deep.equal(['shop', 'store']);
        expect((await get('/api/services/shop/operations')).data).to.deep.equal(['GET /health', 'GET /orders']);
        expect((await get('/api/operations?service=store')).data).to.deep.equal([
          { name: 'query', spanKind: 'client' },
          { name: 'row', spanKind: 'internal' },
        ]);
        expect((await get('/api/operations?service=store&spanKind=client')).total).to.equal(1);
        expect(await get("/api/services/it's/operations")).to.deep.equal(empty);
      });

      it('returns a trace with all of its spans', async () => {
        const { status, data, total, errors } = await get(`/api/traces/${TRACE}`);
        expect([status, total, errors]).to.deep.equal([200, 1, []]);
        const [{ traceID, spans, processes }] = data as Record<string, never>[];
        expect(traceID).to.equal(TRACE);
        expect(processes).to.deep.equal({
          p1: { serviceName: 'shop', tags: [{ key: 'host.name', type: 'string', value: 'web-1' }] },
          p2: { serviceName: 'store', tags: [{ key: 'host.name', type: 'string', value: 'web-1' }] },
        });
        const [root, query, row] = spans as Record<string, unknown>[];
        const tags = (root['tags'] as { key: string }[]).sort((a, b) => (a.key < b.key ? -1 : 1));
        expect({ ...root, tags }).to.deep.equal({
          traceID: TRACE,
          spanID: 'b7ad6b7169203331',
          operationName: 'GET /orders',
          references: [{ refType: 'FOLLOWS_FROM', traceID: OTHER, spanID: '00000000000000bb' }],
          startTime: SPANS_START_US,
          duration: 5_000,
          tags: [
            { key: 'big', type: 'int64', value: Number('9007199254740993') },
            { key: 'cached', type: 'bool', value: true },
            { key: 'error', type: 'bool', value: true },
            { key: 'http.response.status_code', type: 'int64', value: 500 },
            { key: 'list', type: 'string', value: '["a",2]' },
            { key: 'otel.scope.name', type: 'string', value: 'tracer' },
            { key: 'otel.scope.version', type: 'string', value: '1.2' },
            { key: 'otel.status_code', type: 'string', value: 'ERROR' },
            { key: 'otel.status_description', type: 'string', value: 'no stock' },
            { key: 'ratio', type: 'float64', value: 0.25 },
            { key: 'span.kind', type: 'string', value: 'server' },
            { key: 'user name', type: 'string', value: 'it\'s "me"' },
            { key: 'w3c.tracestate', type: 'string', value: 'a=b' },
          ],
          logs: [
            {
              timestamp: SPANS_START_US + 1_500,
              fields: [
                { key: 'event', type: 'string', value: 'retry' },
                { key: 'attempt', type: 'int64', value: 2 },
                { key: 'reason', type: 'string', value: 'busy' },
              ],
            },
          ],
          processID: 'p1',
          warnings: null,
        });
        const { text } = await almanac.get(`/v1/jaeger/api/traces/${TRACE}`);
        expect(text).to.include('"value":9007199254740993');
        expect(query).to.include({ processID: 'p2', startTime: SPANS_START_US + 1_000 });
        expect(row['references']).to.deep.equal([{ refType: 'CHILD_OF', traceID: TRACE, spanID: 'b7ad6b7169203332' }]);
      });

      it('finds a trace by a short ID, in any case, and within times', async () => {
        expect((await get('/api/traces/ABC')).total).to.equal(1);
        const around = `start=${SPANS_START_US}&end=${SPANS_START_US + 1_000}`;
        expect((await get(`/api/traces/${TRACE}?${around}`)).total).to.equal(1);
        const later = `start=${SPANS_START_US + 3 * 86_400_000_000}&end=${SPANS_START_US + 4 * 86_400_000_000}`;
        expect((await get(`/api/traces/${TRACE}?${later}`)).status).to.equal(404);
        expect(await found({ traceID: 'abc' })).to.deep.equal([OTHER]);
      });

      it('searches by service, operation, time and duration, the latest trace first', async () => {
        const window = { start: String(SPANS_START_US), end: String(SPANS_START_US + 120_000_000) };
        expect(await found({ service: 'shop' })).to.deep.equal([OTHER, TRACE]);
        expect(await found({ service: 'shop', limit: '1' })).to.deep.equal([OTHER]);
        expect(await found({ service: 'shop', ...window })).to.deep.equal([OTHER, TRACE]);
        expect(await found({ service: 'shop', start: window.start, end: window.start })).to.deep.equal([TRACE]);
        expect(await found({ service: 'shop', operation: 'GET /health' })).to.deep.equal([OTHER]);
        expect(await found({ service: 'store', operation: 'GET /health' })).to.deep.equal([]);
        expect(await found({ service: 'shop', minDuration: '1.5ms' })).to.deep.equal([TRACE]);
        expect(await found({ service: 'shop', maxDuration: '100us' })).to.deep.equal([OTHER]);
        expect(await found({ service: 'nowhere' })).to.deep.equal([]);
      });

      const TAGS: readonly (readonly [Readonly<Record<string, unknown>>, readonly string[]])[] = [
        [{ 'http.response.status_code': '500' }, [TRACE]],
        [{ 'http.response.status_code': 200 }, [OTHER]],
        [{ 'http.response.status_code': 'none' }, []],
        [{ cached: 'true', ratio: '0.25' }, [TRACE]],
        [{ cached: false }, [OTHER]],
        [{ error: 'true' }, [TRACE]],
        [{ error: 'false' }, [OTHER]],
        [{ 'span.kind': 'server', 'otel.status_code': 'ERROR' }, [TRACE]],
        [{ 'user name': 'it\'s "me"' }, [TRACE]],
        [{ 'host.name': 'web-1' }, [OTHER, TRACE]],
        [{ big: '9007199254740993' }, [TRACE]],
        [{ "absent' OR 1=1 --": 'x' }, []],
        [{ list: 'a' }, []],
      ];
      for (const [tags, traces] of TAGS) {
        it(`searches by tags ${JSON.stringify(tags)}`, async () => {
          expect(await found({ service: 'shop', tags: JSON.stringify(tags) })).to.deep.equal(traces);
        });
      }

      it('searches by key:value', async () => {
        expect(await found({ service: 'shop', tag: 'cached:false' })).to.deep.equal([OTHER]);
      });

      it('counts the calls between services', async () => {
        const { data } = await get(`/api/dependencies?endTs=${SPANS_START_US / 1_000 + 60_000}&lookback=3600000`);
        expect(data).to.deep.equal([{ parent: 'shop', child: 'store', callCount: 1 }]);
        expect((await get('/api/dependencies?endTs=1000&lookback=1')).data).to.deep.equal([]);
      });
    });
  }

  it('reads other tables and databases, and the older model of spans', async () => {
    await almanac.rows('CREATE DATABASE other');
    const headers = {
      'content-type': 'application/json',
      'x-almanac-db-name': 'other',
      'x-almanac-trace-table-name': 'my spans',
      'x-almanac-pipeline-name': 'almanac_trace_v0',
    };
    expect((await almanac.post('/v1/otlp/v1/traces', spansRequest(SPANS), headers)).status).to.equal(200);
    const read = async (path: string): Promise<Envelope> => {
      const response = await fetch(`${almanac.url}/v1/jaeger${path}`, { headers });
      return (await response.json()) as Envelope;
    };
    expect((await read('/api/services')).data).to.deep.equal(['shop', 'store']);
    const tags = JSON.stringify({
      'http.response.status_code': '500',
      'host.name': 'web-1',
      'user name': 'it\'s "me"',
    });
    const { data } = await read(`/api/traces?service=shop&tags=${encodeURIComponent(tags)}`);
    const [{ spans, processes }] = data as Record<string, never>[];
    expect(
      ((spans as Record<string, unknown>[])[0]['tags'] as { key: string }[]).map(({ key }) => key),
    ).to.include.members(['ratio', 'list', 'cached']);
    expect(Object.values(processes)).to.have.length(2);
  });

  it('reads spans without a service by the ID of their trace', async () => {
    const scopeSpans = [{ spans: [{ traceId: OTHER, spanId: '00000000000000bb', startTimeUnixNano: '1', name: 'n' }] }];
    const headers = { 'content-type': 'application/json', 'x-almanac-trace-table-name': 'alone' };
    const body = JSON.stringify({ resourceSpans: [{ scopeSpans }] });
    expect((await almanac.post('/v1/otlp/v1/traces', body, headers)).status).to.equal(200);
    const read = async (path: string): Promise<Envelope> => {
      return (await (await fetch(`${almanac.url}/v1/jaeger${path}`, { headers })).json()) as Envelope;
    };
    expect((await read('/api/traces?service=a')).data).to.deep.equal([]);
    expect((await read('/api/dependencies?endTs=1000')).data).to.deep.equal([]);
    const columns = (await almanac.rows('DESC TABLE alone')).map(([name]) => name);
    expect(columns).to.include.members(['service_name', 'parent_span_id', 'trace_state', 'span_links']);
    const [{ processes }] = (await read(`/api/traces/${OTHER}`)).data as Record<string, unknown>[];
    expect(processes).to.deep.equal({ p1: { serviceName: '', tags: [] } });
  });

  it('returns attributes of many levels', async () => {
    let value: unknown = { stringValue: 'deep' };
    for (let level = 0; level < 60; level++) value = { kvlistValue: { values: [{ key: 'k', value }] } };
    const span = { trace: OTHER, span: '00000000000000bb', service: 'deep', name: 'n', attributes: { nested: value } };
    const headers = { 'content-type': 'application/json', 'x-almanac-trace-table-name': 'deep' };
    expect((await almanac.post('/v1/otlp/v1/traces', spansRequest([span]), headers)).status).to.equal(200);
    const response = await fetch(`${almanac.url}/v1/jaeger/api/traces/${OTHER}`, { headers });
    expect(await response.text()).to.include(`${'{\\"k\\":'.repeat(60)}\\"deep\\"`);
  });

  it('streams traces that are larger than a block of rows', async () => {
    const spans = Array.from({ length: 5_000 }, (_, i) => ({
      ...{ trace: i < 4_000 ? 'aa'.repeat(16) : 'bb'.repeat(16), service: 'bulk', name: `op ${i % 10}` },
      span: (i + 1).toString(16).padStart(16, '0'),
      startUs: i,
    }));
    const headers = { 'content-type': 'application/json', 'x-almanac-trace-table-name': 'bulk' };
    expect((await almanac.post('/v1/otlp/v1/traces', spansRequest(spans), headers)).status).to.equal(200);
    const response = await fetch(`${almanac.url}/v1/jaeger/api/traces?service=bulk`, { headers });
    const text = await response.text();
    expect(response.status, text).to.equal(200);
    const { data } = JSON.parse(text) as { data: { traceID: string; spans: { startTime: number }[] }[] };
    expect(data.map(({ traceID, spans: { length } }) => [traceID.slice(0, 2), length])).to.deep.equal([
      ['bb', 1_000],
      ['aa', 4_000],
    ]);
    expect(data[1].spans.map(({ startTime }) => startTime - SPANS_START_US)).to.deep.equal([...Array(4_000).keys()]);
  });

  const BAD: readonly (readonly [string, string])[] = [
    ['/api/traces', "parameter 'service' is required"],
    ['/api/operations', "parameter 'service' is required"],
    ['/api/traces?service=s&limit=1501', "parameter 'limit' must be a whole number of at most 1500"],
    ['/api/traces?service=s&start=-1', "parameter 'start' must be a whole number of at most 9223372036854000"],
    [
      '/api/traces?service=s&end=99999999999999999',
      "parameter 'end' must be a whole number of at most 9223372036854000",
    ],
    [
      '/api/traces?service=s&minDuration=fast',
      'parameter \'minDuration\' must be a duration such as 1.5ms, not "fast"',
    ],
    ['/api/traces?service=s&minDuration=2s&maxDuration=1s', "'maxDuration' should be greater than 'minDuration'"],
    ['/api/traces?service=s&tags=[1]', "malformed 'tags' parameter: expecting a JSON object"],
    [`/api/traces?service=s&tags=${'['.repeat(5_000)}`, "malformed 'tags' parameter: JSON has more than 64 levels"],
    ['/api/traces?service=s&tag=novalue', "malformed 'tag' parameter, expecting key:value"],
    [`/api/traces?service=s${'&tag=a:b'.repeat(101)}`, 'more than 100 tags'],
    ['/api/traces/xyz', 'trace ID "xyz" is not 1 to 32 hexadecimal digits'],
    ['/api/traces/%27%20OR%201=1', 'trace ID "\' OR 1=1" is not 1 to 32 hexadecimal digits'],
    ['/api/services?db=nowhere', 'Database not found: nowhere'],
  ];
  for (const [path, msg] of BAD) {
    it(`refuses ${path.slice(0, 80)}`, async () => {
      expect(await get(path)).to.deep.equal(failure(400, msg));
    });
  }

  it('refuses a table that does not hold spans', async () => {
    await almanac.written('cpu v=1 1');
    const headers = { 'x-almanac-trace-table-name': 'cpu' };
    const response = await fetch(`${almanac.url}/v1/jaeger/api/traces/abc`, { headers });
    expect([response.status, await response.json()]).to.deep.equal([
      400,
      {
        data: null,
        total: 0,
        limit: 0,
        offset: 0,
        errors: [{ code: 400, msg: 'table "cpu" has no column "trace_id": it does not hold spans' }],
      },
    ]);
  });

  it('is absent if it is disabled', async () => {
    const environment = { ALMANAC_STANDALONE__JAEGER__ENABLE: 'false' };
    const other = await Almanac.start(tempFolder(after), { environment });
    expect((await other.get('/v1/jaeger/api/services')).status).to.equal(404);
    await other.stop();
  });
});
