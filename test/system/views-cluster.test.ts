import { expect } from 'chai';

import { Cluster } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

describe('views of a cluster', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;
  let cluster: Cluster;

  before(async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    cluster = await Cluster.start(folder, { gateways: 2, ingesters: 1, queriers: 2 });
  });

  after(async () => {
    await cluster.killAll();
    cleanUp();
  });

  it('are there for every querier at once, and disappear everywhere', async () => {
    await cluster.written('cpu,host=a usage=1.5 1000000000');
    await cluster.rows('CREATE VIEW v AS SELECT usage FROM cpu');
    // Requests go to the queriers in turn.
    for (const gateway of cluster.gateways) {
      for (let i = 0; i < 4; i++) expect(await gateway.rows('SELECT usage FROM v')).to.deep.equal([[1.5]]);
    }
    const refused = await cluster.write('v,host=a usage=1 1000000000');
    expect(refused.status, refused.text).to.equal(400);
    await cluster.rows('CREATE OR REPLACE VIEW v AS SELECT usage * 2 FROM cpu');
    for (const gateway of cluster.gateways) {
      for (let i = 0; i < 4; i++) {
        await eventually(async () => (await gateway.rows('SELECT * FROM v'))[0][0] === 3);
      }
    }
    await cluster.rows('DROP VIEW v');
    for (const gateway of cluster.gateways) {
      for (let i = 0; i < 4; i++) {
        await eventually(async () => (await gateway.sql('SELECT * FROM v')).status === 400);
      }
    }
    await cluster.written('v,host=a usage=4 1000000000');
    for (const gateway of cluster.gateways) {
      for (let i = 0; i < 4; i++) {
        await eventually(async () => (await gateway.sql('SELECT usage FROM v')).status === 200);
      }
    }
  });
});
