import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { Almanac } from '#test/support/almanac';
import { compareOnly, compareWithEngine } from '#test/support/kernel-comparison';
import { randomQuery, randomRows, randomTable, type RandomTable } from '#test/support/kernel-queries';
import { tempFolder } from '#test/support/temp-folder';

/** More tables take longer: `KERNEL_TABLES=100 npx mocha dist/test/system/kernels.test.js`. */
const TABLES = Number(process.env['KERNEL_TABLES'] ?? 4);
const FIRST_SEED = Number(process.env['KERNEL_SEED'] ?? 1);
/** Queries of which it is found out who ran them, and others, which take half as long: `KERNEL_QUERIES=200`. */
const QUERIES = 15;
const MORE_QUERIES = Math.max(0, Number(process.env['KERNEL_QUERIES'] ?? 0) - QUERIES);
/** Queries that run at once, of the others. */
const AT_ONCE = 4;
const SLICES = 4;

describe('kernels', function () {
  this.timeout(60_000 + TABLES * (20_000 + MORE_QUERIES * 1000));
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function pathOf(sql: string, server = almanac): Promise<string> {
    const [[, plan]] = await server.rows(`EXPLAIN ${sql}`);
    return String(plan).split('\n').at(-1) ?? '';
  }

  async function compareAll(table: RandomTable, random: SeededRandom, paths: Map<string, number>): Promise<void> {
    for (let i = 0; i < QUERIES; i++) {
      const path = await compareWithEngine(randomQuery(table, random), almanac);
      paths.set(path, (paths.get(path) ?? 0) + 1);
    }
    for (let i = 0; i < MORE_QUERIES; i += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, MORE_QUERIES - i) }, () => randomQuery(table, random));
      await Promise.all(some.map((query) => compareOnly(query, almanac)));
    }
  }

  it('returns what the engine returns, for random queries over random tables', async () => {
    const paths = new Map<string, number>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + TABLES; seed++) {
      const random = new SeededRandom(seed);
      const table = randomTable(`t${seed}`, random);
      await almanac.rows(table.createSql);
      for (let slice = 0; slice < SLICES; slice++) {
        await almanac.rows(randomRows(table, slice, SLICES, random));
        if (random.below(2) === 0) await almanac.flush(table.name);
      }
      await compareAll(table, random, paths);
      await almanac.flush(table.name);
      await compareAll(table, random, paths);
      // Late rows, some of which replace others, and deletions.
      if (seed % 3 !== 1) await almanac.rows(randomRows(table, 2, SLICES, random));
      if (seed % 3 === 1 && !table.isAppendOnly) await almanac.rows(`DELETE FROM ${table.name} WHERE h = 'h0'`);
      await compareAll(table, random, paths);
      await almanac.flush(table.name);
      await compareAll(table, random, paths);
      if (seed % 5 !== 0) continue;
      await almanac.kill();
      almanac = await Almanac.start(folder);
      await compareAll(table, random, paths);
    }
    const all = [...paths.values()].reduce((sum, count) => sum + count, 0);
    // The others have deletions, or sums beyond 2^53.
    expect(paths.get('path: kernels') ?? 0, JSON.stringify([...paths])).to.be.greaterThan(all / 2);
  });

  it('explains what runs a query, and counts it', async () => {
    const count = async (path: string): Promise<number> => {
      const { text } = await almanac.get('/metrics');
      return Number(
        new RegExp(`^almanac_querier_query_paths_total\\{path="${path}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
      );
    };
    await almanac.rows('CREATE TABLE e (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows("INSERT INTO e VALUES ('a', 1, 1), ('b', 2, 2)");
    const taken = 'SELECT h, max(v) AS m FROM e GROUP BY h ORDER BY h';
    const left = 'SELECT DISTINCT v FROM e';
    const [kernels, engine] = [await count('kernels'), await count('engine')];
    expect(await pathOf(taken)).to.equal('path: kernels');
    expect(await pathOf(left)).to.match(/^path: engine: /);
    expect(await almanac.rows(taken)).to.deep.equal([
      ['a', 1],
      ['b', 2],
    ]);
    expect(await almanac.rows(left)).to.have.length(2);
    expect([await count('kernels'), await count('engine')]).to.deep.equal([kernels + 1, engine + 1]);
    const [[, , ran]] = await almanac.rows(`EXPLAIN ANALYZE ${taken}`);
    expect(ran).to.match(
      /path: kernels\ncolumns: 0 row groups in memory, 0 read, 0 bytes decoded\nsnapshot .* ms, kernels .* ms$/,
    );
    await almanac.flush('e');
    const columnsOf = async (): Promise<string> => {
      const [[, , text]] = await almanac.rows(`EXPLAIN ANALYZE ${taken}`);
      return /columns: (.*)/.exec(String(text))?.[1] ?? '';
    };
    expect(await columnsOf()).to.match(/^0 row groups in memory, 1 read, [1-9]\d* bytes decoded$/);
    expect(await columnsOf()).to.equal('1 row groups in memory, 0 read, 0 bytes decoded');
    const [[, analyzed]] = await almanac.rows(`EXPLAIN FORMAT JSON ${taken}`);
    expect((JSON.parse(String(analyzed)) as { path: string }).path).to.equal('kernels');
  });

  it('returns what the engine returns for constants in HAVING, positions, zeros and large integers', async () => {
    await almanac.rows('CREATE TABLE z (h STRING PRIMARY KEY, v DOUBLE, n BIGINT, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows(
      "INSERT INTO z VALUES ('a', -0.0, 9007199254740993, 1), ('a', -0.0, -9007199254740993, 2), ('b', 3, 5, 3), ('b', 1, 6, 4)",
    );
    const queries = [
      'SELECT count(*) FROM z HAVING 1 = 1',
      'SELECT count(*) FROM z HAVING 1 > 2',
      'SELECT max(v) AS m, count(*) FROM z HAVING 2 < 3',
      "SELECT DISTINCT ON (h) h, ts, v FROM z WHERE h = 'b' ORDER BY h, 2 DESC",
      "SELECT DISTINCT ON (h) h, ts, v FROM z WHERE h = 'b' ORDER BY h, 3 DESC",
      "SELECT v, n FROM z WHERE h = 'a' ORDER BY ts",
      "SELECT min(v), max(v), min(n), max(n) FROM z WHERE h = 'a'",
      'SELECT h, max(ts), min(ts) FROM z GROUP BY h ORDER BY h',
      'SELECT a.h, a.ts FROM z AS a JOIN (SELECT h AS x, max(ts) AS y FROM z GROUP BY h) AS b ON a.h = b.x AND b.y = a.ts ORDER BY a.h',
    ];
    const rowsOf = async (sql: string): Promise<string | undefined> =>
      /"rows":.*"total_rows"/.exec((await almanac.sql(sql)).text)?.[0];
    for (const state of ['unflushed', 'flushed']) {
      for (const sql of queries) {
        const names = sql.includes('DISTINCT ON') ? 'ORDER BY 1' : '';
        const rows = await rowsOf(`SELECT * FROM (${sql}) ${names}`);
        expect(rows, sql).not.to.equal(undefined);
        expect(await rowsOf(sql), `${sql}, ${state}`).to.equal(rows);
      }
      await almanac.flush('z');
    }
    // The subquery has a column of the outer row, which the engine does not support.
    const correlated = 'SELECT c.h FROM z AS c WHERE (h, ts) IN (SELECT c.h, max(ts) FROM z GROUP BY c.h)';
    expect((await almanac.sql(correlated)).text).to.include('Correlated');
  });

  it('read only the rows at the end of a large table with which a result begins', async () => {
    const lines = Array.from({ length: 300_000 }, (_, i) => `n,h=h${i % 100} v=${i} ${i + 1}`);
    for (const from of [0, 150_000]) {
      await almanac.write(lines.slice(from, from + 150_000).join('\n'));
      if (from === 0) await almanac.flush('n');
    }
    const select = 'SELECT v FROM n WHERE v != 299998 ORDER BY almanac_timestamp';
    for (const [sql, rows] of [
      [`${select} DESC LIMIT 3`, [[299_999], [299_997], [299_996]]],
      [`${select} LIMIT 2 OFFSET 1`, [[1], [2]]],
      [`${select.replace('v !=', "h = 'h7' AND v !=")} DESC LIMIT 2`, [[299_907], [299_807]]],
      // All are read before the rows are known to be few.
      [`SELECT v FROM n WHERE v = 5 ORDER BY almanac_timestamp DESC LIMIT 3`, [[5]]],
    ] as const) {
      const [[, , ran]] = await almanac.rows(`EXPLAIN ANALYZE ${sql}`);
      expect(String(ran), sql).to.match(/path: kernels/);
      expect(await almanac.rows(sql), sql).to.deep.equal(rows);
    }
    expect((await almanac.rows(`EXPLAIN ANALYZE ${select}`)).join()).to.include('before LIMIT');
  });

  it('are off where query.kernels is false', async () => {
    let removeFolder: () => void = () => undefined;
    const environment = { ALMANAC_STANDALONE__QUERY__KERNELS: 'false' };
    const other = await Almanac.start(
      tempFolder((after) => (removeFolder = after)),
      { environment },
    );
    try {
      await other.rows('CREATE TABLE e (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
      expect(await pathOf('SELECT max(v) FROM e', other)).to.equal('path: engine: query.kernels is false');
      expect(await other.rows('SELECT max(v) FROM e')).to.deep.equal([[null]]);
      expect((await other.get('/metrics')).text).to.match(/^almanac_querier_query_paths_total\{path="engine"\} [1-9]/m);
    } finally {
      await other.kill();
      removeFolder();
    }
  });
});
