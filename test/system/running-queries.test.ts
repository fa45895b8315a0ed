import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { basic } from '#test/support/as-user';
import { eventually } from '#test/support/conditions';
import { freePort } from '#test/support/free-port';
import { tempFolder } from '#test/support/temp-folder';

/** Runs for years. */
const LONG = `SELECT count(*) AS long_query FROM ${['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `numbers ${name}`).join(', ')}
  WHERE a.number + b.number + c.number + d.number + e.number + f.number + g.number = 1`;
/** Reads a table of 200,000 rows for some seconds. */
const LONG_READ = 'SELECT sum(length(md5(repeat(h || v::STRING, 150)))) FROM long_read';
/** Has 100,000,000 rows. */
const MANY_ROWS = `SELECT a.number AS many_rows FROM ${['a', 'b', 'c', 'd'].map((name) => `numbers ${name}`).join(', ')}`;

interface Listed {
  readonly id: string;
  readonly process: string;
  readonly user: string;
  readonly db: string;
  readonly text: string;
  readonly kind: string;
  readonly started: string;
  readonly elapsed_ms: number;
  readonly rows_out: number | null;
  readonly rows_scanned: number | null;
  readonly bytes_scanned: number | null;
  readonly memory_bytes: number | null;
  readonly progress: number | null;
  readonly node: string;
}

interface ErrorBody {
  readonly code: number;
  readonly error: string;
}

describe('running queries over HTTP', function () {
  this.timeout(60_000);
  let cleanUp: () => void = () => undefined;
  let almanac: Almanac;
  let publicUrl: string;
  const [root, ann, bob] = ['root', 'ann', 'bob'].map((name) => basic(name, `${name}pass`));

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    writeFileSync(join(folder, 'users'), 'root:admin=rootpass\nann:ro=annpass\nbob:ro=bobpass\n');
    const publicAddress = `127.0.0.1:${await freePort()}`;
    publicUrl = `http://${publicAddress}`;
    const environment = {
      ALMANAC_STANDALONE__USER_PROVIDER: `static_user_provider:file:${join(folder, 'users')}`,
      ALMANAC_STANDALONE__HTTP__ENABLE_API_SERVER: 'true',
      ALMANAC_STANDALONE__HTTP__API_SERVER_ADDR: publicAddress,
      ALMANAC_STANDALONE__QUERY__MAX_CONCURRENT: '1',
      ALMANAC_STANDALONE__QUERY__MAX_TIMEOUT: '10m',
      ALMANAC_STANDALONE__STORAGE__GC_GRACE: '15m',
    };
    almanac = await Almanac.start(join(folder, 'data'), { environment });
  });

  after(async () => {
    await almanac.kill();
    cleanUp();
  });

  const send = (path: string, authorization: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('authorization', authorization);
    return fetch(almanac.url + path, { ...init, headers });
  };

  const run = (sql: string, authorization: string, headers: Record<string, string> = {}): Promise<Response> => {
    const types = { 'content-type': 'application/sql', 'x-almanac-timeout': '600s' };
    return send('/v1/sql', authorization, { method: 'POST', body: sql, headers: { ...types, ...headers } });
  };

  const listed = async (authorization: string): Promise<readonly Listed[]> => {
    const response = await send('/v1/queries', authorization);
    expect(response.status).to.equal(200);
    return ((await response.json()) as { queries: Listed[] }).queries;
  };

  const cancel = (id: string, authorization: string): Promise<Response> => {
    return send(`/v1/queries/${encodeURIComponent(id)}`, authorization, { method: 'DELETE' });
  };

  const errorOf = async (response: Response): Promise<ErrorBody> => (await response.json()) as ErrorBody;

  it('are listed under the ID that their client chose, and cancelled by it', async () => {
    for (const way of ['DELETE', 'KILL']) {
      const id = randomUUID();
      const running = run(LONG, ann, { 'x-almanac-query-id': id });
      await eventually(async () => (await listed(ann)).some((query) => query.id === id));
      const [query] = await listed(ann);
      expect(query).to.include({ id, user: 'ann', db: 'public', kind: 'sql', rows_out: 0 });
      expect(query.text).to.equal(LONG);
      expect(query.process).to.match(new RegExp(`^${query.node}/\\d+$`));
      expect(Date.parse(query.started)).to.be.closeTo(Date.now(), 60_000);
      expect(query.elapsed_ms).to.be.within(0, 60_000);
      const ended = way === 'DELETE' ? await cancel(id, ann) : await run(`KILL '${id}'`, ann);
      expect(ended.status).to.equal(200);
      const response = await running;
      expect(response.status).to.equal(504);
      expect(response.headers.get('x-almanac-query-id')).to.equal(id);
      expect(await errorOf(response)).to.include({ code: 1005 });
      expect(await listed(ann)).to.deep.equal([]);
      const missing = await cancel(id, ann);
      expect([missing.status, (await errorOf(missing)).error]).to.deep.equal([
        404,
        `no query with the ID "${id}" is running`,
      ]);
    }
  });

  it('refuse an ID that is in use, until the query has ended, and one that is no UUID', async () => {
    const id = randomUUID();
    const running = run(LONG, ann, { 'x-almanac-query-id': id });
    await eventually(async () => (await listed(ann)).some((query) => query.id === id));
    const second = await run('SELECT 1', ann, { 'x-almanac-query-id': id });
    expect(second.status).to.equal(409);
    expect(await errorOf(second)).to.include({ code: 1004 });
    expect((await cancel(id, ann)).status).to.equal(200);
    await (await running).text();
    const third = await run('SELECT 1', ann, { 'x-almanac-query-id': id });
    expect(third.status).to.equal(200);
    expect(third.headers.get('x-almanac-query-id')).to.equal(id);
    for (const text of ['1', 'x', `${id}0`, '']) {
      const refused = await run('SELECT 1', ann, { 'x-almanac-query-id': text });
      expect(refused.status, text).to.equal(400);
      expect((await errorOf(refused)).error).to.contain('is not a UUID');
    }
  });

  it('show PromQL, and what waits while all slots are taken', async () => {
    const running = run(LONG, ann);
    await eventually(async () => (await listed(ann)).length === 1);
    const id = randomUUID();
    const waiting = send('/v1/prometheus/api/v1/query?query=sum(some_metric)&timeout=600s', ann, {
      headers: { 'x-almanac-query-id': id },
    });
    await eventually(async () => (await listed(ann)).length === 2);
    const promql = (await listed(ann)).find((query) => query.id === id);
    expect(promql).to.include({
      ...{ kind: 'promql', text: 'sum(some_metric)', rows_out: null },
      ...{ rows_scanned: null, bytes_scanned: null, memory_bytes: null, progress: null },
    });
    expect((await cancel(id, ann)).status).to.equal(200);
    expect(await (await waiting).json()).to.include({ status: 'error', errorType: 'canceled' });
    const [rest] = await listed(ann);
    expect((await cancel(rest.id, ann)).status).to.equal(200);
    expect((await running).status).to.equal(504);
  });

  it('count the rows that were sent', async () => {
    const response = await run(MANY_ROWS, ann);
    const sent = async (): Promise<number> => (await listed(ann))[0]?.rows_out ?? 0;
    await eventually(async () => (await sent()) > 0);
    expect(await sent()).to.be.below(100_000_000);
    await response.body?.cancel();
    await eventually(async () => (await listed(ann)).length === 0);
  });

  it('show how much of their tables they have read', async () => {
    await (
      await run('CREATE TABLE long_read (h STRING PRIMARY KEY, v DOUBLE, ts TIMESTAMP(3) TIME INDEX)', root)
    ).text();
    const insert = "INSERT INTO long_read SELECT 'h' || (i % 20), i / 7, i * 1000 FROM range(0, 200000) AS s(i)";
    expect((await run(insert, root)).status).to.equal(200);
    expect((await run("ADMIN flush_table('long_read')", root)).status).to.equal(200);
    const id = randomUUID();
    const running = run(LONG_READ, ann, { 'x-almanac-query-id': id });
    const figures = async (): Promise<Listed | undefined> => (await listed(ann)).find((query) => query.id === id);
    await eventually(async () => ((await figures())?.progress ?? 0) > 0);
    const first = await figures();
    expect(first?.progress).to.be.within(0, 1);
    expect(first?.rows_scanned).to.be.within(1, 200_000);
    expect(first?.bytes_scanned).to.be.greaterThan(0);
    expect(first?.memory_bytes).to.equal(null);
    await eventually(async () => ((await figures())?.progress ?? 0) > (first?.progress ?? 1));
    expect((await cancel(id, ann)).status).to.equal(200);
    expect((await running).status).to.equal(504);
  });

  it('are seen and cancelled by their user and by administrators only', async () => {
    for (const owner of [ann, root]) {
      const running = run(LONG, ann);
      await eventually(async () => (await listed(ann)).length === 1);
      const [{ id }] = await listed(root);
      expect(await listed(bob)).to.deep.equal([]);
      expect((await cancel(id, bob)).status).to.equal(404);
      expect((await cancel(id, owner)).status).to.equal(200);
      expect(await errorOf(await running)).to.include({ code: 1005 });
    }
  });

  it('are found by no ID that could be SQL', async () => {
    for (const id of ["x' OR '1'='1", "'; DROP DATABASE public; --", '../sql', 'é\u0000', 'x'.repeat(5000)]) {
      const response = await cancel(id, root);
      expect(response.status, id.slice(0, 30)).to.equal(404);
      expect(await errorOf(response)).to.include({ code: 1004 });
    }
  });

  it('need credentials', async () => {
    expect((await fetch(`${almanac.url}/v1/queries`)).status).to.equal(401);
    expect((await fetch(`${almanac.url}/v1/whoami`)).status).to.equal(401);
  });

  it('are served by the public listener, as is the user of a request', async () => {
    const queries = await fetch(`${publicUrl}/v1/queries`, { headers: { authorization: ann } });
    expect(await queries.json()).to.deep.include({ queries: [] });
    const identity = await fetch(`${publicUrl}/v1/whoami`, { headers: { authorization: ann } });
    expect(await identity.json()).to.include({ user: 'ann', auth: true, mode: 'read', listener: 'public' });
  });

  it('tell a user what it may do', async () => {
    const who = async (authorization: string): Promise<unknown> =>
      await (await send('/v1/whoami', authorization)).json();
    expect(await who(root)).to.deep.include({ user: 'root', mode: 'admin', databases: ['*'], listener: 'main' });
    await run("CREATE DATABASE plants; CREATE USER carla PASSWORD 'carla-pass-1'", root);
    const carla = basic('carla', 'carla-pass-1');
    await eventually(async () => (await send('/v1/whoami', carla)).status === 200);
    expect(await who(carla)).to.deep.include({ user: 'carla', mode: null, databases: [], grants: [] });
    expect((await run('GRANT READ ON plants.* TO carla', root)).status).to.equal(200);
    expect((await run('GRANT WRITE ON public.* TO carla', root)).status).to.equal(200);
    await eventually(async () => ((await who(carla)) as { mode: string | null }).mode === 'read_write');
    expect(await who(carla)).to.deep.include({
      databases: ['plants', 'public'],
      grants: [
        { database: 'plants', mode: 'read' },
        { database: 'public', mode: 'write' },
      ],
    });
  });
});

describe('the user of a request without users', function () {
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

  it('may do everything', async () => {
    const { status, text } = await almanac.get('/v1/whoami');
    expect(status).to.equal(200);
    const identity = JSON.parse(text) as Record<string, unknown>;
    expect(identity['version']).to.match(/^\d+\.\d+\.\d+/);
    expect(identity).to.deep.include({
      ...{ user: '', auth: false, mode: 'admin', databases: ['*'], listener: 'main' },
      grants: [{ database: '*', mode: 'admin' }],
    });
  });

  it('keeps a log filter for some time only', async () => {
    const state = async (): Promise<Record<string, unknown>> =>
      JSON.parse((await almanac.get('/debug/log_level?output=json')).text) as Record<string, unknown>;
    expect(await state()).to.deep.equal({ filter: 'info', until: null, next: null });
    const reply = await almanac.post('/debug/log_level?for=1h', 'info,querier=debug');
    expect(reply.text).to.equal('Log Level changed from info to info,querier=debug for 1h');
    const first = await state();
    expect(first).to.include({ filter: 'info,querier=debug', next: 'info' });
    expect(Date.parse(String(first['until'])) - Date.now()).to.be.within(3_000_000, 3_600_000);
    // A second change for some time does not make the first one permanent.
    await almanac.post('/debug/log_level?for=1s', 'debug');
    expect(await state()).to.include({ filter: 'debug', next: 'info' });
    await eventually(async () => (await state())['filter'] === 'info');
    expect(await state()).to.deep.equal({ filter: 'info', until: null, next: null });
    await almanac.post('/debug/log_level?for=1h', 'debug');
    await almanac.post('/debug/log_level', 'warn');
    expect(await state()).to.deep.equal({ filter: 'warn', until: null, next: null });
  });

  for (const query of ['for=0s', 'for=25h', 'for=10', 'for=', 'output=xml']) {
    it(`refuses ?${query} of a log filter`, async () => {
      const { status, text } = await almanac.post(`/debug/log_level?${query}`, 'debug');
      expect(status, text).to.equal(400);
      expect(JSON.parse(text)).to.include({ code: 1004 });
    });
  }

  it('keeps the filter and its end if another one is malformed', async () => {
    await almanac.post('/debug/log_level?for=1h', 'error');
    const { text } = await almanac.get('/debug/log_level?output=json');
    expect((await almanac.post('/debug/log_level?for=2h', 'nonsense=x')).status).to.equal(400);
    expect((await almanac.get('/debug/log_level?output=json')).text).to.equal(text);
  });

  it('sees where each value of the configuration came from', async () => {
    const { text } = await almanac.get('/config?sources=true');
    expect(text).to.match(/^addr = "127\.0\.0\.1:\d+" # .*http-addr/m);
    expect(text).to.match(/^naming = "almanac" # default$/m);
    expect((await almanac.get('/config')).text).not.to.contain('# default');
  });
});
