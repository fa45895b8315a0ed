import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const YAML = { 'content-type': 'application/yaml' };
const TEXT = { 'content-type': 'text/plain' };
const MESSAGE = 'transform:\n  - {field: message, type: string}\n  - {field: host, type: string}\n';
const JAVA = '2024-01-01 boom\n\tat A.b(C.java:1)\n\n\tat D.e(F.java:2)\r\n\n2024-01-02 fine\n';

describe('lines of text that belong together', () => {
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  async function upload(name: string, multiline: string): Promise<{ status: number; text: string }> {
    return almanac.post(`/v1/pipelines/${name}`, `multiline: ${multiline}\n${MESSAGE}`, YAML);
  }

  async function messages(name: string, multiline: string, body: string): Promise<unknown[]> {
    expect((await upload(name, multiline)).status).to.equal(200);
    const reply = await almanac.post(`/v1/ingest?table=${name}&pipeline_name=${name}`, body, TEXT);
    expect(reply.status, reply.text).to.equal(200);
    const rows = await almanac.rows(`SELECT message FROM ${name}`);
    return rows.map(([message]) => message).sort();
  }

  it('become one row, with the blank lines between them', async () => {
    expect(await messages('java', "{first_line: '^\\d{4}-'}", `\n  lone\n${JAVA}`)).to.deep.equal([
      '  lone',
      '2024-01-01 boom\n\tat A.b(C.java:1)\n\n\tat D.e(F.java:2)',
      '2024-01-02 fine',
    ]);
  });

  it('end at the limits, beyond which another row begins', async () => {
    const body = `> a\n${['b', 'c', 'd', 'e'].join('\n')}\n> f`;
    expect(await messages('few', "{first_line: '^>', max_lines: 3}", body)).to.deep.equal(['> a\nb\nc', '> f', 'd\ne']);
    expect(await messages('small', "{first_line: '^>', max_bytes: 7}", body)).to.deep.equal([
      '> a\nb\nc',
      '> f',
      'd\ne',
    ]);
    const long = 'x'.repeat(3_000_000);
    expect(await messages('long', "{first_line: '^>'}", `> a\n${long}\n> b`)).to.deep.equal(['> a', '> b', long]);
  });

  it('are found in raw text of the event collector too', async () => {
    expect((await upload('hec', "{first_line: '^\\d{4}-'}")).status).to.equal(200);
    const path = '/v1/splunk/services/collector/raw?table=hec&pipeline_name=hec&host=h';
    const reply = await almanac.post(path, JAVA, { authorization: 'Splunk a:b' });
    expect(reply.status, reply.text).to.equal(200);
    expect(await almanac.rows('SELECT message, host FROM hec ORDER BY message')).to.deep.equal([
      ['2024-01-01 boom\n\tat A.b(C.java:1)\n\n\tat D.e(F.java:2)', 'h'],
      ['2024-01-02 fine', 'h'],
    ]);
  });

  it('are found in linear time, whatever the pattern and the text', async () => {
    const body = `${'a'.repeat(8_000)}!\n`.repeat(300);
    expect(await messages('evil', "{first_line: '^(a+)+$'}", body)).to.have.length(3);
  });

  for (const [name, multiline, reason] of [
    ['a list', '[]', 'multiline must be a map'],
    ['no pattern', '{max_lines: 2}', 'multiline needs first_line'],
    ['a malformed pattern', "{first_line: '('}", 'Invalid regex pattern'],
    ['too many lines', "{first_line: 'a', max_lines: 10001}", 'max_lines must be 1 to 10000'],
    ['no lines', "{first_line: 'a', max_lines: 0}", 'max_lines must be 1 to 10000'],
    ['too many bytes', "{first_line: 'a', max_bytes: 17MiB}", 'max_bytes must be 1 to 16777216'],
    ['no size', "{first_line: 'a', max_bytes: much}", 'max_bytes'],
  ] as const) {
    it(`are refused with ${name}`, async () => {
      const { status, text } = await upload('refused', multiline);
      expect([status, text]).to.satisfy(([given, body]: [number, string]) => given === 400 && body.includes(reason));
    });
  }
});
