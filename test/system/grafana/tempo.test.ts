import { expect } from 'chai';

import { describeCalls, grafanaHeaders, type CallReply, type RecordedCall } from '#test/support/recorded-calls';
import { SPANS_START_US, spansRequest, type TestSpan } from '#test/support/spans';
import { decodeTempo } from '#test/support/tempo-messages';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const OTHER = '00000000000000000000000000000abc';
const ROOT = 'b7ad6b7169203331';
const START_S = SPANS_START_US / 1_000_000;
const RANGE = `start=${START_S - 60}&end=${START_S + 120}`;
const attribute = (key: string, value: object): object => ({ key, value });

const SPANS: readonly TestSpan[] = [
  {
    ...{ trace: TRACE, span: ROOT, service: 'shop', name: 'GET /orders', kind: 2, durationUs: 5_000 },
    attributes: {
      'http.status_code': { intValue: '500' },
      ratio: { doubleValue: 0.25 },
      cached: { boolValue: true },
      'user name': { stringValue: 'it\'s "me"' },
      list: { arrayValue: { values: [{ stringValue: 'a' }, { intValue: '2' }] } },
      raw: { bytesValue: 'AQI=' },
    },
    more: {
      status: { code: 2, message: 'no stock' },
      traceState: 'a=b',
      events: [
        {
          name: 'retry',
          timeUnixNano: `${SPANS_START_US + 1_500}007`,
          attributes: [attribute('attempt', { intValue: '2' })],
        },
      ],
      links: [{ traceId: OTHER, spanId: '00000000000000bb' }],
    },
  },
  { trace: TRACE, span: 'b7ad6b7169203332', parent: ROOT, service: 'store', name: 'query', kind: 3, startUs: 1_000 },
  {
    ...{ trace: OTHER, span: '00000000000000bb', service: 'shop', name: 'GET /health', kind: 2, startUs: 60_000_000 },
    durationUs: 100,
    attributes: { 'http.status_code': { intValue: '200' }, cached: { boolValue: false } },
    more: { status: { code: 1 } },
  },
];

/** The resource spans of the trace, with texts in place of bytes and 64-bit integers. */
const RESOURCE_SPANS = (id: (hex: string) => string, enums: (word: string, value: number) => unknown): object[] => {
  const resource = (service: string): object => ({
    attributes: [attribute('service.name', { stringValue: service }), attribute('host.name', { stringValue: 'web-1' })],
  });
  const scope = { name: 'tracer', version: '1.2' };
  const root = {
    traceId: id(TRACE),
    spanId: id(ROOT),
    traceState: 'a=b',
    name: 'GET /orders',
    kind: enums('SPAN_KIND_SERVER', 2),
    startTimeUnixNano: `${SPANS_START_US}000`,
    endTimeUnixNano: `${SPANS_START_US + 5_000}000`,
    attributes: [
      attribute('http.status_code', { intValue: '500' }),
      attribute('ratio', { doubleValue: 0.25 }),
      attribute('cached', { boolValue: true }),
      attribute('user name', { stringValue: 'it\'s "me"' }),
      attribute('list', { arrayValue: { values: [{ stringValue: 'a' }, { intValue: '2' }] } }),
      attribute('raw', { bytesValue: 'AQI=' }),
    ],
    events: [
      {
        timeUnixNano: `${SPANS_START_US + 1_500}007`,
        name: 'retry',
        attributes: [attribute('attempt', { intValue: '2' })],
      },
    ],
    links: [{ traceId: id(OTHER), spanId: id('00000000000000bb') }],
    status: { code: enums('STATUS_CODE_ERROR', 2), message: 'no stock' },
  };
  const child = {
    traceId: id(TRACE),
    spanId: id('b7ad6b7169203332'),
    parentSpanId: id(ROOT),
    name: 'query',
    kind: enums('SPAN_KIND_CLIENT', 3),
    startTimeUnixNano: `${SPANS_START_US + 1_000}000`,
    endTimeUnixNano: `${SPANS_START_US + 2_000}000`,
  };
  return [
    { resource: resource('shop'), scopeSpans: [{ scope, spans: [root] }] },
    { resource: resource('store'), scopeSpans: [{ scope, spans: [child] }] },
  ];
};

const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64');

/** Removes empty members, which protobuf does not have, and sorts attributes by their keys. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty) as { key?: string }[];
    return items.every(({ key }) => key !== undefined) ? items.sort((a, b) => (a.key! < b.key! ? -1 : 1)) : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value)
    .map(([key, member]) => [key, withoutEmpty(member)] as const)
    .filter(([, member]) => !isEmpty(member));
  return Object.fromEntries(kept);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return true;
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

function decoded(type: string, { bytes, headers }: CallReply): Record<string, unknown> {
  expect(headers['content-type']).to.equal('application/protobuf');
  return decodeTempo(type, bytes);
}

type Holds = NonNullable<RecordedCall['holds']>;

const isTrace =
  (expected: unknown): ((found: unknown) => void) =>
  (found) => {
    expect(withoutEmpty(found)).to.deep.equal(withoutEmpty(expected));
  };

const isProtobuf = (type: string, member?: string): Holds => {
  return (reply) => {
    const message = decoded(type, reply);
    const { resourceSpans } = (member === undefined ? message : message[member]) as { resourceSpans: unknown };
    isTrace(RESOURCE_SPANS(base64, (_word, value) => value))(resourceSpans);
  };
};

interface Found {
  readonly traces: readonly {
    readonly traceID: string;
    readonly rootServiceName: string;
    readonly rootTraceName: string;
    readonly spanSets: readonly { readonly matched: number; readonly spans: readonly { readonly spanID: string }[] }[];
  }[];
}

const search = (q: string, more = ''): string =>
  `/api/search?limit=20&spss=3&${RANGE}${more}&${new URLSearchParams({ q }).toString()}`;

/** Queries, and the traces that they find. */
const QUERIES: readonly (readonly [q: string, ...traces: string[]])[] = [
  ['{}', OTHER, TRACE],
  ['', OTHER, TRACE],
  ['{ true }', OTHER, TRACE],
  ['{ false }'],
  ['{resource.service.name="shop"}', OTHER, TRACE],
  ['{resource.service.name="store" && name="query"}', TRACE],
  ['{(resource.service.name="store" || resource.service.name="none")}', TRACE],
  ['{name=~"GET.*"}', OTHER, TRACE],
  ['{name=~"GET"}'],
  ['{name!~"GET.*"}', TRACE],
  ['{name="it\'s"}'],
  ['{duration>1ms}', TRACE],
  ['{duration>=4.9ms && duration<1s}', TRACE],
  ['{traceDuration<1ms}', OTHER],
  ['{traceDuration>=5ms && name="query"}', TRACE],
  ['{status=error}', TRACE],
  ['{status=ok}', OTHER],
  ['{status=unset}', TRACE],
  ['{kind=client}', TRACE],
  ['{span:kind=server && span:name="GET /health"}', OTHER],
  ['{statusMessage="no stock"}', TRACE],
  ['{span.http.status_code=500}', TRACE],
  ['{.http.status_code>=200 && .http.status_code<300}', OTHER],
  ['{span.http.status_code="500"}'],
  ['{.cached=true}', TRACE],
  ['{.cached!=true}', OTHER],
  ['{.ratio=0.25}', TRACE],
  ['{span."user name"="it\'s \\"me\\""}', TRACE],
  ['{.ratio=nil && .http.status_code!=nil}', OTHER],
  ['{.nothing="x"}'],
  ['{.host.name="web-1"}', OTHER, TRACE],
  ['{span.host.name="web-1"}'],
  ['{rootName="GET /orders" && name="query"}', TRACE],
  ['{rootServiceName="shop" && resource.service.name="store"}', TRACE],
  [`{trace:id="${TRACE}"}`, TRACE],
];

const REFUSED: readonly (readonly [q: string, error: string])[] = [
  ['{', 'parse error at line 1, col 2: found the end, expected a field'],
  ['{name}', 'parse error at line 1, col 6: found "}", expected =~, !~, !=, >=, <=, =, >, <'],
  [
    '{name="a"} | count() > 2',
    'col 12: found "| count() > 2", expected the end: several sets of spans and pipelines are not supported',
  ],
  ['{foo="a"}', 'unknown field "foo": attributes begin with ".", "span." or "resource."'],
  ['{name=foo}', 'unknown word "foo": put texts in quotes'],
  ['{status=bad}', 'status must be one of unset, ok, error'],
  ['{name=~"("}', 'error parsing regexp'],
  [`{${'('.repeat(200)}`, 'conditions have more than 100 levels'],
  [`{${'name="a" && '.repeat(300)}true}`, 'query has more than 200 comparisons'],
  ['x'.repeat(17_000), 'query is longer than 16384 characters'],
];

const values = (...expected: readonly (readonly [type: string, value: string])[]): Holds => {
  return (reply) => {
    const found = (reply.json() as { tagValues: { type: string; value: string }[] }).tagValues;
    expect(found.map(({ type, value }) => [type, value])).to.deep.equal(expected);
  };
};

const PROTOBUF = { accept: 'application/protobuf' };
const CALLS: readonly RecordedCall[] = [
  { purpose: 'saves and tests the data source', path: '/api/echo', holds: ({ text }) => expect(text).to.equal('echo') },
  {
    purpose: 'shows a trace',
    path: `/api/v2/traces/${TRACE}`,
    headers: PROTOBUF,
    holds: isProtobuf('TraceByIDResponse', 'trace'),
  },
  {
    purpose: 'shows a trace of the chosen time',
    path: `/api/v2/traces/${TRACE}?${RANGE}`,
    headers: PROTOBUF,
    holds: isProtobuf('TraceByIDResponse', 'trace'),
  },
  {
    purpose: 'shows a trace by the older path',
    path: `/api/traces/${TRACE}`,
    headers: PROTOBUF,
    holds: isProtobuf('Trace'),
  },
  {
    purpose: 'shows a trace as JSON',
    path: `/api/v2/traces/${TRACE}`,
    holds: (reply) => {
      const { trace } = reply.json() as { trace: { resourceSpans: unknown } };
      isTrace(RESOURCE_SPANS(base64, (word) => word))(trace.resourceSpans);
    },
  },
  {
    purpose: 'shows a trace as JSON by the older path',
    path: `/api/traces/${TRACE}`,
    holds: (reply) => {
      isTrace(RESOURCE_SPANS(base64, (word) => word))((reply.json() as { batches: unknown }).batches);
    },
  },
  ...[2, 1].map((version) => ({
    purpose: `shows an unknown trace by version ${version}`,
    path: `/api/${version === 2 ? 'v2/' : ''}traces/ffffffffffffffffffffffffffffffff`,
    headers: PROTOBUF,
    status: 404,
    holds: ({ text }: CallReply) => expect(text).to.equal('trace not found\n'),
  })),
  {
    purpose: 'searches with attributes of the spans',
    path: search('{resource.service.name="shop" && span.http.status_code>=500 && status=error}'),
    holds: (reply) => {
      expect((reply.json() as Found).traces).to.deep.equal([
        {
          traceID: TRACE,
          rootServiceName: 'shop',
          rootTraceName: 'GET /orders',
          startTimeUnixNano: `${SPANS_START_US}000`,
          durationMs: 5,
          spanSets: [
            {
              spans: [
                {
                  spanID: ROOT,
                  name: 'GET /orders',
                  startTimeUnixNano: `${SPANS_START_US}000`,
                  durationNanos: '5000000',
                  attributes: [
                    attribute('service.name', { stringValue: 'shop' }),
                    attribute('http.status_code', { intValue: '500' }),
                    attribute('status', { stringValue: 'error' }),
                  ],
                },
              ],
              matched: 1,
            },
          ],
        },
      ]);
    },
  },
  ...QUERIES.map(([q, ...traces]) => ({
    purpose: `searches ${q}`,
    path: search(q),
    holds: (reply: CallReply) => {
      expect((reply.json() as Found).traces.map(({ traceID }) => traceID)).to.deep.equal(traces);
    },
  })),
  {
    purpose: 'limits traces and spans',
    path: `/api/search?limit=1&spss=1&${new URLSearchParams({ q: `{trace:id="${TRACE}"}` }).toString()}`,
    holds: (reply) => {
      const [{ spanSets }] = (reply.json() as Found).traces;
      expect(spanSets.map(({ matched, spans }) => [matched, spans.map(({ spanID }) => spanID)])).to.deep.equal([
        [2, [ROOT]],
      ]);
    },
  },
  {
    purpose: 'searches another time',
    path: '/api/search?q=%7B%7D&start=1&end=2',
    holds: (reply) => expect((reply.json() as Found).traces).to.deep.equal([]),
  },
  ...REFUSED.map(([q, error]) => ({
    purpose: `shows the error of ${q.slice(0, 40)}`,
    path: search(q),
    status: 400,
    holds: ({ text }: CallReply) => expect(text).to.contain(error),
  })),
  {
    purpose: 'refuses a limit that is too large',
    path: '/api/search?q=%7B%7D&limit=1501',
    status: 400,
    holds: ({ text }) => expect(text).to.equal("parameter 'limit' must be a whole number of at most 1500\n"),
  },
  {
    purpose: 'lists attributes',
    path: '/api/v2/search/tags?limit=5000',
    holds: (reply) => {
      const { scopes } = reply.json() as { scopes: { name: string; tags: string[] }[] };
      const tags = Object.fromEntries(scopes.map((scope) => [scope.name, scope.tags]));
      expect(tags['resource']).to.deep.equal(['host.name', 'service.name']);
      expect(tags['span']).to.deep.equal(['cached', 'http.status_code', 'list', 'ratio', 'raw', 'user name']);
      expect(tags['intrinsic']).to.include.members(['name', 'duration', 'status', 'kind']);
    },
  },
  {
    purpose: 'lists attributes of one scope',
    path: '/api/v2/search/tags?scope=resource',
    holds: (reply) => expect((reply.json() as { scopes: unknown[] }).scopes).to.have.length(1),
  },
  {
    purpose: 'lists attributes by the older path',
    path: '/api/search/tags',
    holds: (reply) => expect((reply.json() as { tagNames: string[] }).tagNames).to.include('service.name'),
  },
  ...(
    [
      ['resource.service.name', ['string', 'shop'], ['string', 'store']],
      ['.http.status_code', ['int', '200'], ['int', '500']],
      ['span.cached', ['bool', 'false'], ['bool', 'true']],
      ['name', ['string', 'GET /health'], ['string', 'GET /orders'], ['string', 'query']],
      ['rootServiceName', ['string', 'shop'], ['string', 'store']],
      ['kind', ['keyword', 'client'], ['keyword', 'server']],
      ['duration'],
      ['.nothing'],
    ] as const
  ).map(([tag, ...found]) => ({
    purpose: `lists values of ${tag}`,
    path: `/api/v2/search/tag/${tag}/values?limit=5000&${RANGE}`,
    holds: values(...(found as readonly (readonly [string, string])[])),
  })),
  {
    purpose: 'lists values among the spans of a query',
    path: `/api/v2/search/tag/name/values?${RANGE}&${new URLSearchParams({ q: '{resource.service.name="store"}' }).toString()}`,
    holds: values(['string', 'query']),
  },
  {
    purpose: 'lists no values of the last day',
    path: '/api/v2/search/tag/name/values',
    holds: values(),
  },
  {
    purpose: 'lists values by the older path',
    path: `/api/search/tag/service.name/values?${RANGE}`,
    holds: (reply) => {
      expect((reply.json() as { tagValues: unknown }).tagValues).to.deep.equal(['shop', 'store']);
    },
  },
  {
    purpose: 'does without metrics of TraceQL',
    path: `/api/metrics/query_range?q=${encodeURIComponent('{} | rate()')}`,
    status: 404,
  },
];

describeCalls("Grafana's Tempo data source", {
  base: '/v1/tempo',
  headers: grafanaHeaders(),
  calls: CALLS,
  async seed(send) {
    await send('/v1/otlp/v1/traces', spansRequest(SPANS), { 'content-type': 'application/json' });
  },
});

describeCalls("Grafana's Tempo data source before the first span", {
  base: '/v1/tempo',
  headers: grafanaHeaders(),
  calls: [
    {
      purpose: 'searches',
      path: search('{}'),
      holds: (reply) => expect((reply.json() as Found).traces).to.deep.equal([]),
    },
    {
      purpose: 'lists attributes',
      path: '/api/v2/search/tags',
      holds: (reply) => expect(reply.text).to.contain('"scopes":[]'),
    },
    { purpose: 'lists values', path: '/api/v2/search/tag/name/values', holds: values() },
    { purpose: 'shows a trace', path: `/api/v2/traces/${TRACE}`, headers: PROTOBUF, status: 404 },
  ],
  seed: () => Promise.resolve(),
});
