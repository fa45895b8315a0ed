import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac, MERGES_BY_HAND, type AlmanacOptions } from '#test/support/almanac';
import { basic, rowsIn, sqlAs } from '#test/support/as-user';
import { BackupRig } from '#test/support/backup-rig';
import { eventually } from '#test/support/conditions';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

/** Flows look for changes on request only. */
const PAUSED: AlmanacOptions = {
  environment: { ...MERGES_BY_HAND.environment, ALMANAC_STANDALONE__FLOW__INTERVAL: '1d' },
};
const OFTEN: AlmanacOptions = {
  environment: { ...MERGES_BY_HAND.environment, ALMANAC_STANDALONE__FLOW__INTERVAL: '50ms' },
};

describe('flows', function () {
  this.timeout(240_000);
  const cleanUps: (() => unknown)[] = [];
  let folder: string;
  let almanac: Almanac;
  /** For tests that do not stop it. */
  let shared: Almanac | undefined;
  let removeShared = (): void => undefined;

  async function share(): Promise<void> {
    shared ??= await Almanac.start(
      tempFolder((after) => (removeShared = after)),
      PAUSED,
    );
    almanac = shared;
  }

  async function start(options: AlmanacOptions = PAUSED): Promise<void> {
    folder = tempFolder((after) => cleanUps.push(after));
    almanac = await Almanac.start(folder, options);
    cleanUps.push(() => almanac.kill());
  }

  async function restart(options: AlmanacOptions = PAUSED): Promise<void> {
    await almanac.kill();
    almanac = await Almanac.start(folder, options);
  }

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    if (almanac !== shared) return;
    for (const [flow] of await rows('SHOW FLOWS')) await rows(`DROP FLOW ${String(flow)}`);
    await shared.dropTables();
  });

  after(async () => {
    await shared?.kill();
    removeShared();
  });

  const rows = (statement: string): Promise<unknown[][]> => almanac.rows(statement);

  async function fails(statement: string): Promise<{ readonly code: number; readonly error: string }> {
    const { text } = await almanac.sql(statement);
    return JSON.parse(text) as { readonly code: number; readonly error: string };
  }

  async function table(): Promise<void> {
    await rows('CREATE TABLE src (host STRING, ts TIMESTAMP TIME INDEX, v DOUBLE, PRIMARY KEY (host))');
  }

  async function minuteFlow(clauses = ''): Promise<void> {
    await rows(
      `CREATE FLOW f SINK TO sums ${clauses} AS SELECT host, date_bin(INTERVAL '1 minute', ts) AS w, sum(v) AS total FROM src GROUP BY host, w`,
    );
  }

  const sums = async (): Promise<unknown[][]> => {
    await rows("ADMIN flush_flow('f')");
    return rows('SELECT host, w, total FROM sums ORDER BY host, w');
  };

  it('computes rows that existed before the flow', async () => {
    await share();
    await table();
    await rows("INSERT INTO src VALUES ('a', 1000, 1), ('a', 61000, 2), ('b', 2000, 3)");
    await minuteFlow();
    expect(await sums()).to.deep.equal([
      ['a', 0, 1],
      ['a', 60_000, 2],
      ['b', 0, 3],
    ]);
  });

  it('adds late rows to their windows, and replaces overwritten rows', async () => {
    await share();
    await table();
    await minuteFlow();
    await rows("INSERT INTO src VALUES ('a', 1000, 1), ('a', 121000, 5)");
    expect(await sums()).to.deep.equal([
      ['a', 0, 1],
      ['a', 120_000, 5],
    ]);
    await rows("INSERT INTO src VALUES ('a', 2000, 10), ('a', 121000, 7)");
    expect(await sums()).to.deep.equal([
      ['a', 0, 11],
      ['a', 120_000, 7],
    ]);
  });

  it('removes deleted rows from results, and results of which no row is left', async () => {
    await share();
    await table();
    await minuteFlow();
    await rows("INSERT INTO src VALUES ('a', 1000, 1), ('a', 2000, 2), ('b', 1000, 3), ('b', 61000, 4)");
    expect(await sums()).to.have.length(3);
    await rows("DELETE FROM src WHERE host = 'a' AND ts = 1000");
    await rows("DELETE FROM src WHERE host = 'b' AND ts = 61000");
    expect(await sums()).to.deep.equal([
      ['a', 0, 2],
      ['b', 0, 3],
    ]);
    await rows('TRUNCATE TABLE src');
    expect(await sums()).to.deep.equal([]);
  });

  for (const [title, statements] of Object.entries({
    'flushed with the rows': ["ADMIN flush_table('src')"],
    'flushed and merged': ["ADMIN flush_table('src')", "ADMIN compact_table('src')"],
  })) {
    it(`sees deletions that were ${title} before it looked`, async () => {
      await share();
      await table();
      await minuteFlow();
      await rows("INSERT INTO src VALUES ('a', 1000, 1), ('a', 61000, 2)");
      await rows("ADMIN flush_flow('f')");
      await rows('DELETE FROM src WHERE ts = 61000');
      for (const statement of statements) await rows(statement);
      expect(await sums()).to.deep.equal([['a', 0, 1]]);
    });

    it(`sees deletions of flushed rows that were ${title} before it looked`, async () => {
      await share();
      await table();
      await minuteFlow();
      await rows("INSERT INTO src VALUES ('a', 1000, 1), ('a', 61000, 2)");
      await rows("ADMIN flush_flow('f')");
      await rows("ADMIN flush_table('src')");
      await rows('DELETE FROM src WHERE ts = 61000');
      for (const statement of statements) await rows(statement);
      expect(await sums()).to.deep.equal([['a', 0, 1]]);
    });
  }

  it('sees late rows that were merged with processed rows before it looked', async () => {
    await start();
    await table();
    await minuteFlow();
    await rows("INSERT INTO src VALUES ('a', 1000, 1), ('a', 61000, 2)");
    await rows("ADMIN flush_table('src')");
    await rows("ADMIN flush_flow('f')");
    await rows("INSERT INTO src VALUES ('a', 2000, 10)");
    await rows("ADMIN flush_table('src')");
    await rows("ADMIN compact_table('src')");
    await restart();
    expect(await sums()).to.deep.equal([
      ['a', 0, 11],
      ['a', 60_000, 2],
    ]);
  });

  it('writes results by itself', async () => {
    await start(OFTEN);
    await table();
    await minuteFlow();
    await rows("INSERT INTO src VALUES ('a', 1000, 1)");
    await eventually(async () => (await rows('SELECT total FROM sums')).flat().join() === '1');
    await rows("INSERT INTO src VALUES ('a', 2000, 2)");
    await eventually(async () => (await rows('SELECT total FROM sums')).flat().join() === '3');
    const [[runAt, error]] = await rows(
      "SELECT last_execution_time IS NOT NULL, last_error FROM information_schema.flows WHERE flow_name = 'f'",
    );
    expect([runAt, error]).to.deep.equal([true, null]);
  });

  it('ignores windows that ended before EXPIRE AFTER, and keeps their results', async () => {
    await share();
    await table();
    const hourAgo = Date.now() - 3_600_000;
    await rows(`INSERT INTO src VALUES ('old', ${hourAgo}, 1)`);
    await minuteFlow("EXPIRE AFTER '30 minutes'");
    await rows("INSERT INTO src VALUES ('new', now(), 2)");
    expect((await sums()).map(([host]) => host)).to.deep.equal(['new']);
    await rows("INSERT INTO sums (host, w, total) VALUES ('kept', 0, 9)");
    await rows(`INSERT INTO src VALUES ('old', ${hourAgo}, 3)`);
    expect((await sums()).map(([host]) => host)).to.deep.equal(['kept', 'new']);
  });

  it('adds a row for each new row of a plain query, from its creation on', async () => {
    await start();
    await table();
    await rows("INSERT INTO src VALUES ('before', 1000, 100)");
    await rows('CREATE FLOW f SINK TO high AS SELECT host, ts, v FROM src WHERE v > 50');
    await rows("INSERT INTO src VALUES ('a', 2000, 60), ('a', 3000, 40)");
    await rows("ADMIN flush_flow('f')");
    await rows("ADMIN flush_table('src')");
    await restart();
    await rows("INSERT INTO src VALUES ('b', 1000, 70)");
    await rows("ADMIN flush_flow('f')");
    expect(await rows('SELECT host, ts, v FROM high ORDER BY host')).to.deep.equal([
      ['a', 2000, 60],
      ['b', 1000, 70],
    ]);
    expect(await rows("SELECT options FROM information_schema.flows WHERE flow_name = 'f'")).to.deep.equal([
      ['{"flow_type":"streaming"}'],
    ]);
  });

  it('evaluates PromQL at its interval', async () => {
    await start(OFTEN);
    await table();
    await rows(
      "CREATE FLOW f SINK TO rates EVAL INTERVAL '1s' AS TQL EVAL (now() - '5s'::interval, now(), '1s') sum by (host) (src) AS total",
    );
    await rows("INSERT INTO src VALUES ('a', now(), 1), ('b', now(), 2)");
    await eventually(async () => {
      const found = await rows('SELECT DISTINCT host, total FROM rates ORDER BY host');
      return JSON.stringify(found) === '[["a",1],["b",2]]';
    });
    await eventually(async () => Number((await rows('SELECT count(DISTINCT ts) FROM rates'))[0][0]) > 2);
  });

  it('waits for a missing source if it may, and starts when the source exists', async () => {
    await share();
    const query = "SELECT date_bin(INTERVAL '1 minute', ts) AS w, count(*) AS n FROM later GROUP BY w";
    expect((await fails(`CREATE FLOW f SINK TO counts AS ${query}`)).code).to.equal(1004);
    await rows(`CREATE FLOW f SINK TO counts WITH (defer_on_missing_source = true) AS ${query}`);
    expect(await rows("ADMIN flush_flow('f')")).to.deep.equal([[0]]);
    await rows('CREATE TABLE later (ts TIMESTAMP TIME INDEX, v DOUBLE)');
    await rows('INSERT INTO later VALUES (1000, 1), (2000, 2)');
    await rows("ADMIN flush_flow('f')");
    expect(await rows('SELECT w, n FROM counts')).to.deep.equal([[0, 2]]);
  });

  it('does nothing after its source was dropped, also if another table gets the name', async () => {
    await share();
    await table();
    await minuteFlow();
    await rows("INSERT INTO src VALUES ('a', 1000, 1)");
    expect(await sums()).to.have.length(1);
    await rows('DROP TABLE src');
    expect(await sums()).to.have.length(1);
    await table();
    await rows("INSERT INTO src VALUES ('b', 1000, 1)");
    expect(await sums()).to.deep.equal([['a', 0, 1]]);
  });

  it('fills a sink again that was dropped', async () => {
    await share();
    await table();
    await minuteFlow();
    await rows("INSERT INTO src VALUES ('a', 1000, 1)");
    expect(await sums()).to.have.length(1);
    await rows('DROP TABLE sums');
    expect(await sums()).to.deep.equal([['a', 0, 1]]);
  });

  it('keeps rows that another flow writes to the same sink', async () => {
    await share();
    await table();
    await minuteFlow();
    await rows(
      "CREATE FLOW g SINK TO sums AS SELECT concat('all-', host) AS host, date_bin(INTERVAL '1 minute', ts) AS w, sum(v) AS total FROM src GROUP BY host, w",
    );
    await rows("INSERT INTO src VALUES ('a', 1000, 1)");
    await rows("ADMIN flush_flow('g')");
    expect(await sums()).to.have.length(2);
    await rows("INSERT INTO src VALUES ('a', 2000, 1)");
    await rows("ADMIN flush_flow('g')");
    expect((await sums()).map(([, , total]) => total)).to.deep.equal([2, 2]);
  });

  it('starts again when its definition is replaced', async () => {
    await share();
    await table();
    await minuteFlow();
    await rows("INSERT INTO src VALUES ('a', 1000, 1), ('b', 1000, 5)");
    expect(await sums()).to.have.length(2);
    await rows(
      "CREATE OR REPLACE FLOW f SINK TO sums AS SELECT host, date_bin(INTERVAL '1 minute', ts) AS w, sum(v) * 10 AS total FROM src WHERE host = 'a' GROUP BY host, w",
    );
    expect(await sums()).to.deep.equal([['a', 0, 10]]);
  });

  it('reports the error of a run, and recovers', async () => {
    await share();
    await rows('CREATE TABLE texts (ts TIMESTAMP TIME INDEX, t STRING)');
    await rows(
      "CREATE FLOW f SINK TO numbers_sink AS SELECT date_bin(INTERVAL '1 minute', ts) AS w, sum(t::BIGINT) AS total FROM texts GROUP BY w",
    );
    await rows("INSERT INTO texts VALUES (1000, 'seven')");
    const { code, error } = await fails("ADMIN flush_flow('f')");
    expect(code).to.equal(3001);
    expect(error).to.include('flow "f" failed').and.to.include('seven');
    const [[shown]] = await rows("SELECT last_error FROM information_schema.flows WHERE flow_name = 'f'");
    expect(shown).to.include('seven');
    await rows("INSERT INTO texts VALUES (1000, '7')");
    await rows("ADMIN flush_flow('f')");
    expect(await rows('SELECT w, total FROM numbers_sink')).to.deep.equal([[0, 7]]);
  });

  it('aggregates a metric, and nothing of the others in its physical table', async () => {
    await start();
    const write = async (samples: readonly (readonly [string, string, number, number])[]): Promise<void> => {
      const series = samples.map(([name, host, timestamp, value]): Series => {
        const labels: [string, string][] = [
          ['__name__', name],
          ['host', host],
        ];
        return { labels, samples: [{ value, timestamp }] };
      });
      const body = Uint8Array.from(compressSync(bodyV1(series)));
      expect((await almanac.post('/v1/prometheus/write', body)).status).to.equal(204);
    };
    await write([
      ['load', 'a', 1000, 1],
      ['other', 'a', 1000, 100],
    ]);
    const [time, value] = (await rows('DESC load')).map(([name]) => String(name));
    await rows(
      `CREATE FLOW f SINK TO sums AS SELECT host, date_bin(INTERVAL '1 minute', ${time}) AS w, sum(${value}) AS total FROM load GROUP BY host, w`,
    );
    expect(await sums()).to.deep.equal([['a', 0, 1]]);
    await write([
      ['load', 'b', 61_000, 2],
      ['load', 'a', 2000, 3],
      ['other', 'b', 1000, 100],
    ]);
    expect(await sums()).to.deep.equal([
      ['a', 0, 4],
      ['b', 60_000, 2],
    ]);
  });

  it('checks all of its results after a restore, because the backup may lack rows that it has processed', async () => {
    await start();
    await table();
    await minuteFlow();
    await rows("INSERT INTO src VALUES ('a', 1000, 1)");
    expect(await sums()).to.have.length(1);
    await rows("INSERT INTO sums (host, w, total) VALUES ('lost', 600000, 9)");
    const rig = new BackupRig();
    cleanUps.push(() => rig.cleanUp());
    const [target, restored] = [join(rig.folder(), 'backup'), rig.folder()];
    await rig.done(rig.backup({ folder, url: almanac.url }, target));
    expect(await sums(), 'the original').to.have.length(2);
    await rig.done(rig.restore(target, join(restored, 'data')));
    await almanac.kill();
    almanac = await Almanac.start(join(restored, 'data'), PAUSED);
    await rows("INSERT INTO src VALUES ('b', 1000, 2)");
    expect(await sums()).to.deep.equal([
      ['a', 0, 1],
      ['b', 0, 2],
    ]);
  });

  it('may only be created by a user who may read its sources and write its sink', async () => {
    folder = tempFolder((after) => cleanUps.push(after));
    const users = join(folder, 'users');
    writeFileSync(users, 'root:admin=root\nscoped:rw@metrics=scoped\n');
    const provider = { ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${users}` };
    almanac = await Almanac.start(join(folder, 'data'), { environment: { ...PAUSED.environment, ...provider } });
    cleanUps.push(() => almanac.kill());
    const [root, scoped] = [basic('root', 'root'), basic('scoped', 'scoped')];
    const as = async (user: string, statement: string, database = 'metrics'): Promise<number> => {
      return (await sqlAs(almanac, statement, user, database)).status;
    };
    expect(await as(root, 'CREATE DATABASE metrics', 'public')).to.equal(200);
    for (const database of ['public', 'metrics']) {
      expect(await as(root, 'CREATE TABLE src (ts TIMESTAMP TIME INDEX, v DOUBLE)', database)).to.equal(200);
    }
    const query = (source: string): string =>
      `SELECT date_bin(INTERVAL '1m', ts) AS w, count(*) AS n FROM ${source} GROUP BY w`;
    expect(await as(scoped, `CREATE FLOW f SINK TO counts AS ${query('public.src')}`)).to.equal(403);
    expect(await as(scoped, `CREATE FLOW f SINK TO public.counts AS ${query('src')}`)).to.equal(403);
    expect(await as(scoped, `CREATE FLOW f SINK TO counts AS ${query('src')}`)).to.equal(200);
    expect(await as(root, `CREATE FLOW g SINK TO counts AS ${query('src')}`, 'public')).to.equal(200);
    const listed = rowsIn(await sqlAs(almanac, 'SHOW FLOWS', scoped, 'metrics'));
    expect(listed).to.deep.equal([['f']]);
    expect(await as(scoped, 'DROP FLOW g')).to.equal(403);
    expect(await as(scoped, 'DROP FLOW f')).to.equal(200);
  });

  it('refuses definitions that it cannot run', async () => {
    await share();
    await table();
    await minuteFlow();
    const as = "AS SELECT host, date_bin(INTERVAL '1 minute', ts) AS w, sum(v) AS total FROM src GROUP BY host, w";
    await rows("CREATE TABLE kept (host STRING, w TIMESTAMP TIME INDEX, total DOUBLE) WITH (append_mode = 'true')");
    await rows('CREATE TABLE other (w TIMESTAMP TIME INDEX, total DOUBLE)');
    const codes: readonly (readonly [string, number])[] = [
      [`CREATE FLOW f SINK TO sums ${as}`, 8000],
      [`CREATE OR REPLACE FLOW IF NOT EXISTS f SINK TO sums ${as}`, 1001],
      [`CREATE FLOW g SINK TO src ${as}`, 1001],
      [`CREATE FLOW g SINK TO kept ${as}`, 1004],
      [`CREATE FLOW g SINK TO other ${as}`, 3001],
      [`CREATE FLOW g SINK TO sums EXPIRE AFTER '1 month' ${as}`, 1004],
      [`CREATE FLOW g SINK TO sums EVAL INTERVAL '1h' EXPIRE AFTER '1h' ${as}`, 2000],
      [`CREATE FLOW g SINK TO sums WITH (colour = 'red') ${as}`, 1004],
      ["CREATE FLOW g SINK TO sums AS TQL EVAL (now(), now(), '5s') src", 1004],
      ["CREATE FLOW g SINK TO sums EVAL INTERVAL '1m' AS TQL EVAL (0, 15, '5s') src", 2000],
      ['CREATE FLOW g SINK TO sums AS SELECT table_name, count(*) FROM information_schema.tables GROUP BY 1', 1001],
      ['DROP FLOW g', 8001],
      ['SHOW CREATE FLOW g', 8001],
      ["ADMIN flush_flow('g')", 8001],
    ];
    for (const [statement, code] of codes) expect((await fails(statement)).code, statement).to.equal(code);
    expect(await rows('SHOW FLOWS')).to.deep.equal([['f']]);
    expect((await rows('SHOW FLOW STATUS')).map(([, name]) => name)).to.deep.equal(['f']);
  });
});
