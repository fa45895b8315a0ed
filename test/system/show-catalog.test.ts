import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('SHOW and SET for clients of other products', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    await almanac.rows("CREATE DATABASE d; CREATE TABLE d.t (ts TIMESTAMP TIME INDEX) WITH (comment = 'c')");
    await almanac.rows('CREATE TABLE own (ts TIMESTAMP TIME INDEX)');
  });
  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function refused(statement: string): Promise<string> {
    const { text } = await almanac.sql(statement);
    const { code, error } = JSON.parse(text) as { code: number; error: string };
    return `${code} ${error}`;
  }

  it('shows the status of tables of one database', async () => {
    const [row, ...others] = await almanac.rows('SHOW TABLE STATUS FROM d');
    expect(others).to.deep.equal([]);
    expect(row).to.have.length(18);
    expect(row.slice(0, 4)).to.deep.equal(['t', 'mito', 11, 'Fixed']);
    expect(row[17]).to.equal('c');
    const names = async (statement: string): Promise<unknown[]> =>
      (await almanac.rows(statement)).map(([name]) => name);
    expect(await names("SHOW TABLE STATUS LIKE 'o%'")).to.deep.equal(['own']);
    expect(await names("SHOW TABLE STATUS IN d WHERE Engine = 'mito' AND Name <> 'x'")).to.deep.equal(['t']);
    expect(await refused('SHOW TABLE STATUS FROM d WHERE nope = 1')).to.match(/^3000 .*nope/);
  });

  it('shows character sets and collations', async () => {
    const charset = [['utf8', 'UTF-8 Unicode', 'utf8_bin', 4]];
    expect(await almanac.rows('SHOW CHARSET')).to.deep.equal(charset);
    expect(await almanac.rows("SHOW CHARACTER SET LIKE 'utf%'")).to.deep.equal(charset);
    expect(await almanac.rows('SHOW CHARSET WHERE "Default collation" = \'x\'')).to.deep.equal([]);
    expect(await almanac.rows("SHOW COLLATION WHERE Charset = 'utf8'")).to.deep.equal([
      ['utf8_bin', 'utf8', 1, 'Yes', 'Yes', 1],
    ]);
  });

  it('shows variables, and accepts those without effect', async () => {
    expect(await almanac.rows('SHOW search_path')).to.deep.equal([['public']]);
    expect(await almanac.rows('SHOW VARIABLES read_preference')).to.deep.equal([['LEADER']]);
    for (const statement of [
      "SET read_preference = 'leader'",
      'SET allow_query_fallback = true',
      "SET datestyle TO 'ISO, MDY'",
      "SET SESSION intervalstyle = 'postgres'",
    ]) {
      await almanac.rows(statement);
    }
    expect(await refused("SET read_preference = 'hi'")).to.equal(
      '1001 Not supported: Invalid read preference expr hi in set variable statement',
    );
    expect(await refused('SET max_execution_time = 1')).to.equal(
      '1001 Not supported: Unsupported set variable MAX_EXECUTION_TIME',
    );
    expect(await refused('CREATE TRIGGER x')).to.equal('1001 SQL statement is not supported, keyword: TRIGGER');
  });

  it('changes several defaults at once, and checks what rows mean', async () => {
    await almanac.rows('CREATE TABLE m (a INT, b STRING, p VARBINARY, ts TIMESTAMP TIME INDEX)');
    await almanac.rows("ALTER TABLE m MODIFY COLUMN a SET DEFAULT 1, b SET DEFAULT 'x, y'");
    await almanac.rows('INSERT INTO m (ts) VALUES (1)');
    expect(await almanac.rows('SELECT a, b FROM m')).to.deep.equal([[1, 'x, y']]);
    await almanac.rows("ALTER TABLE m SET 'greptime.semantic.entity.host.id' = 'b'");
    const wrong = (options: string): Promise<string> => refused(`ALTER TABLE m SET ${options}`);
    expect(await wrong("'greptime.semantic.source' = 'x', 'ttl' = '1d'")).to.match(/^1004 .*altered separately/);
    expect(await wrong("'greptime.semantic.nonsense' = 'x'")).to.match(/^1004 .*unknown semantic option/);
    expect(await wrong("'greptime.semantic.signal_type' = 'x'")).to.match(/^1004 .*invalid value `x`/);
    expect(await wrong("'greptime.semantic.entity.host.id' = 'z'")).to.equal('4002 Column z not exists in table m');
    expect(await wrong("'greptime.semantic.entity.host.id' = 'p'")).to.match(/^1004 .*cannot render as a string/);
  });

  it('checks and shows options of storage', async () => {
    await almanac.rows("CREATE TABLE o (ts TIMESTAMP TIME INDEX) WITH (write_buffer_size = 1024, merge_mode = '')");
    const shown = async (): Promise<string> => String((await almanac.rows('SHOW CREATE TABLE o'))[0]?.[1]);
    expect(await shown()).to.contain("write_buffer_size = '1.0KiB'");
    await almanac.rows("ALTER TABLE o SET 'write_buffer_size' = '128MiB', 'compaction.twcs.trigger_file_num' = '4'");
    expect(await shown()).to.match(
      /'compaction.twcs.trigger_file_num' = '4',\n {2}'compaction.type' = 'twcs',[^]*'128.0MiB'/,
    );
    await almanac.rows("ALTER TABLE o SET 'compaction.twcs.trigger_file_num' = ''");
    expect(await shown()).to.not.contain('trigger_file_num');
    await almanac.rows("ALTER TABLE o SET 'skip_wal' = 'true'");
    expect(await refused("ALTER TABLE o SET 'skip_wal' = 'false'")).to.match(/^1004 .*key: skip_wal, value: false/);
    expect(await refused("ALTER TABLE o UNSET 'skip_wal'")).to.match(/^1004 .*key: skip_wal/);
    expect(await refused("ALTER TABLE o SET 'write_buffer_size' = 'big'")).to.match(
      /^1004 .*must be a size like 128MiB/,
    );
    expect(await refused("ALTER TABLE o SET 'compaction.twcs.trigger_file_num' = '8d'")).to.match(
      /must be a whole number/,
    );
    await almanac.rows("ADMIN compact_table('o', 'strict_window', 'window=3600,start_time=2024-01-01T00:00:00Z')");
    expect(await refused("ADMIN compact_table('o', 'fast')")).to.match(/^1004 unknown compaction 'fast'/);
    expect(await refused("ADMIN compact_table('o', 'regular', 'speed=1')")).to.match(
      /^1004 invalid compaction option 'speed=1'/,
    );
    await almanac.rows("CREATE DATABASE inherited WITH (ttl = '9d', 'memtable.type' = 'bulk', skip_wal = 'true')");
    await almanac.rows('CREATE TABLE inherited.i (ts TIMESTAMP TIME INDEX)');
    expect(String((await almanac.rows('SHOW CREATE TABLE inherited.i'))[0]?.[1])).to.match(
      /'memtable.type' = 'bulk',\n {2}skip_wal = 'true',\n {2}ttl = '9days'/,
    );
  });
});
