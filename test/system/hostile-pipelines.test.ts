import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { bodyV1 } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };
const MEBIBYTE = 1024 * 1024;
const MILLION = 1_000_000;

interface Sent {
  readonly path: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

/** A protocol: how it sends an item to a table named `hostile`. */
interface Sender {
  /** Key of the text in the item. */
  readonly key: string;
  /** Returns the request for an item with a text. */
  text(text: string): Sent;
  /** Returns the request for an item with that many members, and one with lists inside each other, where it has any. */
  wide?(count: number): Sent;
  deep?(levels: number): Sent;
  /** Returns the request for an item whose member is named so. */
  named(name: string): Sent;
}

const members = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":"1"`).join(',');
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const INGEST = '/v1/ingest?table=hostile';
const EVENTS = '/v1/splunk/services/collector/event?table=hostile';
const BULK = '/v1/elasticsearch/hostile/_bulk';
const push = (stream: string, line: string): Sent => ({
  path: '/v1/loki/api/v1/push',
  body: `{"streams":[{"stream":${stream},"values":[["1700000000000000000",${line}]]}]}`,
});
const logs = (body: string, attributes = ''): Sent => ({
  path: '/v1/otlp/v1/logs',
  body: `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${body},"attributes":[${attributes}]}]}]}]}`,
});
const series = (labels: readonly (readonly [string, string])[]): Sent => ({
  path: '/v1/prometheus/write',
  body: compressSync(
    bodyV1([{ labels: [['__name__', 'hostile'], ...labels], samples: [{ value: 1, timestamp: 1 }] }]),
  ) as Uint8Array<ArrayBuffer>,
});
const attributes = (count: number): string =>
  Array.from({ length: count }, (_, i) => `{"key":"k${i}","value":{"stringValue":"1"}}`).join(',');

const SENDERS: Readonly<Record<string, Sender>> = {
  '/v1/ingest': {
    key: 'message',
    text: (text) => ({ path: INGEST, body: JSON.stringify({ message: text }) }),
    wide: (count) => ({ path: INGEST, body: `{${members(count)}}` }),
    deep: (levels) => ({ path: INGEST, body: `{"message":${nested(levels)}}` }),
    named: (name) => ({ path: INGEST, body: JSON.stringify({ [name]: 'x' }) }),
  },
  'Loki push': {
    key: 'loki_line',
    text: (text) => push('{}', JSON.stringify(text)),
    wide: (count) => push(`{${members(count)}}`, '"x"'),
    deep: (levels) => push('{}', nested(levels)),
    named: (name) => push(JSON.stringify({ [name]: 'x' }), '"x"'),
  },
  'OTLP logs': {
    key: 'Body',
    text: (text) => logs(JSON.stringify({ stringValue: text })),
    deep: (levels) => logs('{"arrayValue":{"values":['.repeat(levels) + ']}}'.repeat(levels)),
    named: (name) => logs('{"stringValue":"x"}', JSON.stringify({ key: name, value: { stringValue: 'x' } })),
  },
  Splunk: {
    key: 'event',
    text: (text) => ({ path: EVENTS, body: JSON.stringify({ event: text }) }),
    wide: (count) => ({ path: EVENTS, body: `{"event":"x","fields":{${members(count)}}}` }),
    deep: (levels) => ({ path: EVENTS, body: `{"event":${nested(levels)}}` }),
    named: (name) => ({ path: EVENTS, body: JSON.stringify({ event: 'x', fields: { [name]: 'x' } }) }),
  },
  'Elasticsearch bulk': {
    key: 'message',
    text: (text) => ({ path: BULK, body: `{"index":{}}\n${JSON.stringify({ message: text })}\n` }),
    wide: (count) => ({ path: BULK, body: `{"index":{}}\n{${members(count)}}\n` }),
    deep: (levels) => ({ path: BULK, body: `{"index":{}}\n{"message":${nested(levels)}}\n` }),
    named: (name) => ({ path: BULK, body: `{"index":{}}\n${JSON.stringify({ [name]: 'x' })}\n` }),
  },
  'remote write': {
    key: 'm',
    text: (text) => series([['m', text]]),
    wide: (count) => series(Array.from({ length: count }, (_, i) => [`k${i}`, '1'] as const)),
    named: (name) => series([[name, 'x']]),
  },
};

describe('hostile pipelines and bodies', function () {
  this.timeout(60_000);
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function upload(name: string, text: string): Promise<void> {
    const reply = await almanac.post(`/v1/pipelines/${name}`, text, YAML);
    expect(reply.status, reply.text).to.equal(200);
  }

  async function send({ path, body }: Sent, pipeline: string): Promise<string> {
    const headers: Record<string, string> = {
      'x-almanac-pipeline-name': pipeline,
      'x-almanac-log-table-name': 'hostile',
      authorization: 'Splunk a:b',
      ...(typeof body === 'string' ? JSON_TYPE : {}),
    };
    const { status, text } = await almanac.post(path, body, headers);
    return `${status} ${text}`;
  }

  /** A refusal, of the whole request or of the only document of a bulk request. */
  const refused = (reason: RegExp): RegExp => new RegExp(`^(400|413|200 .*"errors":true).*${reason.source}`, 's');

  for (const [protocol, sender] of Object.entries(SENDERS)) {
    const { key } = sender;
    const name = (kind: string): string => `${kind}_${protocol.replaceAll(/\W/g, '_')}`;
    const text = `transform:\n  - {field: ${key}, type: string}\n`;

    it(`${protocol}: a regular expression that would backtrack takes linear time`, async () => {
      await upload(name('evil'), `processors:\n  - gsub: {field: ${key}, pattern: '(a+)+$', replacement: ''}\n${text}`);
      expect(await send(sender.text(`${'a'.repeat(100_000)}!`), name('evil'))).to.match(/^20[04]/);
      await almanac.rows('DROP TABLE hostile');
    });

    it(`${protocol}: what has no bound is refused, and stores nothing`, async () => {
      const rule = `{value: a, table_suffix: _x, pipeline: ${name('loop')}}`;
      await upload(name('loop'), `dispatcher: {field: ${key}, rules: [${rule}]}\n${text}`);
      expect(await send(sender.text('a'), name('loop'))).to.match(refused(/dispatch loop/));
      await upload(name('plain'), text);
      const large = sender.text('x'.repeat(16 * MEBIBYTE + 1));
      expect(await send(large, name('plain'))).to.match(refused(/larger than 16777216 bytes/));
      const doubling = `s = to_string!(.${key})\\n${'s = s + s\\n'.repeat(40)}.${key} = s\\n.`;
      await upload(name('bomb'), `processors:\n  - vrl: {source: "${doubling}"}\n${text}`);
      expect(await send(sender.text('abcd'), name('bomb'))).to.match(refused(/script limit/));
      await upload(name('suffix'), `${text}table_suffix: '_\${${key}}'\n`);
      expect(await send(sender.text('a\u0000b'), name('suffix'))).to.match(refused(/table name/));
      if (sender.wide !== undefined) {
        expect(await send(sender.wide(MILLION), name('plain'))).to.match(refused(/names of members|keys|labels/));
        expect(await send(sender.wide(3_000), name('plain'))).to.match(refused(/2000 keys/));
      }
      if (sender.deep !== undefined) {
        expect(await send(sender.deep(10_000), name('plain'))).to.match(refused(/levels|must be a text/));
      }
      expect(await almanac.rows("SHOW TABLES LIKE 'hostile%'")).to.deep.equal([]);
    });

    it(`${protocol}: a column whose name has a NUL is refused`, async () => {
      const rest = `version: 2\nprocessors:\n  - epoch: {field: at, ignore_missing: true}\ntransform:\n  - {field: at, type: timestamp, index: timestamp, on_failure: default}\n`;
      await upload(name('nul'), rest);
      const reply = await send(sender.named('n\u0000l'), protocol === 'OTLP logs' ? 'greptime_identity' : name('nul'));
      expect(reply).to.match(refused(/column name/));
      expect(await almanac.rows("SHOW TABLES LIKE 'hostile%'")).to.deep.equal([]);
    });
  }

  it('a request with too many different labels is refused, though each series has few', async () => {
    await upload('labels', 'transform:\n  - {field: a, type: string}\n');
    const many = Array.from({ length: 100 }, (_, i) => {
      const labels = Array.from({ length: 1_100 }, (__, k) => [`k${i}_${k}`, '1'] as const);
      return { labels: [['__name__', 'hostile'] as const, ...labels], samples: [{ value: 1, timestamp: 1 }] };
    });
    const body = compressSync(bodyV1(many)) as Uint8Array<ArrayBuffer>;
    expect(await send({ path: '/v1/prometheus/write', body }, 'labels')).to.match(/^413 .*more than 100000 keys/);
    expect(await almanac.rows("SHOW TABLES LIKE 'hostile%'")).to.deep.equal([]);
  });

  it('OTLP logs: records with too many attributes are refused', async () => {
    await upload('wide_otlp', 'transform:\n  - {field: Body, type: string}\n');
    expect(await send(logs('{"stringValue":"x"}', attributes(3_000)), 'greptime_identity')).to.match(refused(/keys/));
  });

  it('refuses aliases of YAML that grow exponentially, and patterns that need backtracking', async () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefghi'.split('').map((it, i) => {
        return `${it}: &${it} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[i]}`).join(',')}]`;
      }),
    ].join('\n');
    const reply = await almanac.post('/v1/pipelines/alias', bomb, YAML);
    expect([reply.status, reply.text]).to.satisfy(([status, given]: [number, string]) => {
      return status === 400 && given.includes('Excessive alias count');
    });
    const back = "processors:\n  - gsub: {field: m, pattern: '(a)\\1', replacement: ''}\n";
    expect((await almanac.post('/v1/pipelines/back', back, YAML)).status).to.equal(400);
  });
});
