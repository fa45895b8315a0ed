import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac, type HttpApi, type SqlAnswer } from '#test/support/almanac';
import { basic, rowsIn, sqlAs } from '#test/support/as-user';
import { Cluster } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

/** Runs for years. */
const LONG = `SELECT count(*) AS long_query FROM ${['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `numbers ${name}`).join(', ')}
  WHERE a.number + b.number + c.number + d.number + e.number + f.number + g.number = 1`;
const NO_TIMEOUT = { 'x-greptime-timeout': '600s' };

const codeIn = ({ text }: { readonly text: string }): number => (JSON.parse(text) as { code: number }).code;

/** Returns the IDs of the processes whose text has a part. */
async function idsOf(api: HttpApi, part: string): Promise<string[]> {
  const rows = await api.rows('SHOW PROCESSLIST');
  return rows.filter((row) => String(row[2]).includes(part)).map((row) => String(row[0]));
}

describe('processes of SQL', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;

  const long = async (): Promise<SqlAnswer> => {
    const { status, text } = await almanac.post('/v1/sql', LONG, { ...NO_TIMEOUT, 'content-type': 'application/sql' });
    return { status, text, rows: [] };
  };

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const environment = {
      ALMANAC_STANDALONE__QUERY__MAX_CONCURRENT: '1',
      ALMANAC_STANDALONE__QUERY__MAX_TIMEOUT: '10m',
      ALMANAC_STANDALONE__STORAGE__GC_GRACE: '15m',
    };
    almanac = await Almanac.start(folder, { environment });
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  it('shows a running query, and ends it with 1005', async () => {
    for (const killing of [
      (id: string) => `KILL '${id}'`,
      (id: string) => `KILL QUERY ${id.split('/')[1]}`,
      (id: string) => `KILL ${id.split('/')[1]}`,
    ]) {
      const running = long();
      await eventually(async () => (await idsOf(almanac, 'long_query')).length === 1);
      const [id] = await idsOf(almanac, 'long_query');
      const [full] = await almanac.rows('SHOW FULL PROCESSLIST WHERE "Query" LIKE \'%long_query%\'');
      expect(full.slice(0, 5)).to.deep.equal([id, 'almanac', 'public', '', id.split('/')[0]]);
      expect(String(full[5])).to.match(/^\d{4}-\d\d-\d\dT/);
      expect(String(full[6])).to.match(/^00:\d\d:\d\d\.\d{3}$/);
      expect((await almanac.sql(killing(id))).text).to.contain('"affectedrows":1');
      const answer = await running;
      expect(answer.status, answer.text).to.equal(504);
      expect(codeIn(answer)).to.equal(1005);
      expect(await idsOf(almanac, 'long_query')).to.deep.equal([]);
      expect(codeIn(await almanac.sql(killing(id)))).to.equal(1004);
    }
  });

  it('shows and ends PromQL queries, and what waits for a slot', async () => {
    const running = long();
    await eventually(async () => (await idsOf(almanac, 'long_query')).length === 1);
    const waiting = almanac.get('/v1/prometheus/api/v1/query?query=sum(some_metric)&timeout=600s');
    await eventually(async () => (await idsOf(almanac, 'sum(some_metric)')).length === 1);
    const [id] = await idsOf(almanac, 'sum(some_metric)');
    await almanac.rows(`KILL '${id}'`);
    const { text } = await waiting;
    expect(JSON.parse(text), text).to.deep.include({ status: 'error', errorType: 'canceled' });
    expect(await idsOf(almanac, 'long_query')).to.have.length(1);
    await almanac.rows(`KILL '${(await idsOf(almanac, 'long_query'))[0]}'`);
    expect(codeIn(await running)).to.equal(1005);
    const listed = await almanac.rows('SELECT catalog, schemas, query FROM information_schema.process_list');
    expect(listed).to.deep.equal([
      ['almanac', 'public', 'SELECT catalog, schemas, query FROM information_schema.process_list'],
    ]);
  });

  it('refuses IDs of no process', async () => {
    for (const id of ["'nonsense'", "'127.0.0.1:1/99'", "''", '99999999', 'QUERY 99999999']) {
      expect(codeIn(await almanac.sql(`KILL ${id}`)), id).to.equal(1004);
    }
    expect(codeIn(await almanac.sql('KILL'))).to.equal(2000);
  });
});

describe('processes of users', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;
  const [root, ann, bob] = ['root', 'ann', 'bob'].map((name) => basic(name, `${name}pass`));

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    writeFileSync(join(folder, 'users'), 'root:admin=rootpass\nann:ro=annpass\nbob:ro=bobpass\n');
    const provider = `static_user_provider:file:${join(folder, 'users')}`;
    almanac = await Almanac.start(join(folder, 'data'), {
      environment: { ALMANAC_STANDALONE__USER_PROVIDER: provider },
    });
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  it('are seen and ended by themselves and by administrators only', async () => {
    const idsAs = async (user: string): Promise<string[]> =>
      rowsIn(await sqlAs(almanac, 'SHOW PROCESSLIST', user))
        .filter((row) => String(row[2]).includes('long_query'))
        .map((row) => String(row[0]));
    for (const killer of [ann, root]) {
      const running = sqlAs(almanac, LONG, ann);
      await eventually(async () => (await idsAs(ann)).length === 1);
      const [id] = await idsAs(ann);
      expect(await idsAs(root)).to.deep.equal([id]);
      expect(await idsAs(bob)).to.deep.equal([]);
      const listed = 'SELECT count(*) FROM information_schema.process_list';
      expect(rowsIn(await sqlAs(almanac, listed, bob))).to.deep.equal([[1]]);
      for (const kill of [`KILL '${id}'`, `KILL QUERY ${id.split('/')[1]}`]) {
        expect(codeIn(await sqlAs(almanac, kill, bob))).to.equal(1004);
      }
      expect((await sqlAs(almanac, `KILL '${id}'`, killer)).status).to.equal(200);
      expect(codeIn(await running)).to.equal(1005);
    }
  });
});

describe('processes of a cluster', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let cluster: Cluster;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    cluster = await Cluster.start(folder, { ingesters: 1, queriers: 2 });
  });

  after(async () => {
    await cluster.killAll();
    cleanUp();
  });

  it('are those of all queriers, and can be ended from any', async () => {
    // Statements go to the querier with the fewest running: the second starts when nothing runs but the first.
    const running = [cluster.sql(LONG)];
    await eventually(async () => (await idsOf(cluster, 'long_query')).length === 1);
    running.push(cluster.sql(LONG));
    await eventually(async () => (await idsOf(cluster, 'long_query')).length === 2);
    const ids = await idsOf(cluster, 'long_query');
    const queriers = cluster.of('querier').map(({ addr }) => addr);
    expect(ids.map((id) => id.split('/')[0])).to.have.members(queriers);
    // At the latest the second KILL runs on a querier other than the one that runs the statement.
    await cluster.rows(`KILL '${ids[0]}'`);
    await eventually(async () => (await idsOf(cluster, 'long_query')).length === 1);
    await cluster.rows(`KILL QUERY ${ids[1].split('/')[1]}`);
    for (const answer of await Promise.all(running)) {
      expect(answer.status, answer.text).to.equal(504);
      expect(codeIn(answer)).to.equal(1005);
    }
    expect(codeIn(await cluster.sql(`KILL '${ids[0]}'`))).to.equal(1004);
  });

  it('are ended by the ID that their client chose', async () => {
    const id = randomUUID();
    const running = cluster.post('/v1/sql', LONG, { 'content-type': 'application/sql', 'x-almanac-query-id': id });
    const listed = async (): Promise<readonly { readonly id: string; readonly node: string }[]> => {
      const { text } = await cluster.get('/v1/queries');
      return (JSON.parse(text) as { queries: { id: string; node: string }[] }).queries;
    };
    await eventually(async () => (await listed()).some((query) => query.id === id));
    const [{ node }] = await listed();
    expect(cluster.of('querier').map(({ addr }) => addr)).to.include(node);
    const cancel = (): Promise<Response> => fetch(`${cluster.url}/v1/queries/${id}`, { method: 'DELETE' });
    expect((await cancel()).status).to.equal(200);
    expect(codeIn(await running)).to.equal(1005);
    expect((await cancel()).status).to.equal(404);
  });

  it('are listed without a querier that is away', async () => {
    const [away] = cluster.of('querier');
    await away.kill();
    expect(await cluster.rows('SHOW PROCESSLIST')).to.have.length(1);
  });
});
