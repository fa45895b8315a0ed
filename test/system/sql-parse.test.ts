import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';
import { readText, repositoryFiles } from '#test/tidy/tree';

describe('/v1/sql/parse and /v1/sql/format', function () {
  this.timeout(120_000);
  let almanac: Almanac;
  let cleanUp: () => void = () => undefined;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function post(path: string, sql: string): Promise<{ status: number; json: unknown }> {
    const { status, text } = await almanac.post(path, sql, { 'content-type': 'application/sql' });
    return { status, json: JSON.parse(text) };
  }

  async function parsed(sql: string): Promise<unknown> {
    const { status, json } = await post('/v1/sql/parse', sql);
    expect(status, JSON.stringify(json)).to.equal(200);
    return json;
  }

  async function formatted(sql: string): Promise<string> {
    const { status, json } = await post('/v1/sql/format', sql);
    expect(status, JSON.stringify(json)).to.equal(200);
    return (json as { readonly formatted: string }).formatted;
  }

  it('returns the kinds of statements, and the names in queries', async () => {
    const sql =
      'SELECT c.usage, dc FROM cpu c JOIN other.hosts USING (host); DESC TABLE t; SHOW CREATE TABLE t; DROP TABLE t';
    expect(await parsed(sql)).to.deep.equal([
      {
        Query: {
          kind: 'Query',
          tables: [
            { catalog: '', schema: '', table: 'cpu' },
            { catalog: '', schema: 'other', table: 'hosts' },
          ],
          columns: ['c.usage', 'dc'],
        },
      },
      { DescribeTable: { kind: 'DescribeTable' } },
      { ShowCreateTable: { kind: 'ShowCreateTable' } },
      { DropTable: { kind: 'DropTable' } },
    ]);
  });

  it('leaves out the names that a query defines itself', async () => {
    const [query] = (await parsed('WITH a AS (SELECT x FROM t) SELECT * FROM a')) as [{ Query: { tables: unknown } }];
    expect(query.Query.tables).to.deep.equal([{ catalog: '', schema: '', table: 't' }]);
  });

  it('runs nothing', async () => {
    await parsed('CREATE TABLE made (ts TIMESTAMP TIME INDEX)');
    await formatted('CREATE TABLE made (ts TIMESTAMP TIME INDEX)');
    expect(await almanac.rows("SELECT * FROM information_schema.tables WHERE table_name = 'made'")).to.deep.equal([]);
  });

  for (const path of ['/v1/sql/parse', '/v1/sql/format']) {
    it(`${path} returns the place of an error`, async () => {
      const { status, json } = await post(path, 'SELECT 1;\nSELECT host FORM cpu');
      expect(status).to.equal(400);
      expect(json).to.include({ code: 2000, statement_index: 1, line: 2, column: 18, length: 3 });
    });

    it(`${path} refuses a request without SQL, and one that is too long`, async () => {
      expect((await almanac.get(path)).status).to.equal(400);
      const { status, json } = await post(path, `SELECT '${'x'.repeat(256 * 1024)}'`);
      expect(status).to.equal(400);
      expect(json).to.include({ code: 1004 });
    });

    it(`${path} reads the URL, forms and JSON`, async () => {
      const get = await almanac.get(`${path}?sql=SELECT+1`);
      const form = await almanac.post(path, 'sql=SELECT+1', { 'content-type': 'application/x-www-form-urlencoded' });
      const json = await almanac.post(path, '{"sql":"SELECT 1"}', { 'content-type': 'application/json' });
      expect([get, form, json].map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    });
  }

  it('formats the statements of the documentation to statements of the same meaning', async () => {
    const pages = repositoryFiles().filter((path) => path.startsWith('docs/') && path.endsWith('.md'));
    const blocks = pages.flatMap((page) =>
      [...readText(page).matchAll(/^```sql\n([^]*?)^```$/gm)].map(([, text]) => text),
    );
    let count = 0;
    for (const block of blocks) {
      const before = await post('/v1/sql/parse', block);
      // Some show an error of the grammar.
      if (before.status !== 200) continue;
      const text = await formatted(block);
      expect(await parsed(text), text).to.deep.equal(before.json);
      expect(await formatted(text)).to.equal(text);
      count++;
    }
    expect(count).to.be.greaterThan(30);
  });

  it('formats a query so that it returns the same', async () => {
    const sql =
      "select i, case when i%2=0 then 'even' else 'odd' end as parity, sum(i) over (order by i rows between 1 preceding and current row) as s, -i*-2, [1,2,3][1:2], {'a':i} from range(5) t(i) where i between 1 and 3 and not i is null or i in (0,4) -- all\norder by i desc";
    const rows = await almanac.rows(sql);
    expect(rows).to.have.length(5);
    expect(await almanac.rows(await formatted(sql))).to.deep.equal(rows);
  });
});
