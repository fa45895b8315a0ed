import { expect } from 'chai';
import { compressSync } from 'snappy';

import { Cluster } from '#test/support/cluster';
import { bodyV1, type Series } from '#test/support/remote-write-messages';
import { tempFolder } from '#test/support/temp-folder';

const T0 = 1_700_000_000_000;

describe('metric tables in a cluster', function () {
  this.timeout(240_000);
  const cleanUps: (() => void)[] = [];
  let cluster: Cluster;

  before(async () => {
    cluster = await Cluster.start(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      { ingesters: 2, queriers: 2 },
    );
  });

  after(async () => {
    await cluster.killAll();
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  async function write(label: string, value: number): Promise<void> {
    const series = Array.from({ length: 40 }, (_, i): Series => {
      return {
        labels: [
          ['__name__', 'spread'],
          [label, `n${i}`],
        ],
        samples: [{ value, timestamp: T0 }],
      };
    });
    const { status, text } = await cluster.post(
      '/v1/prometheus/write',
      Uint8Array.from(compressSync(bodyV1(series, []))),
    );
    expect(status, text).to.equal(204);
  }

  async function rows(sql: string): Promise<unknown[][]> {
    const { status, text, rows: found } = await cluster.sql(sql);
    expect(status, `${sql}: ${text}`).to.equal(200);
    return found;
  }

  it('have the newest labels at every querier', async () => {
    const labels = ['first'];
    await write('first', 1);
    for (let round = 0; round < 4; round++) {
      const count = 40 * labels.length;
      const columns = (await rows('DESC spread')).map(([name]) => name);
      expect(columns).to.deep.equal(['almanac_timestamp', 'almanac_value', ...labels]);
      const newest = labels[labels.length - 1];
      const counted = await rows(`SELECT count(*), count(DISTINCT ${newest}), sum(almanac_value) FROM spread`);
      expect(counted).to.deep.equal([[count, 40, count]]);
      const at = T0 / 1000;
      expect((await rows(`TQL EVAL (${at}, ${at}, 1) count(spread) AS n`))[0][0]).to.equal(count);
      const named = `SELECT almanac_value FROM spread WHERE ${newest} = 'n7'`;
      expect(await rows(named)).to.deep.equal([[1]]);
      if (round === 1) await rows("ADMIN flush_table('almanac_physical_table')");
      labels.push(`label_${round}`);
      await write(`label_${round}`, 1);
    }
    expect((await rows('SHOW TABLES')).flat()).to.include('spread');
  });
});
