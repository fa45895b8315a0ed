import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('statements', () => {
  let bench: SqlBench;
  beforeEach(async () => {
    bench = await SqlBench.open();
  });
  afterEach(() => bench.close());

  const fails = async (text: string, number: number, message: string | RegExp): Promise<void> => {
    const error = await bench.error(text);
    expect(error.number, error.message).to.equal(number);
    if (typeof message === 'string') expect(error.message).to.equal(message);
    else expect(error.message).to.match(message);
  };

  describe('CREATE TABLE', () => {
    it('makes tags, fields and the time index', async () => {
      expect(
        (
          await bench.query(
            'CREATE TABLE t (host STRING, cpu DOUBLE DEFAULT 0, ts TIMESTAMP DEFAULT current_timestamp() TIME INDEX, PRIMARY KEY (host)) ENGINE=mito',
          )
        ).affected,
      ).to.equal(0);
      expect(await bench.rows('DESC TABLE t')).to.deep.equal([
        ['host', 'String', 'PRI', 'YES', '', 'TAG'],
        ['cpu', 'Float64', '', 'YES', '0', 'FIELD'],
        ['ts', 'TimestampMillisecond', 'PRI', 'NO', 'current_timestamp()', 'TIMESTAMP'],
      ]);
    });
    it('orders the columns of logical tables', async () => {
      const columns = 'ts TIMESTAMP TIME INDEX, val DOUBLE, k STRING, host STRING, PRIMARY KEY (k, host)';
      await bench.all(`CREATE TABLE phy (ts TIMESTAMP TIME INDEX) ENGINE=metric WITH ("physical_metric_table" = "")`);
      await bench.all(`CREATE TABLE t (${columns}) ENGINE=metric WITH ("on_physical_table" = "phy")`);
      expect((await bench.rows('DESC t')).map(([name]) => name)).to.deep.equal(['host', 'k', 'ts', 'val']);
      await fails('INSERT INTO phy VALUES (1)', 1001, 'Write request to physical region is forbidden');
      await fails('SELECT 1 AS ""', 2000, 'Invalid SQL syntax: sql parser error: empty quoted identifier');
    });
    it('shows a statement that creates the same table', async () => {
      await bench.all(`CREATE TABLE "We""ird Täble".x (a INT, ts TIMESTAMP TIME INDEX)`).catch(() => undefined);
      const text = `CREATE TABLE IF NOT EXISTS "t-1" (
  "ho""st 'x' ü" STRING NULL,
  "B" BIGINT UNSIGNED NOT NULL DEFAULT 7 COMMENT 'it''s',
  "d" DECIMAL(10, 2) NULL DEFAULT -1.5,
  "s" STRING NULL DEFAULT 'a''b',
  "f" BOOLEAN NULL DEFAULT true,
  "ts" TIMESTAMP(9) NOT NULL DEFAULT '2024-01-01 00:00:00+0000',
  TIME INDEX ("ts"),
  PRIMARY KEY ("ho""st 'x' ü")
)

ENGINE=mito
WITH(
  append_mode = 'true',
  'compaction.type' = 'twcs',
  ttl = '7days'
)`;
      await bench.all(text);
      expect(await bench.rows('SHOW CREATE TABLE "t-1"')).to.deep.equal([['t-1', text]]);
      await bench.all('DROP TABLE "t-1"');
      await bench.all(text);
      expect(await bench.rows('SHOW CREATE TABLE "t-1"')).to.deep.equal([['t-1', text]]);
    });
    it('copies the columns of another table', async () => {
      await bench.all(
        "CREATE TABLE a (h STRING PRIMARY KEY, ts TIMESTAMP(0) TIME INDEX) WITH (ttl='1h'); CREATE TABLE b LIKE a",
      );
      expect((await bench.rows('SHOW CREATE TABLE b'))[0][1]).to.match(
        /^CREATE TABLE IF NOT EXISTS "b" [\s\S]*ttl = '1h'/,
      );
    });
    it('accepts indexes, partitions, trailing commas and all kinds of options', async () => {
      await bench.all(`CREATE TABLE t (a STRING SKIPPING INDEX WITH (type='BLOOM', granularity=10) FULLTEXT INDEX, b STRING INVERTED INDEX, ts TIMESTAMP_MS, TIME INDEX (ts), PRIMARY KEY (a, b,),)
        PARTITION ON COLUMNS (a) (a < 'm', a >= 'm') ENGINE = mito WITH ("append_mode" = true, merge_mode = last_row, ttl = '1h 30m',)`);
      expect((await bench.rows('SHOW CREATE TABLE t'))[0][1]).to.contain("ttl = '1h 30m'");
    });
    const refuses = (title: string, body: string, number: number, message: string): void => {
      it(`refuses ${title}`, () => fails(`CREATE TABLE t ${body}`, number, message));
    };
    refuses('no time index', '(a INT)', 2000, 'Missing time index constraint');
    refuses(
      'two time indexes',
      '(a TIMESTAMP TIME INDEX, b TIMESTAMP TIME INDEX)',
      2000,
      'Invalid time index: expected only one time index constraint but actual 2',
    );
    refuses(
      'a time index of two columns',
      '(a TIMESTAMP, b TIMESTAMP, TIME INDEX (a, b))',
      2000,
      'Invalid time index: it should contain only one column in time index',
    );
    refuses(
      'a time index that is no time',
      '(i INT TIME INDEX)',
      1004,
      'Invalid column option, column name: i, error: time index column data type should be timestamp',
    );
    refuses(
      'a time index that may be null',
      '(i TIMESTAMP NULL TIME INDEX)',
      1004,
      "Invalid column option, column name: i, error: time index column can't be null",
    );
    refuses(
      'two inline primary keys',
      '(a INT PRIMARY KEY, b INT PRIMARY KEY, ts TIMESTAMP TIME INDEX)',
      1004,
      'Illegal primary keys definition: not allowed to inline multiple primary keys in columns options',
    );
    refuses(
      'primary keys in two places',
      '(a INT PRIMARY KEY, ts TIMESTAMP TIME INDEX, PRIMARY KEY (a))',
      1004,
      'Illegal primary keys definition: found definitions of primary keys in multiple places',
    );
    refuses(
      'a default that is computed',
      '(a INT DEFAULT 1 + 1, ts TIMESTAMP TIME INDEX)',
      1001,
      "Unsupported default constraint for column: 'a', reason: expr '1 + 1' not supported",
    );
    refuses(
      'now for a number',
      '(a INT DEFAULT now(), ts TIMESTAMP TIME INDEX)',
      1001,
      "Unsupported default constraint for column: 'a', reason: expr 'now()' not supported",
    );
    refuses(
      'an unknown option',
      "(ts TIMESTAMP TIME INDEX) WITH (foo = 'x')",
      1004,
      'Unrecognized table option key: foo',
    );
    refuses(
      'an unknown type',
      '(a FANCY, ts TIMESTAMP TIME INDEX)',
      2000,
      'Invalid SQL syntax: SQL data type not supported yet: FANCY',
    );
    refuses(
      'a keyword as a name',
      '(select INT, ts TIMESTAMP TIME INDEX)',
      2000,
      "Invalid SQL syntax: Cannot use keyword 'select' as column name. Hint: add quotes to the name.",
    );
    refuses(
      'a fulltext index on a number',
      '(a INT FULLTEXT INDEX, ts TIMESTAMP TIME INDEX)',
      1004,
      'Invalid column option, column name: a, error: FULLTEXT index only supports string type',
    );
    refuses(
      'an unknown index option',
      '(a STRING SKIPPING INDEX WITH (x = 1), ts TIMESTAMP TIME INDEX)',
      1004,
      'Invalid column option, column name: a, error: invalid SKIPPING INDEX option: x',
    );
    refuses(
      'modes that conflict',
      "(ts TIMESTAMP TIME INDEX) WITH (append_mode = 'true', merge_mode = 'last_non_null')",
      1004,
      'Invalid region options, only last_row merge_mode is allowed when append_mode is enabled',
    );
    it('refuses existing names and tables', async () => {
      for (const name of ['N.~', 'we ird', '12', 'x'.repeat(256)]) {
        const text = `Invalid table name: ${name.slice(0, 100)}`;
        await fails(`CREATE TABLE "${name}" (ts TIMESTAMP TIME INDEX)`, 1004, text);
      }
      await bench.all('CREATE TABLE "1é_-:@#." (ts TIMESTAMP TIME INDEX)');
      await bench.all('CREATE TABLE t (ts TIMESTAMP TIME INDEX)');
      await fails('CREATE TABLE t (ts TIMESTAMP TIME INDEX)', 4000, 'Table already exists: `almanac.public.t`');
      expect((await bench.query('CREATE TABLE IF NOT EXISTS t (ts TIMESTAMP TIME INDEX)')).affected).to.equal(0);
    });
  });

  describe('databases', () => {
    it('creates, shows, uses and drops databases', async () => {
      expect((await bench.query("CREATE DATABASE d1 WITH (ttl = '7d')")).affected).to.equal(1);
      expect(await bench.rows('SHOW DATABASES')).to.deep.equal([['d1'], ['information_schema'], ['public']]);
      expect(await bench.rows("SHOW DATABASES LIKE 'd%'")).to.deep.equal([['d1']]);
      expect(await bench.rows('SHOW FULL DATABASES')).to.deep.equal([
        ['d1', "'ttl'='7days'\n"],
        ['information_schema', ''],
        ['public', ''],
      ]);
      expect(await bench.rows('SHOW CREATE DATABASE d1')).to.deep.equal([
        ['d1', "CREATE DATABASE IF NOT EXISTS d1\nWITH(\n  ttl = '7days'\n)"],
      ]);
      await bench.all('USE d1; CREATE TABLE t (ts TIMESTAMP TIME INDEX)');
      expect(await bench.rows('SHOW TABLES FROM d1')).to.deep.equal([['t']]);
      expect(await bench.rows('SHOW TABLES')).to.deep.equal([]);
      await fails('USE d1; DROP DATABASE d1', 1004, 'Schema `d1` is in use');
      expect((await bench.query('DROP DATABASE d1')).affected).to.equal(0);
      await fails('SELECT 1; USE d1', 4004, 'Database not found: d1');
    });
    it('refuses with the messages of the dialect', async () => {
      await bench.all('CREATE DATABASE d1');
      await fails('CREATE DATABASE d1', 1004, 'Schema d1 already exists');
      expect((await bench.query('CREATE DATABASE IF NOT EXISTS d1')).affected).to.equal(1);
      await fails("CREATE DATABASE d2 WITH (k = 'v')", 1004, 'Unrecognized database option key: k');
      await fails('CREATE DATABASE "☃"', 1002, 'Unexpected, violated: Invalid database name: ☃');
      await fails('DROP DATABASE public', 1001, 'Schema `public` is read-only');
    });
    it('refuses a statement in an unknown database before parsing it', async () => {
      const error = await bench.error('SELEC', { database: 'nope' });
      expect(error.code).to.equal('database_not_found');
    });
  });

  describe('SHOW and DESCRIBE', () => {
    beforeEach(() =>
      bench.all(
        'CREATE TABLE cpu (host STRING, v DOUBLE, ts TIMESTAMP TIME INDEX, PRIMARY KEY (host)); CREATE TABLE b (ts TIMESTAMP TIME INDEX)',
      ),
    );
    it('lists tables', async () => {
      const answer = await bench.query('SHOW TABLES');
      expect(answer.columns).to.deep.equal([{ name: 'Tables_in_public', type: 'String' }]);
      expect(answer.rows).to.deep.equal([['b'], ['cpu']]);
      expect(await bench.rows('SHOW FULL TABLES')).to.deep.equal([
        ['b', 'BASE TABLE'],
        ['cpu', 'BASE TABLE'],
      ]);
      expect(await bench.rows("SHOW TABLES LIKE 'c%'")).to.deep.equal([['cpu']]);
      expect(await bench.rows("SHOW TABLES WHERE Tables = 'b'")).to.deep.equal([['b']]);
      expect(await bench.rows("SHOW TABLES WHERE Tables_in_public <> 'b'")).to.deep.equal([['cpu']]);
      await fails("SHOW TABLES WHERE Tables = getenv('HOME')", 3000, "Failed to plan SQL: Invalid function 'getenv'.");
      await fails('SHOW TABLES FROM nope', 4004, 'Database not found: nope');
    });
    it('lists columns and indexes', async () => {
      expect(await bench.rows('SHOW COLUMNS FROM cpu')).to.deep.equal([
        ['host', 'string', 'YES', 'PRI', null, '', 'String'],
        ['ts', 'timestamp(3)', 'NO', 'TIME INDEX', null, '', 'TimestampMillisecond'],
        ['v', 'double', 'YES', '', null, '', 'Float64'],
      ]);
      expect((await bench.rows('SHOW INDEX FROM cpu')).map((row) => row.slice(0, 5))).to.deep.equal([
        ['cpu', 0, 'PRIMARY', 1, 'host'],
        ['cpu', 1, 'TIME INDEX', 1, 'ts'],
      ]);
      await fails(
        'SHOW COLUMNS',
        2000,
        "Unexpected token while parsing SQL statement, expected: '{FROM | IN} table', found: EOF",
      );
    });
    it('lists regions and their owners', async () => {
      const rows = [['cpu', 1, 1, 'Yes']];
      for (const sql of [
        'SHOW REGIONS FROM cpu',
        'SHOW REGION IN cpu IN public',
        'SHOW REGIONS FROM public.cpu',
        'SHOW REGIONS FROM cpu WHERE Region = 1',
        `SHOW REGIONS WHERE "Table" = 'cpu'`,
        "SHOW REGIONS LIKE 'cp%'",
      ]) {
        expect(await bench.rows(sql), sql).to.deep.equal(rows);
      }
      expect(await bench.rows('SHOW REGIONS FROM cpu WHERE Region = 2')).to.deep.equal([]);
      await fails('SHOW REGIONS FROM nope', 4001, 'Table not found: almanac.public.nope');
      await fails(
        'SHOW REGIONS FROM',
        2000,
        "Unexpected token while parsing SQL statement, expected: 'table name', found: EOF",
      );
    });
    it('reports missing tables', async () => {
      await fails('DESC nope', 4001, 'Table not found: almanac.public.nope');
      await fails('SHOW CREATE TABLE nope', 4001, 'Table not found: almanac.public.nope');
    });
    it('shows and sets the time zone', async () => {
      const answers = await bench.all(`SET time_zone = '+8:00'; SHOW VARIABLES time_zone`);
      expect(answers[1].rows).to.deep.equal([['+08:00']]);
      expect(answers[1].columns[0].name).to.equal('TIME_ZONE');
      await fails("SET time_zone = 'Mars/Base'", 1004, 'Invalid timezone string: "Mars/Base"');
      await fails('SET foo = 1', 1001, 'Not supported: Unsupported set variable FOO');
      await fails('SHOW VARIABLES foo', 1004, 'Unsupported show variable: foo');
    });
  });

  describe('DROP, TRUNCATE, ADMIN, EXPLAIN', () => {
    beforeEach(() => bench.all(`CREATE TABLE t (n INT, ts TIMESTAMP TIME INDEX); INSERT INTO t VALUES (1, 1)`));
    it('drops tables', async () => {
      await fails('DROP TABLE t, nope', 4001, 'Table not found: almanac.public.nope');
      expect(await bench.rows('SELECT n FROM t')).to.deep.equal([[1]]);
      expect((await bench.query('DROP TABLE IF EXISTS t, nope')).affected).to.equal(0);
      await fails('SELECT n FROM t', 4001, 'Failed to plan SQL: Table not found: almanac.public.t');
    });
    it('shows no old rows in a recreated table', async () => {
      await bench.all('SELECT n FROM t; DROP TABLE t; CREATE TABLE t (n STRING, ts TIMESTAMP(0) TIME INDEX)');
      const answer = await bench.query('SELECT n, ts FROM t');
      expect(answer.rows).to.deep.equal([]);
      expect(answer.columns.map((column) => column.type)).to.deep.equal(['String', 'TimestampSecond']);
    });
    it('truncates tables', async () => {
      expect((await bench.query('TRUNCATE TABLE t')).affected).to.equal(0);
      expect(await bench.rows('SELECT n FROM t')).to.deep.equal([]);
      await fails('TRUNCATE nope', 4001, 'Table not found: almanac.public.nope');
    });
    it('flushes tables', async () => {
      const answer = await bench.query("ADMIN flush_table('t')");
      expect(answer.columns).to.deep.equal([{ name: "ADMIN flush_table('t')", type: 'Int64' }]);
      expect(answer.rows).to.deep.equal([[0]]);
      expect(bench.flushed).to.have.length(1);
      expect(await bench.rows('ADMIN FLUSH_TABLE("public.t")')).to.deep.equal([[0]]);
      await fails("ADMIN nope('t')", 1004, 'Admin function not found: nope');
      await fails('ADMIN flush_table()', 1004, 'flush_table takes 1 argument, the table, got 0');
      await fails("ADMIN flush_table('nope')", 4001, 'Table not found: almanac.public.nope');
    });
    it('checks the arguments of ADMIN move and abandon', async () => {
      await fails('ADMIN abandon_slot(1, 2)', 1004, 'abandon_slot takes 1 argument, the node id, got 2');
      await fails("ADMIN abandon_slot('a')", 1004, 'node id "a" is not a number from 1 to 4294967295');
      await fails('ADMIN move_region(1)', 1004, 'move_region takes 2 arguments, the region id and the node id, got 1');
      await fails('ADMIN move_region(0, 1)', 1004, 'region id "0" is not a number from 1 to 4294967295');
      await fails(
        "ADMIN move_region('1', 4294967296)",
        1004,
        'node id "4294967296" is not a number from 1 to 4294967295',
      );
      await fails('ADMIN abandon_slot(77)', 1004, 'there is no node 77');
    });
    it('explains queries', async () => {
      const plan = await bench.query('EXPLAIN SELECT max(n) FROM t');
      expect(plan.columns.map((column) => column.name)).to.deep.equal(['plan_type', 'plan']);
      expect(String(plan.rows[0][1]).split('\n').slice(0, 2)).to.deep.equal([
        'scan public.t: 0 of 3 segments',
        '  pruned: 1 by time, 1 by series',
      ]);
      expect(JSON.stringify(plan.rows)).to.not.match(/memory\.main|__almanac/);
      const analyzed = await bench.query('EXPLAIN ANALYZE SELECT max(n) FROM t');
      expect(analyzed.columns.map((column) => column.name)).to.deep.equal(['stage', 'node', 'plan']);
    });
  });

  describe('several statements', () => {
    it('returns results in order', async () => {
      const answers = await bench.all('SELECT 1; CREATE DATABASE x; ; SELECT 2;');
      expect(answers.map((answer) => answer.affected ?? answer.rows)).to.deep.equal([[[1]], 1, [[2]]]);
    });
    it('runs none if one cannot be parsed', async () => {
      const error = await bench.error('CREATE DATABASE x; SELECT 1; SELECT FROM');
      expect(error.code).to.equal('invalid_syntax');
      expect(error.details).to.include({ statement_index: '2' });
      expect(await bench.rows('SHOW DATABASES')).to.deep.equal([['information_schema'], ['public']]);
    });
    it('keeps the effects of the statements before a failure', async () => {
      const error = await bench.error('CREATE DATABASE x; SELECT * FROM nope; CREATE DATABASE y');
      expect(error.details).to.include({ statement_index: '1' });
      expect(await bench.rows('SHOW DATABASES')).to.deep.equal([['information_schema'], ['public'], ['x']]);
    });
    it('requires at least one statement', () => fails(' ; ', 1004, 'Invalid SQL, error: empty statements'));
    it('refuses unknown statements', () => fails('SELEC 1', 1001, 'SQL statement is not supported, keyword: SELEC'));
    it('names what is expected after the first words', async () => {
      const expects = (text: string, expected: string, found: string): Promise<void> =>
        fails(text, 2000, `Unexpected token while parsing SQL statement, expected: '${expected}', found: ${found}`);
      await expects('DELETE t', 'FROM', 't');
      await expects('DELETE', 'FROM', 'EOF');
      await expects('INSERT t VALUES (1)', 'INTO', 't');
      await expects('REPLACE', 'INTO', 'EOF');
      await expects('DROP', 'TABLE, VIEW, DATABASE, FLOW, USER or TOKEN', 'EOF');
      await expects('ALTER t ADD COLUMN a INT', 'TABLE, DATABASE or USER', 't');
      await expects('CREATE PROCEDURE p', 'TABLE, EXTERNAL TABLE, VIEW, DATABASE, FLOW, USER or TOKEN', 'PROCEDURE');
      await expects('SHOW CREATE', 'TABLE, VIEW, DATABASE or FLOW', 'EOF');
      await expects('SHOW FULL', 'DATABASES, TABLES, COLUMNS, PROCESSLIST or REGIONS', 'EOF');
      const shown =
        'DATABASES, TABLES, COLUMNS, INDEX, REGIONS, VIEWS, PROCESSLIST, CREATE, FULL, FLOWS, STATUS, VARIABLES, USERS, GRANTS or TOKENS';
      await expects('SHOW', shown, 'EOF');
      await expects('SHOW TABLE OTHER', shown, 'TABLE');
      await fails('SHOW nothing', 1004, 'Unsupported show variable: nothing');
      await fails('SHOW VARIABLES nothing', 1004, 'Unsupported show variable: nothing');
      const { columns, rows } = await bench.query('SHOW STATUS');
      expect([columns.map(({ name }) => name), rows]).to.deep.equal([['Variable_name', 'Value'], []]);
    });
    it('refuses unknown formats', async () => {
      const error = await bench.error('SELECT 1', { format: 'nope' });
      expect(error.message).to.equal(
        'unknown format "nope": use one of greptimedb_v1, almanac_v1, json_v1, influxdb_v1, csv, csvWithNames, csvWithNamesAndTypes, table, json, arrow, null',
      );
      expect(await bench.rows('SELECT 1', { format: 'GreptimeDB_v1' })).to.deep.equal([[1]]);
    });
  });
});
