import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const CONDITIONS = [
  "matches_term({}, 'error')",
  "matches_term({}, 'Error')",
  "matches_term(lower({}), 'error')",
  "{} @@ 'disk full'",
  "{} @@ 'Müller'",
  "{} @@ '磁盘'",
  "matches({}, 'disk OR net')",
  "matches({}, '+disk -full')",
  `matches({}, '"disk full" AND error')`,
  "contains({}, 'rror')",
  "{} LIKE '%isk fu%'",
  "{} LIKE 'disk%'",
  "{} ILIKE '%ERROR%'",
  "NOT contains({}, 'disk')",
  "contains({}, 'disk') OR matches_term({}, 'net')",
  "matches_term({}, 'error') AND NOT contains({}, 'disk')",
  "matches_term({}, 'no such term')",
  "lower({}) LIKE '%Error%'",
];

const TEXTS = ['disk full: error 7', 'an Error', 'errors of net', 'disk ok', 'Herr Müller', '磁盘空间', '', 'KELVIN K'];

describe('text search', function () {
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

  /** Creates a table whose columns have the same texts: not indexed, by bloom filters, inverted. */
  async function fill(table: string, options: string): Promise<void> {
    await almanac.rows(
      `CREATE TABLE ${table} (host STRING PRIMARY KEY, plain STRING, bloom STRING FULLTEXT INDEX, ` +
        "sensitive STRING FULLTEXT INDEX WITH (case_sensitive = 'true', granularity = 1000), " +
        `inverted STRING FULLTEXT INDEX WITH (backend = 'inverted'), ts TIMESTAMP(3) TIME INDEX) WITH (${options})`,
    );
    await insert(table, 0);
  }

  async function insert(table: string, from: number): Promise<void> {
    const rows = Array.from({ length: 400 }, (_, i) => {
      const text = i % 9 === 8 ? 'NULL' : `'${TEXTS[(i * 7) % TEXTS.length]} ${i % 5 === 0 ? '' : i}'`;
      return `('h${i % 3}', ${text}, ${text}, ${text}, ${text}, ${from + i})`;
    });
    await almanac.rows(`INSERT INTO ${table} VALUES ${rows.join(', ')}`);
  }

  /** Every condition selects the same rows by each column. */
  async function agrees(table: string): Promise<void> {
    for (const condition of CONDITIONS) {
      const select = (column: string, what: string): Promise<unknown[][]> => {
        return almanac.rows(`SELECT ${what} FROM ${table} WHERE ${condition.replaceAll('{}', column)} AND ts >= 3`);
      };
      for (const what of ['count(*)', 'sum(epoch_ms(ts)), min(host)']) {
        const expected = await select('plain', what);
        for (const column of ['bloom', 'sensitive', 'inverted']) {
          expect(await select(column, what), `${condition} of ${column}`).to.deep.equal(expected);
        }
      }
    }
  }

  const planOf = async (query: string): Promise<string> => {
    const rows = await almanac.rows(`EXPLAIN VERBOSE ${query}`);
    return rows.map(([, plan]) => String(plan)).join('\n');
  };

  it('selects the same rows with and without an index: unflushed, flushed, merged, after a restart', async () => {
    await fill('logs', "append_mode = 'true'");
    await agrees('logs');
    await almanac.rows("ADMIN flush_table('logs')");
    await agrees('logs');
    await insert('logs', 1000);
    await agrees('logs');
    await almanac.rows("ADMIN flush_table('logs')");
    await almanac.rows("ADMIN compact_table('logs')");
    await agrees('logs');
    await almanac.kill();
    almanac = await Almanac.start(folder, MERGES_BY_HAND);
    await agrees('logs');
  });

  it('sees only the newest version of a row', async () => {
    await fill('versions', "merge_mode = 'last_non_null'");
    await almanac.rows("ADMIN flush_table('versions')");
    await insert('versions', 200);
    await agrees('versions');
    await almanac.rows("ADMIN flush_table('versions')");
    await agrees('versions');
    const rewritten = "('h0', 'new', 'new', 'new', 'new', 0), ('h1', NULL, NULL, NULL, NULL, 1)";
    await almanac.rows(`INSERT INTO versions VALUES ${rewritten}`);
    await agrees('versions');
    expect(await almanac.rows("SELECT epoch_ms(ts) FROM versions WHERE inverted @@ 'new'")).to.deep.equal([[0]]);
    await almanac.rows("ADMIN flush_table('versions')");
    await almanac.rows("DELETE FROM versions WHERE host = 'h2' AND ts = 2");
    await agrees('versions');
    await almanac.rows("ADMIN compact_table('versions')");
    await agrees('versions');
  });

  it('reads only the rows that an index names', async () => {
    await almanac.rows(
      "CREATE TABLE big (line STRING FULLTEXT INDEX WITH (backend = 'inverted'), b STRING FULLTEXT INDEX, " +
        "ts TIMESTAMP(3) TIME INDEX) WITH (append_mode = 'true')",
    );
    const lines = Array.from(
      { length: 50_000 },
      (_, i) => `big line="row ${i} of${i % 100 === 7 ? ' rare' : ''}",b="row ${i}" ${i}`,
    );
    const { status } = await almanac.post('/v1/influxdb/write?precision=ms', lines.join('\n'));
    expect(status).to.equal(204);
    await almanac.rows("ADMIN flush_table('big')");
    const rare = "SELECT count(*) FROM big WHERE line @@ 'rare'";
    expect(await almanac.rows(rare)).to.deep.equal([[500]]);
    const plan = await planOf(rare);
    expect(plan).to.contain('reads: 500 rows');
    expect(plan, 'no text is read, and no row number is printed').not.to.match(/line|[01]{100}/);
    const one = await planOf("SELECT ts FROM big WHERE b @@ '31234'");
    expect(one)
      .to.match(/reads: \d{5} rows/)
      .and.not.to.contain('reads: 50000 rows');
    expect(await planOf("SELECT ts FROM big WHERE line @@ 'absent'"))
      .to.contain('1 by terms')
      .and.to.contain('reads: 0 rows');
    expect(await almanac.rows("SELECT line FROM big WHERE line @@ '31234'")).to.deep.equal([['row 31234 of']]);
  });

  it('reads the row groups of several blocks, and many rows in several runs', async () => {
    await almanac.rows(
      "CREATE TABLE groups (line STRING FULLTEXT INDEX WITH (backend = 'inverted'), b STRING FULLTEXT INDEX, " +
        "ts TIMESTAMP(3) TIME INDEX) WITH (append_mode = 'true')",
    );
    // Runs of 700 rows in the first, third and fifth row group, and 15 runs in the last.
    const isIn = (i: number): boolean => [0, 41_000, 90_000].some((from) => i >= from && i < from + 700);
    const isScattered = (i: number): boolean => i >= 105_000 && i < 108_000 && i % 200 < 100;
    const lines = Array.from({ length: 140_000 }, (_, i) => {
      const text = `row ${i}${isIn(i) ? ' often' : ''}${isScattered(i) ? ' scattered' : ''}`;
      return `groups line="${text}",b="${text}" ${i}`;
    });
    const { status } = await almanac.post('/v1/influxdb/write?precision=ms', lines.join('\n'));
    expect(status).to.equal(204);
    await almanac.rows("ADMIN flush_table('groups')");
    for (const column of ['line', 'b']) {
      const found = `FROM groups WHERE ${column} @@ `;
      expect(await almanac.rows(`SELECT count(*), sum(epoch_ms(ts)) ${found} 'often'`)).to.deep.equal([
        [2100, 92_433_950],
      ]);
      expect(await almanac.rows(`SELECT epoch_ms(ts) ${found} 'often' ORDER BY ts LIMIT 1 OFFSET 700`)).to.deep.equal([
        [41_000],
      ]);
      expect(await almanac.rows(`SELECT count(*), min(epoch_ms(ts)) ${found} 'scattered'`)).to.deep.equal([
        [1500, 105_000],
      ]);
    }
    expect(await planOf("SELECT ts FROM groups WHERE b @@ 'often'")).to.contain('reads: 61440 rows');
    expect(await planOf("SELECT ts FROM groups WHERE line @@ 'often'")).to.contain('reads: 2100 rows');
  });

  it('indexes what is stored after ALTER TABLE, and all of it after a merge', async () => {
    await almanac.rows("CREATE TABLE later (line STRING, ts TIMESTAMP(3) TIME INDEX) WITH (append_mode = 'true')");
    const flushed = async (text: string, time: number): Promise<void> => {
      await almanac.rows(`INSERT INTO later VALUES ('${text}', ${time})`);
      await almanac.rows("ADMIN flush_table('later')");
    };
    await flushed('one word', 1);
    await almanac.rows("ALTER TABLE later MODIFY COLUMN line SET FULLTEXT INDEX WITH (backend = 'inverted')");
    await flushed('another', 2);
    const absent = "SELECT count(*) FROM later WHERE line @@ 'absent'";
    expect(await planOf(absent))
      .to.contain('1 of 2 segments')
      .and.to.contain('1 by terms');
    await almanac.rows("ADMIN compact_table('later')");
    expect(await planOf(absent))
      .to.contain('0 of 1 segments')
      .and.to.contain('1 by terms');
    expect(await almanac.rows("SELECT epoch_ms(ts) FROM later WHERE line @@ 'word'")).to.deep.equal([[1]]);
    const created = await almanac.rows('SHOW CREATE TABLE later');
    expect(created[0][1]).to.contain("FULLTEXT INDEX WITH(analyzer = 'English', backend = 'inverted'");
    const indexes = await almanac.rows('SHOW INDEX FROM later');
    expect(indexes.map((row) => row[2])).to.include('FULLTEXT_INDEX_line');
    await almanac.rows('ALTER TABLE later MODIFY COLUMN line UNSET FULLTEXT INDEX');
    expect((await almanac.rows('SHOW CREATE TABLE later'))[0][1]).not.to.contain('FULLTEXT');
    expect(await almanac.rows("SELECT epoch_ms(ts) FROM later WHERE line @@ 'word'")).to.deep.equal([[1]]);
  });

  it('follows the definition of terms', async () => {
    const matches = async (text: string, term: string, expected: boolean): Promise<void> => {
      expect(await almanac.rows(`SELECT matches_term('${text}', '${term}')`), `${text}, ${term}`).to.deep.equal([
        [expected],
      ]);
      const [row] = await almanac.rows(`SELECT matches_term(t, s) FROM (SELECT '${text}' AS t, '${term}' AS s)`);
      expect(row, `${text}, ${term}, as columns`).to.deep.equal([expected]);
    };
    await matches('cat!', 'cat', true);
    await matches('category', 'cat', false);
    await matches('dog/cat', '/cat', true);
    await matches('trace_id=abc', 'trace_id', true);
    await matches('hello world2023', 'hello world', false);
    await matches('a.b', 'a.b', true);
    await matches('axb', 'a.b', false);
    await matches('', '', true);
    await matches('x', '', false);
    await matches('登录手机号', '手机', true);
    await matches('überMüller', 'Müller', false);
    await matches('→abcé', '→abc', true);
    expect(await almanac.rows("SELECT matches_term('x', NULL)")).to.deep.equal([[null]]);
  });

  it('rejects a malformed query or index', async () => {
    const fails = async (sql: string, text: string): Promise<void> => {
      const reply = await almanac.sql(sql);
      expect(reply.status, sql).to.equal(400);
      expect(reply.text).to.contain(text);
    };
    await fails("SELECT matches('a', '(b')", 'unmatched (');
    await fails("SELECT matches('a', 'b)')", 'unmatched )');
    await fails(`SELECT matches('a', '"b')`, 'unmatched \\"');
    await fails("SELECT matches('a', '+ b')", '+ must be followed by a word');
    await fails("SELECT matches('a', '+-b')", 'two signs');
    await fails("SELECT matches('a', '')", 'a word is expected');
    await fails(`SELECT matches('a', '${'('.repeat(5000)}')`, 'are nested');
    await fails('SELECT matches(a, b) FROM (SELECT 1 AS a, 2 AS b)', 'literal');
    await fails(
      'CREATE TABLE bad (n BIGINT FULLTEXT INDEX, ts TIMESTAMP TIME INDEX)',
      'FULLTEXT index only supports string type',
    );
    await fails(
      "CREATE TABLE bad (n STRING FULLTEXT INDEX WITH (backend = 'magic'), ts TIMESTAMP TIME INDEX)",
      'invalid value of FULLTEXT INDEX option backend: magic',
    );
    await fails(
      "CREATE TABLE bad (n STRING FULLTEXT INDEX WITH (tokenizer = 'x'), ts TIMESTAMP TIME INDEX)",
      'invalid FULLTEXT INDEX option: tokenizer',
    );
    await fails(
      "ALTER TABLE logs MODIFY COLUMN bloom SET FULLTEXT INDEX WITH (case_sensitive = 'true')",
      'Not allowed to change case_sensitive',
    );
    await fails('ALTER TABLE logs MODIFY COLUMN ts SET FULLTEXT INDEX', 'FULLTEXT index only supports string type');
  });
});
