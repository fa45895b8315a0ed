import { expect } from 'chai';

import type { HttpApi } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

const WITHIN_MS = 60_000;

describe('ALTER TABLE .. MODIFY COLUMN c TYPE', function () {
  this.timeout(120_000);
  let cleanUp: () => void = () => undefined;

  after(() => cleanUp());

  it('reaches every process of a cluster, none of which stores or shows a wrong value', async () => {
    const cluster = await Cluster.start(
      tempFolder((after) => (cleanUp = after)),
      { gateways: 2, queriers: 2 },
    );
    try {
      await cluster.rows('CREATE TABLE t (h STRING PRIMARY KEY, n INT, ts TIMESTAMP(3) TIME INDEX)');
      let isOver = false;
      const counts = [0, 0];
      const using = async (gateway: HttpApi, writer: number): Promise<void> => {
        for (let i = 0; !isOver; i++) {
          await gateway.rows(`INSERT INTO t VALUES ('${writer}_${i % 10}', ${i}, ${i})`);
          counts[writer]++;
          const [[count, sum]] = await gateway.rows(`SELECT count(*), sum(n) FROM t WHERE h LIKE '${writer}%'`);
          expect([count, sum]).to.deep.equal([i + 1, (i * (i + 1)) / 2]);
        }
      };
      const more = (writer: number): Promise<void> => {
        const enough = counts[writer] + 20;
        return eventually(() => counts[writer] >= enough, WITHIN_MS);
      };
      const altering = async (): Promise<void> => {
        try {
          for (const type of ['BIGINT', 'DOUBLE']) {
            await more(0);
            await cluster.rows(`ALTER TABLE t MODIFY COLUMN n ${type}`);
          }
          await more(1);
        } finally {
          isOver = true;
        }
      };
      const { gateways } = cluster;
      await Promise.all([using(gateways[0], 0), using(gateways[1], 1), altering()]);
      const total = [[counts[0] + counts[1], counts.reduce((sum, count) => sum + (count * (count - 1)) / 2, 0)]];
      const asked = 'SELECT count(*), sum(n) FROM t';
      expect(await gateways[1].rows(asked)).to.deep.equal(total);
      await cluster.rows("ADMIN compact_table('t')");
      for (const gateway of gateways) expect(await gateway.rows(asked)).to.deep.equal(total);
    } finally {
      await cluster.killAll();
    }
  });
});
