import { gzipSync } from 'node:zlib';

import { expect } from 'chai';
import fc from 'fast-check';
import { compressSync } from 'snappy';

import { CacheMemory } from '#services/gateway/protocols/common/cache-memory';
import { TagSeriesCache } from '#services/gateway/protocols/common/tag-series';
import { LokiJsonDecoder } from '#services/gateway/protocols/loki/decode-json';
import { LokiProtobufDecoder } from '#services/gateway/protocols/loki/decode-protobuf';
import { parseStreamLabels } from '#services/gateway/protocols/loki/labels';
import { LokiRows } from '#services/gateway/protocols/loki/rows';
import { AlmanacError } from '#shared/errors/almanac-error';
import { WireWriter } from '#shared/protobuf/wire-writer';
import { BatchSet } from '#shared/rowbatch/builder';
import { rowsOf } from '#test/support/batch-rows';
import { startGatewayRig, type GatewayRig } from '#test/support/gateway-rig';

const PATH = '/v1/logpush/api/v1/push';
const RUNS = 2_000;

interface Entry {
  readonly time: bigint;
  readonly line: string;
  readonly metadata: Readonly<Record<string, string>>;
}

interface Stream {
  readonly labels: Readonly<Record<string, string>>;
  readonly entries: readonly Entry[];
}

function protobufOf(streams: readonly Stream[]): Buffer {
  const out = new WireWriter();
  for (const { labels, entries } of streams) {
    out.message(0x0a, () => {
      const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
      out.text(0x0a, `{${pairs.join(', ')}}`);
      for (const { time, line, metadata } of entries) {
        out.message(0x12, () => {
          out.message(0x0a, () => {
            out.byte(0x08);
            out.bigVarint(time / 1_000_000_000n);
            out.byte(0x10);
            out.bigVarint(time % 1_000_000_000n);
          });
          out.text(0x12, line);
          for (const [name, value] of Object.entries(metadata)) {
            out.message(0x1a, () => {
              out.text(0x0a, name);
              out.text(0x12, value);
            });
          }
        });
      }
    });
  }
  return out.take();
}

function jsonOf(streams: readonly Stream[]): Buffer {
  const all = streams.map(({ labels, entries }) => ({
    stream: labels,
    values: entries.map(({ time, line, metadata }) => [String(time), line, metadata]),
  }));
  return Buffer.from(JSON.stringify({ streams: all }));
}

const series = new TagSeriesCache(new CacheMemory(100_000));

/** Rows as labels, line, metadata and time. */
function decoded(form: 'protobuf' | 'JSON', bytes: Buffer): unknown[] {
  const batches = new BatchSet();
  const rows = new LokiRows(batches, { table: 'loki_logs', timeColumn: 'almanac_timestamp', series });
  const decoder = form === 'JSON' ? new LokiJsonDecoder(bytes, rows) : new LokiProtobufDecoder(bytes, rows);
  while (!decoder.decode(30)) continue;
  return rowsOf(batches).map(({ tags, fields, timeNs }) => {
    return [tags, fields['line'][1], JSON.parse(String(fields['structured_metadata'][1])) as unknown, timeNs];
  });
}

describe('Loki push', () => {
  let rig: GatewayRig;

  before(async () => {
    rig = await startGatewayRig();
  });

  after(() => rig.gateway.stop());

  beforeEach(() => {
    rig.tables.rows.length = 0;
  });

  async function post(
    body: string | Uint8Array,
    headers: Readonly<Record<string, string>> = {},
    path = PATH,
  ): Promise<[status: number, text: string]> {
    const sent = body as Uint8Array<ArrayBuffer>;
    const response = await fetch(rig.url + path, { method: 'POST', body: sent, headers });
    return [response.status, await response.text()];
  }

  const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

  it('stores entries with the labels of their stream', async () => {
    const body =
      '{"streams":[{"stream":{"app":"x"},"values":[["1700000000000000000","a"],["1700000000000000001","b",{"k":"v"}]]}]}';
    expect(await post(body, JSON_TYPE)).to.deep.equal([204, '']);
    expect(
      await post(gzipSync(body), { ...JSON_TYPE, 'content-encoding': 'gzip' }, '/v1/loki/api/v1/push'),
    ).to.deep.equal([204, '']);
    expect(
      await post(body, { ...JSON_TYPE, 'content-encoding': 'snappy', 'x-almanac-log-table-name': 'app' }),
    ).to.deep.equal([204, '']);
    const row = (table: string, line: string, metadata: string, timeNs: bigint): unknown => {
      const fields = { line: ['String', line], structured_metadata: ['Json', metadata] };
      return { table, tags: { app: 'x' }, fields, timeNs };
    };
    const both = (table: string): unknown[] => [
      row(table, 'a', '{}', 1700000000000000000n),
      row(table, 'b', '{"k":"v"}', 1700000000000000001n),
    ];
    expect(rig.tables.rows).to.deep.equal([...both('loki_logs'), ...both('loki_logs'), ...both('app')]);
  });

  it('replies to the check of agents', async () => {
    const ready = await fetch(`${rig.url}/v1/loki/ready`);
    expect([ready.status, await ready.text()]).to.deep.equal([200, 'ready\n']);
  });

  it('reads the message of Loki', async () => {
    const vector = Buffer.from('25900a230a097b6170703d2278227d12160a080880e2cfaa061005120268691a060a016b120176', 'hex');
    for (const headers of [
      { 'content-type': 'application/x-protobuf' },
      { 'content-type': 'text/any', 'content-encoding': 'snappy' },
    ]) {
      expect(await post(vector, headers)).to.deep.equal([204, '']);
    }
    const fields = { line: ['String', 'hi'], structured_metadata: ['Json', '{"k":"v"}'] };
    const row = { table: 'loki_logs', tags: { app: 'x' }, fields, timeNs: 1700000000000000005n };
    expect(rig.tables.rows).to.deep.equal([row, row]);
  });

  it('renames labels that have the name of another column', async () => {
    const labels = { line: 'z', structured_metadata: 'y', almanac_timestamp: 'x', empty: '' };
    await post(jsonOf([{ labels, entries: [{ time: 1n, line: 'q', metadata: {} }] }]), JSON_TYPE);
    expect(rig.tables.rows[0].tags).to.deep.equal({
      line_label: 'z',
      structured_metadata_label: 'y',
      almanac_timestamp_label: 'x',
    });
  });

  it('accepts streams without entries', async () => {
    expect(await post('{"streams":[{"stream":{"a":"b"},"values":null},{}]}', JSON_TYPE)).to.deep.equal([204, '']);
    expect(await post('{}', JSON_TYPE)).to.deep.equal([204, '']);
    expect(await post(compressSync(Buffer.alloc(0)))).to.deep.equal([204, '']);
    expect(rig.tables.rows).to.deep.equal([]);
  });

  describe('refuses', () => {
    const one = (values: string, stream = '{"app":"x"}'): string =>
      `{"streams":[{"stream":${stream},"values":[["1","ok"],${values}]}]}`;
    const protobuf = (labels: string): Uint8Array => {
      const out = new WireWriter();
      out.message(0x0a, () => out.text(0x0a, labels));
      return compressSync(out.take());
    };
    const cases: readonly (readonly [
      string,
      string | Uint8Array,
      Readonly<Record<string, string>>,
      number,
      RegExp,
      string?,
    ])[] = [
      ['text that is not JSON', '{"streams":', JSON_TYPE, 400, /JSON is not valid/],
      ['deep JSON', '['.repeat(10_000), JSON_TYPE, 400, /levels/],
      ['a number as timestamp', one('[2,"bad"]'), JSON_TYPE, 400, /timestamp must be a text/],
      ['a timestamp beyond 64 bits', one('["9223372036854775808","bad"]'), JSON_TYPE, 400, /out of range/],
      ['an entry without a line', one('["2"]'), JSON_TYPE, 400, /entry must be a list/],
      ['a line that is no text', one('["2",{}]'), JSON_TYPE, 400, /line must be a text/],
      ['metadata that is no text', one('["2","x",{"k":1}]'), JSON_TYPE, 400, /structured metadata "k"/],
      ['a label that is no text', one('["2","x"]', '{"app":1}'), JSON_TYPE, 400, /label "app" must be a text/],
      ['text that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), JSON_TYPE, 400, /UTF-8/],
      ['labels that are cut off', protobuf('{app="x"'), {}, 400, /malformed labels/],
      ['labels with an unknown escape', protobuf(String.raw`{app="\q"}`), {}, 400, /malformed labels/],
      ['a body that is not snappy', 'x', {}, 400, /snappy: corrupt input/],
      ['a message that is cut off', compressSync(Buffer.from([0x0a, 9, 1])), {}, 400, /unexpected EOF/],
      ['an encoding', '{}', { ...JSON_TYPE, 'content-encoding': 'lzma' }, 415, /content encoding "lzma"/],
      ['an unknown database', '{}', JSON_TYPE, 400, /Database not found: none/, `${PATH}?db=none`],
      ['an expanding body', compressSync(Buffer.alloc(70 * 1024 * 1024)), {}, 413, /larger than the limit/],
    ];
    for (const [name, body, headers, status, message, path] of cases) {
      it(name, async () => {
        const [given, text] = await post(body, headers, path);
        expect([given, text]).to.satisfy(
          ([code, reply]: [number, string]) => code === status && message.test(reply),
          text,
        );
        expect(rig.tables.rows).to.deep.equal([]);
      });
    }
  });

  it('reads labels as Go quotes them', () => {
    const read = (text: string): unknown => {
      const labels = parseStreamLabels(text);
      return typeof labels === 'string' ? labels : Object.fromEntries(labels);
    };
    expect(read(' { a = "b" , c=`\\d`, } ')).to.deep.equal({ a: 'b', c: '\\d' });
    expect(read(String.raw`{a="\"\\\n\t\x41é\u00e9\101"}`)).to.deep.equal({ a: '"\\\n\tAééA' });
    expect(read('{a="1",a="2"}')).to.deep.equal({ a: '2' });
    expect(read('{}')).to.deep.equal({});
    expect(read('{a="b"}x')).to.equal('text after the labels');
    expect(read('{="b"}')).to.equal('label name expected at character 2');
  });

  const text = fc.string({ unit: 'grapheme', maxLength: 20 });
  const values = fc.dictionary(
    fc.constantFrom('app', 'host', 'level'),
    fc.string({ minLength: 1, maxLength: 5, unit: 'grapheme-ascii' }),
    {
      maxKeys: 3,
      noNullPrototype: true,
    },
  );
  const entry = fc.record({ time: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), line: text, metadata: values });
  const streams = fc.array(fc.record({ labels: values, entries: fc.array(entry, { maxLength: 5 }) }), { maxLength: 3 });

  it('stores random streams in both forms', () => {
    fc.assert(
      fc.property(streams, (given) => {
        const expected = given.flatMap(({ labels, entries }) =>
          entries.map(({ line, metadata, time }) => [labels, line, metadata, time]),
        );
        expect(decoded('protobuf', protobufOf(given))).to.deep.equal(expected);
        expect(decoded('JSON', jsonOf(given))).to.deep.equal(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it('refuses damaged bodies with an error of the client, or decodes them', () => {
    const whole: Stream[] = [
      { labels: { app: 'x', host: 'h' }, entries: [{ time: 5n, line: 'é line', metadata: { k: 'v' } }] },
      { labels: {}, entries: [{ time: 1_700_000_000_000_000_000n, line: '', metadata: {} }] },
    ];
    const damage = fc.record({ at: fc.nat(300), removed: fc.nat(3), added: fc.uint8Array({ maxLength: 4 }) });
    let refused = 0;
    fc.assert(
      fc.property(damage, fc.constantFrom('protobuf', 'JSON'), ({ at, removed, added }, form) => {
        const bytes = form === 'JSON' ? jsonOf(whole) : protobufOf(whole);
        const position = at % bytes.length;
        const damaged = Buffer.concat([bytes.subarray(0, position), added, bytes.subarray(position + removed)]);
        try {
          decoded(form, damaged);
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
