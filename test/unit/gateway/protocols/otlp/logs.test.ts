import { expect } from 'chai';

import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

const PATH = '/v1/otlp/v1/logs';
const TIME = '1700000000123456789';

interface StoredLog {
  readonly table: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly cells: Readonly<Record<string, unknown>>;
  readonly timeNs: bigint;
}

function request(records: readonly unknown[], origin: { scope?: unknown; resource?: unknown } = {}): unknown {
  const { scope, resource } = origin;
  const scopeLogs = [{ ...(scope === undefined ? {} : { scope }), logRecords: records, schemaUrl: 's' }];
  return { resourceLogs: [{ resource, scopeLogs, schemaUrl: 'r' }] };
}

describe('OTLP logs', () => {
  let rig: GatewayRig;

  beforeEach(async () => {
    rig = await startGatewayRig();
  });

  afterEach(() => rig.gateway.stop());

  async function post(
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; answer: unknown; rows: StoredLog[] }> {
    const response = await fetch(rig.url + PATH, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
    const rows = rig.tables.rows.map(({ table, tags, fields, timeNs }) => {
      const cells = Object.fromEntries(Object.entries(fields).map(([name, [, value]]) => [name, value]));
      return { table, tags, cells, timeNs };
    });
    return { status: response.status, answer: await response.json(), rows };
  }

  it('stores all that a record, its scope and its resource say', async () => {
    const record = {
      timeUnixNano: TIME,
      severityNumber: 'SEVERITY_NUMBER_WARN2',
      severityText: 'WARN',
      body: { stringValue: 'line "one"\n' },
      attributes: [
        { key: 'k"', value: { stringValue: 'tab\t\u0001é' } },
        { key: 'n', value: { intValue: '9007199254740993' } },
        { key: 'd', value: { doubleValue: 'NaN' } },
        { key: 'k"', value: { stringValue: 'last' } },
      ],
      flags: 4294967295,
      traceId: '0AF7651916CD43DD8448EB211C80319C',
      spanId: 'b7ad6b7169203331',
      eventName: 'login',
    };
    const scope = { name: 'lib', version: '1.2', attributes: [{ key: 'x', value: { boolValue: true } }] };
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] };
    const { status, answer, rows } = await post(request([record], { scope, resource }));
    expect([status, answer]).to.deep.equal([200, {}]);
    expect(rows).to.deep.equal([
      {
        table: 'opentelemetry_logs',
        tags: { scope_name: 'lib' },
        timeNs: 1700000000123456789n,
        cells: {
          trace_id: '0af7651916cd43dd8448eb211c80319c',
          span_id: 'b7ad6b7169203331',
          severity_text: 'WARN',
          severity_number: 14,
          body: 'line "one"\n',
          log_attributes: '{"n":9007199254740993,"d":"NaN","k\\"":"last"}',
          trace_flags: 4294967295n,
          scope_version: '1.2',
          scope_attributes: '{"x":true}',
          scope_schema_url: 's',
          resource_attributes: '{"service.name":"shop"}',
          resource_schema_url: 'r',
          event_name: 'login',
        },
      },
    ]);
  });

  it('stores bodies of other types as JSON, and bytes as hexadecimal digits', async () => {
    const bodies = [
      { kvlistValue: { values: [{ key: 'a', value: { arrayValue: { values: [{ intValue: 1 }, {}] } } }] } },
      { boolValue: false },
      { doubleValue: 0.25 },
      { bytesValue: 'AQL/' },
      {},
    ];
    const { rows } = await post(request(bodies.map((body) => ({ timeUnixNano: TIME, body }))));
    expect(rows.map(({ cells }) => cells['body'])).to.deep.equal([
      '{"a":[1,null]}',
      'false',
      '0.25',
      '0102ff',
      undefined,
    ]);
  });

  it('converts large bodies in a worker thread, several at once, with the same errors', async () => {
    const records = (count: number): unknown[] =>
      Array.from({ length: count }, (_, i) => ({ timeUnixNano: TIME, body: { stringValue: `line ${i}` } }));
    const bodies = [request(records(8_000)), request([...records(8_000), { traceId: 'xyz' }]), request(records(9_000))];
    const answers = await Promise.all(bodies.map((body) => post(body)));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 400, 200]);
    expect(answers[1].answer).to.deep.equal((await post(request([{ traceId: 'xyz' }]))).answer);
    expect(rig.tables.rows).to.have.length(17_000);
    const malformed = await post(JSON.stringify(bodies[0]).slice(0, -2));
    expect(malformed.status).to.equal(400);
    expect(JSON.stringify(malformed.answer)).to.include('JSON is not valid');
  });

  it('uses the observed time, or else the current time', async () => {
    const before = BigInt(Date.now()) * 1_000_000n;
    const { rows } = await post(request([{ observedTimeUnixNano: TIME }, {}]));
    expect(rows[0].timeNs).to.equal(BigInt(TIME));
    expect(rows[1].timeNs >= before).to.equal(true);
  });

  it('rejects a record alone whose time does not fit', async () => {
    const { status, answer, rows } = await post(
      request([{ timeUnixNano: '9223372036854775808' }, { timeUnixNano: TIME }]),
    );
    expect(status).to.equal(200);
    expect(rows).to.have.length(1);
    expect(answer).to.deep.equal({
      partialSuccess: { rejectedLogRecords: '1', errorMessage: 'log record 1: timestamp is out of range' },
    });
  });

  it('stores extracted attributes of record, scope and resource as tags of a new table', async () => {
    const attribute = (key: string, value: unknown): unknown => ({ key, value });
    const records = [
      { timeUnixNano: TIME, attributes: [attribute('Level', { stringValue: 'high' })] },
      { timeUnixNano: TIME, attributes: [attribute('user', { intValue: 7 })] },
      { timeUnixNano: TIME, attributes: [attribute('user', { arrayValue: { values: [] } })] },
    ];
    const scope = { name: 'lib', attributes: [attribute('level', { boolValue: true })] };
    const resource = { attributes: [attribute('user', { stringValue: 'root' })] };
    const headers = { 'x-almanac-log-extract-keys': 'user, level,user,body', 'x-greptime-log-table-name': 'app' };
    const { answer, rows } = await post(request(records, { scope, resource }), headers);
    expect(rows.map(({ table, tags }) => [table, tags])).to.deep.equal([
      ['app', { scope_name: 'lib', level: 'high', user: 'root' }],
      ['app', { scope_name: 'lib', level: 'true', user: '7' }],
    ]);
    expect(JSON.stringify(answer)).to.contain(
      String.raw`log record 3: attribute \"user\" is no text, integer or boolean`,
    );
  });

  it('stores extracted attributes as fields of a table that has no such tags', async () => {
    await post(request([{ timeUnixNano: TIME }]));
    const attributes = [{ key: 'user', value: { intValue: 7 } }];
    const { rows } = await post(request([{ timeUnixNano: TIME, attributes }]), {
      'x-almanac-log-extract-keys': 'user',
    });
    expect([rows[1].tags, rows[1].cells['user']]).to.deep.equal([{}, 7n]);
  });

  it('refuses attributes of too many levels and ids that are not hexadecimal', async () => {
    let value: unknown = { intValue: 1 };
    for (let i = 0; i < 65; i++) value = { arrayValue: { values: [value] } };
    const deep = await post(request([{ timeUnixNano: TIME, attributes: [{ key: 'k', value }] }]));
    expect([deep.status, deep.answer]).to.deep.equal([
      400,
      { code: 3, message: 'attribute value has more than 64 levels' },
    ]);
    const id = await post(request([{ timeUnixNano: TIME, traceId: 'xyz' }]));
    expect([id.status, id.answer]).to.deep.equal([
      400,
      { code: 3, message: 'field "traceId" must be hexadecimal digits' },
    ]);
    expect(rig.tables.rows).to.deep.equal([]);
  });
});
