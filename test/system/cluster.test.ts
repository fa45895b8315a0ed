import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { ownCall } from '#shared/contracts/call';
import { Cluster, type ClusterOptions } from '#test/support/cluster';
import { clusterRounds } from '#test/support/cluster-rounds';
import { pollUntil } from '#test/support/almanac';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

const CALL = ownCall('test');
const WITHIN_MS = 30_000;
/** Longer trials: `npm run trial -- cluster-rounds 50`. */
const ROUNDS = 6;

describe('a cluster of processes', function () {
  this.timeout(240_000);
  const cleanUps: (() => void)[] = [];
  /** That of the tests that run. */
  let cluster: Cluster;

  after(() => {
    for (const cleanUp of cleanUps) cleanUp();
  });

  const folder = (): string => tempFolder((cleanUp) => cleanUps.push(cleanUp));

  /** Tests share a cluster, whole and without tables: five processes take four seconds of CPU time to start. */
  function share(options: ClusterOptions): void {
    before(async () => {
      cluster = await Cluster.start(folder(), options);
    });
    after(() => cluster.killAll());
    beforeEach(async () => {
      for (const member of cluster.members.filter(({ runs }) => !runs)) member.start();
      await cluster.ready();
      await cluster.dropTables();
    });
  }

  async function owners(table: string): Promise<number[]> {
    const { regions } = await cluster.metadata.getTable({ database: 'public', name: table, tableId: 0 }, CALL);
    return regions.map(({ nodeId }) => nodeId);
  }

  async function write(from: number, to: number): Promise<void> {
    const lines = Array.from(
      { length: to - from },
      (_, i) => `cpu,host=h${(from + i) % 50} n=${from + i}i ${from + i + 1}`,
    );
    const { status, text } = await cluster.write(lines.join('\n'));
    expect(status, text).to.equal(204);
  }

  async function count(): Promise<unknown> {
    const { status, text, rows } = await cluster.sql('SELECT count(*), count(DISTINCT n) FROM cpu');
    expect(status, text).to.equal(200);
    return rows[0];
  }

  describe('with two queriers', () => {
    share({ ingesters: 2, queriers: 2 });

    it('locks its folder against a standalone server', async () => {
      const { code, stderr } = await runAlmanac([
        'standalone',
        '--data-dir',
        cluster.folder,
        '--http-addr',
        '127.0.0.1:0',
      ]);
      expect(code).to.equal(1);
      expect(stderr).to.contain('is in use by another process');
      expect((await cluster.get('/status')).status).to.equal(200);
    });

    it('moves the regions of a stopping ingester to the others without an error', async () => {
      await write(0, 1000);
      const [first] = cluster.of('ingester');
      const ending = first.stop();
      let at = 1000;
      let isOver = false;
      void ending.then(() => (isOver = true));
      while (!isOver) {
        await write(at, at + 10);
        at += 10;
        expect(await count()).to.deep.equal([at, at]);
      }
      expect(await ending).to.equal(0);
      expect(new Set(await owners('cpu')).size).to.equal(1);
      await write(at, at + 10);
      expect(await count()).to.deep.equal([at + 10, at + 10]);
    });

    it('works without metadata, and reconnects when it is back', async () => {
      await write(0, 500);
      const [metadata] = cluster.of('metadata');
      await metadata.kill();
      await write(500, 900);
      expect(await count()).to.deep.equal([900, 900]);
      const refused = await cluster.sql('CREATE TABLE other (ts TIMESTAMP TIME INDEX)', { db: 'public' });
      expect(refused.status, refused.text).to.equal(503);
      const unknown = await cluster.write('never_seen v=1 1');
      expect(unknown.status, unknown.text).to.equal(503);
      metadata.start();
      await cluster.ready();
      const made = await cluster.sql('CREATE TABLE other (ts TIMESTAMP TIME INDEX)');
      expect(made.status, made.text).to.equal(200);
      await write(900, 1000);
      expect(await count()).to.deep.equal([1000, 1000]);
    });

    it('has all rows after every process was stopped and started', async () => {
      await write(0, 3000);
      for (const role of ['gateway', 'querier', 'ingester', 'metadata'] as const) {
        for (const member of cluster.of(role)) {
          expect(await member.stop(), `${member.name}: ${member.stderr}`).to.equal(0);
        }
      }
      for (const member of cluster.members) member.start();
      await cluster.ready();
      expect(await count()).to.deep.equal([3000, 3000]);
      await write(3000, 3100);
      expect(await count()).to.deep.equal([3100, 3100]);
    });

    it('applies a request once that is repeated under a key, also after its region has moved', async () => {
      await cluster.sql(
        `CREATE TABLE kept (host STRING, n BIGINT, ts TIMESTAMP(9) TIME INDEX, PRIMARY KEY (host)) WITH (append_mode = 'true')`,
      );
      const send = async (): Promise<number> => {
        const headers = { 'idempotency-key': 'order-17' };
        return (await cluster.post('/v1/lineproto/write', 'kept,host=a n=1i 1\nkept,host=b n=2i 2', headers)).status;
      };
      expect(await send()).to.equal(204);
      expect(await send()).to.equal(204);
      await cluster.of('ingester')[0].stop();
      expect(await send()).to.equal(204);
      const { rows } = await cluster.sql('SELECT count(*) FROM kept');
      expect(rows).to.deep.equal([[2]]);
    });

    // The last one: then there are three ingesters.
    it('spreads tables over its ingesters, and over one that joins', async () => {
      await write(0, 1000);
      expect(new Set(await owners('cpu')).size).to.equal(2);
      await cluster.addIngester();
      await cluster.ready();
      for (let i = 0; i < 4; i++) await cluster.write(`t${i},host=a v=1 1`);
      const isEven = await pollUntil(performance.now() + WITHIN_MS, async () => {
        const { nodes } = await cluster.metadata.listNodes({}, CALL);
        const counts = nodes.filter(({ role }) => role === 'ingester').map(({ regionCount }) => regionCount);
        return counts.length === 3 && Math.max(...counts) - Math.min(...counts) <= 1;
      });
      expect(isEven).to.equal(true);
      await write(1000, 1500);
      expect(await count()).to.deep.equal([1500, 1500]);
    });
  });

  describe('with short leases', () => {
    share({ ingesters: 2, environment: { ALMANAC_CLUSTER__LEASE: '2s' } });

    it('adopts the slot of an ingester that was killed', async () => {
      await write(0, 2000);
      const before = await owners('cpu');
      await cluster.of('ingester')[0].kill();
      const isAdopted = await pollUntil(performance.now() + WITHIN_MS, async () => {
        const { status, text, rows } = await cluster.sql('SELECT count(*), count(DISTINCT n) FROM cpu');
        if (status !== 200) {
          expect(status, text).to.equal(503);
          expect(text).to.contain('4008');
          return false;
        }
        // Short answers are worse than none.
        expect(rows[0]).to.deep.equal([2000, 2000]);
        return true;
      });
      expect(isAdopted, cluster.words()).to.equal(true);
      expect(new Set(before).size).to.equal(2);
      expect(new Set(await owners('cpu')).size).to.equal(1);
      await write(2000, 2100);
      expect(await count()).to.deep.equal([2100, 2100]);
    });

    it('adopts no slot while its log is missing', async () => {
      await write(0, 2000);
      const [killed, heir] = cluster.of('ingester');
      const linesBefore = heir.stderr.length;
      const { nodes } = await cluster.metadata.listNodes({}, CALL);
      const { slot } = nodes.find(({ addr, state }) => addr === killed.addr && state === 'ready')!;
      const root = join(cluster.folder, 'slots');
      const slots = readdirSync(root).map((name) => join(root, name));
      const log = `${slots.find((path) => readFileSync(`${path}/slot.json`, 'utf8').includes(slot))!}/wal`;
      await killed.kill();
      renameSync(log, `${log}.away`);
      const isRefused = await pollUntil(performance.now() + WITHIN_MS, () => {
        const lines = heir.stderr.slice(linesBefore);
        return Promise.resolve(lines.includes('adoption failed') && lines.includes('is missing or damaged'));
      });
      expect(isRefused, cluster.words()).to.equal(true);
      const short = await cluster.sql('SELECT count(*) FROM cpu');
      expect(short.status, short.text).to.equal(503);
      renameSync(`${log}.away`, log);
      const isWhole = await pollUntil(performance.now() + WITHIN_MS, async () => {
        const { rows } = await cluster.sql('SELECT count(*) FROM cpu');
        return rows[0]?.[0] === 2000;
      });
      expect(isWhole, cluster.words()).to.equal(true);
      // The slot is free, and the next process that claims it starts another log there.
      await cluster.addIngester();
      await cluster.ready();
    });
  });

  it('loses and duplicates nothing and returns no partial result while its processes break', async () => {
    const { acknowledgedRows, answeredReads } = await clusterRounds(folder(), { rounds: ROUNDS, seed: 7 });
    expect(acknowledgedRows).to.be.greaterThan(1000);
    expect(answeredReads).to.be.greaterThan(0);
  });
});
