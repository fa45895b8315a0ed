import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';
import { readText } from '#test/tidy/tree';

const LINES = ['Disk full', 'disk half full', 'disks are full'];
const START_S = 1_700_000_000;

interface Way {
  readonly search: string;
  /** Positions of the lines, from 1. */
  readonly found: readonly number[];
  readonly usesIndex: boolean;
}

/** Returns the searches in the table of the page. */
function waysOfPage(): Way[] {
  const [, section] = readText('docs/logs.md').split('## Ways to search\n');
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && line.includes('`'));
  return rows.flatMap((row) => {
    const [, searches, found, , , , index] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
    const spans = [...searches.matchAll(/`([^`]*disk[^`]*)`/g)].map(([, text]) => text.replaceAll('\\', ''));
    const lines = found.split(', ').map(Number);
    return spans.map((search) => ({ search, found: lines, usesIndex: index !== 'not used' }));
  });
}

describe('ways to search, as in docs/logs.md', () => {
  const ways = waysOfPage();
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder(after));
    const values = LINES.map((line, i) => `('a', '${line}', ${START_S + i}000)`).join(', ');
    const index = "FULLTEXT INDEX WITH (backend = 'inverted')";
    await almanac.sql(
      `CREATE TABLE app (host STRING PRIMARY KEY, line STRING ${index}, ts TIMESTAMP(3) TIME INDEX) WITH (append_mode = 'true')`,
    );
    await almanac.sql(`INSERT INTO app VALUES ${values}`);
    await almanac.sql("ADMIN flush_table('app')");
  });

  after(() => almanac.stop());

  const sqlOf = (search: string): string =>
    `SELECT line FROM app WHERE ${search.startsWith('LIKE') ? `line ${search}` : search} ORDER BY ts`;

  async function lines(search: string): Promise<unknown[]> {
    const named = /^(search|where)=(.*)$/.exec(search);
    const range = { table: 'app', start: `${START_S}`, end: `${START_S + 60}` };
    if (named !== null) {
      const query = new URLSearchParams({ ...range, order: 'asc', [named[1]]: named[2] });
      const { text } = await almanac.get(`/v1/logs?${query.toString()}`);
      return (JSON.parse(text) as { rows: { line: string }[] }).rows.map(({ line }) => line);
    }
    if (!search.startsWith('|')) return (await almanac.rows(sqlOf(search))).map(([line]) => line);
    const query = new URLSearchParams({ ...range, direction: 'forward', query: `{host="a"} ${search}` });
    const { text } = await almanac.get(`/v1/loki/loki/api/v1/query_range?${query.toString()}`);
    const { data } = JSON.parse(text) as { data: { result: { values: [string, string][] }[] } };
    return data.result.flatMap(({ values }) => values.map(([, line]) => line));
  }

  it('are all in the table', () => {
    expect(ways).to.have.length(12);
  });

  for (const { search, found, usesIndex } of ways) {
    it(`${search} finds the lines ${found.join(', ')}`, async () => {
      expect(await lines(search)).to.deep.equal(found.map((position) => LINES[position - 1]));
      if (!search.includes('line ') && !search.includes('(line')) return;
      const [[, plan]] = await almanac.rows(`EXPLAIN ${sqlOf(search)}`);
      expect(String(plan).includes('by terms')).to.equal(usesIndex);
    });
  }
});
