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
