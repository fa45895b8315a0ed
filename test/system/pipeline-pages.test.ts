import { readdirSync, readFileSync } from 'node:fs';

import { expect } from 'chai';

import { PROCESSORS } from '#services/gateway/pipelines/processors/registry';
import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const FOLDER = new URL('../../../docs/pipelines/', import.meta.url);
/** Pages of keys of the document, whose examples run in a shell. */
const GUIDES = ['protocols', 'failures', 'multiline', 'metrics', 'tests', 'routes'].map((name) => `${name}.md`);
/** Pages of what all processors have. */
const GENERAL = ['failure-handling.md'];
const BLOCK = /```(yaml|json)\n([^]*?)\n```/g;
/** Statements that make the tables of an example. */
const SQL = /```sql\n([^]*?)\n```/g;
const JSON_TYPE = { 'content-type': 'application/json' };

interface Report {
  readonly rows: readonly (readonly { readonly key: string; readonly value: unknown }[])[];
}

describe('pages of processors', () => {
  const pages = readdirSync(FOLDER).filter((name) => name !== 'README.md' && !GUIDES.includes(name));
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
  });

  after(() => almanac.stop());

  it('exist for each processor', () => {
    const expected = PROCESSORS.map(({ name }) => `${name.replaceAll('_', '-')}.md`);
    expect(pages.sort()).to.deep.equal([...expected, ...GENERAL].sort());
  });

  it('are listed on the first page', () => {
    const first = readFileSync(new URL('README.md', FOLDER), 'utf8');
    for (const page of [...pages, ...GUIDES]) expect(first).to.contain(`(${page})`);
  });

  for (const page of pages) {
    it(`${page} has an example that makes its rows`, async () => {
      const source = readFileSync(new URL(page, FOLDER), 'utf8');
      for (const [, statements] of source.matchAll(SQL)) await almanac.sql(statements);
      const blocks = [...source.matchAll(BLOCK)].map(([, , text]) => text);
      const [pipeline, data, rows] = blocks;
      const body = JSON.stringify({ pipeline, data });
      const { status, text } = await almanac.post('/v1/pipelines/_dryrun', body, JSON_TYPE);
      expect(status, text).to.equal(200);
      const [report] = JSON.parse(text) as Report[];
      const made = report.rows.map((cells) => {
        const named = cells.filter(({ key }) => key !== 'almanac_timestamp');
        return Object.fromEntries(named.map(({ key, value }) => [key, value]));
      });
      expect(made).to.deep.equal(JSON.parse(rows));
    });
  }
});
