import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

describe('slow queries', function () {
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
      { environment: { ALMANAC_STANDALONE__SLOW_QUERY__THRESHOLD: '0s', ...environment } },
    );
    expect((await almanac.write('cpu,host=a usage=1 1000000000', 'u=root&p=pw')).status).to.equal(204);
  }
  const recorded = async (columns: string, condition: string): Promise<unknown[][]> => {
    const { status, rows } = await almanac.sql(
      `SELECT ${columns} FROM almanac_private.slow_queries WHERE ${condition}`,
    );
    return status === 200 ? rows : [];
  };

  it('are rows of a table, with their plan, user and request', async () => {
    await start({ ALMANAC_STANDALONE__USER_PROVIDER: 'static_user_provider:cmd:root=pw' });
    const headers = { authorization: `Basic ${Buffer.from('root:pw').toString('base64')}`, 'x-request-id': 'slow-1' };
    const get = (path: string): Promise<Response> => fetch(almanac.url + path, { headers });
    await get(`/v1/sql?sql=${encodeURIComponent("SELECT count(*) FROM cpu WHERE host = 'it''s'")}`);
    await get('/v1/prometheus/api/v1/query_range?query=cpu&start=0&end=60&step=15');
    await get('/v1/sql?sql=SELECT+nothing+FROM+nowhere');
    const rows = async (): Promise<unknown[][]> => {
      const columns =
        'query, is_promql, plan, promql_range, promql_step, epoch_ms(promql_end), "user", request_id, "database", cost >= 0, threshold';
      const text = `SELECT ${columns} FROM slow_queries WHERE request_id = 'slow-1' ORDER BY query`;
      const response = await get(`/v1/sql?db=almanac_private&sql=${encodeURIComponent(text)}`);
      const { output } = (await response.json()) as { output?: [{ records: { rows: unknown[][] } }] };
      return (output?.[0].records.rows ?? []).filter(([query]) => !String(query).includes('slow_queries'));
    };
    await eventually(async () => (await rows()).length === 3, 20_000);
    const [counted, failed, range] = await rows();
    expect(counted).to.deep.include.members([
      "SELECT count(*) FROM cpu WHERE host = 'it''s'",
      false,
      'root',
      'slow-1',
      'public',
      true,
    ]);
    expect(counted[2]).to.contain('scan public.cpu');
    expect(failed.slice(0, 3)).to.deep.equal(['SELECT nothing FROM nowhere', false, '']);
    expect(range.slice(0, 6)).to.deep.equal(['cpu', true, '', 60_000, 15_000, 60_000]);
    expect(await get('/metrics').then((it) => it.text())).to.match(/almanac_slow_queries_total\{to="table"\} \d/);
  });

  it('do not run the statements of a text again', async () => {
    await start({});
    await almanac.sql("CREATE TABLE once (ts TIMESTAMP TIME INDEX, v DOUBLE) WITH (append_mode = 'true')");
    await almanac.sql('SELECT 1; INSERT INTO once VALUES (1, 1)');
    const texts = (): Promise<unknown[][]> => recorded('query, plan', "query LIKE 'SELECT 1; INSERT%'");
    await eventually(async () => (await texts()).length === 1, 20_000);
    expect(await texts()).to.deep.equal([['SELECT 1; INSERT INTO once VALUES (1, 1)', '']]);
    expect(await almanac.rows('SELECT count(*) FROM once')).to.deep.equal([[1]]);
  });

  it('go to the log if that is configured, without passwords', async () => {
    await start({ ALMANAC_STANDALONE__SLOW_QUERY__RECORD_TYPE: 'log' });
    await almanac.sql("SELECT 'hello log'");
    await almanac.sql("SELECT 'PASSWORD secret'");
    await eventually(() => almanac.stderr.includes('hello log') && almanac.stderr.includes('(hidden)'));
    expect(almanac.stderr).to.not.contain('PASSWORD secret');
    expect(await recorded('*', 'true')).to.deep.equal([]);
  });

  it('have a table before the first of them, also after a restart', async () => {
    await start({ ALMANAC_STANDALONE__SLOW_QUERY__THRESHOLD: '30s' });
    expect((await almanac.sql('SHOW DATABASES')).rows).to.deep.equal([['public']]);
    expect(await almanac.rows('SELECT query, plan FROM almanac_private.slow_queries')).to.deep.equal([]);
    expect((await almanac.sql('SELECT count(*) FROM slow_queries', { db: 'almanac_private' })).rows).to.deep.equal([
      [0],
    ]);
    await almanac.stop();
    almanac = await Almanac.start(almanac.folder);
    expect(await almanac.rows('SELECT cost FROM almanac_private.slow_queries')).to.deep.equal([]);
    expect((await almanac.sql('SELECT * FROM almanac_private.other')).status).to.equal(400);
  });

  it('are not recorded below the threshold', async () => {
    await start({ ALMANAC_STANDALONE__SLOW_QUERY__THRESHOLD: '30s' });
    await almanac.sql('SELECT 1');
    expect((await almanac.sql('SHOW DATABASES')).rows).to.deep.equal([['public']]);
    expect((await almanac.get('/metrics')).text).to.not.match(/almanac_slow_queries_total\{/);
  });
});
