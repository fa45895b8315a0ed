import { expect } from 'chai';

import { basic, rowsIn, sendAs, sqlAs, type Answer } from '#test/support/as-user';
import { Cluster } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

const ROOT = basic('root', 'rootpass');

describe('users in SQL of a cluster', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let cluster: Cluster;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const environment = {
      ALMANAC__USER_PROVIDER: 'static_user_provider:cmd:root=rootpass',
      ALMANAC_MEMORY__LIMIT: '256MiB',
    };
    cluster = await Cluster.start(folder, { gateways: 2, ingesters: 1, environment });
  });

  after(async () => {
    await cluster.killAll();
    cleanUp();
  });

  it('reach every gateway, also while metadata is away, and stop working everywhere', async () => {
    const root = (text: string): Promise<Answer> => sqlAs(cluster, text, ROOT);
    expect((await root("CREATE USER eve PASSWORD 'evepass'; GRANT READ ON *.* TO eve")).status).to.equal(200);
    const names = Array.from({ length: 99 }, (_, i) => `${'d'.repeat(250)}_${i}`);
    expect((await root(names.map((name) => `GRANT READ ON ${name}.* TO eve`).join(';'))).status).to.equal(200);
    const token = rowsIn(await root('CREATE TOKEN FOR eve'))[0][2] as string;
    const eve = basic('eve', 'evepass');
    for (const gateway of cluster.gateways) {
      for (const authorization of [eve, `Bearer ${token}`]) {
        await eventually(async () => (await sqlAs(gateway, 'SELECT 1', authorization)).status === 200);
      }
    }
    const spare = rowsIn(await root('CREATE TOKEN spare FOR eve'))[0][2] as string;
    for (const gateway of cluster.gateways) {
      await eventually(async () => (await sqlAs(gateway, 'SELECT 1', `Bearer ${spare}`)).status === 200);
    }
    expect((await root('DROP TOKEN spare FOR eve')).status).to.equal(200);
    for (const gateway of cluster.gateways) {
      await eventually(async () => (await sqlAs(gateway, 'SELECT 1', `Bearer ${spare}`)).status === 401, 1_000);
    }
    // A ticket of one gateway works once, on another one.
    const [first, second] = cluster.gateways;
    const issued = await sendAs(
      `${first.url}/v1/tickets`,
      `Bearer ${token}`,
      '{"path":"/v1/sql?sql=SELECT+1&format=csv"}',
    );
    const { url } = JSON.parse(issued.text) as { readonly url: string };
    const redeemed = [await fetch(second.url + url), await fetch(first.url + url)];
    expect(redeemed.map(({ status }) => status)).to.deep.equal([200, 401]);
    const [metadata] = cluster.of('metadata');
    await metadata.kill();
    for (const gateway of cluster.gateways) {
      expect((await sqlAs(gateway, 'SELECT 1', eve)).status).to.equal(200);
      expect((await sqlAs(gateway, 'SELECT 1', `Bearer ${token}`)).status).to.equal(200);
    }
    metadata.start();
    await eventually(async () => (await root('DROP USER eve')).status === 200);
    for (const gateway of cluster.gateways) {
      await eventually(async () => (await sqlAs(gateway, 'SELECT 1', eve)).status === 401);
      expect((await sqlAs(gateway, 'SELECT 1', `Bearer ${token}`)).status).to.equal(401);
    }
  });
});
