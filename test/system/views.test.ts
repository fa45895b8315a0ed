import { expect } from 'chai';

import { Almanac, type SqlAnswer } from '#test/support/almanac';
import { basic, rowsIn, sqlAs } from '#test/support/as-user';
import { tempFolder } from '#test/support/temp-folder';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const errorIn = ({ text }: { readonly text: string }): { code: number; error: string } =>
  JSON.parse(text) as { code: number; error: string };

describe('views', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let folder: string;
  let almanac: Almanac;

  before(async () => {
    folder = tempFolder((after) => (cleanUp = after));
    almanac = await Almanac.start(join(folder, 'data'));
    await almanac.rows('CREATE TABLE cpu (host STRING, usage DOUBLE, ts TIMESTAMP TIME INDEX, PRIMARY KEY (host))');
    await almanac.rows("INSERT INTO cpu VALUES ('a', 1.5, 1000), ('a', 2.5, 61000), ('b', 7.5, 2000)");
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const refused = async (sql: string, code: number, text: RegExp | string): Promise<SqlAnswer> => {
    const answer = await almanac.sql(sql);
    expect(errorIn(answer).code, answer.text).to.equal(code);
    if (typeof text === 'string') expect(errorIn(answer).error).to.contain(text);
    else expect(errorIn(answer).error).to.match(text);
    return answer;
  };

  it('reads a view like a table, in joins, subqueries and common table expressions', async () => {
    await almanac.rows("CREATE VIEW busy AS SELECT host, usage, ts FROM cpu WHERE usage > 2 AND host <> 'none'");
    expect(await almanac.rows('SELECT host, usage FROM busy ORDER BY ts')).to.deep.equal([
      ['b', 7.5],
      ['a', 2.5],
    ]);
    // The literals of the query and of the view are independent, also when the plan is cached.
    expect(await almanac.rows('SELECT count(*) FROM busy WHERE usage < 5')).to.deep.equal([[1]]);
    expect(await almanac.rows('SELECT count(*) FROM busy WHERE usage < 9')).to.deep.equal([[2]]);
    const join = 'SELECT cpu.usage FROM cpu JOIN busy AS b ON cpu.host = b.host AND cpu.ts = b.ts ORDER BY 1';
    expect(await almanac.rows(join)).to.deep.equal([[2.5], [7.5]]);
    const common =
      'WITH top AS (SELECT max(usage) AS m FROM busy) SELECT m FROM top WHERE m IN (SELECT usage FROM busy)';
    expect(await almanac.rows(common)).to.deep.equal([[7.5]]);
    expect(await almanac.rows('SELECT x FROM busy AS v(h, x) WHERE x > 3')).to.deep.equal([[7.5]]);
  });

  it('names columns as given, and refuses another number of them', async () => {
    await refused('CREATE VIEW pairs (a) AS SELECT * FROM cpu', 1004, 'Expect 3 columns for view pairs, but found 1');
    await almanac.rows('CREATE VIEW pairs (a, b) AS SELECT host, usage*2 FROM cpu');
    expect(await almanac.rows("SELECT a, b FROM pairs WHERE a = 'b'")).to.deep.equal([['b', 15]]);
    const missing = await refused('SELECT usage FROM pairs', 3000, 'No field named usage');
    expect(missing.text).to.contain('pairs.a, pairs.b');
    await refused('CREATE VIEW twice AS SELECT a.ts, b.ts FROM cpu a, cpu b', 1004, 'would have two columns "ts"');
  });

  it('keeps the columns that the query had at its creation', async () => {
    await almanac.rows('CREATE TABLE wide (n BIGINT, ts TIMESTAMP TIME INDEX)');
    await almanac.rows('INSERT INTO wide VALUES (1, 1)');
    await almanac.rows('CREATE VIEW whole AS SELECT *, n + 1 FROM wide');
    await almanac.rows('ALTER TABLE wide ADD COLUMN later STRING');
    expect(await almanac.rows('SELECT * FROM whole')).to.deep.equal([[1, 1, 2]]);
    expect(await almanac.rows('DESC whole')).to.deep.equal([
      ['n', 'Int64', '', 'YES', '', 'FIELD'],
      ['ts', 'TimestampMillisecond', '', 'YES', '', 'FIELD'],
      ['n + 1', 'Int64', '', 'YES', '', 'FIELD'],
    ]);
    await almanac.rows('ALTER TABLE wide DROP COLUMN n');
    await refused('SELECT * FROM whole', 3000, 'n');
    await almanac.rows('DROP TABLE wide');
    await refused('SELECT * FROM whole', 4001, 'Table not found');
  });

  it('finds unqualified tables in the database of the creation', async () => {
    await almanac.rows('CREATE DATABASE other');
    const inOther = { db: 'other' };
    expect((await almanac.sql('CREATE VIEW public.of_public AS SELECT host FROM public.cpu', inOther)).status).to.equal(
      200,
    );
    expect((await almanac.sql('CREATE TABLE cpu (host STRING, ts TIMESTAMP TIME INDEX)', inOther)).status).to.equal(
      200,
    );
    expect((await almanac.sql('CREATE VIEW public.of_other AS SELECT host FROM cpu', inOther)).status).to.equal(200);
    expect(await almanac.rows('SELECT count(*) FROM of_other')).to.deep.equal([[0]]);
    expect(await almanac.rows('SELECT count(*) FROM of_public')).to.deep.equal([[3]]);
    expect(await almanac.rows('SELECT public.of_public.host FROM public.of_public LIMIT 1')).to.have.length(1);
  });

  it('nests views to a limited depth, and refuses one that reads itself', async () => {
    await almanac.rows('CREATE VIEW n1 AS SELECT host, usage FROM cpu');
    for (let i = 2; i <= 16; i++) await almanac.rows(`CREATE VIEW n${i} AS SELECT * FROM n${i - 1}`);
    expect(await almanac.rows('SELECT count(*) FROM n16')).to.deep.equal([[3]]);
    await refused(
      'CREATE VIEW n17 AS SELECT * FROM n16 WHERE host IN (SELECT host FROM cpu)',
      1004,
      'nested more than 16',
    );
    await almanac.rows('CREATE VIEW base AS SELECT host FROM cpu');
    await almanac.rows('CREATE OR REPLACE VIEW n1 AS SELECT host, 1 AS usage FROM base');
    await refused('SELECT count(*) FROM n16', 3000, 'nested more than 16 deep');
    await refused('CREATE OR REPLACE VIEW n1 AS SELECT * FROM n1', 1004, 'cannot refer to itself');
    await refused('CREATE OR REPLACE VIEW n1 AS SELECT * FROM n5', 1004, 'cannot refer to itself');
    await almanac.rows('CREATE VIEW b1 AS SELECT x.host FROM cpu x, cpu y');
    for (let i = 2; i <= 8; i++) await almanac.rows(`CREATE VIEW b${i} AS SELECT x.host FROM b${i - 1} x, b${i - 1} y`);
    await refused('SELECT count(*) FROM b8 x, b8 y', 3000, 'reads more than 256 views');
  });

  it('reads range queries over views and in views', async () => {
    await almanac.rows('CREATE VIEW points AS SELECT host, usage, ts FROM cpu');
    const over = "SELECT ts, max(usage) RANGE '1m' AS m FROM points ALIGN '1m' BY () ORDER BY ts";
    expect(await almanac.rows(over)).to.deep.equal([
      [0, 7.5],
      [60_000, 2.5],
    ]);
    await almanac.rows(`CREATE VIEW minutes AS ${over.replace('points', 'cpu')}`);
    expect(await almanac.rows('SELECT m FROM minutes WHERE m > 3')).to.deep.equal([[7.5]]);
    await refused("CREATE VIEW t AS SELECT * FROM (TQL EVAL (0, 10, '5s') cpu)", 1001, 'TQL in the query of a view');
    await refused("CREATE VIEW t AS TQL EVAL (0, 10, '5s') cpu", 1001, 'TQL in the query of a view');
  });

  it('replaces a view, and plans queries again', async () => {
    await almanac.rows('CREATE VIEW v AS SELECT 1 AS one');
    expect(await almanac.rows('SELECT * FROM v')).to.deep.equal([[1]]);
    await refused('CREATE VIEW v AS SELECT 2 AS two', 4000, 'View already exists: `almanac.public.v`');
    await almanac.rows('CREATE VIEW IF NOT EXISTS v AS SELECT 3 AS three');
    expect(await almanac.rows('SELECT * FROM v')).to.deep.equal([[1]]);
    await almanac.rows('CREATE OR REPLACE VIEW v AS SELECT 2 AS two, 3');
    expect(await almanac.rows('SELECT * FROM v')).to.deep.equal([[2, 3]]);
    await refused('CREATE OR REPLACE VIEW IF NOT EXISTS v AS SELECT 1', 1004, 'cannot be used together');
    await almanac.rows('DROP VIEW v');
    await refused('SELECT * FROM v', 4001, 'Table not found: almanac.public.v');
    await refused('DROP VIEW v', 4001, 'View not found: almanac.public.v');
    await almanac.rows('DROP VIEW IF EXISTS v');
  });

  it('gives a name to a table or a view only', async () => {
    await almanac.rows('CREATE VIEW taken AS SELECT * FROM cpu');
    await refused('CREATE TABLE taken (ts TIMESTAMP TIME INDEX)', 4000, 'View already exists: `almanac.public.taken`');
    await refused('CREATE VIEW cpu AS SELECT 1', 4000, 'Table already exists: `almanac.public.cpu`');
    await refused('CREATE OR REPLACE VIEW cpu AS SELECT 1', 4000, 'Table already exists');
    await refused('ALTER TABLE cpu RENAME taken', 4000, 'taken');
    const written = await almanac.write('taken,host=a usage=1 1000000000');
    expect(written.status).to.equal(400);
    expect(written.text).to.contain('is a view');
    for (const sql of [
      'INSERT INTO taken VALUES (1)',
      'DELETE FROM taken',
      'DROP TABLE taken',
      'TRUNCATE TABLE taken',
    ]) {
      await refused(sql, 1004, 'almanac.public.taken is a view');
    }
    await refused('DROP VIEW cpu', 1004, 'is not a view');
    const creations = ['CREATE VIEW race AS SELECT 1', 'CREATE TABLE race (ts TIMESTAMP TIME INDEX)'];
    const answers = await Promise.all([...creations, ...creations].map((sql) => almanac.sql(sql)));
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
  });

  it('describes views in SHOW statements and system tables, also after a restart', async () => {
    await almanac.rows('create view Shown (h)  as -- a comment\n select host from cpu where usage>=-1');
    const check = async (): Promise<void> => {
      const text = 'CREATE VIEW Shown (h) AS SELECT host FROM cpu WHERE usage >= -1';
      expect(await almanac.rows('SHOW CREATE VIEW shown')).to.deep.equal([['shown', text]]);
      expect((await almanac.rows('SHOW VIEWS')).flat())
        .to.include('shown')
        .and.not.include('cpu');
      expect(await almanac.rows("SHOW VIEWS LIKE 'sh%'")).to.deep.equal([['shown']]);
      expect(await almanac.rows("SHOW FULL TABLES LIKE 'sh%'")).to.deep.equal([['shown', 'VIEW']]);
      const views = "SELECT table_schema, view_definition FROM information_schema.views WHERE table_name = 'shown'";
      expect(await almanac.rows(views)).to.deep.equal([['public', text]]);
      const types = "SELECT table_type FROM information_schema.tables WHERE table_name = 'shown'";
      expect(await almanac.rows(types)).to.deep.equal([['VIEW']]);
      const columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'shown'";
      expect(await almanac.rows(columns)).to.deep.equal([['h', 'string']]);
      expect(await almanac.rows('SELECT count(*) FROM shown')).to.deep.equal([[3]]);
    };
    await check();
    await almanac.kill();
    almanac = await Almanac.start(join(folder, 'data'));
    await check();
    await refused('SHOW CREATE VIEW cpu', 4001, 'View not found: almanac.public.cpu');
    await almanac.rows('DROP DATABASE other');
    expect(await almanac.rows('SHOW VIEWS IN other').catch(() => 'gone')).to.equal('gone');
  });

  it('limits the length of a view', async () => {
    const long = `CREATE VIEW long AS SELECT '${'x'.repeat(70_000)}' AS x`;
    await refused(long, 1004, 'has at most 65536 bytes');
  });
});

describe('rights to views', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;
  const root = basic('root', 'rootpass');
  const reader = basic('reader', 'readpass');

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    writeFileSync(join(folder, 'users'), 'root:admin=rootpass\nreader:ro@public=readpass\n');
    almanac = await Almanac.start(join(folder, 'data'), {
      environment: { ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${join(folder, 'users')}` },
    });
    for (const sql of [
      'CREATE DATABASE secret',
      'CREATE TABLE secret.t (n BIGINT, ts TIMESTAMP TIME INDEX)',
      'INSERT INTO secret.t VALUES (42, 1)',
      'CREATE VIEW shared AS SELECT n FROM secret.t',
      'CREATE VIEW own AS SELECT 1 AS one',
    ]) {
      expect((await sqlAs(almanac, sql, root)).status, sql).to.equal(200);
    }
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  it('needs the right to read every database under a view, also if the plan is cached', async () => {
    for (const sql of ['SELECT n FROM shared', 'SELECT n FROM secret.t']) {
      expect((await sqlAs(almanac, sql, reader)).status, sql).to.equal(403);
      expect(rowsIn(await sqlAs(almanac, sql, root))).to.deep.equal([[42]]);
      const answer = await sqlAs(almanac, sql, reader);
      expect(answer.status, answer.text).to.equal(403);
      expect(answer.text).to.contain("Access denied for user 'reader' to database 'secret'");
    }
    expect(rowsIn(await sqlAs(almanac, 'SELECT one FROM own', reader))).to.deep.equal([[1]]);
  });

  it('needs the right to write to create or drop a view', async () => {
    expect((await sqlAs(almanac, 'CREATE VIEW mine AS SELECT 1', reader)).status).to.equal(403);
    expect((await sqlAs(almanac, 'DROP VIEW own', reader)).status).to.equal(403);
    const views = 'SELECT table_name FROM information_schema.views';
    expect(rowsIn(await sqlAs(almanac, views, reader))).to.deep.equal([['own'], ['shared']]);
  });
});
