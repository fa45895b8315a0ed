import { execFileSync } from 'node:child_process';
import { readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { expect } from 'chai';

import { ownCall } from '#shared/contracts/call';
import type { NodeInfo } from '#shared/contracts/gen/metadata';
import { pollUntil } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

const CALL = ownCall('test');
const WITHIN_MS = 30_000;
const LEASE_MS = 4_000;

type Storage = Readonly<Record<string, number>>;

interface Entry {
  readonly role: string;
  readonly node_id: number;
  readonly addr: string;
  readonly state: string;
  readonly reachable: boolean;
  readonly region_count?: number;
  readonly hostname?: string;
  readonly start_time?: string;
  readonly storage?: Storage;
}

describe('administration of a cluster', function () {
  this.timeout(120_000);
  const cleanUps: (() => void)[] = [];
  let cluster: Cluster;

  before(async () => {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    cluster = await Cluster.start(folder, { environment: { ALMANAC_CLUSTER__LEASE: `${LEASE_MS}ms` } });
    const lines = Array.from({ length: 1_000 }, (_, n) => `cpu,host=h${n % 50} n=${n}i ${n + 1}`).join('\n');
    expect((await cluster.write(lines)).status).to.equal(204);
  });

  after(async () => {
    await cluster.killAll();
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  async function entries(): Promise<Entry[]> {
    const { status, text } = await cluster.get('/status');
    expect(status, text).to.equal(200);
    return (JSON.parse(text) as { cluster: Entry[] }).cluster;
  }

  async function idsOf(role: string): Promise<number[]> {
    return (await entries()).filter((entry) => entry.role === role).map((entry) => entry.node_id);
  }

  async function regions(): Promise<{ readonly regionId: number; readonly nodeId: number }[]> {
    return [...(await cluster.metadata.getTable({ database: 'public', name: 'cpu', tableId: 0 }, CALL)).regions];
  }

  it('/status lists every process', async () => {
    const list = await entries();
    const roles = list.map(({ role }) => role).sort();
    expect(roles).to.deep.equal(['gateway', 'ingester', 'ingester', 'metadata', 'querier']);
    for (const entry of list) {
      expect(entry, entry.role).to.include({ state: 'ready', reachable: true });
      expect(entry).to.include.keys('addr', 'version', 'hostname', 'start_time', 'uptime_seconds');
    }
    expect(new Set(list.map((entry) => entry.node_id)).size).to.equal(5);
    const { storage } = JSON.parse((await cluster.get('/status')).text) as { storage: Storage };
    const parts = list.flatMap(({ storage: part }) => (part === undefined ? [] : [part]));
    expect(parts).to.have.length(3);
    expect(storage).to.include.keys('disk_total_bytes', 'disk_free_bytes', 'segments', 'garbage_bytes');
    const logs = parts.map((part) => part['log_bytes'] ?? 0);
    expect(storage['log_bytes']).to.be.greaterThan(Math.max(...logs));
    const counts = list.map((entry) => entry.region_count ?? 0);
    expect(counts.reduce((sum, count) => sum + count)).to.equal((await regions()).length);
  });

  it('serves the status of any process that ?node= names', async () => {
    for (const { role, node_id: nodeId } of await entries()) {
      const { status, text } = await cluster.get(`/status?node=${nodeId}`);
      expect(status, text).to.equal(200);
      expect(JSON.parse(text), role)
        .to.include({ role, node_id: nodeId, state: 'ready' })
        .and.not.have.property('cluster');
      const config = await cluster.get(`/config?node=${nodeId}`);
      expect(config.text, role).to.include(`data_home = "${cluster.folder}"`);
    }
    expect(JSON.parse((await cluster.get('/status?node=metadata')).text)).to.include({ role: 'metadata' });
    const [ingester] = await idsOf('ingester');
    const ofIngester = (await cluster.get(`/metrics?node=${ingester}`)).text;
    expect(ofIngester).to.match(/almanac_grpc_server_calls_total\{method="Ingester.write",code="ok"\} \d/);
    expect(ofIngester).to.match(/almanac_grpc_server_call_seconds_bucket\{.*method="Ingester.write"/);
    expect(ofIngester).to.match(/^almanac_ingester_store_free_bytes [1-9]/m);
    const ofMetadata = (await cluster.get('/metrics?node=metadata')).text;
    expect(ofMetadata).to.include('method="Metadata.registerNode"');
    expect(ofMetadata).to.match(/^almanac_metadata_store_bytes \d/m);
    expect((await cluster.get('/metrics')).text).to.include('almanac_servers_http_requests_total');
    for (const node of ['999', 'x', '']) {
      const { status, text } = await cluster.get(`/metrics?node=${node}`);
      expect(status, text).to.equal(400);
    }
  });

  it('ADMIN move_region moves a region', async () => {
    const [{ regionId, nodeId }] = await regions();
    const target = (await idsOf('ingester')).find((id) => id !== nodeId);
    const { status, text, rows } = await cluster.sql(`ADMIN move_region(${regionId}, ${target})`);
    expect(status, text).to.equal(200);
    expect(rows).to.deep.equal([[0]]);
    const isMoved = await pollUntil(performance.now() + WITHIN_MS, async () =>
      (await regions()).some((region) => region.regionId === regionId && region.nodeId === target),
    );
    expect(isMoved, cluster.words()).to.equal(true);
    expect((await cluster.sql('SELECT count(*) FROM cpu')).rows).to.deep.equal([[1000]]);
  });

  it('SHOW REGIONS prints what ADMIN accepts, and ADMIN rejects invalid arguments with 400', async () => {
    let shown: [string, number, number, ...unknown[]][] = [];
    // The querier hears of the move a moment after metadata has recorded it.
    const isCurrent = await pollUntil(performance.now() + WITHIN_MS, async () => {
      shown = (await cluster.sql('SHOW FULL REGIONS FROM cpu')).rows as typeof shown;
      const known = (await regions()).map(({ regionId, nodeId }) => ['cpu', regionId, nodeId]);
      return isDeepStrictEqual(
        shown.map(([table, region, peer]) => [table, region, peer]),
        known,
      );
    });
    expect(isCurrent, JSON.stringify(shown)).to.equal(true);
    const [ingester] = await idsOf('ingester');
    const [querier] = await idsOf('querier');
    const region = shown[0][1];
    const wrong: readonly (readonly [string, RegExp])[] = [
      [`move_region(99999, ${ingester})`, /region 99999 not found/],
      [`move_region(${region}, 99999)`, /there is no node 99999/],
      [`move_region(${region}, ${querier})`, /node \d+ cannot take regions: it is of role querier/],
      ['abandon_slot(99999)', /there is no node 99999/],
      [`abandon_slot(${querier})`, /node \d+ is of role querier/],
      [`abandon_slot(${ingester})`, /node \d+ is ready: only a node that is gone can be abandoned/],
    ];
    for (const [call, text] of wrong) {
      const answer = await cluster.sql(`ADMIN ${call}`);
      expect(answer.status, answer.text).to.equal(400);
      expect(answer.text).to.match(text);
    }
  });

  it('/status counts the regions of ingesters while metadata is down', async () => {
    const counts = async (): Promise<unknown[]> =>
      (await entries()).filter(({ role }) => role === 'ingester').map((entry) => [entry.node_id, entry.region_count]);
    const before = await counts();
    const [metadata] = cluster.of('metadata');
    await metadata.kill();
    let found: unknown[] = [];
    const isSame = await pollUntil(performance.now() + WITHIN_MS, async () => {
      found = await counts();
      return isDeepStrictEqual(found, before);
    });
    metadata.start();
    await cluster.ready();
    expect(isSame, JSON.stringify([before, found])).to.equal(true);
  });

  it('DROP TABLE names an ingester that does not confirm it, and skips it when it is gone', async () => {
    const write = async (table: string) => {
      const lines = Array.from({ length: 50 }, (_, n) => `${table},host=h${n} n=${n}i ${n + 1}`).join('\n');
      expect((await cluster.write(lines)).status).to.equal(204);
    };
    for (const table of ['first', 'second', 'third']) await write(table);
    expect((await cluster.sql('DROP TABLE first')).status).to.equal(200);
    const [ingester] = cluster.of('ingester');
    const nodeId = (await entries()).find(({ addr }) => addr === `127.0.0.1:${cluster.proxies[0].port}`)?.node_id;
    ingester.signal('SIGSTOP');
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-almanac-timeout': '1s' };
    const hasty = await cluster.post('/v1/sql', 'sql=DROP TABLE second', headers);
    expect(hasty.status, hasty.text).to.equal(503);
    expect(hasty.text).to.include(`"second\\" was dropped, but node ${nodeId} did not confirm it in time`);
    const patient = await cluster.sql('DROP TABLE third');
    expect(patient.status, patient.text).to.equal(200);
    ingester.signal('SIGCONT');
    await cluster.ready();
    for (const table of ['first', 'second', 'third']) {
      await write(table);
      expect((await cluster.sql(`SELECT count(*) FROM ${table}`)).rows).to.deep.equal([[50]]);
    }
  });

  it('an ingester that replays a long log is starting, not gone, and cannot be abandoned', async () => {
    const [ingester] = cluster.of('ingester');
    const nodes = async (): Promise<readonly NodeInfo[]> => (await cluster.metadata.listNodes({}, CALL)).nodes;
    // Another slot may be free too, whose node is another one.
    const startingId = async (): Promise<number | undefined> => {
      return (await nodes()).find(({ addr, state }) => addr === ingester.addr && state === 'starting')?.nodeId;
    };
    await ingester.kill();
    const slots = join(cluster.folder, 'slots');
    // The first file of the log is a FIFO without a writer, so that reading it does not end.
    const files = readdirSync(slots).map((slot) => join(slots, slot, 'wal/0000000000.wal'));
    execFileSync('mkfifo', files);
    ingester.start();
    await eventually(async () => (await startingId()) !== undefined, WITHIN_MS);
    const nodeId = await startingId();
    const isGone = async (): Promise<boolean> => {
      return (await nodes()).some((node) => node.nodeId === nodeId && node.state === 'gone');
    };
    expect(await pollUntil(performance.now() + 2 * LEASE_MS, isGone)).to.equal(false);
    const { text } = await cluster.sql(`ADMIN abandon_slot('${nodeId}')`);
    expect(text).to.contain(`node ${nodeId} is starting: only a node that is gone can be abandoned`);
    await ingester.kill();
    for (const file of files) unlinkSync(file);
    ingester.start();
    await cluster.ready();
  });

  it('names the process that does not respond, and ADMIN abandon_slot moves its regions', async () => {
    const [ingester] = cluster.of('ingester');
    const { port } = cluster.proxies[0];
    // The process before it may still be listed, as gone, with the same address; a new one has no regions at first.
    const own = async () =>
      (await entries()).find(({ addr, state, region_count: count = 0 }) => {
        return addr === `127.0.0.1:${port}` && state === 'ready' && count > 0;
      });
    expect(await pollUntil(performance.now() + WITHIN_MS, async () => (await own()) !== undefined)).to.equal(true);
    const nodeId = (await own())?.node_id;
    const alive = await cluster.sql(`ADMIN abandon_slot('${nodeId}')`);
    expect(alive.text).to.contain('only a node that is gone can be abandoned');
    // A stopped process keeps its slot's lock, so its log is not adopted.
    ingester.signal('SIGSTOP');
    const startMs = performance.now();
    const found = (await entries()).find((entry) => entry.node_id === nodeId);
    expect(performance.now() - startMs).to.be.lessThan(2_000);
    expect(found).to.include({ role: 'ingester', reachable: false }).and.not.have.property('hostname');
    const { status, text } = await cluster.get(`/metrics?node=${nodeId}`);
    expect(status).to.equal(503);
    expect(text).to.contain(`node ${nodeId} (ingester) at 127.0.0.1:${port} does not respond`);
    const isGone = await pollUntil(performance.now() + WITHIN_MS, async () =>
      (await entries()).some((entry) => entry.node_id === nodeId && entry.state === 'gone'),
    );
    expect(isGone).to.equal(true);
    const abandoned = await cluster.sql(`ADMIN abandon_slot('${nodeId}')`);
    expect(abandoned.status, abandoned.text).to.equal(200);
    expect(abandoned.rows[0][0]).to.be.greaterThan(0);
    const isServed = await pollUntil(performance.now() + WITHIN_MS, async () => {
      const answer = await cluster.sql('SELECT count(*) FROM cpu');
      return answer.status === 200;
    });
    expect(isServed, cluster.words()).to.equal(true);
    await ingester.kill();
  });
});
