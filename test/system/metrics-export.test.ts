import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

/** Processes export once a second. */
const PAUSE_MS_MAX = 250;

/** Resolves when what is exported makes a condition hold. */
function exported(condition: () => Promise<boolean>, withinMs = 10_000): Promise<void> {
  return eventually(condition, withinMs, PAUSE_MS_MAX);
}

/** Rows of a table of the metrics, none while the table is missing. */
async function metricRows(
  server: Almanac | Cluster,
  sql: string,
  headers = {},
  db = 'almanac_metrics',
): Promise<unknown[][]> {
  const parameters = new URLSearchParams({ db, sql });
  const response = await fetch(`${server.url}/v1/sql?${parameters.toString()}`, { headers });
  const { output } = (await response.json()) as { output?: [{ records: { rows: unknown[][] } }] };
  return output?.[0].records.rows ?? [];
}

describe('export of metrics', function () {
  this.timeout(120_000);
  const cleanUps: (() => void)[] = [];
  const running: { kill?: () => Promise<void>; killAll?: () => Promise<void> }[] = [];
  const folder = (): string => tempFolder((cleanUp) => cleanUps.push(cleanUp));

  afterEach(async () => {
    for (const server of running.splice(0)) await (server.kill?.() ?? server.killAll?.());
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  async function standalone(settings: Readonly<Record<string, string>>): Promise<Almanac> {
    const environment = Object.fromEntries(
      Object.entries(settings).map(([key, value]) => [`ALMANAC_STANDALONE__${key}`, value]),
    );
    const server = await Almanac.start(folder(), { environment });
    running.push(server);
    return server;
  }

  it('stores those of a standalone server in itself, without credentials, as remote write does', async () => {
    const server = await standalone({
      EXPORT_METRICS__ENABLE: 'true',
      EXPORT_METRICS__WRITE_INTERVAL: '1s',
      USER_PROVIDER: 'static_user_provider:cmd:root=pw',
    });
    const headers = { authorization: `Basic ${Buffer.from('root:pw').toString('base64')}` };
    const rows = (sql: string): Promise<unknown[][]> => metricRows(server, sql, headers);
    // Twice: the second export finds database and tables.
    await exported(async () => Number((await rows('SELECT count(*) FROM almanac_ingester_regions'))[0]?.[0]) >= 2);
    const labels = await rows('SELECT DISTINCT job, "role", instance FROM almanac_ingester_regions');
    expect(labels).to.have.length(1);
    expect(labels[0].slice(0, 2)).to.deep.equal(['almanac', 'standalone']);
    expect(labels[0][2]).to.match(new RegExp(`:${new URL(server.url).port}$`));
    const [[infinite]] = await rows(`SELECT count(*) FROM almanac_loop_turn_seconds_bucket WHERE le = '+Inf'`);
    expect(infinite).to.be.greaterThan(0);
    const [[, shown]] = await rows('SHOW CREATE TABLE almanac_physical_table');
    expect(shown).to.contain("ttl = '7days'");
    const metadata = await fetch(
      `${server.url}/v1/prometheus/api/v1/metadata?metric=almanac_ingester_regions&db=almanac_metrics`,
      { headers },
    );
    expect(await metadata.text()).to.contain('"almanac_ingester_regions":[{"type":"gauge","help":"open regions"');
    expect(await server.stop()).to.equal(0);
    expect(server.stderr).to.not.contain('metrics not exported');
  });

  it('stores those of all processes of a cluster, once, though two gateways are there', async () => {
    const environment = { ALMANAC_EXPORT_METRICS__ENABLE: 'true', ALMANAC_EXPORT_METRICS__WRITE_INTERVAL: '1s' };
    const cluster = await Cluster.start(folder(), { gateways: 2, ingesters: 1, environment });
    running.push(cluster);
    const roles = 'SELECT DISTINCT "role", instance FROM almanac_app_version ORDER BY 1, 2';
    await exported(async () => (await metricRows(cluster, roles)).length === 5, 60_000);
    const expected = cluster.members.map(({ role, addr }) => [role, addr]);
    expect(await metricRows(cluster, roles)).to.have.deep.members(expected);
    // The counter of exports is in the gateway that makes them.
    const exporting = await Promise.all(cluster.gateways.map(async (it) => (await it.get('/metrics')).text));
    const counting = exporting.filter((text) => text.includes('almanac_metrics_exports_total{result="ok"}'));
    expect(counting).to.have.length(1);
  });

  it('sends those of each process of a cluster to another server', async () => {
    const target = await standalone({});
    const environment = {
      ALMANAC_EXPORT_METRICS__ENABLE: 'true',
      ALMANAC_EXPORT_METRICS__WRITE_INTERVAL: '1s',
      ALMANAC_EXPORT_METRICS__REMOTE_WRITE_URL: `${target.url}/v1/prometheus/write`,
    };
    const cluster = await Cluster.start(folder(), { ingesters: 1, environment });
    running.push(cluster);
    const roles = 'SELECT DISTINCT "role" FROM almanac_app_version ORDER BY 1';
    const expected = [['gateway'], ['ingester'], ['metadata'], ['querier']];
    await exported(async () => (await metricRows(target, roles, {}, 'public')).length === expected.length, 30_000);
    expect(await metricRows(target, roles, {}, 'public')).to.deep.equal(expected);
    expect((await cluster.sql('SHOW TABLES')).rows).to.deep.equal([]);
  });

  it('sends those of a standalone server to another one, and logs a failure once until it is over', async () => {
    const target = await standalone({ USER_PROVIDER: 'static_user_provider:cmd:root=pw' });
    const url = `${target.url}/v1/prometheus/write?db=public`;
    const credentials = Buffer.from('root:pw').toString('base64');
    const sending = {
      EXPORT_METRICS__ENABLE: 'true',
      EXPORT_METRICS__WRITE_INTERVAL: '1s',
      EXPORT_METRICS__REMOTE_WRITE_URL: url,
    };
    const source = await standalone({
      ...sending,
      EXPORT_METRICS__REMOTE_WRITE_HEADERS: `authorization=Basic ${credentials}`,
    });
    const refused = await standalone(sending);
    const headers = { authorization: `Basic ${credentials}` };
    const instances = 'SELECT DISTINCT "role", split_part(instance, \':\', 2) FROM almanac_app_version';
    await exported(async () => (await metricRows(target, instances, headers, 'public')).length > 0);
    expect(await metricRows(target, instances, headers, 'public')).to.deep.equal([
      ['standalone', new URL(source.url).port],
    ]);
    expect((await source.sql('SHOW DATABASES')).rows).to.deep.equal([['information_schema'], ['public']]);

    await exported(async () => {
      const { text } = await refused.get('/metrics');
      return Number(/almanac_metrics_exports_total\{result="failed"\} (\d+)/.exec(text)?.[1] ?? 0) >= 2;
    });
    expect(refused.stderr.split('metrics not exported')).to.have.length(2);
    expect(refused.stderr).to.contain(
      'replied with status 401: set credentials in export_metrics.remote_write_headers',
    );
    expect((await source.get('/config')).text).to.not.contain(credentials);
  });
});
