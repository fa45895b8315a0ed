import { expect } from 'chai';
import fc from 'fast-check';

import { AlmanacError } from '#shared/errors/almanac-error';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';
import { protobufOfJson, REQUEST_FORMS } from '#services/gateway/protocols/otlp/json-form';
import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { RequestRows } from '#services/gateway/protocols/common/request-rows';
import { TagSeriesCache } from '#services/gateway/protocols/common/tag-series';
import { TraceDecoder } from '#services/gateway/protocols/otlp/traces/decode';
import { ServiceRows } from '#services/gateway/protocols/otlp/traces/service-rows';
import { BatchSet } from '#shared/rowbatch/builder';
import { rowsOf } from '#test/support/batch-rows';

const PATH = '/v1/otlp/v1/traces';
const START = 1_700_000_000_000_000_123n;
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const RUNS = 2_000;

interface StoredRow {
  readonly table: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly cells: Readonly<Record<string, unknown>>;
  readonly timeNs: bigint;
}

type Value = Record<string, unknown>;

function attributes(values: Readonly<Record<string, Value>>): unknown[] {
  return Object.entries(values).map(([key, value]) => ({ key, value }));
}

function span(values: Readonly<Record<string, Value>> = {}, others: Readonly<Record<string, unknown>> = {}): unknown {
  return {
    traceId: TRACE_ID,
    spanId: 'b7ad6b7169203331',
    name: 'op',
    startTimeUnixNano: String(START),
    endTimeUnixNano: String(START + 5n),
    attributes: attributes(values),
    ...others,
  };
}

function request(spans: readonly unknown[], service: string | null = 'shop'): unknown {
  const resource = { attributes: attributes({ 'service.name': { stringValue: service }, zone: { stringValue: 'a' } }) };
  const scope = { name: 'lib', version: '1', attributes: attributes({ s: { boolValue: true } }) };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] };
}

describe('OTLP traces', () => {
  let rig: GatewayRig;

  beforeEach(async () => {
    rig = await startGatewayRig();
  });

  afterEach(() => rig.gateway.stop());

  async function post(
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; answer: unknown; rows: StoredRow[] }> {
    const response = await fetch(rig.url + PATH, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
    const rows = rig.tables.rows.map(({ table, tags, fields, timeNs }) => {
      const cells = Object.fromEntries(Object.entries(fields).map(([name, [, value]]) => [name, value]));
      return { table, tags, cells, timeNs };
    });
    return { status: response.status, answer: await response.json(), rows };
  }

  it('stores a span with a column for each attribute', async () => {
    const own = {
      'http.request.method': { stringValue: 'GET' },
      'http.response.status_code': { intValue: 200 },
      ratio: { doubleValue: 0.5 },
      ok: { boolValue: true },
      list: { arrayValue: { values: [{ intValue: 1 }] } },
    };
    const events = [
      { timeUnixNano: '1736480942444376000', name: 'e', attributes: attributes({ k: { stringValue: 'v' } }) },
      { timeUnixNano: '1736480942000000000', name: 'f' },
    ];
    const links = [{ traceId: TRACE_ID, spanId: '00000000000000aa', traceState: 'x=y' }];
    const others = {
      parentSpanId: '00F067AA0BA902B7',
      kind: 'SPAN_KIND_SERVER',
      status: { code: 2, message: 'bad' },
      traceState: 'a=b',
      events,
      links,
    };
    const { status, answer, rows } = await post(request([span(own, others)]));
    expect([status, answer]).to.deep.equal([200, {}]);
    expect(rows).to.deep.equal([
      {
        table: 'opentelemetry_traces',
        tags: { service_name: 'shop' },
        timeNs: START,
        cells: {
          timestamp_end: START + 5n,
          duration_nano: 5n,
          parent_span_id: '00f067aa0ba902b7',
          trace_id: TRACE_ID,
          span_id: 'b7ad6b7169203331',
          span_kind: 'SPAN_KIND_SERVER',
          span_name: 'op',
          span_status_code: 'STATUS_CODE_ERROR',
          span_status_message: 'bad',
          trace_state: 'a=b',
          scope_name: 'lib',
          scope_version: '1',
          'span_attributes.http.request.method': 'GET',
          'span_attributes.http.response.status_code': 200n,
          'span_attributes.ratio': 0.5,
          'span_attributes.ok': true,
          'span_attributes.list': '[1]',
          'scope_attributes.s': true,
          'resource_attributes.zone': 'a',
          span_events:
            '[{"name":"e","time":"2025-01-10 03:49:02.444376+0000","attributes":{"k":"v"}},' +
            '{"name":"f","time":"2025-01-10 03:49:02+0000","attributes":{}}]',
          span_links: `[{"trace_id":"${TRACE_ID}","span_id":"00000000000000aa","trace_state":"x=y","attributes":{}}]`,
        },
      },
      {
        table: 'opentelemetry_traces_services',
        tags: { service_name: 'shop' },
        timeNs: 4102444800000000000n,
        cells: {},
      },
      {
        table: 'opentelemetry_traces_operations',
        tags: { service_name: 'shop', span_name: 'op', span_kind: 'SPAN_KIND_SERVER' },
        timeNs: 4102444800000000000n,
        cells: {},
      },
    ]);
  });

  it('rejects spans alone', async () => {
    const bad = [
      span({}, { spanId: '00' }),
      span({}, { traceId: '0'.repeat(32) }),
      span({}, { startTimeUnixNano: '0' }),
    ];
    const { status, answer, rows } = await post(request([span(), ...bad]));
    expect(status).to.equal(200);
    expect(rows.filter(({ table }) => table === 'opentelemetry_traces')).to.have.length(1);
    expect(answer).to.deep.equal({
      partialSuccess: {
        rejectedSpans: '3',
        errorMessage:
          'span 1: invalid span_id; span 2: invalid trace_id; span 3: start time is missing or out of range',
      },
    });
  });

  const typed: readonly (readonly [string, readonly Value[], readonly unknown[]])[] = [
    ['integers and fractions', [{ intValue: 1 }, { doubleValue: 2.5 }], [1, 2.5]],
    ['integers and their texts', [{ stringValue: '7' }, { intValue: 8 }], [7n, 8n]],
    ['fractions and their texts', [{ stringValue: '7' }, { doubleValue: 0.5 }], [7, 0.5]],
    ['booleans and their texts', [{ boolValue: false }, { stringValue: 'true' }], [false, true]],
    ['booleans and integers', [{ boolValue: true }, { intValue: 1 }], ['true', '1']],
    ['integers and other texts', [{ intValue: 1 }, { stringValue: 'x' }, { doubleValue: 0.5 }], ['1', 'x', '0.5']],
  ];
  for (const [name, values, expected] of typed) {
    it(`gives a column of ${name} the first type that all have`, async () => {
      const { status, answer, rows } = await post(
        request(
          values.map((value) => span({ k: value })),
          null,
        ),
      );
      expect([status, answer]).to.deep.equal([200, {}]);
      expect(rows.map(({ cells }) => cells['span_attributes.k'])).to.deep.equal(expected);
    });
  }

  it('converts values to the type of an existing column, and rejects those that do not fit', async () => {
    await post(request([span({ k: { intValue: 1 } })], null));
    const values = [{ stringValue: '2' }, { stringValue: 'x' }, { arrayValue: { values: [] } }];
    const { answer, rows } = await post(
      request(
        values.map((value) => span({ k: value })),
        null,
      ),
    );
    expect(rows.map(({ cells }) => cells['span_attributes.k'])).to.deep.equal([1n, 2n]);
    expect(answer).to.deep.equal({
      partialSuccess: {
        rejectedSpans: '2',
        errorMessage: ['String', 'Json']
          .map((type, i) => `span ${i + 1}: attribute "span_attributes.k" has type ${type}, which does not fit Int64`)
          .join('; '),
      },
    });
  });

  it('stores attributes as JSON in the older model', async () => {
    const headers = { 'x-greptime-pipeline-name': 'greptime_trace_v0', 'x-almanac-trace-table-name': 't' };
    const { rows } = await post(request([span({ k: { intValue: 1 } })], null), headers);
    expect(rows[0].cells).to.include({
      span_attributes: '{"k":1}',
      scope_attributes: '{"s":true}',
      resource_attributes: '{"service.name":null,"zone":"a"}',
    });
    const refused = await post({}, { 'x-greptime-pipeline-name': 'other' });
    expect(refused.status).to.equal(400);
  });

  const series = new TagSeriesCache(new CacheMemory(100_000));

  function decoded(bytes: Buffer): unknown[] {
    const batches = new BatchSet();
    const options = { table: 't', model: 'v1', existing: undefined, series, types: new Map<string, string>() } as const;
    const decoder = new TraceDecoder(bytes, batches, new RequestRows(batches, undefined), new ServiceRows(), options);
    while (!decoder.decode(20)) continue;
    return rowsOf(batches).map(({ tags, fields, timeNs }) => {
      const cells = Object.entries(fields).map(([name, [, value]]) => [name, value] as const);
      const own = cells.filter(([name]) => name.startsWith('span_attributes.') || name === 'duration_nano');
      return [tags, Object.fromEntries(own), timeNs];
    });
  }

  function protobuf(body: unknown): Buffer {
    return protobufOfJson(Buffer.from(JSON.stringify(body)), REQUEST_FORMS.traces());
  }

  it('stores random spans', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
    const given = fc.record({
      start: fc.bigInt({ min: 1n, max: 2n ** 62n }),
      duration: fc.bigInt({ min: -5n, max: 2n ** 60n }),
      texts: fc.dictionary(fc.constantFrom('a', 'b.c', 'ü'), text, { noNullPrototype: true }),
      count: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    });
    fc.assert(
      fc.property(fc.array(given, { maxLength: 5 }), text, (spans, service) => {
        const body = request(
          spans.map(({ start, duration, texts, count }) => {
            const values = Object.fromEntries(
              Object.entries(texts).map(([key, stringValue]) => [key, { stringValue }]),
            );
            const end = start + duration > 0n ? start + duration : 0n;
            const times = { startTimeUnixNano: String(start), endTimeUnixNano: String(end) };
            return span({ ...values, count: { intValue: String(count) } }, times);
          }),
          service,
        );
        const expected = spans.map(({ start, duration, texts, count }) => {
          const own = Object.fromEntries(
            Object.entries(texts).map(([key, value]) => [`span_attributes.${key}`, value]),
          );
          const cells = { ...own, 'span_attributes.count': count, duration_nano: duration > 0n ? duration : 0n };
          return [{ service_name: service }, cells, start];
        });
        expect(decoded(protobuf(body))).to.deep.equal(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it('refuses damaged bodies with an error of the client, or decodes them', () => {
    const events = [{ timeUnixNano: '5', name: 'e', attributes: attributes({ k: { stringValue: 'v' } }) }];
    const links = [{ traceId: TRACE_ID, spanId: '00000000000000aa' }];
    const whole = protobuf(
      request([span({ a: { intValue: 1 }, b: { stringValue: 'x' } }, { events, links, status: { code: 1 } }), span()]),
    );
    const damage = fc.record({
      at: fc.nat(whole.length - 1),
      removed: fc.nat(3),
      added: fc.uint8Array({ maxLength: 4 }),
    });
    let refused = 0;
    fc.assert(
      fc.property(damage, ({ at, removed, added }) => {
        try {
          decoded(Buffer.concat([whole.subarray(0, at), added, whole.subarray(at + removed)]));
        } catch (error) {
          refused++;
          expect(error).to.be.instanceOf(AlmanacError);
          expect((error as AlmanacError).httpStatus).to.be.within(400, 499);
        }
      }),
      { numRuns: RUNS },
    );
    expect(refused).to.be.greaterThan(RUNS / 4);
  });
});
