import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('external tables', function () {
  this.timeout(60_000);
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
    await almanac.rows("INSERT INTO cpu VALUES ('a', 1.5, 1000), ('b', 7.5, 2000)");
    await almanac.rows("COPY cpu TO 'cpu/1.parquet'");
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const refused = async (sql: string, code: number, text: string): Promise<void> => {
    const answer = JSON.parse((await almanac.sql(sql)).text) as { code: number; error: string };
    expect(answer.code, `${answer.error}: ${sql}`).to.equal(code);
    expect(answer.error).to.contain(text).and.not.contain(folder);
  };

  it('read files of each format, as they are when a query runs', async () => {
    await almanac.rows("CREATE EXTERNAL TABLE e WITH (LOCATION = 'cpu/', FORMAT = 'parquet')");
    // Timestamps of the format are read with microseconds.
    expect(await almanac.rows('SELECT host, usage, ts FROM e ORDER BY host')).to.deep.equal([
      ['a', 1.5, 1_000_000],
      ['b', 7.5, 2_000_000],
    ]);
    await almanac.rows("COPY (SELECT 'c' AS host, 9.0 AS usage) TO 'cpu/2.parquet'");
    expect(await almanac.rows("SELECT host, ts FROM e WHERE usage > 2 AND host <> 'x' ORDER BY host")).to.deep.equal([
      ['b', 2_000_000],
      ['c', null],
    ]);
    await almanac.rows("CREATE EXTERNAL TABLE p WITH (LOCATION = 'cpu/', FORMAT = 'parquet', PATTERN = '^2')");
    expect(await almanac.rows('SELECT host FROM p')).to.deep.equal([['c']]);
    expect(await almanac.rows('SELECT count(*) FROM e JOIN cpu ON e.host = cpu.host')).to.deep.equal([[2]]);
    writeFileSync(join(files, 'x.csv'), 'n,s\n1,one\n2,two\n');
    await almanac.rows("CREATE EXTERNAL TABLE c WITH (LOCATION = 'x.csv', FORMAT = 'CSV')");
    expect(await almanac.rows('SELECT * FROM c ORDER BY n DESC')).to.deep.equal([
      [2, 'two', 0],
      [1, 'one', 0],
    ]);
    writeFileSync(join(files, 'x.json'), '{"n":1,"t":"2024-01-01 00:00:00","other":[1]}\n{"n":2}\n');
    const columns = 'n BIGINT, t TIMESTAMP(3), missing STRING, TIME INDEX (t)';
    await almanac.rows(`CREATE EXTERNAL TABLE j (${columns}) WITH (LOCATION = 'x.json', FORMAT = 'json')`);
    expect(await almanac.rows('SELECT n, t, missing FROM j ORDER BY n')).to.deep.equal([
      [1, Date.UTC(2024, 0, 1), null],
      [2, 0, null],
    ]);
  });

  const TYPES = `s STRING, i8 TINYINT, u64 BIGINT UNSIGNED, f64 DOUBLE, b BOOLEAN, dec DECIMAL(10, 2), d DATE, t0 TIMESTAMP(0),
    t9 TIMESTAMP(9), bin BINARY, j JSON, v VECTOR(2), ts TIMESTAMP TIME INDEX`;

  for (const [format, zipped] of [
    ['parquet', ''],
    ['csv', ''],
    ['csv', '.gz'],
    ['json', ''],
    ['json', '.zst'],
  ]) {
    it(`convert values to the declared types as COPY does, ${format}${zipped}`, async () => {
      const [table, file] = [`types_${format}${zipped.replace('.', '_')}`, `types.${format}${zipped}`];
      await almanac.rows(`CREATE TABLE ${table} (${TYPES})`);
      await almanac.rows(`INSERT INTO ${table} VALUES
        ('a, "b"', -128, 18446744073709551615, 'NaN', true, '12.30', '1969-12-31', '2024-01-01 00:00:01',
          '2024-01-01 00:00:00.123456789', X'00ff', '{"a b": [1, 1.50]}', '[1,2.5]', -1),
        ('', 127, 9007199254740993, 0.1, false, '-0.01', '2024-02-29', 0, 1, X'', '"te xt"', '[0,-1]', 2),
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3)`);
      const compression = { '': '', '.gz': ", COMPRESSION_TYPE = 'gzip'", '.zst': ", COMPRESSION_TYPE = 'zstd'" }[
        zipped
      ];
      await almanac.sql(`COPY ${table} TO '${file}' WITH (FORMAT = '${format}'${compression ?? ''})`);
      await almanac.rows(
        `CREATE EXTERNAL TABLE ${table}_e (${TYPES}) WITH (LOCATION = '${file}', FORMAT = '${format}')`,
      );
      const all = (from: string): string =>
        `SELECT *, vec_to_string(v), t9::STRING, u64::STRING, s IS NULL FROM ${from} ORDER BY ts`;
      expect(await almanac.rows(all(`${table}_e`))).to.deep.equal(await almanac.rows(all(table)));
    });
  }

  it('read the texts of other programs as COPY does, and refuse the same', async () => {
    const columns = 't0 TIMESTAMP(0), t3 TIMESTAMP(3), t9 TIMESTAMP(9), d DATE, ts TIMESTAMP TIME INDEX';
    const texts = [
      ...[
        '2024-01-31',
        '2024-01-31T08:00',
        '2024-01-31 08:00Z',
        '2024-01-31 08:00:01.25 UTC',
        '1969-12-31 23:59:59.9999',
      ],
      ...[
        '2024-01-31T08:00:00.123456789+01:00',
        '2024-01-31 08:00:00-0130',
        '2024-01-31 08:00+02',
        ' 2024-01-31T08:00:00z ',
      ],
    ];
    const lines = texts.map((text, i) => [text, text, text, text, String(i)].join(','));
    writeFileSync(join(files, 'times.csv'), ['t0,t3,t9,d,ts', ...lines, '7,7,7,,-1', ''].join('\n'));
    await almanac.rows(`CREATE TABLE times (${columns})`);
    await almanac.sql("COPY times FROM 'times.csv' WITH (FORMAT = 'csv')");
    await almanac.rows(`CREATE EXTERNAL TABLE times_e (${columns}) WITH (LOCATION = 'times.csv', FORMAT = 'csv')`);
    const rows = await almanac.rows('SELECT *, t9::STRING FROM times ORDER BY ts');
    expect(rows).to.have.length(10);
    expect(await almanac.rows('SELECT *, t9::STRING FROM times_e ORDER BY ts')).to.deep.equal(rows);
    const refusals: readonly (readonly [string, string])[] = [
      ['TINYINT', '128'],
      ['TINYINT', '1.5'],
      ['BIGINT UNSIGNED', '-1'],
      ['BOOLEAN', 'yes'],
      ['TIMESTAMP(9)', '2024-02-31'],
      ['TIMESTAMP(3)', 'today'],
      ['DATE', '5'],
      ['DECIMAL(3, 1)', '123.4'],
      ['VECTOR(2)', '"[1,2,3]"'],
      ['JSON', '{'],
      ['BINARY', 'abc'],
    ];
    for (const [i, [type, text]] of refusals.entries()) {
      writeFileSync(join(files, `refused${i}.csv`), `x,ts\n${text},1\n`);
      const list = `x ${type}, ts TIMESTAMP TIME INDEX`;
      await almanac.rows(`CREATE TABLE refused${i} (${list})`);
      await almanac.rows(
        `CREATE EXTERNAL TABLE refused${i}_e (${list}) WITH (LOCATION = 'refused${i}.csv', FORMAT = 'csv')`,
      );
      const copied = await almanac.sql(`COPY refused${i} FROM 'refused${i}.csv' WITH (FORMAT = 'csv')`);
      const queried = await almanac.sql(`SELECT * FROM refused${i}_e`);
      expect([copied.status, queried.status], `${type} ${text} ${queried.text}`).to.deep.equal([400, 400]);
    }
  });

  it('convert the types of Parquet files to the declared ones', async () => {
    const items = `-1500::BIGINT AS t3, '2024-01-01 00:00:01.123456789'::TIMESTAMP(9) AS t0, '1969-12-31 23:59:59.9999'::TIMESTAMP(6) AS ms,
      '2024-01-02'::DATE AS t9, 2.9::DOUBLE AS i, 7 AS s, '2024-01-01 00:00:02' AS ts`;
    await almanac.sql(`COPY (SELECT ${items}) TO 'typed.parquet'`);
    const columns =
      't3 TIMESTAMP(3), t0 TIMESTAMP(0), ms TIMESTAMP(3), t9 TIMESTAMP(9), i INT, s STRING, ts TIMESTAMP TIME INDEX';
    await almanac.rows(`CREATE TABLE typed (${columns})`);
    await almanac.sql("COPY typed FROM 'typed.parquet'");
    await almanac.rows(
      `CREATE EXTERNAL TABLE typed_e (${columns}) WITH (LOCATION = 'typed.parquet', FORMAT = 'parquet')`,
    );
    const rows = await almanac.rows('SELECT * FROM typed');
    expect(rows.map((row) => row.slice(0, 3))).to.deep.equal([[-1500, 1_704_067_201, -1]]);
    expect(await almanac.rows('SELECT * FROM typed_e')).to.deep.equal(rows);
  });

  it('match columns without regard to letter case, an equal name first', async () => {
    writeFileSync(join(files, 'case.csv'), 'HOST,N\na,1\n');
    writeFileSync(join(files, 'case.json'), '{"Host":"x","host":"a","N":1}\n');
    await almanac.sql(`COPY (SELECT 'a' AS "Host", 1 AS "N") TO 'case.parquet'`);
    for (const format of ['csv', 'json', 'parquet']) {
      const options = `LOCATION = 'case.${format}', FORMAT = '${format}'`;
      await almanac.rows(`CREATE EXTERNAL TABLE case_${format} (host STRING, n INT) WITH (${options})`);
      expect(await almanac.rows(`SELECT host, n FROM case_${format}`), format).to.deep.equal([['a', 1]]);
    }
    await refused(
      "CREATE EXTERNAL TABLE f WITH (LOCATION = 'cpu/', FORMAT = 'parquet', PATTERN = '(')",
      1004,
      'invalid pattern',
    );
  });

  it('infer types that every text of the files has', async () => {
    writeFileSync(
      join(files, 'big.json'),
      '{"u":18446744073709551615,"m":-1,"v":[1,2.5]}\n{"u":1,"m":18446744073709551615}\n',
    );
    await almanac.rows("CREATE EXTERNAL TABLE big WITH (LOCATION = 'big.json', FORMAT = 'json')");
    expect(await almanac.rows('SELECT u::STRING, m::STRING, v FROM big ORDER BY u')).to.deep.equal([
      ['1', '18446744073709551615', null],
      ['18446744073709551615', '-1', '[1,2.5]'],
    ]);
    const [[, type]] = await almanac.rows('DESC big');
    expect(type).to.equal('UInt64');
    writeFileSync(join(files, 'odd.csv'), 'day,yes\n31/12/2024,yes\n30/11/2024,no\n');
    await almanac.rows("CREATE EXTERNAL TABLE odd WITH (LOCATION = 'odd.csv', FORMAT = 'csv')");
    expect(await almanac.rows('SELECT day, yes FROM odd ORDER BY day')).to.deep.equal([
      ['30/11/2024', 'no'],
      ['31/12/2024', 'yes'],
    ]);
  });

  it('are described like tables, after a restart too', async () => {
    await almanac.kill();
    await start();
    expect(await almanac.rows('DESC c')).to.deep.equal([
      ['n', 'Int64', '', 'YES', '', 'FIELD'],
      ['s', 'String', '', 'YES', '', 'FIELD'],
      ['almanac_timestamp', 'TimestampMillisecond', 'PRI', 'NO', "'1970-01-01 00:00:00+0000'", 'TIMESTAMP'],
    ]);
    const [[, text]] = await almanac.rows('SHOW CREATE TABLE c');
    expect(String(text)).to.contain('CREATE EXTERNAL TABLE IF NOT EXISTS "c"').and.contain('ENGINE=file');
    await almanac.rows('DROP TABLE c');
    await almanac.rows(String(text));
    expect(await almanac.rows('SELECT count(*) FROM c')).to.deep.equal([[2]]);
    expect(
      await almanac.rows("COPY (SELECT * FROM c) TO 'copy.csv' WITH (FORMAT = 'csv')").catch(() => []),
    ).to.deep.equal([]);
    expect(readFileSync(join(files, 'copy.csv'), 'utf8')).to.contain('two');
  });

  it('cannot be written to', async () => {
    for (const sql of [
      "INSERT INTO c VALUES (1, 'x', 1)",
      'DELETE FROM c',
      'TRUNCATE TABLE c',
      'ALTER TABLE c ADD COLUMN x INT',
      "COPY c FROM 'x.csv' WITH (FORMAT = 'csv')",
    ]) {
      await refused(sql, 1001, 'external table');
    }
    const written = await almanac.write('c,host=a usage=1 1000000000');
    expect(written.status, written.text).to.equal(400);
    expect(written.text).to.contain('is external');
    expect(await almanac.rows('SELECT count(*) FROM c')).to.deep.equal([[2]]);
  });

  it('name files in the folder only, of supported formats', async () => {
    await refused(
      "CREATE EXTERNAL TABLE f WITH (LOCATION = '/etc/passwd', FORMAT = 'csv')",
      1004,
      'outside the configured copy root',
    );
    await refused("CREATE EXTERNAL TABLE f WITH (LOCATION = 'absent', FORMAT = 'csv')", 1004, 'there is no such file');
    await refused("CREATE EXTERNAL TABLE f WITH (LOCATION = 's3://b/x', FORMAT = 'csv')", 1001, 'only local files');
    await refused("CREATE EXTERNAL TABLE f WITH (LOCATION = 'x.csv', FORMAT = 'orc')", 1001, 'ORC');
    await refused("CREATE EXTERNAL TABLE f WITH (FORMAT = 'csv')", 1004, 'needs a location');
    await refused("CREATE TABLE f (ts TIMESTAMP TIME INDEX) WITH (location = 'x.csv')", 1004, 'location');
    await refused("CREATE EXTERNAL TABLE c WITH (LOCATION = 'x.csv', FORMAT = 'csv')", 4000, 'already exists');
    await almanac.rows("COPY (SELECT 1 AS n) TO 'gone.parquet'").catch(() => []);
    await almanac.rows("CREATE EXTERNAL TABLE gone WITH (LOCATION = 'gone.parquet', FORMAT = 'parquet')");
    writeFileSync(join(files, 'gone.parquet'), 'nonsense');
    await refused('SELECT * FROM gone', 3001, '');
  });
});
