import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { basic, sqlAs } from '#test/support/as-user';
import { bodyV1 } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const errorIn = ({ text }: { readonly text: string }): { code: number; error: string } =>
  JSON.parse(text) as { code: number; error: string };

/** One column of each kind of type. */
const COLUMNS = `s STRING, i8 TINYINT, i64 BIGINT, u64 BIGINT UNSIGNED, f32 FLOAT, f64 DOUBLE, b BOOLEAN, dec DECIMAL(10, 2),
  d DATE, t0 TIMESTAMP(0), t9 TIMESTAMP(9), bin BINARY, j JSON, v VECTOR(2), ts TIMESTAMP TIME INDEX`;
const ROWS = `('a, "b"\n''c''', -128, -9223372036854775808, 18446744073709551615, 1.5, 'NaN', true, '12.30', '2024-02-29',
    '2024-01-01 00:00:01', '2024-01-01 00:00:00.123456789', X'00ff', '{"a":[1,{"b":null}],"c":"x"}', '[1,2.5]', 1),
  ('', 127, 9223372036854775807, 0, -0.25, 'Infinity', false, '-0.01', '1969-12-31', 0, 0, X'', '"text"', '[0,-1]', 2),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3)`;

describe('COPY', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let files: string;
  let almanac: Almanac;

  const start = async (): Promise<void> => {
    const environment = { ALMANAC_STANDALONE__STORAGE__COPY_ROOT: files };
    almanac = await Almanac.start(join(folder, 'data'), { environment });
  };

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    files = join(folder, 'files');
    await start();
    await almanac.rows('CREATE TABLE cpu (host STRING, usage DOUBLE, ts TIMESTAMP TIME INDEX, PRIMARY KEY (host))');
    await almanac.rows("INSERT INTO cpu VALUES ('a', 1.5, 1000), ('a', 2.5, 61000), ('b', 7.5, 2000)");
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const affected = async (sql: string): Promise<number> => {
    const { status, text } = await almanac.sql(sql);
    expect(status, `${text}: ${sql}`).to.equal(200);
    return (JSON.parse(text) as { output: [{ affectedrows: number }] }).output[0].affectedrows;
  };

  const refused = async (sql: string, code: number, text: string): Promise<void> => {
    const error = errorIn(await almanac.sql(sql));
    expect(error.code, `${error.error}: ${sql}`).to.equal(code);
    expect(error.error).to.contain(text).and.not.contain(folder);
  };

  /** Creates a table of the given columns and returns the rows that a file brings into it. */
  const imported = async (table: string, columns: string, copy: string): Promise<unknown[][]> => {
    await almanac.rows(`CREATE TABLE ${table} (${columns})`);
    await affected(`COPY ${table} FROM ${copy}`);
    return almanac.rows(`SELECT * FROM ${table} ORDER BY ts`);
  };

  const CPU = 'host STRING PRIMARY KEY, usage DOUBLE, ts TIMESTAMP TIME INDEX';

  for (const [name, options] of [
    ['types.parquet', ''],
    ['types.csv', "WITH (FORMAT = 'csv')"],
    ['types.tsv', "WITH (FORMAT = 'csv', DELIMITER = '9')"],
    ['types.csv.gz', "WITH (FORMAT = 'csv', COMPRESSION_TYPE = 'gzip')"],
    ['types.csv.zst', "WITH (FORMAT = 'csv', COMPRESSION_TYPE = 'zstd')"],
    ['types.json', "WITH (FORMAT = 'json')"],
    ['types.json.gz', "WITH (FORMAT = 'json', COMPRESSION_TYPE = 'gzip')"],
    ['types.json.zst', "WITH (FORMAT = 'json', COMPRESSION_TYPE = 'zstd')"],
  ]) {
    it(`keeps the values of every type in ${name}`, async () => {
      const table = name.replaceAll('.', '_');
      await almanac.rows(`CREATE TABLE ${table} (${COLUMNS})`);
      await almanac.rows(`INSERT INTO ${table} VALUES ${ROWS}`);
      const expected = await almanac.rows(`SELECT * FROM ${table} ORDER BY ts`);
      expect(await affected(`COPY ${table} TO 'types/${name}' ${options}`)).to.equal(3);
      expect(statSync(join(files, 'types', name)).size).to.be.greaterThan(0);
      expect(await imported(`${table}_in`, COLUMNS, `'types/${name}' ${options}`)).to.deep.equal(expected);
      expect(await almanac.rows(`SELECT t9, u64 FROM ${table}_in WHERE ts = 1`)).to.deep.equal(
        await almanac.rows(`SELECT t9, u64 FROM ${table} WHERE ts = 1`),
      );
    });
  }

  it('writes the rows of a time range, of a query and of a view', async () => {
    const range = "START_TIME = '1970-01-01 00:00:01', END_TIME = '1970-01-01 00:01:01'";
    expect(await affected(`COPY cpu TO 'range.parquet' WITH (${range})`)).to.equal(2);
    expect(
      await affected("COPY (SELECT sum(usage) AS s, host FROM cpu GROUP BY host) TO 'sums.csv' WITH (FORMAT='csv')"),
    ).to.equal(2);
    expect(readFileSync(join(files, 'sums.csv'), 'utf8').split('\n').sort()).to.deep.equal([
      '',
      '4.0,a',
      '7.5,b',
      's,host',
    ]);
    await almanac.rows('CREATE VIEW hosts AS SELECT DISTINCT host FROM cpu');
    expect(await affected("COPY hosts TO 'hosts.json' WITH (FORMAT = 'json')")).to.equal(2);
    await refused("COPY hosts TO 'x.json' WITH (START_TIME = '1970-01-01')", 1004, 'need a time index');
    const formats = "FORMAT = 'csv', TIMESTAMP_FORMAT = '%m-%d-%Y %H', HEADERS = 'false'";
    expect(await affected(`COPY (SELECT ts FROM cpu WHERE host = 'b') TO 'time.csv' WITH (${formats})`)).to.equal(1);
    expect(readFileSync(join(files, 'time.csv'), 'utf8')).to.equal('01-01-1970 00\n');
    await refused("COPY (SELECT 1 AS a, 2 AS a) TO 'twice.parquet'", 1004, 'two columns "a"');
  });

  it('matches columns by name: defaults for missing ones, others are ignored', async () => {
    await affected("COPY cpu TO 'cpu.parquet'");
    const columns = "usage DOUBLE, ts TIMESTAMP TIME INDEX, region STRING DEFAULT 'eu', zone STRING";
    expect(await imported('fewer', columns, "'cpu.parquet'")).to.deep.equal([
      [1.5, 1000, 'eu', null],
      [7.5, 2000, 'eu', null],
      [2.5, 61_000, 'eu', null],
    ]);
    await almanac.rows('CREATE TABLE needs (must STRING NOT NULL, ts TIMESTAMP TIME INDEX)');
    await refused("COPY needs FROM 'cpu.parquet'", 1004, 'must');
    await almanac.rows('CREATE TABLE narrow (host INT, ts TIMESTAMP TIME INDEX)');
    await refused("COPY narrow FROM 'cpu.parquet'", 2000, 'host');
    expect(await almanac.rows('SELECT count(*) FROM narrow')).to.deep.equal([[0]]);
  });

  it('reads all files of a folder, or those whose names match', async () => {
    for (const host of ['a', 'b']) {
      await affected(`COPY (SELECT * FROM cpu WHERE host='${host}') TO 'dir/cpu_${host}.parquet'`);
    }
    expect(await imported('all_files', CPU, "'dir/'")).to.have.length(3);
    expect(await imported('some_files', CPU, "'dir/' WITH (PATTERN = '_b')")).to.deep.equal([['b', 7.5, 2000]]);
    expect(await imported('limited', CPU, "'dir/' LIMIT 1")).to.have.length(1);
    expect(await imported('none', CPU, "'dir/' LIMIT 0")).to.have.length(0);
    expect(await imported('ranged', CPU, "'dir/' WITH (START_TIME = '1970-01-01 00:00:02')")).to.have.length(2);
    await refused("COPY none FROM 'dir/' WITH (PATTERN = 'other')", 1004, 'no file to copy from');
    await refused("COPY none FROM 'dir/' WITH (PATTERN = '(')", 1004, 'invalid pattern "("');
  });

  it('reads CSV and JSON as other programs write them', async () => {
    writeFileSync(
      join(files, 'bad.csv'),
      'host,usage,ts\na,1,1000\nb,not a number,2000\nc,3\nd,4,1970-01-01T00:00:04+01:00\n',
    );
    await almanac.rows(`CREATE TABLE strict (${CPU})`);
    await refused("COPY strict FROM 'bad.csv' WITH (FORMAT = 'csv')", 3001, 'bad.csv');
    const skipping = "'bad.csv' WITH (FORMAT = 'csv', SKIP_BAD_RECORDS = 'true')";
    expect(await imported('lenient', CPU, skipping)).to.deep.equal([
      ['d', 4, -3_596_000],
      ['a', 1, 1000],
    ]);
    writeFileSync(join(files, 'plain.csv'), 'a;1;1000\nb;2;2000\n');
    const plain = "'plain.csv' WITH (FORMAT = 'csv', HEADERS = 'false', DELIMITER = ';')";
    expect(await imported('plain', CPU, plain)).to.deep.equal([
      ['a', 1, 1000],
      ['b', 2, 2000],
    ]);
    writeFileSync(join(files, 'other.csv'), 'ts,host\n1000,a\n');
    await refused(
      "COPY strict FROM 'other.csv' WITH (FORMAT='csv', STRICT_HEADERS='true')",
      1004,
      'exactly the columns',
    );
    writeFileSync(
      join(files, 'lines.json'),
      '{"ts":1000,"host":"a"}\n{"ts":"1970-01-01 00:00:02","usage":2,"x":{"y":[1]}}\n',
    );
    expect(await imported('lines', CPU, "'lines.json' WITH (FORMAT = 'json')")).to.deep.equal([
      ['a', null, 1000],
      [null, 2, 2000],
    ]);
    writeFileSync(join(files, 'broken.parquet'), 'PAR1 is not a file of this format');
    await refused("COPY strict FROM 'broken.parquet'", 3001, 'broken.parquet');
    await refused("COPY strict FROM 'absent.parquet'", 1004, 'there is no such file');
  });

  it('writes and reads whole databases', async () => {
    await almanac.rows('CREATE DATABASE db');
    const other = { db: 'db' };
    for (const sql of [
      'CREATE TABLE a (n BIGINT, ts TIMESTAMP TIME INDEX)',
      'CREATE TABLE b LIKE a',
      'CREATE VIEW v AS SELECT 1',
    ]) {
      expect((await almanac.sql(sql, other)).status).to.equal(200);
    }
    await almanac.sql('INSERT INTO a VALUES (1, 1), (2, 2); INSERT INTO b VALUES (3, 3)', other);
    expect(await affected("COPY DATABASE db TO 'db/' WITH (FORMAT = 'csv', PARALLELISM = 2)")).to.equal(3);
    expect(readdirSync(join(files, 'db'))).to.deep.equal(['a.csv', 'b.csv']);
    await almanac.sql('DELETE FROM a; DELETE FROM b', other);
    expect(await affected("COPY DATABASE db FROM 'db/' WITH (FORMAT = 'csv')")).to.equal(3);
    expect(await almanac.rows('SELECT sum(n) FROM db.a')).to.deep.equal([[3]]);
    const external = "CREATE EXTERNAL TABLE c WITH (LOCATION = 'db/a.csv', FORMAT = 'csv')";
    expect((await almanac.sql(external, other)).status).to.equal(200);
    expect(await affected("COPY DATABASE db TO 'db/' WITH (FORMAT = 'csv')")).to.equal(5);
    expect(readdirSync(join(files, 'db'))).to.deep.equal(['a.csv', 'b.csv', 'c.csv']);
    expect(await affected("COPY DATABASE db FROM 'db/' WITH (FORMAT = 'csv')")).to.equal(3);
    await refused("COPY DATABASE db TO 'db'", 1004, 'must end with "/"');
    await refused("COPY DATABASE db FROM 'db/' LIMIT 2", 2000, 'limit is not supported');
    await refused("COPY DATABASE absent TO 'db/'", 4004, 'absent');
  });

  it('writes metrics one by one, and reads them back', async () => {
    await almanac.rows('CREATE DATABASE metrics');
    const series = ['up', 'down'].map((name) => ({
      labels: [
        ['__name__', name],
        ['job', 'a'],
      ] as [string, string][],
      samples: [{ value: 1, timestamp: 1000 }],
    }));
    const body = Uint8Array.from(compressSync(bodyV1(series)));
    expect((await almanac.post('/v1/prometheus/write?db=metrics', body)).status).to.equal(204);
    expect(await affected("COPY DATABASE metrics TO 'metrics/'")).to.equal(2);
    expect(readdirSync(join(files, 'metrics'))).to.deep.equal(['down.parquet', 'up.parquet']);
    expect(await affected("COPY DATABASE metrics FROM 'metrics/'")).to.equal(2);
    expect(await almanac.rows('SELECT job, almanac_value FROM metrics.up')).to.deep.equal([['a', 1]]);
  });

  it('uses no path outside of the folder', async () => {
    const outside = join(folder, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret.csv'), 'host,usage,ts\ns,1,1\n');
    symlinkSync(outside, join(files, 'link'));
    symlinkSync(join(outside, 'secret.csv'), join(files, 'secret.csv'));
    symlinkSync(join(outside, 'new.csv'), join(files, 'dangling.csv'));
    symlinkSync(join(outside, 'newfolder'), join(files, 'danglingfolder'));
    const format = "WITH (FORMAT = 'csv')";
    const paths = [
      '../outside/secret.csv',
      'a/../../outside/secret.csv',
      join(outside, 'secret.csv'),
      '/etc/passwd',
      'link/secret.csv',
      'secret.csv',
    ];
    await almanac.rows(`CREATE TABLE stolen (${CPU})`);
    for (const path of [...paths, 'link/', '/']) {
      const error = errorIn(await almanac.sql(`COPY stolen FROM '${path}' ${format}`));
      expect(error, path).to.deep.include({ code: 1004 });
      expect(error.error, path).to.contain('outside the configured copy root');
    }
    for (const path of [
      ...paths,
      'link/new.csv',
      'link/sub/new.csv',
      'dangling.csv',
      'danglingfolder/new.csv',
      `${files}x/new.csv`,
    ]) {
      expect(errorIn(await almanac.sql(`COPY cpu TO '${path}' ${format}`)).code, path).to.equal(1004);
    }
    for (const path of [
      '*.csv',
      'dir/cpu_?.parquet',
      '[a].csv',
      '.hidden',
      'a/.b/c',
      'a\\0b'.replace('\\0', '\u0000'),
      '',
      'x'.repeat(5000),
    ]) {
      expect(errorIn(await almanac.sql(`COPY stolen FROM '${path}'`)).code, path).to.be.oneOf([1004, 2000]);
      expect(errorIn(await almanac.sql(`COPY cpu TO '${path}'`)).code, path).to.be.oneOf([1004, 2000]);
    }
    for (const url of ['s3://bucket/x', 'https://example.org/x.parquet', 'file:///etc/passwd']) {
      await refused(`COPY cpu TO '${url}'`, 1001, 'only local files');
      await refused(`COPY stolen FROM '${url}'`, 1001, 'only local files');
    }
    await refused("COPY cpu TO 'dir/' WITH (FORMAT = 'csv')", 1004, 'path of a folder');
    await refused("COPY cpu TO 'dir' WITH (FORMAT = 'csv')", 1004, 'is not a file');
    expect(readdirSync(outside)).to.deep.equal(['secret.csv']);
    expect(readFileSync(join(outside, 'secret.csv'), 'utf8')).to.equal('host,usage,ts\ns,1,1\n');
    expect(await almanac.rows('SELECT count(*) FROM stolen')).to.deep.equal([[0]]);
    expect(await affected(`COPY cpu TO '${join(files, 'absolute.csv')}' ${format}`)).to.equal(3);
    for (const sql of [
      "SELECT * FROM read_csv('secret.csv')",
      "SELECT * FROM 'cpu.parquet'",
      `SELECT * FROM '${files}/cpu.parquet'`,
    ]) {
      expect((await almanac.sql(sql)).status, sql).to.equal(400);
    }
  });

  it('replaces a file only by a complete one, and leaves nothing of a failed export', async () => {
    const names = (): string[] => readdirSync(join(files, 'whole'));
    await affected("COPY (SELECT 1 AS n) TO 'whole/n.csv' WITH (FORMAT = 'csv')");
    const failing = 'SELECT 100 / (number - 99) AS n FROM numbers';
    await refused(`COPY (${failing}) TO 'whole/n.csv' WITH (FORMAT = 'csv')`, 3001, 'Divide by zero');
    await refused(`COPY (${failing}) TO 'whole/new.parquet'`, 3001, 'Divide by zero');
    expect(names()).to.deep.equal(['n.csv']);
    expect(readFileSync(join(files, 'whole', 'n.csv'), 'utf8')).to.equal('n\n1\n');
    for (const count of [1, 2]) {
      await affected(`COPY (SELECT * FROM cpu ORDER BY ts LIMIT ${count}) TO 'whole/again.parquet'`);
      expect(await imported(`again_${count}`, CPU, "'whole/again.parquet'")).to.have.length(count);
    }
    expect(names()).to.deep.equal(['again.parquet', 'n.csv']);
  });

  it('acknowledges imported rows like any write, and streams many of them', async () => {
    const many = 'SELECT a.number * 10000 + b.number * 100 + c.number AS n FROM numbers a, numbers b, numbers c';
    const points = `SELECT 'h' || n % 10 AS host, n::DOUBLE AS usage, n::TIMESTAMP AS ts FROM (${many})`;
    expect(await affected(`COPY (${points}) TO 'many.parquet'`)).to.equal(1_000_000);
    await almanac.rows(`CREATE TABLE many (${CPU})`);
    expect(await affected("COPY many FROM 'many.parquet'")).to.equal(1_000_000);
    await almanac.kill();
    await start();
    expect(await almanac.rows('SELECT count(*), sum(usage) FROM many')).to.deep.equal([[1_000_000, 499_999_500_000]]);
  });

  it('refuses options that it does not support', async () => {
    for (const type of ['bzip2', 'xz']) {
      const sql = `COPY cpu TO 'x' WITH (FORMAT = 'csv', COMPRESSION_TYPE = '${type}')`;
      await refused(sql, 1001, `compression_type ${type}`);
    }
    await refused("COPY cpu TO 'x' WITH (FORMAT = 'orc')", 1001, 'ORC');
    await refused("COPY cpu TO 'x' WITH (FORMAT = 'xml')", 1004, 'parquet, csv or json');
    await refused("COPY cpu TO 'x' WITH (SPEED = 'high')", 1004, 'unknown option "speed"');
    await refused("COPY cpu TO 'x' CONNECTION (REGION = 'r')", 1001, 'CONNECTION');
    await refused("COPY cpu FROM 'x' LIMIT hello", 2000, 'the number of maximum rows');
    await refused("COPY cpu TO 'x' WITH (FORMAT = 'csv', DELIMITER = 'ab')", 1004, 'one character');
  });
});

describe('COPY without a folder, and with users', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac | undefined;
  const root = basic('root', 'rootpass');
  const reader = basic('reader', 'readpass');

  beforeEach(() => {
    folder = tempFolder((after) => (cleanUp = after));
  });

  afterEach(async () => {
    await almanac?.kill();
    cleanUp();
  });

  it('is refused unless a folder is configured', async () => {
    almanac = await Almanac.start(join(folder, 'data'));
    for (const sql of ["COPY (SELECT 1) TO 'x'", "COPY DATABASE public TO 'x/'", "COPY DATABASE public FROM 'x/'"]) {
      const { code, error } = errorIn(await almanac.sql(sql));
      expect(code, error).to.equal(1001);
      expect(error).to.contain('set storage.copy_root');
    }
  });

  it('needs the right to write in every database, which files belong to', async () => {
    writeFileSync(join(folder, 'users'), 'root:admin=rootpass\nreader:ro=readpass\nwriter:rw@public=writepass\n');
    const environment = {
      ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${join(folder, 'users')}`,
      ALMANAC_STANDALONE__STORAGE__COPY_ROOT: join(folder, 'files'),
    };
    almanac = await Almanac.start(join(folder, 'data'), { environment });
    const run = (sql: string, user: string): ReturnType<typeof sqlAs> => sqlAs(almanac!, sql, user);
    for (const sql of [
      'CREATE DATABASE other',
      'CREATE TABLE t (ts TIMESTAMP TIME INDEX)',
      'CREATE TABLE other.t LIKE t',
    ]) {
      expect((await run(sql, root)).status).to.equal(200);
    }
    expect((await run("COPY t TO 't.parquet'", root)).status).to.equal(200);
    for (const sql of [
      ...["COPY t TO 't.parquet'", "COPY t FROM 't.parquet'", "COPY (SELECT 1) TO 'o.parquet'"],
      "CREATE EXTERNAL TABLE e WITH (LOCATION = 't.parquet', FORMAT = 'parquet')",
      "COPY DATABASE public FROM './'",
      "COPY other.t TO 'o.parquet'",
      "COPY (SELECT * FROM other.t) TO 'o.parquet'",
      "COPY DATABASE other TO 'other/'",
    ]) {
      for (const user of [reader, basic('writer', 'writepass')]) {
        const answer = await run(sql, user);
        expect(answer.status, `${answer.text}: ${sql} by ${user}`).to.equal(403);
      }
    }
    expect(readdirSync(join(folder, 'files'))).to.deep.equal(['t.parquet']);
  });

  it('refuses a folder that holds data', async () => {
    const data = join(folder, 'data');
    for (const copyRoot of [folder, data, join(data, 'store', 'x'), join(data, 'metadata')]) {
      const environment = { ALMANAC_STANDALONE__STORAGE__COPY_ROOT: copyRoot };
      const failure = await Almanac.start(data, { environment }).catch((error: unknown) => error);
      expect(String(failure), copyRoot).to.contain('storage.copy_root');
    }
  });
});
