import Database from 'better-sqlite3';
import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { bodyV1 } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000_000;

describe('DELETE', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder, MERGES_BY_HAND);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const rows = (statement: string): Promise<unknown[][]> => almanac.rows(statement);

  async function affected(statement: string): Promise<number> {
    const { status, text } = await almanac.sql(statement);
    expect(status, `${statement}: ${text}`).to.equal(200);
    const { output } = JSON.parse(text) as { readonly output: readonly { readonly affectedrows: number }[] };
    return output[0].affectedrows;
  }

  async function fails(statement: string): Promise<[number, string]> {
    const { text } = await almanac.sql(statement);
    const { code, error } = JSON.parse(text) as { readonly code: number; readonly error: string };
    return [code, error];
  }

  async function query(promql: string, timeMs: number): Promise<unknown> {
    const parameters = new URLSearchParams({ query: promql, time: String(timeMs / 1000) }).toString();
    const { text } = await almanac.get(`/v1/prometheus/api/v1/query?${parameters}`);
    const { data } = JSON.parse(text) as { readonly data: { readonly result: readonly { readonly value: unknown }[] } };
    return data.result.map(({ value }) => value);
  }

  /** Values of all series at each second of the samples; queried repeatedly, so that results are cached. */
  async function range(promql: string): Promise<unknown> {
    const times = { start: String(T0 / 1000 + 1), end: String(T0 / 1000 + 4), step: '1', lookback_delta: '500ms' };
    const parameters = new URLSearchParams({ query: promql, ...times }).toString();
    const { text } = await almanac.get(`/v1/prometheus/api/v1/query_range?${parameters}`);
    type Result = readonly { readonly values: readonly [number, string][] }[];
    const { data } = JSON.parse(text) as { readonly data: { readonly result: Result } };
    return data.result.map(({ values }) => values.map(([, value]) => value).join());
  }

  async function table(name: string, options = ''): Promise<void> {
    await rows(
      `CREATE TABLE ${name} (h STRING, a BIGINT, b STRING, ts TIMESTAMP(3) TIME INDEX, PRIMARY KEY (h)) ${options}`,
    );
  }

  /** Segments that the manifest names, and how many of them have operations. */
  function segments(tableName: string): { readonly all: number; readonly withOps: number } {
    const catalog = new Database(`${folder}/metadata/almanac.db`, { readonly: true });
    const sql =
      'SELECT count(*) AS "all", coalesce(sum(has_ops), 0) AS withOps FROM segments ' +
      'JOIN regions USING (region_id) JOIN tables USING (table_id) WHERE tables.name = ?';
    const found = catalog.prepare<[string], { all: number; withOps: number }>(sql).get(tableName)!;
    catalog.close();
    return found;
  }

  for (const type of ['DOUBLE', 'FLOAT']) {
    it(`distinguishes zeros of either sign in a tag, ${type}`, async () => {
      const create = (name: string): Promise<unknown> =>
        rows(`CREATE TABLE ${name} (r ${type}, ts TIMESTAMP TIME INDEX, v INT, PRIMARY KEY (r))`);
      const all = (name: string): Promise<unknown[][]> => rows(`SELECT r::VARCHAR, v FROM ${name} ORDER BY v`);
      const both = [
        ['0.0', 1],
        ['-0.0', 2],
      ];
      const [zeros, copy] = [`zeros_${type}`, `copy_${type}`];
      await create(zeros);
      await create(copy);
      for (const flush of ['SELECT 1', `ADMIN flush_table('${zeros.toLowerCase()}')`]) {
        await rows(`INSERT INTO ${zeros} VALUES (0.0, 1, 1), (-0.0, 1, 2)`);
        await rows(flush);
        await rows(`INSERT INTO ${copy} SELECT * FROM ${zeros}`);
        expect(await all(copy), flush).to.deep.equal(both);
        expect(await affected(`DELETE FROM ${copy} WHERE v = 2`), flush).to.equal(1);
        expect(await all(copy), flush).to.deep.equal(both.slice(0, 1));
        expect(await affected(`DELETE FROM ${zeros} WHERE r = 0`), flush).to.equal(2);
        expect(await all(zeros), flush).to.deep.equal([]);
      }
    });
  }

  it('deletes exactly the rows that satisfy the condition, whatever it is', async () => {
    await table('cond');
    await rows(
      "INSERT INTO cond VALUES ('x', 1, 'p', 1), ('x', 2, 'q', 2), ('y', 3, NULL, 1), (NULL, 4, 'r', 1), ('z', 5, 's', 9)",
    );
    expect(await affected("DELETE FROM cond WHERE h = 'x' AND ts = 1")).to.equal(1);
    expect(await affected('DELETE FROM cond WHERE b IS NULL -- the one without')).to.equal(1);
    expect(await affected('DELETE FROM cond WHERE h IS NULL')).to.equal(1);
    expect(await affected('DELETE FROM cond WHERE a = (SELECT max(a) FROM cond)')).to.equal(1);
    expect(await affected('DELETE FROM public.cond WHERE a > 100')).to.equal(0);
    expect(await rows('SELECT h, a, b FROM cond')).to.deep.equal([['x', 2, 'q']]);
    expect(await affected('DELETE FROM almanac.public.cond WHERE ts BETWEEN 0 AND 5')).to.equal(1);
    expect(await rows('SELECT count(*) FROM cond')).to.deep.equal([[0]]);
  });

  it('explains invalid statements', async () => {
    await table('wrong');
    await table('kept', "WITH ('append_mode' = 'true')");
    await rows("INSERT INTO wrong VALUES ('x', 1, 'p', 1)");
    expect(await fails('DELETE FROM kept')).to.deep.equal([1004, 'DELETE is not allowed under append mode']);
    expect((await fails('DELETE FROM nowhere'))[0]).to.equal(4001);
    expect((await fails('DELETE FROM wrong WHERE'))[0]).to.equal(2000);
    expect((await fails("DELETE FROM wrong WHERE h = 'x' LIMIT 1"))[0]).to.equal(2000);
    expect((await fails("DELETE FROM wrong WHERE h = 'x') OR (true"))[0]).to.equal(2000);
    expect((await fails("DELETE FROM wrong USING kept WHERE h = 'x'"))[0]).to.equal(2000);
    expect((await fails('DELETE FROM wrong WHERE nothing = 1'))[0]).to.equal(3000);
    expect(await rows('SELECT count(*) FROM wrong')).to.deep.equal([[1]]);
  });

  it('refuses a condition that is not boolean, whatever its values', async () => {
    await table('typed');
    await rows("INSERT INTO typed VALUES ('x', 1, 'p', 1), ('y', 0, 'q', 2), ('z', 7, 'true', 3)");
    for (const [condition, part, type] of [
      ['a', 'a', 'Int64'],
      ['a::DOUBLE', 'a::DOUBLE', 'Float64'],
      ["h = 'x' AND a", 'a', 'Int64'],
      ["(NOT (a + 1) OR b = 'p') -- a = 1", 'a + 1', 'Int64'],
      ['a BETWEEN 0 AND 1 OR length(h)', 'length(h)', 'Int64'],
      ['CASE WHEN a = 1 THEN 1 ELSE 0 END', 'CASE WHEN a = 1 THEN 1 ELSE 0 END', 'Int64'],
      ['(SELECT max(a) FROM typed)', '(SELECT max(a) FROM typed)', 'Int64'],
      ['ts', 'ts', 'TimestampMillisecond'],
      ["'true'", "'true'", 'String'],
    ]) {
      const error = `Failed to plan SQL: Cannot create filter with non-boolean predicate '${part}' returning ${type}`;
      expect(await fails(`DELETE FROM typed WHERE ${condition}`), condition).to.deep.equal([3000, error]);
    }
    expect(await rows('SELECT count(*) FROM typed')).to.deep.equal([[3]]);
    for (const none of [
      'false',
      'NULL',
      "starts_with(h, 'q')",
      "b NOT IN ('p', 'q', 'true')",
      'a IS NOT NULL AND FALSE',
    ]) {
      expect(await affected(`DELETE FROM typed WHERE ${none}`), none).to.equal(0);
    }
    expect(await affected("DELETE FROM typed WHERE starts_with(h, 'x') OR (a = 7)::BOOLEAN")).to.equal(2);
    expect(await affected('DELETE FROM typed WHERE (true)')).to.equal(1);
  });

  it('does not fail because of a part of the condition that need not be evaluated', async () => {
    await table('parts');
    await rows("INSERT INTO parts VALUES ('x', 1, 'n/a', 1), ('y', 0, 'true', 2), ('z', 7, 'false', 3)");
    expect(await affected("DELETE FROM parts WHERE b = 'n/a' OR (a = 0 AND CAST(b AS BOOLEAN))")).to.equal(2);
    expect(await rows('SELECT h FROM parts')).to.deep.equal([['z']]);
  });

  it('reads a long condition once, however deeply it is nested', async () => {
    await table('deep');
    const asked = performance.now();
    const condition = '('.repeat(250) + 'a + '.repeat(300_000) + 'a' + ')'.repeat(250);
    expect((await fails(`DELETE FROM deep WHERE ${condition}`))[1]).to.contain('the limit is 1048576');
    expect(performance.now() - asked).to.be.lessThan(10_000);
  });

  it('limits the number of conditions whose type must be checked', async () => {
    await table('checked');
    const parts = Array.from({ length: 1001 }, (_, i) => `ends_with(h, 'x${i}')`);
    const error = 'too many conditions without a comparison in one DELETE, the limit is 1000';
    expect(await fails(`DELETE FROM checked WHERE ${parts.join(' OR ')}`)).to.deep.equal([1004, error]);
    expect(await affected(`DELETE FROM checked WHERE ${parts.slice(1).join(' OR ')}`)).to.equal(0);
  });

  it('points at the end of a condition that is incomplete', async () => {
    await table('half');
    const end = [2000, 'Invalid SQL syntax: sql parser error: syntax error at end of input'];
    for (const condition of ['h = ', "h = 'x' AND", 'a IN (1, 2) OR NOT', 'h = -- that']) {
      expect(await fails(`DELETE FROM half WHERE ${condition}`), condition).to.deep.equal(end);
    }
    expect(await fails('SHOW TABLES; DELETE FROM half WHERE h = ')).to.deep.equal(end);
    expect((await fails('DELETE FROM half WHERE (h = )'))[1]).to.contain('at or near ")"');
  });

  it('without a condition deletes everything', async () => {
    await table('whole');
    await rows("INSERT INTO whole VALUES ('x', 1, 'p', 1), ('y', 1, 'p', 1)");
    await rows("ADMIN flush_table('whole')");
    await rows("INSERT INTO whole VALUES ('z', 1, 'p', 1)");
    expect(await affected('DELETE FROM whole')).to.equal(3);
    expect(await rows('SELECT count(*) FROM whole')).to.deep.equal([[0]]);
    expect(segments('whole').all).to.equal(0);
  });

  for (const mode of ['last_row', 'last_non_null']) {
    it(`hides earlier rows permanently, ${mode}`, async () => {
      const name = `hides_${mode}`;
      await table(name, `WITH ('merge_mode' = '${mode}')`);
      const all = `SELECT h, a, b FROM ${name} ORDER BY h, ts`;
      const steps = ['', `ADMIN flush_table('${name}')`, `ADMIN compact_table('${name}')`];
      for (const first of steps) {
        for (const second of steps) {
          await rows(`INSERT INTO ${name} VALUES ('x', 1, 'old', 1), ('y', 2, 'stays', 1)`);
          if (first !== '') await rows(first);
          expect(await affected(`DELETE FROM ${name} WHERE h = 'x'`)).to.equal(1);
          if (second !== '') await rows(second);
          expect(await rows(all)).to.deep.equal([['y', 2, 'stays']]);
          await rows(`INSERT INTO ${name} (h, a, ts) VALUES ('x', 3, 1)`);
          const anew = [
            ['x', 3, null],
            ['y', 2, 'stays'],
          ];
          expect(await rows(all)).to.deep.equal(anew);
          await rows(`ADMIN flush_table('${name}')`);
          expect(await rows(all)).to.deep.equal(anew);
          if (first === second) {
            await almanac.kill();
            almanac = await Almanac.start(folder, MERGES_BY_HAND);
            expect(await rows(all)).to.deep.equal(anew);
          }
          await rows(`ADMIN compact_table('${name}')`);
          expect(await rows(all)).to.deep.equal(anew);
          expect(segments(name)).to.deep.equal({ all: 1, withOps: 0 });
        }
      }
    });
  }

  it('leaves no file when everything is deleted and merged', async () => {
    await table('nothing');
    await rows("INSERT INTO nothing SELECT 'h' || (i % 10), i, 'b', i FROM range(1000) AS r(i)");
    await rows("ADMIN flush_table('nothing')");
    expect(await affected('DELETE FROM nothing WHERE a >= 0')).to.equal(1000);
    await rows("ADMIN flush_table('nothing')");
    expect(segments('nothing')).to.deep.equal({ all: 2, withOps: 1 });
    await rows("ADMIN compact_table('nothing')");
    expect(segments('nothing').all).to.equal(0);
    // Rows that were never flushed leave nothing either.
    await rows("INSERT INTO nothing VALUES ('x', 1, 'p', 5000)");
    expect(await affected('DELETE FROM nothing WHERE a = 1')).to.equal(1);
    await rows("ADMIN flush_table('nothing')");
    expect(segments('nothing').all).to.equal(0);
    expect(await rows('SELECT count(*) FROM nothing')).to.deep.equal([[0]]);
  });

  it('deletes many rows of many series', async () => {
    await table('many', "WITH ('merge_mode' = 'last_non_null')");
    await rows("INSERT INTO many SELECT 'h' || (i % 997), i, 'b', i FROM range(200000) AS r(i)");
    expect(await affected('DELETE FROM many WHERE a % 4 > 0')).to.equal(150_000);
    expect(await rows('SELECT count(*), sum(a % 4), min(a), max(a) FROM many')).to.deep.equal([
      [50_000, 0, 0, 199_996],
    ]);
    await rows("ADMIN flush_table('many')");
    expect(await rows('SELECT count(*), sum(a % 4), min(a), max(a) FROM many')).to.deep.equal([
      [50_000, 0, 0, 199_996],
    ]);
  });

  it('does not restore values when a table gets new columns', async () => {
    await table('wide', "WITH ('merge_mode' = 'last_non_null')");
    await rows("INSERT INTO wide VALUES ('x', 1, 'p', 1)");
    await rows("DELETE FROM wide WHERE h = 'x'");
    await rows('ALTER TABLE wide ADD COLUMN c DOUBLE');
    expect(await rows('SELECT * FROM wide')).to.deep.equal([]);
    await rows("INSERT INTO wide (h, c, ts) VALUES ('x', 0.5, 1)");
    const now = [['x', null, null, 1, 0.5]];
    expect(await rows('SELECT * FROM wide')).to.deep.equal(now);
    await rows("ADMIN flush_table('wide')");
    expect(await rows('SELECT * FROM wide')).to.deep.equal(now);
  });

  it('is removed with the rows that it hides, over many windows and where nothing older is left', async () => {
    await table('long');
    const dayMs = 86_400_000;
    for (const [from, to] of [
      [0, 50],
      [50, 100],
    ]) {
      await rows(`INSERT INTO long SELECT 'h' || (i % 2), i, 'b', i * ${dayMs} FROM range(${from}, ${to}) AS r(i)`);
      await rows("ADMIN flush_table('long')");
    }
    expect(await affected("DELETE FROM long WHERE h = 'h1'")).to.equal(50);
    await rows("ADMIN flush_table('long')");
    await rows("ADMIN compact_table('long')");
    expect(segments('long').withOps).to.equal(0);
    expect(await rows('SELECT count(*), sum(a % 2) FROM long')).to.deep.equal([[50, 0]]);
  });

  it('prevents append mode until the deleted rows are gone from the disk', async () => {
    await table('appending');
    await rows("INSERT INTO appending VALUES ('x', 1, 'p', 1), ('y', 1, 'p', 1)");
    await rows("ADMIN flush_table('appending')");
    await rows("DELETE FROM appending WHERE h = 'x'");
    const append = "ALTER TABLE appending SET 'append_mode' = 'true'";
    const text = 'table "appending" has deleted rows on its disk: merge its segments first, with ADMIN compact_table';
    expect(await fails(append)).to.deep.equal([1004, text]);
    await rows("ADMIN compact_table('appending')");
    await rows(append);
    expect(await rows('SELECT h FROM appending')).to.deep.equal([['y']]);
  });

  for (const [words, condition] of [
    ['', 'a % 2 = 0'],
    [', with a condition that reads the table again', 'a % 2 = 0 AND h IN (SELECT h FROM racing)'],
  ] as const) {
    it(`keeps a row that was rewritten meanwhile${words}`, async () => {
      await rows('DROP TABLE IF EXISTS racing');
      await table('racing');
      let isOver = false;
      let written = 0;
      const writing = async (): Promise<void> => {
        while (!isOver) {
          written++;
          // Of even numbers the row is deleted by the other side, sooner or later; the last one is odd.
          await rows(`INSERT INTO racing VALUES ('x', ${2 * written}, 'p', 1)`);
          await rows(`INSERT INTO racing VALUES ('x', ${2 * written + 1}, 'p', 1)`);
          expect(await rows('SELECT a FROM racing')).to.deep.equal([[2 * written + 1]]);
        }
      };
      const deleting = async (): Promise<void> => {
        for (let i = 0; i < 60; i++) await affected(`DELETE FROM racing WHERE ${condition}`);
        isOver = true;
      };
      await Promise.all([writing(), deleting()]);
      expect(await rows('SELECT a FROM racing')).to.deep.equal([[2 * written + 1]]);
    });
  }

  it('deletes samples of a metric, for SQL and PromQL', async () => {
    const series = ['a', 'b'].flatMap((job) =>
      ['kept_total', 'cut_total'].map((metric) => ({
        labels: Object.entries({ __name__: metric, job }),
        samples: [1, 2, 3].map((i) => ({ value: i, timestamp: T0 + i * 1000 })),
      })),
    );
    const { status } = await almanac.post('/v1/prometheus/write', Uint8Array.from(compressSync(bodyV1(series, []))));
    expect(status).to.equal(204);
    const check = async (): Promise<void> => {
      expect(await rows('SELECT job, almanac_value FROM cut_total ORDER BY ALL')).to.deep.equal([
        ['a', 1],
        ['a', 2],
        ['b', 1],
        ['b', 2],
        ['b', 3],
      ]);
      expect(await query('cut_total', T0 + 3500)).to.deep.equal([
        [(T0 + 3500) / 1000, '2'],
        [(T0 + 3500) / 1000, '3'],
      ]);
      expect(await query('count_over_time(cut_total[1m])', T0 + 3500)).to.deep.equal([
        [(T0 + 3500) / 1000, '2'],
        [(T0 + 3500) / 1000, '3'],
      ]);
      expect(await rows('SELECT count(*) FROM kept_total')).to.deep.equal([[6]]);
    };
    for (let i = 0; i < 3; i++) expect(await range('cut_total')).to.deep.equal(['1,2,3', '1,2,3']);
    expect(await affected("DELETE FROM cut_total WHERE job = 'a' AND almanac_value = 3")).to.equal(1);
    expect(await range('cut_total')).to.deep.equal(['1,2', '1,2,3']);
    await check();
    await rows("ADMIN flush_table('almanac_physical_table')");
    await check();
    expect(await affected("DELETE FROM cut_total WHERE job = 'b' AND almanac_value = 2")).to.equal(1);
    expect(await range('cut_total')).to.deep.equal(['1,2', '1,3']);
    expect(await query('sum(count_over_time(cut_total[1m]))', T0 + 3500)).to.deep.equal([[(T0 + 3500) / 1000, '4']]);
    await rows("ADMIN flush_table('almanac_physical_table')");
    expect(await query('sum(count_over_time(cut_total[1m]))', T0 + 3500)).to.deep.equal([[(T0 + 3500) / 1000, '4']]);
    await rows("ADMIN compact_table('almanac_physical_table')");
    expect(await query('sum(count_over_time(cut_total[1m]))', T0 + 3500)).to.deep.equal([[(T0 + 3500) / 1000, '4']]);
    expect(await range('cut_total')).to.deep.equal(['1,2', '1,3']);
    expect(await affected('DELETE FROM cut_total')).to.equal(4);
    expect(await range('cut_total')).to.deep.equal([]);
    expect(await query('cut_total', T0 + 3500)).to.deep.equal([]);
    expect(await rows('SELECT count(*) FROM kept_total')).to.deep.equal([[6]]);
    expect((await fails('DELETE FROM almanac_physical_table'))[0]).to.equal(1001);
  });
});
