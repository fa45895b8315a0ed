import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

describe('partition rules and comments of tables', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  before(async () => {
    almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
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
  const shown = async (table: string): Promise<string> =>
    String((await almanac.rows(`SHOW CREATE TABLE ${table}`))[0]?.[1]);
  const rulesOf = async (table: string): Promise<unknown[]> => {
    const rows = await almanac.rows(
      `SELECT partition_description FROM information_schema.partitions WHERE table_name = '${table}' ORDER BY partition_name`,
    );
    return rows.map(([rule]) => rule);
  };
  const create = (name: string, rules: string, columns = 'a'): string =>
    `CREATE TABLE ${name} (a INT, b STRING, ts TIMESTAMP TIME INDEX, PRIMARY KEY (a, b)) PARTITION ON COLUMNS (${columns}) (${rules})`;

  it('are shown and listed, and change nothing of the rows', async () => {
    await almanac.rows(create('p', "a < 10, a = 10 AND b < 'm', a = 10 AND b >= 'm', 10 < a", 'a, b'));
    expect(await shown('p')).to.contain(
      `\n)\nPARTITION ON COLUMNS ("a", "b") (\n  a < 10,\n  a = 10 AND b < 'm',\n  a = 10 AND b >= 'm',\n  a > 10\n)\nENGINE=mito`,
    );
    expect(await rulesOf('p')).to.deep.equal(['a < 10', "a = 10 AND b < 'm'", "a = 10 AND b >= 'm'", 'a > 10']);
    const statement = await shown('p');
    await almanac.rows("INSERT INTO p VALUES (1, 'x', 1), (10, 'a', 1), (10, 'z', 1), (11, 'x', 1)");
    expect(await almanac.rows('SELECT count(*) FROM p WHERE a >= 10')).to.deep.equal([[3]]);
    await almanac.rows('DROP TABLE p');
    await almanac.rows(statement);
    expect(await shown('p')).to.equal(statement);
  });

  it('must contain each row in one partition', async () => {
    expect(await refused(create('q', 'a < 10, a > 10 AND a < 20, a >= 20'))).to.equal(
      '1004 Checkpoint `a=10` is not covered',
    );
    expect(await refused(create('q', "b >= 'a', b <= 'o'", 'b'))).to.equal('1004 Checkpoint `b=a` is overlapped');
    expect(await refused(create('q', 'a < -1, a >= 0'))).to.equal('1004 Checkpoint `a=-1` is not covered');
    expect(await refused(create('q', 'a < 5'))).to.equal('1004 Checkpoint `a=5` is not covered');
    expect(await refused(create('q', 'a < 5, c >= 5'))).to.equal('1004 Cannot find column by name: c');
    expect(await refused(create('q', '', 'c'))).to.equal('2000 Partition column "c" not defined');
    const columns = ['a', 'b', 'c', 'd'];
    const many = columns.map((name) => `${name} INT`).join(', ');
    const rule = columns.flatMap((name) => Array.from({ length: 10 }, (_, i) => `${name} <> ${i}`)).join(' AND ');
    expect(
      await refused(
        `CREATE TABLE q (${many}, ts TIMESTAMP TIME INDEX, PRIMARY KEY (a, b, c, d)) PARTITION ON COLUMNS (a, b, c, d) (${rule})`,
      ),
    ).to.match(/combinations of constants, at most 100000 can be checked/);
    expect(await refused(create('q', `${'('.repeat(60)}a < 1${')'.repeat(60)}`))).to.match(/nested at most 50 deep/);
  });

  it('are split, merged and replaced by ALTER TABLE', async () => {
    await almanac.rows('CREATE TABLE r (a INT PRIMARY KEY, b STRING, ts TIMESTAMP TIME INDEX)');
    await almanac.rows('ALTER TABLE r PARTITION ON COLUMNS (a) (a < 100, a >= 100 AND a < 200, a >= 200)');
    await almanac.rows('ALTER TABLE r SPLIT PARTITION (a < 100) INTO (a < 50, a >= 50 AND a < 100)');
    expect(await rulesOf('r')).to.deep.equal(['a < 50', 'a >= 50 AND a < 100', 'a >= 100 AND a < 200', 'a >= 200']);
    await almanac.rows('ALTER TABLE r MERGE PARTITION (a >= 50 AND a < 100, a >= 100 AND a < 200) WITH (WAIT = false)');
    expect(await rulesOf('r')).to.deep.equal(['a < 50', 'a >= 50 AND a < 100 OR a >= 100 AND a < 200', 'a >= 200']);
    await almanac.rows(
      "ALTER TABLE r REPARTITION (a < 50, a >= 50 AND a < 100 OR a >= 100 AND a < 200) INTO (a < 200) WITH (TIMEOUT = '5m')",
    );
    expect(await rulesOf('r')).to.deep.equal(['a < 200', 'a >= 200']);
    expect(await refused('ALTER TABLE r SPLIT PARTITION (a < 7) INTO (a < 1)')).to.equal(
      "1004 Invalid partition rule: partition expression 'a < 7' does not exist in table almanac.public.r",
    );
    expect(await refused('ALTER TABLE r REPARTITION (a < 200) INTO (a < 200 AND ts < 1)')).to.equal(
      '1004 Cannot find column by name: ts',
    );
    expect(await refused('ALTER TABLE r REPARTITION (a < 200) INTO (a < 100)')).to.equal(
      '1004 Checkpoint `a=100` is not covered',
    );
    expect(await rulesOf('r')).to.deep.equal(['a < 200', 'a >= 200']);
  });

  it('belong to no logical table, which only gets more tags', async () => {
    await almanac.rows(
      "CREATE TABLE phy (ts TIMESTAMP TIME INDEX, val DOUBLE) ENGINE=metric WITH (physical_metric_table = '')",
    );
    await almanac.rows(
      "CREATE TABLE l (ts TIMESTAMP TIME INDEX, val DOUBLE, host STRING PRIMARY KEY) ENGINE=metric WITH (on_physical_table = 'phy')",
    );
    expect(await refused('ALTER TABLE l MERGE PARTITION (host < 1)')).to.equal(
      '1001 Not supported: REPARTITION on logical tables',
    );
    const only = '1004 Alter logical tables invalid arguments: Only support add columns operation';
    expect(await refused("ALTER TABLE l SET 'ttl' = '1d'")).to.equal(only);
    expect(await refused('ALTER TABLE l ADD COLUMN f DOUBLE')).to.equal(only);
    expect(await refused('ALTER TABLE l DROP COLUMN val')).to.equal(only);
    expect(await refused('ALTER TABLE phy ADD COLUMN k STRING PRIMARY KEY')).to.equal(
      '1001 Alter request to physical region is forbidden',
    );
    await almanac.rows('ALTER TABLE l ADD COLUMN k STRING PRIMARY KEY');
    expect((await almanac.rows('DESC l')).map(([name]) => name)).to.deep.equal(['host', 'k', 'ts', 'val']);
  });

  it('are commented on, as columns are', async () => {
    await almanac.rows('CREATE TABLE c (a INT PRIMARY KEY, ts TIMESTAMP TIME INDEX)');
    await almanac.rows("COMMENT ON TABLE c IS 'it''s a table'");
    await almanac.rows("COMMENT ON COLUMN public.c.a IS 'a column'");
    expect(await shown('c')).to.contain(`"a" INT NULL COMMENT 'a column'`);
    expect(await shown('c')).to.contain("'comment' = 'it''s a table'");
    await almanac.rows('COMMENT ON TABLE c IS NULL');
    await almanac.rows('COMMENT ON COLUMN c.a IS NULL');
    expect(await shown('c')).to.not.match(/comment/i);
    expect(await refused("COMMENT ON TABLE nope IS 'x'")).to.equal('4001 Table not found: almanac.public.nope');
    expect(await refused("COMMENT ON COLUMN c.z IS 'x'")).to.equal('4002 Column z not exists in table c');
    expect(await refused("COMMENT ON INDEX c IS 'x'")).to.match(/expected: 'TABLE or COLUMN', found: INDEX/);
    expect(await refused(`COMMENT ON TABLE c IS '${'x'.repeat(10_001)}'`)).to.match(/at most 10000 characters/);
  });
});
