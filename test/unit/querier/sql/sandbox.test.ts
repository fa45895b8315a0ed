import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('SQL sandbox', () => {
  let bench: SqlBench;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'almanac-sandbox-'));
    writeFileSync(join(folder, 'secret.csv'), 'a\nsecret\n');
    bench = await SqlBench.open();
    await bench.all(
      `CREATE TABLE cpu (host STRING, v DOUBLE, ts TIMESTAMP TIME INDEX, PRIMARY KEY (host)); INSERT INTO cpu VALUES ('a', 1, 1)`,
    );
  });
  after(() => {
    bench.close();
    rmSync(folder, { recursive: true });
  });

  const refuses = (text: string): void => {
    it(`refuses ${text.replaceAll(/\s+/g, ' ').slice(0, 90)}`, async () => {
      const error = await bench.error(text.replaceAll('FOLDER', folder));
      expect(error.httpStatus, error.message).to.be.within(400, 499);
      expect(error.message).to.not.match(/__t\d|LINE 1|secret\n/);
      expect(readdirSync(folder)).to.deep.equal(['secret.csv']);
      expect(await bench.rows('SELECT v FROM cpu')).to.deep.equal([[1]]);
    });
  };

  describe('functions that read files or run SQL', () => {
    for (const call of [
      "read_text('FOLDER/secret.csv')",
      "read_blob('FOLDER/secret.csv')",
      "read_csv('FOLDER/secret.csv')",
      "read_csv_auto('FOLDER/*.csv')",
      "read_json('FOLDER/secret.csv')",
      "read_json_auto('x')",
      "read_ndjson('x')",
      "read_parquet('FOLDER/../x.parquet')",
      "parquet_scan('x')",
      "parquet_metadata('x')",
      "parquet_schema('x')",
      "glob('FOLDER/*')",
      "sniff_csv('FOLDER/secret.csv')",
      "query('SELECT 1')",
      "query_table('cpu')",
      "json_execute_serialized_sql('{}')",
      'duckdb_tables()',
      'duckdb_settings()',
      'duckdb_secrets()',
      'duckdb_functions()',
      "pragma_table_info('cpu')",
      'pragma_version()',
      'pg_timezone_names()',
      "which_secret('s3://x', 's3')",
      'test_all_types()',
      'arrow_scan(1, 2, 3)',
      "seq_scan('x')",
      'checkpoint()',
      "read_text(['FOLDER/secret.csv'])",
      'summary((SELECT 1))',
      'repeat_row(1, num_rows = 10)',
      "sql_auto_complete('S')",
      "main.read_text('FOLDER/secret.csv')",
    ]) {
      refuses(`SELECT * FROM ${call}`);
    }
    for (const call of [
      "getenv('HOME')",
      "current_setting('memory_limit')",
      "getvariable('x')",
      "nextval('s')",
      'txid_current()',
      "json_serialize_sql('SELECT 1')",
      "json_deserialize_sql('{}')",
      "json_serialize_plan('SELECT 1')",
      'sleep_ms(10000)',
      'pg_sleep(100)',
      "write_log('x')",
      'current_query()',
      "system.main.current_setting('threads')",
      'setseed(0.5)',
      "main.getvariable('x')",
      'current_schemas(true)',
      "has_table_privilege('cpu', 'x')",
    ]) {
      refuses(`SELECT ${call}`);
    }

    it('answers what the engine says of itself with the facts of the session', async () => {
      const { rows } = await bench.query('SELECT version(), main.version(), current_user, current_schema');
      expect(rows[0].slice(0, 2).every((text) => String(text).startsWith('Almanac '))).to.equal(true);
      expect(rows[0].slice(2)).to.deep.equal(['', 'public']);
    });
  });

  describe('files in place of tables', () => {
    for (const name of [
      "'FOLDER/secret.csv'",
      '"FOLDER/secret.csv"',
      "'x.parquet'",
      "'../../etc/passwd'",
      "'https://example.org/x.csv'",
      '`FOLDER/secret.csv`',
      "cpu, 'FOLDER/secret.csv'",
      "cpu JOIN 'FOLDER/secret.csv' ON true",
    ]) {
      refuses(`SELECT * FROM ${name}`);
    }
    refuses("FROM 'FOLDER/secret.csv'");
    refuses("TABLE 'FOLDER/secret.csv'");
    refuses("DESCRIBE 'FOLDER/secret.csv'");
    refuses("SUMMARIZE 'FOLDER/secret.csv'");
    refuses('SELECT * FROM "__almanac_data_1"');
    refuses('SELECT * FROM main."__almanac_data_1"');
    refuses('SELECT * FROM memory.main."__almanac_data_1"');
    refuses('SELECT * FROM main.information_schema.tables');
    refuses('SELECT * FROM memory.information_schema.tables');
    refuses('SELECT * FROM information_schema.triggers');
    refuses('SELECT * FROM sqlite_master');
    refuses('SELECT * FROM pg_catalog.pg_class');
    refuses('SELECT * FROM (SHOW TABLES)');
    refuses('SELECT * FROM (DESCRIBE cpu)');
    // The first part of a recursive expression cannot refer to the expression.
    for (const name of ['duckdb_tables', 'sqlite_master', 'pg_class']) {
      const first = `SELECT * FROM ${name}`;
      refuses(`WITH RECURSIVE ${name}(a) AS (${first} UNION ALL ${first}) SELECT * FROM ${name}`);
      refuses(`WITH RECURSIVE ${name} AS (SELECT * FROM (${first}) UNION ALL SELECT 1) SELECT * FROM ${name}`);
      refuses(`WITH ${name} AS (${first}) SELECT * FROM ${name}`);
      refuses(`SELECT * FROM (WITH ${name} AS (SELECT 1) FROM ${name}), ${name}`);
    }
  });

  describe('statements that change or read the engine', () => {
    for (const text of [
      "COPY cpu TO 'FOLDER/out.csv'",
      "COPY (SELECT 1) TO 'FOLDER/out.csv'",
      "COPY cpu FROM 'FOLDER/secret.csv'",
      "ATTACH 'FOLDER/db.duckdb'",
      'DETACH memory',
      'INSTALL httpfs',
      'LOAD httpfs',
      "LOAD 'FOLDER/x.so'",
      'PRAGMA database_list',
      'PRAGMA enable_profiling',
      "SET memory_limit = '100GB'",
      'SET threads = 64',
      'RESET threads',
      'SET enable_external_access = true',
      'SET GLOBAL lock_configuration = false',
      'CALL pragma_version()',
      "EXPORT DATABASE 'FOLDER/x'",
      "IMPORT DATABASE 'FOLDER/x'",
      'CHECKPOINT',
      'VACUUM',
      'ANALYZE',
      'CREATE TEMP VIEW v AS SELECT 1',
      'CREATE MACRO m() AS 1',
      'CREATE SECRET (TYPE s3)',
      'CREATE TEMP TABLE x AS SELECT 1',
      'CREATE TABLE x AS SELECT 1',
      'CREATE SEQUENCE s',
      "CREATE TYPE t AS ENUM ('a')",
      'BEGIN',
      'COMMIT',
      'PREPARE p AS SELECT 1',
      'EXECUTE p',
      'UPDATE cpu SET v = 2',
      "DELETE FROM cpu WHERE host = (SELECT content FROM read_text('FOLDER/secret.csv'))",
      'DELETE FROM cpu WHERE v = getenv(1)',
      'DELETE FROM cpu WHERE true; DROP TABLE nope',
      'MERGE INTO cpu USING cpu ON true',
      'USE memory.main',
      'SELEC 1',
      'GRANT ALL',
      'SET VARIABLE x = 1',
      'WITH x AS (SELECT 1) DELETE FROM cpu',
      'WITH x AS (SELECT 1) INSERT INTO cpu SELECT 1',
      'EXPLAIN DROP TABLE cpu',
      'EXPLAIN ANALYZE DELETE FROM cpu',
      'SELECT 1; DROP TABLE nope; SELECT 2',
      'SELECT $1',
      'SELECT ?',
      'SELECT * FROM cpu AT (VERSION => 1)',
      'PIVOT cpu ON host USING sum(v)',
      "INSERT INTO cpu SELECT * FROM read_csv('FOLDER/secret.csv')",
      "INSERT INTO cpu VALUES ((SELECT content FROM read_text('FOLDER/secret.csv')), 1, 1)",
      "INSERT INTO cpu VALUES (getenv('HOME'), 1, 2)",
    ]) {
      refuses(text);
    }
    refuses("EXPLAIN ANALYZE COPY cpu TO 'FOLDER/out.csv'");
    refuses("EXPLAIN COPY cpu TO 'FOLDER/out.csv'");
    it('leaves no file in the working folder', () => {
      expect(existsSync(join(folder, 'out.csv'))).to.equal(false);
    });
  });

  describe('deep and long texts', () => {
    const long = (title: string, text: string): void => {
      it(`refuses ${title}`, async () => {
        const error = await bench.error(text);
        expect(error.httpStatus, error.message).to.be.within(400, 499);
        expect(error.message.length).to.be.below(1200);
      });
    };
    long('10,000 parentheses', `SELECT ${'('.repeat(10_000)}1${')'.repeat(10_000)}`);
    long('10,000 unclosed parentheses', `SELECT ${'('.repeat(10_000)}`);
    long('10,000 brackets', `SELECT ${'['.repeat(10_000)}1${']'.repeat(10_000)}`);
    long('10,000 NOT', `SELECT ${'NOT '.repeat(10_000)}true`);
    long('10,000 signs', `SELECT ${'- '.repeat(10_000)}1`);
    long('10,000 additions', `SELECT 1${' + 1'.repeat(10_000)}`);
    long('10,000 casts', `SELECT 1${'::INT'.repeat(10_000)}`);
    long('10,000 subscripts', `SELECT v${'[1]'.repeat(10_000)} FROM cpu`);
    long('10,000 CASE', `SELECT ${'CASE WHEN true THEN '.repeat(10_000)}1${' END'.repeat(10_000)}`);
    long('10,000 UNION', `SELECT 1${' UNION SELECT 1'.repeat(10_000)}`);
    long('10,000 joins', `SELECT 1 FROM cpu${', cpu'.repeat(10_000)}`);
    long('10,000 name parts', `SELECT a${'.a'.repeat(10_000)} FROM cpu`);
    long('nested subqueries', `${'SELECT * FROM ('.repeat(2000)}SELECT 1${')'.repeat(2000)}`);
    long('nested calls in INSERT', `INSERT INTO cpu VALUES (${'abs('.repeat(2000)}1${')'.repeat(2000)}, 1, 1)`);
    long('2 MB of one query', `SELECT '${'x'.repeat(2_000_000)}'`);
    long('20 MB of text', `SELECT '${'x'.repeat(20_000_000)}'`);
    long('1,001 statements', 'SELECT 1;'.repeat(1001));
    long('an unclosed string', `SELECT 'abc`);
    long('an unclosed comment', 'SELECT /* abc');
    long('a stray character', 'SELECT \u0001');
    long('only comments', '-- nothing\n/* here */ ;;');
  });

  describe('functions with large results', () => {
    for (const expression of [
      'range(1000000000)',
      'range(0, 1000000000)',
      'range(0, -1000000000, -2)',
      'generate_series(1, 100000000000)',
      'length(range(v::BIGINT * 1000000000))',
      "generate_series('2020-01-01'::TIMESTAMP, '2030-01-01'::TIMESTAMP, INTERVAL '1 second')",
      'range(length(range(length(range(10)))))',
      "repeat('x', 1000000000)",
      "repeat('x', v::BIGINT * 1000000000)",
      "lpad('x', 2000000000, 'y')",
      "rpad('x', 2000000000, 'y')",
      'list_resize([1], 1000000000)',
      "bitstring('1', 1000000000)",
    ]) {
      it(`fails: ${expression}`, async () => {
        await bench.error(`SELECT ${expression} FROM cpu`);
        expect(await bench.rows('SELECT v FROM cpu')).to.deep.equal([[1]]);
      });
    }
    it('accepts small results', async () => {
      const list = `range(3), range(v::BIGINT, 9, 4), generate_series(1, 2), length(repeat('ab', 1000)), lpad('x', 3, '-')`;
      expect(await bench.rows(`SELECT ${list} FROM cpu`)).to.deep.equal([[[0, 1, 2], [1, 5], [1, 2], 2000, '--x']]);
      const times = `generate_series('2020-01-01'::TIMESTAMP, '2020-01-02'::TIMESTAMP, INTERVAL '1 hour')`;
      expect(await bench.rows(`SELECT count(*) FROM (SELECT unnest(${times}))`)).to.deep.equal([[25]]);
      expect(await bench.rows('SELECT count(*) FROM range(1000000)')).to.deep.equal([[1_000_000]]);
    });
  });

  it('does not treat the text of literals as SQL', async () => {
    const hostile = `'); DROP TABLE cpu; -- $1 __t0 "`;
    const rows = await bench.rows(
      `SELECT '${hostile.replaceAll("'", "''")}', host FROM cpu WHERE host <> '${hostile.replaceAll("'", "''")}'`,
    );
    expect(rows).to.deep.equal([[hostile, 'a']]);
  });
  it('refuses identifiers in place of relations', async () => {
    expect((await bench.error('SELECT "__t0" FROM cpu')).code).to.equal('plan_query');
    expect(await bench.rows('SELECT v AS "__t0" FROM cpu')).to.deep.equal([[1]]);
    expect((await bench.query('SELECT v AS "__tn0" FROM cpu')).columns[0].name).to.equal('__tn0');
  });
});
