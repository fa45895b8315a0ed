import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { tempFolder } from '#test/support/temp-folder';

const TABLE = 'CREATE TABLE m (h STRING PRIMARY KEY, v DOUBLE, n BIGINT, ts TIMESTAMP(3) TIME INDEX)';

describe('ALTER TABLE', () => {
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(folder);
  });

  beforeEach(async () => {
    await almanac.dropTables();
    await almanac.rows(TABLE);
    await almanac.rows("INSERT INTO m VALUES ('a', 1.5, 10, 1), ('b', 2.5, 20, 2)");
  });

  after(async () => {
    await almanac.stop();
    cleanUp();
  });

  async function refused(statement: string): Promise<string> {
    const { status, text } = await almanac.sql(statement);
    expect(status, text).to.equal(400);
    const { code, error } = JSON.parse(text) as { code: number; error: string };
    return `${code} ${error}`;
  }

  /** The same before and after the rows went to a segment, were merged with others, and the process was killed. */
  async function holds(statement: string, rows: unknown[][]): Promise<void> {
    expect(await almanac.rows(statement)).to.deep.equal(rows);
    await almanac.flush('m');
    expect(await almanac.rows(statement), 'flushed').to.deep.equal(rows);
    await almanac.rows("ADMIN compact_table('m')");
    expect(await almanac.rows(statement), 'merged').to.deep.equal(rows);
    await almanac.kill();
    almanac = await Almanac.start(folder);
    expect(await almanac.rows(statement), 'started again').to.deep.equal(rows);
  }

  it('adds columns, which are null or have their default in rows that are older', async () => {
    await almanac.rows(
      "ALTER TABLE m ADD COLUMN s STRING, ADD COLUMN d DOUBLE DEFAULT 7.5, ADD COLUMN t STRING DEFAULT 'it''s'",
    );
    await almanac.rows("INSERT INTO m (h, v, ts) VALUES ('c', 3.5, 3)");
    await almanac.rows("INSERT INTO m (h, d, t, ts) VALUES ('d', NULL, NULL, 4)");
    await holds('SELECT h, s, d, t FROM m ORDER BY h', [
      ['a', null, 7.5, "it's"],
      ['b', null, 7.5, "it's"],
      ['c', null, 7.5, "it's"],
      ['d', null, null, null],
    ]);
    const { text } = await almanac.get('/v1/prometheus/api/v1/query?query=m{__field__="d",h="a"}&time=0.001');
    expect(text).to.contain('"7.5"');
  });

  it('adds tags, which older series do not have', async () => {
    await almanac.rows('ALTER TABLE m ADD COLUMN dc STRING PRIMARY KEY');
    await almanac.rows("INSERT INTO m (h, dc, v, ts) VALUES ('a', 'x', 9, 1)");
    await holds('SELECT h, dc, v FROM m ORDER BY h, v', [
      ['a', null, 1.5],
      ['a', 'x', 9],
      ['b', null, 2.5],
    ]);
  });

  it('adds tags with a default, which every series without the tag has', async () => {
    const labelled = async (query: string): Promise<string[]> => {
      const { text } = await almanac.get(
        `/v1/prometheus/api/v1/query?${new URLSearchParams({ query, time: '0.1' }).toString()}`,
      );
      const { data } = JSON.parse(text) as {
        data: { result: { metric: Record<string, string>; value: [number, string] }[] };
      };
      return data.result.map(({ metric, value }) => `${metric['h']} ${metric['dc']} ${value[1]}`).sort();
    };
    expect(await labelled('m{__field__="v"}')).to.deep.equal(['a undefined 1.5', 'b undefined 2.5']);
    await almanac.rows(
      "ALTER TABLE m ADD COLUMN dc STRING DEFAULT 'it''s' PRIMARY KEY, ADD COLUMN k INT DEFAULT 7 PRIMARY KEY",
    );
    const older = [
      ['a', "it's", 7, 1.5],
      ['b', "it's", 7, 2.5],
    ];
    expect(await almanac.rows('SELECT h, dc, k, v FROM m ORDER BY h')).to.deep.equal(older);
    expect(await labelled('m{__field__="v", dc="it\'s"}')).to.deep.equal(["a it's 1.5", "b it's 2.5"]);
    // The same key three times: with the default, without the tag, and with null.
    await almanac.rows("INSERT INTO m (h, dc, k, v, ts) VALUES ('a', 'it''s', 7, 10, 1)");
    await almanac.written('m,h=b v=20 2', 'precision=ms');
    await almanac.rows("INSERT INTO m (h, dc, k, v, ts) VALUES ('c', NULL, NULL, 30, 3), ('c', 'it''s', NULL, 31, 3)");
    await almanac.rows("INSERT INTO m (h, dc, v, ts) VALUES ('d', 'x', 40, 4)");
    await holds("SELECT h, dc, k, v FROM m WHERE dc <> 'x' OR k = 7 ORDER BY h", [
      ['a', "it's", 7, 10],
      ['b', "it's", 7, 20],
      ['c', "it's", 7, 31],
      ['d', 'x', 7, 40],
    ]);
    expect(await almanac.rows("SELECT h FROM m WHERE dc = 'it''s' AND k = 7 ORDER BY h")).to.deep.equal([
      ['a'],
      ['b'],
      ['c'],
    ]);
    expect(await labelled('m{__field__="v", dc!="x"}')).to.deep.equal(["a it's 10", "b it's 20", "c it's 31"]);
    await almanac.rows("DELETE FROM m WHERE dc = 'it''s' AND h <> 'b'");
    await holds('SELECT h, dc FROM m ORDER BY h', [
      ['b', "it's"],
      ['d', 'x'],
    ]);
  });

  it('puts columns at the requested position', async () => {
    await almanac.rows('ALTER TABLE m ADD COLUMN first INT FIRST, ADD COLUMN later INT AFTER v');
    const names = (await almanac.rows('DESCRIBE TABLE m')).map(([name]) => name);
    expect(names).to.deep.equal(['first', 'h', 'v', 'later', 'n', 'ts']);
    await almanac.rows("INSERT INTO m VALUES (1, 'c', 2, 3, 4, 5)");
    await holds("SELECT * FROM m WHERE h = 'c'", [[1, 'c', 2, 3, 4, 5]]);
  });

  it('drops columns, and one of the same name later shows nothing of them', async () => {
    await almanac.flush('m');
    await almanac.rows('ALTER TABLE m DROP COLUMN n');
    expect((await almanac.rows('SELECT * FROM m ORDER BY h'))[0]).to.have.length(3);
    expect(await refused('SELECT n FROM m')).to.contain('No field named');
    await almanac.rows('ALTER TABLE m ADD COLUMN n STRING');
    await almanac.rows("INSERT INTO m VALUES ('c', 3.5, 3, 'new')");
    await holds('SELECT h, n FROM m ORDER BY h', [
      ['a', null],
      ['b', null],
      ['c', 'new'],
    ]);
  });

  it('renames fields and the time index', async () => {
    await almanac.rows('ALTER TABLE m RENAME COLUMN v TO value');
    await almanac.rows('ALTER TABLE m RENAME COLUMN ts TO moment');
    await almanac.rows("INSERT INTO m (h, value, moment) VALUES ('c', 3.5, 3)");
    await holds('SELECT h, value, moment FROM m ORDER BY moment', [
      ['a', 1.5, 1],
      ['b', 2.5, 2],
      ['c', 3.5, 3],
    ]);
    expect(await refused('SELECT v FROM m')).to.contain('No field named');
    expect(await refused('ALTER TABLE m RENAME COLUMN h TO host')).to.contain('cannot be renamed');
    expect(await refused('ALTER TABLE m RENAME COLUMN n TO value')).to.equal(
      '4003 Column value already exists in table m',
    );
  });

  it('renames several columns, beside other changes', async () => {
    await almanac.rows('ALTER TABLE m RENAME COLUMN v TO x, RENAME COLUMN n TO v, ADD COLUMN n STRING');
    await holds('SELECT h, x, v, n FROM m ORDER BY h', [
      ['a', 1.5, 10, null],
      ['b', 2.5, 20, null],
    ]);
  });

  it('renames tables', async () => {
    await almanac.rows('CREATE TABLE other (ts TIMESTAMP TIME INDEX)');
    expect(await refused('ALTER TABLE m RENAME other')).to.match(/^4000 Table already exists, table: .*other/);
    expect(await refused('ALTER TABLE m RENAME m')).to.match(/^4000 Table already exists/);
    await almanac.rows('ALTER TABLE m RENAME moved');
    expect(await refused('SELECT * FROM m').catch((error: unknown) => String(error))).to.contain('Table not found');
    await almanac.rows(TABLE);
    expect(await almanac.rows('SELECT * FROM m')).to.deep.equal([]);
    await almanac.rows("INSERT INTO moved VALUES ('c', 3.5, 30, 3)");
    expect(await almanac.rows('SELECT count(*) FROM moved')).to.deep.equal([[3]]);
    await almanac.kill();
    almanac = await Almanac.start(folder);
    expect(await almanac.rows('SELECT count(*) FROM moved')).to.deep.equal([[3]]);
  });

  it('refuses to move a table into another database', async () => {
    await almanac.rows('CREATE DATABASE other');
    const text = (wanted: string): string =>
      `1001 Not supported: RENAME of table "m" into database "${wanted}", tables stay in theirs ("public")`;
    expect(await refused('ALTER TABLE m RENAME other.moved')).to.equal(text('other'));
    expect(await refused('ALTER TABLE m RENAME TO almanac.nowhere.m')).to.equal(text('nowhere'));
    expect((await almanac.sql('ALTER TABLE m RENAME elsewhere.public.moved')).text).to.contain('Catalog not found');
    expect(await almanac.rows('SHOW TABLES')).to.deep.equal([['m']]);
    await almanac.rows('ALTER TABLE m RENAME public.moved');
    await almanac.rows('CREATE TABLE other.there (ts TIMESTAMP TIME INDEX)');
    await almanac.rows('ALTER TABLE other.there RENAME here');
    await almanac.rows('ALTER TABLE other.here RENAME TO almanac.other.back');
    expect(await almanac.rows('SHOW TABLES FROM other')).to.deep.equal([['back']]);
    expect(await almanac.rows('SELECT count(*) FROM moved')).to.deep.equal([[2]]);
  });

  async function promql(path: string, parameters: Readonly<Record<string, string>>): Promise<unknown> {
    const { status, text } = await almanac.get(
      `/v1/prometheus/api/v1/${path}?${new URLSearchParams(parameters).toString()}`,
    );
    expect(status, text).to.equal(200);
    return (JSON.parse(text) as { readonly data: unknown }).data;
  }

  it('renames columns that PromQL has read before', async () => {
    const range = { start: '0', end: '10', step: '1' };
    const asked = async (query: string): Promise<string[]> => {
      const { result } = (await promql('query_range', { query, ...range })) as {
        readonly result: readonly { readonly metric: Readonly<Record<string, string>> }[];
      };
      return result.map(({ metric }) => `${metric['__name__']} ${metric['__field__']}`);
    };
    const listed = async (): Promise<unknown> => [
      await promql('label/__name__/values', { start: '0', end: '10' }),
      await promql('series', { 'match[]': '{h="a"}', start: '0', end: '10' }),
    ];
    expect(await asked('{h="a"}')).to.deep.equal(['m n', 'm v']);
    await listed();
    await almanac.rows('ALTER TABLE m RENAME moved');
    expect(await asked('{h="a"}')).to.deep.equal(['moved n', 'moved v']);
    expect(await asked('moved{h="a"}')).to.deep.equal(['moved n', 'moved v']);
    expect(await asked('m')).to.deep.equal([]);
    await almanac.rows('ALTER TABLE moved RENAME COLUMN v TO w');
    expect(await asked('{h="a"}')).to.deep.equal(['moved n', 'moved w']);
    expect(await listed()).to.deep.equal([
      ['moved'],
      [
        { __name__: 'moved', __field__: 'n', h: 'a' },
        { __name__: 'moved', __field__: 'w', h: 'a' },
      ],
    ]);
    await almanac.rows(TABLE);
    await almanac.rows("INSERT INTO m VALUES ('a', 3.5, 30, 1)");
    expect(await asked('{h="a"}')).to.deep.equal(['m n', 'moved n', 'm v', 'moved w']);
  });

  it('changes defaults for later rows', async () => {
    await almanac.rows('ALTER TABLE m MODIFY COLUMN n SET DEFAULT 42');
    await almanac.rows("INSERT INTO m (h, ts) VALUES ('c', 3)");
    await almanac.rows('ALTER TABLE m MODIFY COLUMN n DROP DEFAULT');
    await almanac.rows("INSERT INTO m (h, ts) VALUES ('d', 4)");
    await holds('SELECT n FROM m ORDER BY h', [[10], [20], [42], [null]]);
  });

  it('sets and unsets options, which SHOW CREATE TABLE prints', async () => {
    await almanac.rows("ALTER TABLE m SET 'ttl' = '1d', 'comment' = 'c'");
    expect(String((await almanac.rows('SHOW CREATE TABLE m'))[0][1])).to.contain("ttl = '1day'");
    // Rows of 1970.
    expect(await almanac.rows('SELECT * FROM m')).to.deep.equal([]);
    await almanac.rows("ALTER TABLE m UNSET 'ttl'");
    expect(await almanac.rows('SELECT count(*) FROM m')).to.deep.equal([[2]]);
    const request = (verb: string): string =>
      `1004 Invalid ${verb} table option request: Invalid ${verb} region option request`;
    expect(await refused("ALTER TABLE m SET 'merge_mode' = 'last_non_null'")).to.equal(
      `${request('set')}, key: merge_mode, value: last_non_null: it is fixed when the table is made`,
    );
    expect(await refused("ALTER TABLE m UNSET 'regions'")).to.equal(
      `${request('unset')}, key: regions: it is fixed when the table is made`,
    );
    expect(await refused("ALTER TABLE m UNSET 'append_mode'")).to.equal(
      `${request('unset')}, key: append_mode: it can only be switched on`,
    );
    expect(await refused("ALTER TABLE m UNSET 'nothere'")).to.equal('1004 Unrecognized table option key: nothere');
    await almanac.rows("ALTER TABLE m SET 'append_mode' = 'true'");
    expect(await refused("ALTER TABLE m SET 'append_mode' = 'false'")).to.contain('from false to true');
    await almanac.rows("INSERT INTO m VALUES ('a', 1.5, 10, 1)");
    await holds('SELECT count(*) FROM m', [[3]]);
  });

  it('applies options of a database to tables without the option', async () => {
    await almanac.rows('CREATE DATABASE d');
    await almanac.rows('CREATE TABLE d.t (ts TIMESTAMP(3) TIME INDEX, v INT)');
    await almanac.rows('INSERT INTO d.t VALUES (1, 1)');
    expect(await almanac.rows('SELECT count(*) FROM d.t')).to.deep.equal([[1]]);
    await almanac.rows("ALTER DATABASE d SET 'ttl' = '1h'");
    expect(await almanac.rows('SELECT count(*) FROM d.t')).to.deep.equal([[0]]);
    await almanac.rows("ALTER DATABASE d UNSET 'ttl'");
    expect(await almanac.rows('SELECT count(*) FROM d.t')).to.deep.equal([[1]]);
    for (const key of ['append_mode', 'compaction.nothere']) {
      expect(await refused(`ALTER DATABASE d UNSET '${key}'`)).to.equal(
        `1004 Invalid unset database option, key: ${key}`,
      );
    }
    expect(await refused("ALTER DATABASE d SET 'append_mode' = 'true'")).to.contain('Invalid set database option');
  });

  it('refuses invalid changes, and changes nothing', async () => {
    const before = await almanac.rows('SHOW CREATE TABLE m');
    const wrong: readonly (readonly [string, string])[] = [
      ['ALTER TABLE m ADD COLUMN v DOUBLE', '4003 Column v already exists in table m'],
      ['ALTER TABLE m ADD COLUMN x DOUBLE NOT NULL', '1004 no default value for column x'],
      ['ALTER TABLE m ADD COLUMN x DOUBLE, DROP COLUMN y', '4002 Column y not exists in table m'],
      ['ALTER TABLE m DROP COLUMN h', '1004 Not allowed to remove index column h from table m'],
      ['ALTER TABLE m DROP COLUMN ts', '1004 Not allowed to remove index column ts from table m'],
      ["ALTER TABLE m SET 'no_option' = '1'", '1004 Unrecognized table option key: no_option'],
    ];
    for (const [statement, error] of wrong) expect(await refused(statement)).to.equal(error);
    await almanac.rows('ALTER TABLE m ADD COLUMN IF NOT EXISTS v DOUBLE');
    expect(await almanac.rows('SHOW CREATE TABLE m')).to.deep.equal(before);
    expect((await almanac.sql('ALTER TABLE absent DROP COLUMN x')).text).to.contain('Table not found');
    expect((await almanac.sql('ALTER TABLE m')).status).to.equal(400);
  });

  it('loses no row under concurrent writes', async () => {
    let written = 0;
    const writing = async (): Promise<void> => {
      for (let i = 0; i < 60; i++) {
        const { status, text } = await almanac.write(`w,h=a v=${i},x=${i} ${i + 1}`);
        expect(status, text).to.equal(204);
        written++;
      }
    };
    const altering = async (): Promise<void> => {
      for (let i = 0; written < 60; i++) {
        await almanac.rows(`ALTER TABLE w ADD COLUMN IF NOT EXISTS c${i} INT`);
        await almanac.rows('ALTER TABLE w DROP COLUMN x').catch(() => undefined);
      }
    };
    await almanac.write('w,h=a v=0,x=0 0');
    await Promise.all([writing(), altering()]);
    expect(await almanac.rows('SELECT count(*), count(v) FROM w')).to.deep.equal([[61, 61]]);
  });
});
