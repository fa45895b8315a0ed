import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Almanac } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

describe('limits', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  afterEach(async () => {
    await almanac.kill();
    cleanUp();
  });

  async function start(environment: Record<string, string>): Promise<void> {
    almanac = await Almanac.start(
      tempFolder((after) => (cleanUp = after)),
      { environment },
    );
  }

  it('of the tables of a database holds for writes and statements, and leaves nothing', async () => {
    await start({ ALMANAC_STANDALONE__LIMITS__MAX_TABLES_PER_DATABASE: '3' });
    expect((await almanac.write('a v=1 1\nb v=1 1')).status).to.equal(204);
    const refused = await almanac.write('a v=2 2\nc v=1 1\nd v=1 1');
    expect(refused.status).to.equal(400);
    expect(refused.text).to.contain('has the 3 tables that limits.max_tables_per_database allows');
    expect((await almanac.sql('SHOW TABLES')).rows).to.deep.equal([['a'], ['b']]);
    expect((await almanac.sql('SELECT count(*) FROM a')).rows).to.deep.equal([[1]]);
    expect((await almanac.sql('CREATE TABLE c (ts TIMESTAMP TIME INDEX)')).status).to.equal(200);
    const create = await almanac.sql('CREATE TABLE d (ts TIMESTAMP TIME INDEX)');
    expect([create.status, create.text]).to.deep.include.members([400]);
    expect((await almanac.sql('CREATE TABLE IF NOT EXISTS c (ts TIMESTAMP TIME INDEX)')).status).to.equal(200);
    expect((await almanac.write('a w=1,v=3 3')).status, 'columns are no tables').to.equal(204);
    // Another database has room of its own, and a dropped table makes room.
    await almanac.rows('CREATE DATABASE other');
    expect((await almanac.write('a v=1 1', 'db=other')).status).to.equal(204);
    await almanac.rows('DROP TABLE c');
    expect((await almanac.write('d v=1 1')).status).to.equal(204);
  });

  it('of the columns of a table holds for writes and statements', async () => {
    await start({ ALMANAC_STANDALONE__LIMITS__MAX_COLUMNS_PER_TABLE: '4' });
    expect((await almanac.write('a,t=x v=1,w=1 1')).status).to.equal(204);
    const refused = await almanac.write('a,t=x u=1 2');
    expect(refused.status).to.equal(400);
    expect(refused.text).to.contain('a table has at most 4 columns, not 5 (limits.max_columns_per_table)');
    const altered = await almanac.sql('ALTER TABLE a ADD COLUMN u DOUBLE');
    expect([altered.status, altered.text.includes('max_columns_per_table')]).to.deep.equal([400, true]);
    await almanac.rows('ALTER TABLE a DROP COLUMN w');
    expect((await almanac.write('a,t=x u=1 2')).status).to.equal(204);
    expect((await almanac.write('b,s=x,t=x v=1,w=1 1')).status).to.equal(400);
    expect((await almanac.get('/metrics')).text).to.match(
      /^almanac_metadata_limit_refusals_total\{limit="columns"\} 3$/m,
    );
    expect((await almanac.sql('SHOW TABLES')).rows).to.deep.equal([['a']]);
  });

  it('of the series of a table leaves out the rows of further ones, in the form of each protocol', async () => {
    await start({ ALMANAC_STANDALONE__LIMITS__MAX_SERIES_PER_TABLE: '2' });
    await almanac.rows('CREATE DATABASE metrics');
    expect((await almanac.write('a,h=1 v=1 1\na,h=2 v=1 1')).status).to.equal(204);
    const reason = 'table "a" has the 2 series that limits.max_series_per_table allows';
    const partly = await almanac.write('a,h=3 v=1 2\na,h=1 v=5 2\na,h=4 v=1 2\nb,h=9 v=1 2');
    expect(partly.status).to.equal(400);
    expect(partly.text)
      .to.contain('partial write')
      .and.contain('dropped=2')
      .and.contain(JSON.stringify(reason).slice(1, -1));
    expect(await almanac.rows('SELECT h, v FROM a ORDER BY h, almanac_timestamp')).to.deep.equal([
      ['1', 1],
      ['1', 5],
      ['2', 1],
    ]);
    expect(await almanac.rows('SELECT h FROM b')).to.deep.equal([['9']]);
    // A statement stores all of its rows or none.
    const insert = await almanac.sql("INSERT INTO a (almanac_timestamp, h, v) VALUES (9, '1', 1), (9, '7', 1)");
    expect(insert.status).to.equal(400);
    expect(insert.text).to.contain(JSON.stringify(reason).slice(1, -1));
    expect(await almanac.rows('SELECT count(*) FROM a')).to.deep.equal([[3]]);
    const series = ['one', 'two', 'three'].map((name): Series => {
      return { labels: [['__name__', name]], samples: [{ value: 1, timestamp: 3 }] };
    });
    const sent = Uint8Array.from(compressSync(bodyV1(series, [])));
    const remote = await almanac.post('/v1/prometheus/write?db=metrics', sent);
    expect(remote.status).to.equal(400);
    expect(remote.text).to.contain('that limits.max_series_per_table allows');
    expect(remote.headers.get('x-prometheus-remote-write-samples-written')).to.equal('2');
    expect((await almanac.sql('SHOW TABLES', { db: 'metrics' })).rows.flat())
      .to.include('one')
      .and.not.include('three');
    const metrics = async (): Promise<string> => (await almanac.get('/metrics')).text;
    expect(await metrics()).to.match(/^almanac_ingester_refused_series_total 4$/m);
    // Of a, b and the metrics.
    await eventually(async () => /^almanac_ingester_series 5$/m.test(await metrics()));
    // The limit counts what is on disk, too.
    await almanac.flush('a');
    expect((await almanac.write('a,h=8 v=1 5')).status).to.equal(400);
    await almanac.rows('DROP TABLE a');
    expect((await almanac.write('a,h=8 v=1 5')).status).to.equal(204);
  });

  it('of the requests of a user is its own, and has a time to wait', async () => {
    await start({
      ALMANAC_STANDALONE__USER_PROVIDER: 'static_user_provider:cmd:one=pw,two=pw',
      ALMANAC_STANDALONE__LIMITS__USER_REQUESTS_PER_SECOND: '1',
    });
    const send = (user: string): Promise<Response> => {
      const authorization = `Basic ${Buffer.from(`${user}:pw`).toString('base64')}`;
      return fetch(`${almanac.url}/v1/sql?sql=SELECT+1`, { headers: { authorization } });
    };
    const statuses: number[] = [];
    let limited: Response | undefined;
    for (let i = 0; i < 15; i++) {
      const response = await send('one');
      statuses.push(response.status);
      if (response.status === 429) limited = response;
      else await response.text();
    }
    expect(statuses.filter((status) => status === 200)).to.have.length.within(10, 12);
    expect(Number(limited?.headers.get('retry-after'))).to.be.within(1, 2);
    expect(await limited?.json()).to.include({
      code: 6001,
      error: 'user "one" sends more than 1 requests a second (limits.user_requests_per_second)',
    });
    expect((await send('two')).status).to.equal(200);
  });
});

describe('limits of a cluster', function () {
  this.timeout(120_000);

  it('divide the series of a table over its regions, and reach the gateway from any process', async () => {
    const environment = { ALMANAC_LIMITS__MAX_SERIES_PER_TABLE: '40', ALMANAC_LIMITS__MAX_TABLES_PER_DATABASE: '1' };
    let cleanUp: () => void = () => undefined;
    const folder = tempFolder((after) => (cleanUp = after));
    const cluster = await Cluster.start(folder, { ingesters: 2, environment });
    try {
      const lines = Array.from({ length: 400 }, (_, n) => `a,h=${n} v=1 ${n + 1}`).join('\n');
      const { status, text } = await cluster.write(lines);
      expect(status, text).to.equal(400);
      expect(text).to.contain('dropped=360').and.contain('has the 40 series');
      expect(await cluster.rows('SELECT count(*), count(DISTINCT h) FROM a')).to.deep.equal([[40, 40]]);
      // What is stored is accepted again, what was refused is refused again.
      expect((await cluster.write(lines)).text).to.contain('dropped=360');
      expect(await cluster.rows('SELECT count(*) FROM a')).to.deep.equal([[40]]);
      expect((await cluster.write('b v=1 1')).text).to.contain('limits.max_tables_per_database');
      const ofMetadata = (await cluster.get('/metrics?node=metadata')).text;
      expect(ofMetadata).to.match(/^almanac_metadata_limit_refusals_total\{limit="tables"\} 1$/m);
    } finally {
      await cluster.killAll();
      cleanUp();
    }
  });
});
