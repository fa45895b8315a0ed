import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { basic, rowsIn, sqlAs } from '#test/support/as-user';
import { tempFolder } from '#test/support/temp-folder';

/** Flows look for changes on request only. */
const PAUSED = { ...MERGES_BY_HAND.environment, ALMANAC_STANDALONE__FLOW__INTERVAL: '1d' };

describe('inputs and rights of flows', function () {
  this.timeout(120_000);
  const cleanUps: (() => unknown)[] = [];
  let folder: string;
  let almanac: Almanac;

  async function start(users = ''): Promise<void> {
    folder = tempFolder((after) => cleanUps.push(after));
    const file = join(folder, 'users');
    writeFileSync(file, users);
    const provider = users === '' ? {} : { ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${file}` };
    almanac = await Almanac.start(join(folder, 'data'), { environment: { ...PAUSED, ...provider } });
    cleanUps.push(() => almanac.kill());
  }

  async function restart(): Promise<void> {
    await almanac.kill();
    almanac = await Almanac.start(join(folder, 'data'), { environment: PAUSED });
  }

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  const rows = (statement: string): Promise<unknown[][]> => almanac.rows(statement);

  async function table(name: string, host: string, value: number): Promise<void> {
    await rows(`CREATE TABLE ${name} (host STRING, ts TIMESTAMP TIME INDEX, v DOUBLE, PRIMARY KEY (host))`);
    await rows(`INSERT INTO ${name} VALUES ('${host}', 1000, ${value})`);
  }

  async function flushed(selected: string): Promise<unknown[][]> {
    await rows("ADMIN flush_flow('f')");
    return rows(selected);
  }

  const SUMS = 'SELECT host, total FROM sums ORDER BY host';

  describe('with users', () => {
    const root = basic('root', 'root');
    const [a, b] = [basic('a', 'a'), basic('b', 'b')];
    const as = async (user: string, statement: string, database: string): Promise<number> =>
      (await sqlAs(almanac, statement, user, database)).status;
    const SUM = 'SELECT host, sum(v) AS total FROM';

    beforeEach(async () => {
      await start('root:admin=root\na:rw@da=a\nb:rw@db=b\n');
      for (const database of ['da', 'db']) {
        expect(await as(root, `CREATE DATABASE ${database}`, 'public')).to.equal(200);
        const columns = '(host STRING, ts TIMESTAMP TIME INDEX, v DOUBLE, PRIMARY KEY (host))';
        expect(await as(root, `CREATE TABLE src ${columns}`, database)).to.equal(200);
        expect(await as(root, `INSERT INTO src VALUES ('${database}', 1000, 1)`, database)).to.equal(200);
      }
    });

    async function expectRefused(): Promise<void> {
      expect(await as(root, "ADMIN flush_flow('f')", 'da')).not.to.equal(200);
      const failed = "SELECT last_error FROM information_schema.flows WHERE flow_name = 'f'";
      const [[shown]] = rowsIn(await sqlAs(almanac, failed, a, 'da'));
      expect(shown).to.include("Access denied for user 'a' to database 'db'");
    }

    it('do not read through a view that is created later what their owner may not read', async () => {
      const deferred = 'WITH (defer_on_missing_source = true)';
      expect(await as(a, `CREATE FLOW f SINK TO sums ${deferred} AS ${SUM} seen GROUP BY host`, 'da')).to.equal(200);
      expect(await as(root, 'CREATE VIEW seen AS SELECT * FROM db.src', 'da')).to.equal(200);
      expect(await as(a, 'SELECT * FROM seen', 'da')).to.equal(403);
      await expectRefused();
      expect(await as(a, 'SELECT * FROM sums', 'da')).to.equal(400);
    });

    it('do not read through a view that is replaced what their owner may not read', async () => {
      expect(await as(a, 'CREATE VIEW seen AS SELECT * FROM src', 'da')).to.equal(200);
      expect(await as(a, `CREATE FLOW f SINK TO sums AS ${SUM} seen GROUP BY host`, 'da')).to.equal(200);
      expect(await as(root, "ADMIN flush_flow('f')", 'da')).to.equal(200);
      expect(await as(root, 'CREATE OR REPLACE VIEW seen AS SELECT * FROM db.src', 'da')).to.equal(200);
      await expectRefused();
      expect(rowsIn(await sqlAs(almanac, SUMS, a, 'da'))).to.deep.equal([['da', 1]]);
    });

    it('may only be replaced by a user who may write their present sink', async () => {
      expect(await as(a, `CREATE FLOW f SINK TO sums AS ${SUM} src GROUP BY host`, 'da')).to.equal(200);
      expect(await as(b, `CREATE OR REPLACE FLOW f SINK TO sums AS ${SUM} src GROUP BY host`, 'db')).to.equal(403);
      const [[, definition]] = rowsIn(await sqlAs(almanac, 'SHOW CREATE FLOW f', root, 'public'));
      expect(definition).to.include('SINK TO da.sums');
      expect(await as(a, `CREATE OR REPLACE FLOW f SINK TO other AS ${SUM} src GROUP BY host`, 'da')).to.equal(200);
      expect(await as(root, "ADMIN flush_flow('f')", 'da')).to.equal(200);
      expect(rowsIn(await sqlAs(almanac, 'SELECT host, total FROM other', a, 'da'))).to.deep.equal([['da', 1]]);
      // An administrator may replace it, even by a flow of another database.
      expect(await as(root, `CREATE OR REPLACE FLOW f SINK TO sums AS ${SUM} src GROUP BY host`, 'db')).to.equal(200);
    });
  });

  for (const isRestarted of [false, true]) {
    it(`compute everything again when a view is replaced${isRestarted ? ' before a restart' : ''}`, async () => {
      await start();
      await table('s1', 'x', 1);
      await table('s2', 'y', 5);
      await rows('CREATE VIEW seen AS SELECT * FROM s1');
      await rows('CREATE FLOW f SINK TO sums AS SELECT host, sum(v) AS total FROM seen GROUP BY host');
      expect(await flushed(SUMS)).to.deep.equal([['x', 1]]);
      await rows("CREATE OR REPLACE VIEW seen AS SELECT * FROM s1 WHERE host != 'x'");
      if (isRestarted) await restart();
      expect(await flushed(SUMS)).to.deep.equal([]);
      await rows('DROP VIEW seen');
      expect(await flushed(SUMS)).to.deep.equal([]);
      await rows('CREATE VIEW seen AS SELECT * FROM s2');
      if (isRestarted) await restart();
      expect(await flushed(SUMS)).to.deep.equal([['y', 5]]);
      await rows("INSERT INTO s2 VALUES ('z', 1000, 7)");
      expect(await flushed(SUMS)).to.deep.equal([
        ['y', 5],
        ['z', 7],
      ]);
    });

    it(`fill a sink again that another one replaced${isRestarted ? ' before a restart' : ''}`, async () => {
      await start();
      await table('src', 'x', 1);
      await rows(
        "CREATE FLOW f SINK TO sums AS SELECT host, date_bin(INTERVAL '1 minute', ts) AS w, sum(v) AS total FROM src GROUP BY host, w",
      );
      expect(await flushed(SUMS)).to.deep.equal([['x', 1]]);
      await rows('DROP TABLE sums');
      await rows('CREATE TABLE sums (host STRING, w TIMESTAMP TIME INDEX, total DOUBLE, PRIMARY KEY (host))');
      if (isRestarted) await restart();
      expect(await flushed(SUMS)).to.deep.equal([['x', 1]]);
    });
  }

  it('replace the result of an aggregate that the engine has as a macro', async () => {
    await start();
    await table('src', 'x', 1);
    await rows('CREATE FLOW f SINK TO means AS SELECT wavg(v, 1) AS mean FROM src');
    expect(await flushed('SELECT mean FROM means')).to.deep.equal([[1]]);
    await rows("INSERT INTO src VALUES ('y', 1000, 3)");
    expect(await flushed('SELECT mean FROM means')).to.deep.equal([[2]]);
  });

  it('replace rows that a first run may have written before it failed', async () => {
    await start();
    await rows('CREATE TABLE texts (host STRING, ts TIMESTAMP TIME INDEX, t STRING, PRIMARY KEY (host))');
    await rows("INSERT INTO texts VALUES ('x', 1000, 'seven')");
    await rows('CREATE FLOW f SINK TO sums AS SELECT host, sum(t::BIGINT) AS total FROM texts GROUP BY host');
    const { text } = await almanac.sql("ADMIN flush_flow('f')");
    expect(text).to.include('seven');
    await rows("INSERT INTO sums (host, total, __ts_placeholder) VALUES ('stale', 1, 0)");
    await rows("INSERT INTO texts VALUES ('x', 1000, '7')");
    expect(await flushed(SUMS)).to.deep.equal([['x', 7]]);
  });

  it('run again whenever a view depends on the time', async () => {
    await start();
    await table('src', 'x', 1);
    await rows('CREATE VIEW seen AS SELECT host, ts, v + epoch_ms(now()) AS v FROM src');
    await rows('CREATE FLOW f SINK TO sums AS SELECT host, sum(v) AS total FROM seen GROUP BY host');
    const [[, first]] = await flushed(SUMS);
    const [[, second]] = await flushed(SUMS);
    expect(second).to.be.greaterThan(first as number);
  });
});
