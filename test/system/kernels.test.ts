import { expect } from 'chai';

import { SeededRandom } from '#test/bench/tsbs/seeded-random';
import { Almanac } from '#test/support/almanac';
import { compareOnly, compareWithEngine, pathOf } from '#test/support/kernel-comparison';
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

const EXACT = { isOrdered: true, inexact: new Set<number>() };

/** Rows without their times. */
const SPECIAL_ROWS = [
  "'a', 1.005, 1.125, 7, 9, 3, 4, 5",
  "'b', 'NaN', 'NaN', -7, -9, -3, 5, 6",
  "'c', 'Infinity', 'Infinity', 0, 0, 0, 0, 0",
  "'d', '-Infinity', 3, 2147483647, 5, 12, 65535, 9007199254740991",
  "'e', -0.0, -0.0, 1, 1, 1, 1, 1",
  "'f', NULL, NULL, NULL, NULL, NULL, NULL, NULL",
  "'g', 1e308, 3e38, 1, 2, 3, 4, 5",
  "'h', -2.5, 16777217, 1, 2, 3, 4, 5",
  "'i', 0.49999999999999994, 0.1, -2147483648, 2, 3, 4, 5",
  "'j', -1234.5678, 0.1, 1, 2, 3, 4, 5",
  "'j', 2.5, 7, -5, 20, 100, 4, 16777217",
];
const EXPRESSIONS = [
  ...['avg(d) * 100', '-avg(d)', '- -max(d)', '+max(d)', 'max(d) - min(d)', 'avg(d) + avg(f)', '(max(d) - min(d)) / 2'],
  ...['avg(d) / 0', '0 / avg(d)', 'avg(d) / -0', 'avg(d) / -0.0', 'avg(d) * -0', 'avg(d) * -(0)', 'max(d) * -0.0'],
  ...['1 / max(d)', 'max(d) / 1e-10', 'max(d) * 1e999', 'max(d) * (2 / 3)', 'max(d) * (2.0 / 3)', '0.0 / count(d)'],
  ...['round(max(d))', 'round(max(d), 2)', 'round(max(d), -1)', 'round(max(d), 22)', 'round(-avg(d) / 7, -1)'],
  ...['abs(max(d))', 'floor(max(d))', 'ceil(max(d))', 'ceiling(max(d))', 'floor(avg(d) / 10) * 10'],
  ...['coalesce(avg(d), 0)', 'coalesce(avg(d), -0.0)', 'nvl(avg(d), 1)', 'ifnull(avg(d), avg(n))'],
  ...['max(f) + 1', 'max(f) + 0.1', 'max(f) * max(f)', 'max(f) / max(f)', 'max(f) / 0', 'max(f) + 123456789'],
  ...['max(f) + max(i)', 'max(f) * max(d)', 'max(f) / count(*)', 'round(max(f), 1)', 'round(max(f), -1)', '-max(f)'],
  ...['floor(max(f))', 'coalesce(max(f), 0)', 'coalesce(max(f), 0.5)', 'coalesce(max(i), max(f))', 'max(f)::DOUBLE'],
  ...[
    '-count(*)',
    '-(count(*) - 1)',
    '-sum(i)',
    'sum(i) * 2',
    'sum(i) - sum(n)',
    'sum(i) + count(*)',
    'max(n) + sum(i)',
  ],
  ...['max(i) - min(n)', 'max(u) + count(*)', 'max(n) / 2', 'sum(i) / count(*)', '100 * count(d) / count(*)'],
  ...['100.0 * count(d) / count(*)', 'sum(d) / count(*)', 'sum(i)::DOUBLE / count(*)', 'cast(max(i) AS DOUBLE) / 3'],
  ...['max(t) + 1', '1 - max(t)', 'max(t) / -2', 'max(u) / 7', 'nvl(max(t), 0)', 'coalesce(max(t), 0)', 'abs(max(t))'],
  ...[
    'abs(sum(i))',
    'round(sum(i), 2)',
    'round(max(n))',
    'round(max(t), 0)',
    'floor(max(t))',
    'ceil(sum(i))',
    'max(t) * 1.5',
  ],
  ...['max(m) * 0.5', 'max(m) + max(f)', 'max(m) - min(m)', 'avg(i) / 3', '(count(*) - 1) * -1.0'],
  ...['last_value(d ORDER BY ts) - first_value(d ORDER BY ts)'],
];

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
    expect(await pathOf(taken, almanac)).to.equal('path: kernels');
    expect(await pathOf(left, almanac)).to.match(/^path: engine: /);
    expect(await pathOf('SELECT arg_max(v, ts) FROM e', almanac)).to.match(
      /^path: engine: arg_max\(\.\.\) is neither a group/,
    );
    expect(await pathOf('SELECT h FROM e QUALIFY row_number() OVER (ORDER BY ts) = 1', almanac)).to.equal(
      'path: engine: QUALIFY',
    );
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

  it('reads fields of the newest row groups only, for the newest rows', async () => {
    await almanac.rows('CREATE TABLE l (h STRING PRIMARY KEY, v DOUBLE, w DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    for (const second of [1, 2, 3]) {
      await almanac.rows(`INSERT INTO l VALUES ('a', 1, 2, ${second}000), ('b', 3, 4, ${second}001)`);
      await almanac.flush('l');
    }
    const decodedBytes = async (sql: string): Promise<number> => {
      const [[, , text]] = await almanac.rows(`EXPLAIN ANALYZE ${sql}`);
      return Number(/path: kernels\ncolumns: .* (\d+) bytes decoded/.exec(String(text))?.[1]);
    };
    const newest = await decodedBytes('SELECT h, last_value(v ORDER BY ts) FROM l GROUP BY h');
    const all = await decodedBytes('SELECT h, max(w) FROM l GROUP BY h');
    expect(newest).to.be.within(1, all / 2);
  });

  it('takes patterns and alternatives of tags, and leaves expressions that are invalid or slow to the engine', async () => {
    const slow = 'ab'.repeat(500);
    await almanac.rows('CREATE TABLE p (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows(`INSERT INTO p VALUES ('a1', 1, 1), ('a2', 2, 2), ('b', 3, 3), (NULL, 4, 4), ('${slow}', 5, 5)`);
    const sumOf = (where: string): string => `SELECT sum(v), last_value(v) FROM p WHERE ${where}`;
    for (const [where, ...sums] of [
      ["h LIKE 'a_'", 3, 2],
      ["h NOT LIKE 'a%'", 3, 3],
      ["h ~ '[1b]$'", 9, 5],
      ["h !~ '^a'", 3, 3],
      ["(h = 'a1' OR h IN ('b', 'none'))", 4, 3],
      ["NOT (h = 'a1' OR h = 'b') AND h LIKE '__'", 2, 2],
      ['h IS NOT NULL', 11, 5],
    ] as const) {
      expect(await pathOf(sumOf(where), almanac), where).to.equal('path: kernels');
      expect(await almanac.rows(sumOf(where)), where).to.deep.equal([sums]);
    }
    expect(await almanac.rows(sumOf("h ~ '((?:a?b?){1000})c'"))).to.deep.equal([[null, null]]);
    expect((await almanac.sql(sumOf("h ~ '(a'"))).text).to.contain('invalid regular expression: missing ): (a');
    for (const where of ["h ILIKE 'A%'", "h ~* 'A'", "h LIKE 'a!_' ESCAPE '!'", "h = 'a1' OR v > 1"]) {
      expect(await pathOf(sumOf(where), almanac), where).to.match(/^path: engine: /);
    }
  });

  it('answers texts that differ in their literals, also after the table was changed', async () => {
    await almanac.rows('CREATE TABLE known (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)');
    await almanac.rows("INSERT INTO known VALUES ('a', 1, 1), ('a', 2.5, 2), ('b', -3, 3), ('it''s', 4, 4)");
    const texts = (where: string): string => `SELECT h, max(v) AS m FROM known WHERE ${where} GROUP BY h ORDER BY h`;
    for (let i = 0; i < 3; i++) {
      expect(await almanac.rows(texts("h = 'a' AND v > -1.5"))).to.deep.equal([['a', 2.5]]);
      expect(await almanac.rows(texts("h = 'b' AND v > -3.25"))).to.deep.equal([['b', -3]]);
      expect(await almanac.rows(texts("h = 'it''s' AND v > -1.5"))).to.deep.equal([["it's", 4]]);
      expect(await almanac.rows(texts("h = 'none' AND v > -1.5"))).to.deep.equal([]);
      expect((await almanac.sql(`${texts("h = 'a' AND v > -1.5")}; SELECT 1`)).text).to.match(/"a",2.5.*\[\[1\]\]/);
      expect(await almanac.rows(texts("h = 'a' AND v > -12345678901234567890.5"))).to.deep.equal([['a', 2.5]]);
    }
    await almanac.rows('ALTER TABLE known ADD COLUMN w DOUBLE');
    await almanac.rows("INSERT INTO known (h, v, ts) VALUES ('a', 7, 5)");
    expect(await almanac.rows(texts("h = 'a' AND v > -1.5"))).to.deep.equal([['a', 7]]);
    await almanac.rows('DROP TABLE known');
    expect((await almanac.sql(texts("h = 'a' AND v > -1.5"))).text).to.contain('"code":4001');
    await almanac.rows('CREATE TABLE known (h STRING PRIMARY KEY, v BIGINT, ts TIMESTAMP(6) TIME INDEX)');
    await almanac.rows("INSERT INTO known VALUES ('a', 9, 1)");
    for (let i = 0; i < 3; i++) expect(await almanac.rows(texts("h = 'a' AND v > -1.5"))).to.deep.equal([['a', 9]]);
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

  describe('expressions over aggregates', () => {
    before(async () => {
      await almanac.rows(
        'CREATE TABLE x (h STRING PRIMARY KEY, d DOUBLE, f FLOAT, i INT, n BIGINT, t TINYINT, u SMALLINT UNSIGNED,' +
          ' m BIGINT UNSIGNED, ts TIMESTAMP(3) TIME INDEX)',
      );
      await almanac.rows(`INSERT INTO x VALUES ${SPECIAL_ROWS.map((row, at) => `(${row}, ${at})`).join(', ')}`);
    });

    it('are what the engine returns for special values', async () => {
      for (const expression of EXPRESSIONS) {
        const sql = `SELECT h, ${expression} AS x FROM x GROUP BY h ORDER BY h`;
        expect(await compareWithEngine({ ...EXACT, sql }, almanac), expression).to.equal('path: kernels');
      }
    });

    it('filter and sort groups', async () => {
      for (const sql of [
        'SELECT h, max(d) * 2 AS x FROM x GROUP BY h ORDER BY x DESC, h',
        'SELECT h, max(d) * 2 AS x FROM x GROUP BY h ORDER BY 2 NULLS FIRST, h LIMIT 5 OFFSET 1',
        'SELECT h FROM x GROUP BY h ORDER BY abs(max(d)) DESC, h',
        'SELECT h, round(avg(d), 1) AS x FROM x GROUP BY h HAVING avg(d) * 2 > 1 AND sum(i) / count(*) < 7 ORDER BY h',
        'SELECT h, max(f) + 0.5 AS x FROM x GROUP BY h HAVING x > 3.5 ORDER BY x, h',
        'SELECT count(*) * 2 AS a, max(d) + 1 AS b, coalesce(sum(i), 0) AS c FROM x WHERE ts > 1000',
        "SELECT date_trunc('hour', ts) AS k, count(*) / 2 AS a FROM x GROUP BY k ORDER BY k DESC LIMIT 1",
        'SELECT h, avg(d) * 2 AS x FROM x GROUP BY ALL ORDER BY h',
      ]) {
        expect(await compareWithEngine({ ...EXACT, sql }, almanac), sql).to.equal('path: kernels');
      }
    });

    it('are named as in the query, and depend on the literals of each run', async () => {
      for (const factor of [2, 3]) {
        const { text } = await almanac.sql(`SELECT max(i) * ${factor}, round(max(f),${factor}) FROM x WHERE h = 'a'`);
        const { output } = JSON.parse(text) as { output: [{ records: { schema: unknown; rows: unknown } }] };
        const [{ records }] = output;
        expect(records.schema).to.deep.equal({
          column_schemas: [
            { name: `max(i) * ${factor}`, data_type: 'Int32' },
            { name: `round(max(f),${factor})`, data_type: 'Float32' },
          ],
        });
        expect(records.rows).to.deep.equal([[7 * factor, factor === 2 ? 1.13 : 1.125]]);
      }
    });

    it('are left to the engine where their types or errors are its own', async () => {
      for (const [expression, reason] of [
        ['power(max(d), 2)', 'an expression over aggregates has power'],
        ['max(ts) - min(ts)', 'an expression over aggregates has times'],
        ['max(t) + 1000', 'an integer is beyond the type of an aggregate'],
        ['max(u) - max(t)', 'an expression over aggregates has - of UInt16 and Int8'],
        ['max(f) + sum(i)', 'an expression over aggregates has + of Float32 and a sum of integers'],
        ['max(d) * 9007199254740993', 'a number is too large'],
        ['round(max(u), 1)', 'an expression over aggregates has round of UInt16'],
        ['round(max(d), 25)', 'round has too many digits, or negative ones for integers'],
        [Array.from({ length: 60 }, () => 'max(d)').join(' + '), 'an expression over aggregates is too long'],
      ]) {
        const sql = `SELECT h, ${expression} AS x FROM x WHERE h != 'i' GROUP BY h ORDER BY h`;
        expect(await compareWithEngine({ ...EXACT, sql }, almanac)).to.equal(`path: engine: ${reason}`);
      }
      for (const [expression, error] of [
        ['sum(i) / min(t)', 'Divide by zero error'],
        ['max(t) * 100', 'Overflow in multiplication of INT8'],
      ]) {
        const { status, text } = await almanac.sql(`SELECT h, ${expression} FROM x GROUP BY h`);
        expect([status, text.includes(error)], text).to.deep.equal([400, true]);
      }
      const { text } = await almanac.sql("SELECT sum(n) * 10000000 * 10000000 FROM x WHERE h = 'a'");
      expect(text).to.include('[[900000000000000]]');
    });
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
