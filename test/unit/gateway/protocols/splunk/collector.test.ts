import { gzipSync } from 'node:zlib';

import { expect } from 'chai';
import fc from 'fast-check';

import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { DocumentRows } from '#services/gateway/protocols/common/document-rows';
import { JsonTape } from '#services/gateway/protocols/common/json-tape';
import { TagSeriesCache } from '#services/gateway/protocols/common/tag-series';
import { EventDecoder } from '#services/gateway/protocols/splunk/decode-events';
import { readEventTime } from '#services/gateway/protocols/splunk/event-time';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import { rowsOf } from '#test/support/batch-rows';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

const ROOT = '/v1/eventcollector/services/collector';
const RUNS = 2_000;
const CHANNEL = 'FE0ECFAD-13D5-401B-847D-77833BD77131';

interface StoredEvent {
  readonly table: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly cells: Readonly<Record<string, unknown>>;
  readonly timeNs: bigint;
}

describe('Splunk event collector', () => {
  let rig: GatewayRig;

  beforeEach(async () => {
    rig = await startGatewayRig();
  });

  afterEach(() => rig.gateway.stop());

  async function post(
    path: string,
    body: string | Uint8Array,
    headers: Readonly<Record<string, string>> = {},
    root = ROOT,
  ): Promise<[status: number, answer: unknown]> {
    const sent = body as Uint8Array<ArrayBuffer>;
    const response = await fetch(rig.url + root + path, { method: 'POST', body: sent, headers });
    return [response.status, await response.json()];
  }

  function stored(): StoredEvent[] {
    return rig.tables.rows.map(({ table, tags, fields, timeNs }) => {
      const cells = Object.fromEntries(Object.entries(fields).map(([name, [, value]]) => [name, value]));
      return { table, tags, cells, timeNs };
    });
  }

  const SUCCESS = [200, { text: 'Success', code: 0 }];

  it('stores events of any shape, one after the other', async () => {
    const body =
      '{"time":1700000000.25,"host":"w1","source":"a.log","sourcetype":"st","index":"my index","fields":{"env":"prod","n":3,"l":[1],"event":"x"},' +
      '"event":{"code":7,"u":{"id":"x","none":null},"list":[1,{"a":2}]},"extra":true}{"event":"plain","time":"1700000001"}\n' +
      ' {"event":1.5,"time":1700000000.123456789,"index":"2n"} {"event":false,"time":1700000000123.5,"host":7,"index":"b"}';
    expect(await post('/event', body)).to.deep.equal(SUCCESS);
    expect(stored()).to.deep.equal([
      {
        table: 'my_index',
        tags: { host: 'w1', source: 'a.log', sourcetype: 'st', env: 'prod', n: '3', l: '[1]' },
        cells: { 'event.code': 7n, 'event.u.id': 'x', 'event.list': '[1,{"a":2}]', extra: true },
        timeNs: 1700000000250000000n,
      },
      { table: 'splunk_logs', tags: {}, cells: { event: 'plain' }, timeNs: 1700000001000000000n },
      { table: '_2n', tags: {}, cells: { event: 1.5 }, timeNs: 1700000000123456789n },
      { table: 'b', tags: { host: '7' }, cells: { event: false }, timeNs: 1700000000123500000n },
    ]);
  });

  it('reads lists, form content types, compressed bodies and all aliases', async () => {
    const event = (text: string): string => `{"time":1,"event":"${text}"}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded', authorization: 'Splunk user:password' };
    expect(await post('', `[${event('a')},${event('b')}]`, headers)).to.deep.equal(SUCCESS);
    expect(
      await post(
        '/event/1.0?table=t',
        gzipSync(event('c')),
        { 'content-encoding': 'gzip' },
        '/v1/splunk/services/collector',
      ),
    ).to.deep.equal(SUCCESS);
    expect(stored().map(({ table, cells }) => [table, cells['event']])).to.deep.equal([
      ['splunk_logs', 'a'],
      ['splunk_logs', 'b'],
      ['t', 'c'],
    ]);
  });

  it('stores integers and fractions of one column as doubles', async () => {
    await post('', '{"time":1,"event":{"n":1}}{"time":2,"event":{"n":2.5}}{"time":3,"event":{"n":3}}');
    expect(rig.tables.rows.map(({ fields }) => fields['event.n'])).to.deep.equal([
      ['Float64', 1],
      ['Float64', 2.5],
      ['Float64', 3],
    ]);
    // The column exists now: integers fit, texts do not.
    expect(await post('', '{"time":1,"event":{"n":4}}')).to.deep.equal(SUCCESS);
    const reason = 'Column datatype mismatch. For column: event.n, expected datatype: Float64, actual datatype: String';
    const refused = [400, { text: 'Invalid data format', code: 6, 'invalid-event-number': 1, reason }];
    expect(await post('', '{"time":1,"event":{"n":4}}{"event":{"n":"x"}}')).to.deep.equal(refused);
    expect(rig.tables.rows).to.have.length(4);
  });

  it('stores objects of too many levels as JSON', async () => {
    const deep = '{"a":'.repeat(12) + '1' + '}'.repeat(12);
    await post('', `{"time":1,"event":${deep}}`);
    const [[name, value]] = Object.entries(stored()[0].cells);
    expect([name, value]).to.deep.equal([`event${'.a'.repeat(10)}`, '{"a":{"a":1}}']);
  });

  it('stores text as one event, or as lines', async () => {
    expect(await post('/raw?index=r&host=h&time=1.5', 'x\n\n y')).to.deep.equal(SUCCESS);
    expect(await post('/raw/1.0?index=r&host=h&time=2&linebreaker=%0A', 'x\n\n y')).to.deep.equal(SUCCESS);
    const row = (message: string, timeNs: bigint): StoredEvent => ({
      table: 'r',
      tags: { host: 'h' },
      cells: { message },
      timeNs,
    });
    expect(stored()).to.deep.equal([row('x\n\n y', 1500000000n), row('x', 2000000000n), row(' y', 2000000000n)]);
  });

  it('acknowledges writes by channel, each once', async () => {
    const headers = { 'x-splunk-request-channel': CHANNEL };
    expect(await post('/event', '{"event":"a"}', headers)).to.deep.equal([200, { text: 'Success', code: 0, ackId: 0 }]);
    expect(await post(`/raw?channel=${CHANNEL.toLowerCase()}`, 'b')).to.deep.equal([
      200,
      { text: 'Success', code: 0, ackId: 1 },
    ]);
    expect(await post('/ack', '{"acks":[0,1,2]}', headers)).to.deep.equal([
      200,
      { acks: { '0': true, '1': true, '2': false } },
    ]);
    expect(await post(`/ack?channel=${CHANNEL}`, '{"acks":[0]}')).to.deep.equal([200, { acks: { '0': false } }]);
    expect(await post('/ack', '{"acks":[0]}')).to.deep.equal([400, { text: 'Data channel is missing', code: 10 }]);
    expect(await post('/ack?channel=x', '{"acks":[0]}')).to.deep.equal([
      400,
      { text: 'Invalid data channel', code: 11 },
    ]);
    expect(await post('/ack', '{"acks":["x"]}', headers)).to.deep.equal([
      400,
      { text: 'Invalid data format', code: 6 },
    ]);
  });

  it('reports its health', async () => {
    const response = await fetch(`${rig.url}${ROOT}/health/1.0?token=x`);
    expect([response.status, await response.json()]).to.deep.equal([200, { text: 'HEC is healthy', code: 17 }]);
    rig.readiness = { ready: false, waiting: [], progress: 0 };
    const busy = await fetch(`${rig.url}${ROOT}/health`);
    expect([busy.status, await busy.json()]).to.deep.equal([
      503,
      { text: 'HEC is unhealthy, queues are full', code: 18 },
    ]);
  });

  describe('refuses', () => {
    const ok = '{"event":"ok"}';
    const cases: readonly (readonly [
      string,
      string,
      string | Uint8Array,
      Readonly<Record<string, string>>,
      number,
      unknown,
    ])[] = [
      ['an empty body', '', ' \n', {}, 400, { text: 'No data', code: 5 }],
      ['an empty list', '', '[]', {}, 400, { text: 'No data', code: 5 }],
      ['an empty text', '/raw', '', {}, 400, { text: 'No data', code: 5 }],
      [
        'an event that is cut off',
        '',
        `${ok}{"event":`,
        {},
        400,
        { text: 'Invalid data format', code: 6, 'invalid-event-number': 1, reason: 'JSON is not valid at byte 9' },
      ],
      [
        'text between events',
        '',
        `${ok}x`,
        {},
        400,
        { text: 'Invalid data format', code: 6, 'invalid-event-number': 1, reason: 'JSON is not valid at byte 0' },
      ],
      [
        'a list of other values',
        '',
        '[1]',
        {},
        400,
        { text: 'Invalid data format', code: 6, 'invalid-event-number': 0, reason: 'JSON is not valid at byte 0' },
      ],
      [
        'a list that is cut off',
        '',
        `[${ok}`,
        {},
        400,
        { text: 'Invalid data format', code: 6, 'invalid-event-number': 1, reason: 'JSON is not valid at byte 0' },
      ],
      [
        'a time that is none',
        '',
        `${ok}{"event":"a","time":"x"}`,
        {},
        400,
        { text: 'Invalid data format', code: 6, 'invalid-event-number': 1 },
      ],
      [
        'a time out of range',
        '',
        '{"event":"a","time":9999999999999999}',
        {},
        400,
        { text: 'Invalid data format', code: 6, 'invalid-event-number': 0 },
      ],
      [
        'no event',
        '',
        `${ok}{"host":"b"}`,
        {},
        400,
        { text: 'Event field is required', code: 12, 'invalid-event-number': 1 },
      ],
      [
        'a blank event',
        '',
        '{"event":" "}',
        {},
        400,
        { text: 'Event field cannot be blank', code: 13, 'invalid-event-number': 0 },
      ],
      [
        'nested fields',
        '',
        '{"event":"a","fields":{"b":{}}}',
        {},
        400,
        { text: 'Error in handling indexed fields', code: 15, 'invalid-event-number': 0 },
      ],
      [
        'a token in the query',
        '?token=x',
        ok,
        {},
        400,
        { text: 'Query string authorization is not enabled', code: 16 },
      ],
      ['unknown credentials', '', ok, { authorization: 'Other x' }, 401, { text: 'Invalid authorization', code: 3 }],
      ['a table name', '?table=a%20b', ok, {}, 400, { text: 'Incorrect index', code: 7 }],
      [
        'an unknown database',
        '?db=none',
        ok,
        {},
        400,
        { text: 'Incorrect index', code: 7, reason: 'Database not found: none' },
      ],
      ['text that is not UTF-8', '/raw', Uint8Array.of(0xff), {}, 400, { text: 'Invalid data format', code: 6 }],
      [
        'an encoding',
        '',
        ok,
        { 'content-encoding': 'lzma' },
        400,
        {
          text: 'Invalid data format',
          code: 6,
          reason: 'content encoding "lzma" is not supported: use gzip, deflate, zstd, br or none',
        },
      ],
      [
        'an expanding body',
        '',
        gzipSync(Buffer.alloc(70 * 1024 * 1024)),
        { 'content-encoding': 'gzip' },
        413,
        { text: 'Invalid data format', code: 6, reason: 'body is larger than the limit of 67108864 bytes' },
      ],
    ];
    for (const [name, path, body, headers, status, answer] of cases) {
      it(name, async () => {
        expect(await post(path, body, headers)).to.deep.equal([status, answer]);
        expect(rig.tables.rows).to.deep.equal([]);
      });
    }

    it('deep JSON', async () => {
      const [status, answer] = await post('', `{"event":${'['.repeat(10_000)}${']'.repeat(10_000)}}`);
      expect([status, (answer as { code: number }).code]).to.deep.equal([400, 6]);
    });
  });

  it('reads times exactly', () => {
    expect(readEventTime('1433188255.253')).to.equal(1433188255253000000n);
    expect(readEventTime('1700000000.123456789')).to.equal(1700000000123456789n);
    expect(readEventTime('1700000000123')).to.equal(1700000000123000000n);
    expect(readEventTime('1.7e9')).to.equal(1700000000000000000n);
    expect(readEventTime('-1.5')).to.equal(-1500000000n);
    for (const text of ['', 'x', '1.2.3', '99999999999999999999', '1e300']) {
      expect(readEventTime(text)).to.equal(undefined);
    }
  });

  const series = new TagSeriesCache(new CacheMemory(100_000));

  function decoded(body: string): unknown[] {
    const batches = new BatchSet();
    const rows = new DocumentRows(batches, { tables: [], series, tape: new JsonTape({ level: 0 }) });
    const decoder = new EventDecoder(Buffer.from(body), rows, { table: 't', timeColumn: 'ts', nowNs: 5n });
    while (!decoder.decode(30)) continue;
    return rowsOf(batches).map(({ tags, fields, timeNs }) => {
      return [tags, Object.fromEntries(Object.entries(fields).map(([name, [, value]]) => [name, value])), timeNs];
    });
  }

  it('stores random events', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).map((it) => `t${it}`);
    const event = fc.record({
      time: fc.bigInt({ min: 0n, max: 9_000_000_000_000_000_000n }),
      host: fc.option(text, { nil: undefined }),
      fields: fc.dictionary(fc.constantFrom('env', 'x y'), text, { noNullPrototype: true }),
      content: fc.record({
        message: text,
        count: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        ok: fc.boolean(),
      }),
    });
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 8 }), fc.boolean(), (events, isList) => {
        const texts = events.map(({ time, host, fields, content }) => {
          const seconds = `${time / 1_000_000_000n}.${String(time % 1_000_000_000n).padStart(9, '0')}`;
          const inner = `{"message":${JSON.stringify(content.message)},"count":${content.count},"ok":${content.ok}}`;
          const own = host === undefined ? '' : `"host":${JSON.stringify(host)},`;
          return `{${own}"fields":${JSON.stringify(fields)},"time": ${seconds},"event":{"data":${inner}}}`;
        });
        const expected = events.map(({ time, host, fields, content }) => [
          { ...(host === undefined ? {} : { host }), ...fields },
          { 'event.data.message': content.message, 'event.data.count': content.count, 'event.data.ok': content.ok },
          time,
        ]);
        expect(decoded(isList ? `[${texts.join(' , ')}]` : texts.join('\n'))).to.deep.equal(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it('refuses damaged bodies with an error of the client, or stores what is whole', () => {
    const whole = '{"time":1700000000.5,"host":"w1","fields":{"env":"prod"},"event":{"code":7,"u":["x"]}}{"event":"é"}';
    const damage = fc.record({ at: fc.nat(whole.length - 1), removed: fc.nat(3), added: fc.string({ maxLength: 3 }) });
    let refused = 0;
    fc.assert(
      fc.property(damage, ({ at, removed, added }) => {
        try {
          decoded(whole.slice(0, at) + added + whole.slice(at + removed));
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
