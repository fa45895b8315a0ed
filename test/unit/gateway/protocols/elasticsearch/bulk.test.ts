import { gzipSync } from 'node:zlib';

import { expect } from 'chai';
import fc from 'fast-check';

import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { DocumentRows } from '#services/gateway/protocols/common/document-rows';
import { JsonTape } from '#services/gateway/protocols/common/json-tape';
import { TagSeriesCache } from '#services/gateway/protocols/common/tag-series';
import { BulkDecoder } from '#services/gateway/protocols/elasticsearch/decode';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BatchSet } from '#shared/rowbatch/builder';
import { rowsOf } from '#test/support/batch-rows';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

const RUNS = 2_000;

interface Reply {
  readonly status: number;
  readonly answer: Record<string, unknown>;
  readonly headers: Headers;
}

describe('Elasticsearch bulk', () => {
  let rig: GatewayRig;

  beforeEach(async () => {
    rig = await startGatewayRig();
  });

  afterEach(() => rig.gateway.stop());

  async function send(path: string, init: RequestInit = {}): Promise<Reply> {
    const response = await fetch(`${rig.url}/v1/elasticsearch${path}`, init);
    const text = await response.text();
    const answer = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    return { status: response.status, answer, headers: response.headers };
  }

  function post(path: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Reply> {
    return send(path, { method: 'POST', body: body as Uint8Array<ArrayBuffer>, headers });
  }

  function stored(): unknown[] {
    return rig.tables.rows.map(({ table, fields }) => {
      return [table, Object.fromEntries(Object.entries(fields).map(([name, [, value]]) => [name, value]))];
    });
  }

  it('stores documents, and replies for each of them', async () => {
    const body =
      '{"create":{"_index":"logs","_id":"1"}}\n{"message":"a","host":{"name":"h"},"n":1,"none":null}\n\n' +
      '{"index":{}}\r\n{"message":"b","tags":["x"],"n":9007199254740993}\n';
    const { status, answer, headers } = await post('/other/_bulk', body, { 'content-type': 'application/x-ndjson' });
    expect([status, answer['errors'], answer['items']]).to.deep.equal([
      200,
      false,
      [{ create: { _index: 'logs', status: 201 } }, { index: { _index: 'other', status: 201 } }],
    ]);
    expect(headers.get('x-elastic-product')).to.equal('Elasticsearch');
    expect(stored()).to.deep.equal([
      ['logs', { message: 'a', 'host.name': 'h', n: 1n }],
      ['other', { message: 'b', tags: '["x"]', n: 9007199254740993n }],
    ]);
  });

  it('rejects documents alone', async () => {
    const documents = ['{"n":1}', '{"n":"text","other":1}', '{', '[]', '{"n":2}'];
    const body = gzipSync(documents.map((document) => `{"index":{"_index":"logs"}}\n${document}\n`).join(''));
    const { status, answer } = await post('/_bulk', body, { 'content-encoding': 'gzip' });
    const items = answer['items'] as { index: { status: number; error?: { type: string; reason: string } } }[];
    expect([status, answer['errors'], items.map(({ index }) => index.status)]).to.deep.equal([
      200,
      true,
      [201, 400, 400, 400, 201],
    ]);
    expect(items[1].index.error).to.deep.equal({
      type: 'illegal_argument_exception',
      reason: 'Column datatype mismatch. For column: n, expected datatype: Int64, actual datatype: String',
    });
    expect(items[3].index.error?.reason).to.equal('document must be an object');
    expect(stored()).to.deep.equal([
      ['logs', { n: 1n }],
      ['logs', { n: 2n }],
    ]);
  });

  it('reads the document from a member, if the client names one', async () => {
    const body = ['{"a":{"b":1}}', 'text']
      .map((text) => `{"create":{}}\n${JSON.stringify({ message: text, x: 1 })}\n`)
      .join('');
    expect((await post('/logs/_bulk?msg_field=message', body)).status).to.equal(200);
    expect(stored()).to.deep.equal([
      ['logs', { 'a.b': 1n }],
      ['logs', { message: 'text' }],
    ]);
  });

  it('replies to what agents call when they start', async () => {
    expect((await send('/', { method: 'HEAD' })).status).to.equal(200);
    expect((await send('')).answer).to.have.nested.property('version.number', '8.16.0');
    expect((await send('/_cluster/health')).answer).to.include({ status: 'green', timed_out: false });
    expect((await send('/_license')).answer).to.have.nested.property('license.status', 'active');
    for (const path of [
      '/_ilm/policy/x',
      '/_index_template/a/b',
      '/_ingest/pipeline',
      '/_nodes/http',
      '/_logstash/x',
      '/_template/t',
      '/_xpack',
      '/_data_stream/logs',
    ]) {
      for (const method of ['GET', 'PUT']) {
        const reply = await send(path, { method, ...(method === 'PUT' ? { body: '{"a":1}' } : {}) });
        expect([reply.status, reply.answer, reply.headers.get('x-elastic-product')]).to.deep.equal([
          200,
          {},
          'Elasticsearch',
        ]);
      }
    }
    const accept = 'application/vnd.elasticsearch+json; compatible-with=9';
    expect((await send('', { headers: { accept } })).headers.get('content-type')).to.equal(accept);
  });

  describe('refuses', () => {
    const good = '{"create":{"_index":"logs"}}\n{"n":1}\n';
    const cases: readonly (readonly [string, string | Uint8Array, Record<string, string>, number, RegExp, string?])[] =
      [
        ['an empty body', '\n', {}, 400, /request body is required/],
        ['an action that is no JSON', `${good}{x\n{}\n`, {}, 400, /malformed action\/metadata line \[3\]/],
        ['another action', `${good}{"delete":{"_index":"logs"}}\n`, {}, 400, /line \[3\]: use create or index/],
        ['an action without a document', `${good}{"index":{"_index":"logs"}}`, {}, 400, /has no document/],
        ['no index', '{"index":{}}\n{}\n', {}, 400, /missing index in bulk request/],
        ['deep JSON', `${'['.repeat(10_000)}\n{}\n`, {}, 400, /levels/],
        ['an encoding', good, { 'content-encoding': 'lzma' }, 415, /content encoding "lzma"/],
        ['an unknown database', good, {}, 400, /Database not found: none/, '/_bulk?db=none'],
        [
          'an expanding body',
          gzipSync(Buffer.alloc(70 * 1024 * 1024)),
          { 'content-encoding': 'gzip' },
          413,
          /larger than the limit/,
        ],
      ];
    for (const [name, body, headers, status, message, path = '/_bulk'] of cases) {
      it(name, async () => {
        const reply = await post(path, body, headers);
        expect([reply.status, reply.answer['status']]).to.deep.equal([status, status]);
        expect((reply.answer['error'] as { reason: string }).reason).to.match(message);
        expect(reply.headers.get('x-elastic-product')).to.equal('Elasticsearch');
        expect(rig.tables.rows).to.deep.equal([]);
      });
    }
  });

  const series = new TagSeriesCache(new CacheMemory(100_000));

  function decoded(body: Buffer): { rows: unknown[]; errors: boolean[] } {
    const batches = new BatchSet();
    const rows = new DocumentRows(batches, { tables: [], series, tape: new JsonTape() });
    const decoder = new BulkDecoder(body, rows, { index: undefined, messageField: undefined, nowNs: 5n });
    while (!decoder.decode(30)) continue;
    const plain = rowsOf(batches).map(({ table, fields }) => {
      return [table, Object.fromEntries(Object.entries(fields).map(([name, [, value]]) => [name, value]))];
    });
    return { rows: plain, errors: decoder.items.map(({ error }) => error !== undefined) };
  }

  it('stores random documents', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
    const document = fc.record({
      message: text,
      host: fc.record({ name: text }),
      ok: fc.boolean(),
      value: fc.oneof(fc.integer(), fc.double({ min: -1e15, max: 1e15, noNaN: true })),
    });
    const item = fc.record({
      action: fc.constantFrom('create', 'index'),
      index: fc.constantFrom('a', 'b-1'),
      document,
    });
    fc.assert(
      fc.property(fc.array(item, { minLength: 1, maxLength: 8 }), (items) => {
        const lines = items.map((it) => `{"${it.action}":{"_index":"${it.index}"}}\n${JSON.stringify(it.document)}\n`);
        const expected = [...new Set(items.map(({ index }) => index))].flatMap((index) => {
          const own = items.filter((it) => it.index === index).map((it) => it.document);
          const areIntegers = own.every(({ value }) => Number.isSafeInteger(value + 0));
          return own.map(({ message, host, ok, value }) => {
            const stored = areIntegers ? BigInt(value) : value + 0;
            return [index, { message, 'host.name': host.name, ok, value: stored }];
          });
        });
        expect(decoded(Buffer.from(lines.join('')))).to.deep.equal({ rows: expected, errors: items.map(() => false) });
      }),
      { numRuns: RUNS },
    );
  });

  it('refuses damaged bodies with an error of the client, or stores what is whole', () => {
    const whole = Buffer.from('{"create":{"_index":"a"}}\n{"n":1,"o":{"x":"é"}}\n{"index":{"_index":"a"}}\n{"n":2}\n');
    const damage = fc.record({
      at: fc.nat(whole.length - 1),
      removed: fc.nat(3),
      added: fc.uint8Array({ maxLength: 3 }),
    });
    let refused = 0;
    fc.assert(
      fc.property(damage, ({ at, removed, added }) => {
        try {
          const { rows, errors } = decoded(Buffer.concat([whole.subarray(0, at), added, whole.subarray(at + removed)]));
          expect(rows).to.have.length(errors.filter((isError) => !isError).length);
          if (errors.includes(true)) refused++;
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
