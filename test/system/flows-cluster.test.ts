import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { ownCall } from '#shared/contracts/call';
import type { FlowOwner } from '#shared/contracts/gen/common';
import { connect } from '#shared/grpc/connect';
import { timeIndexOf } from '#shared/schema/table-schema';
import { Metrics } from '#shared/telemetry/metrics';
import { RegionSender } from '#shared/write/send';
import { RowSink } from '#shared/write/row-sink';
import { Cluster, type Member } from '#test/support/cluster';
import { eventually } from '#test/support/conditions';
import { refusal } from '#test/support/failure';
import { CHECKED_FLOWS, expectExact, RandomChanges } from '#test/support/flow-changes';
import { tempFolder } from '#test/support/temp-folder';

const CALL = ownCall('test');
const WITHIN_MS = 60_000;
const ENVIRONMENT = {
  ALMANAC_CLUSTER__LEASE: '2s',
  ALMANAC_FLOW__INTERVAL: '50ms',
  ALMANAC_INGESTER__COMPACTION: 'false',
};

describe('flows in a cluster', function () {
  this.timeout(240_000);
  const cleanUps: (() => void)[] = [];
  let cluster: Cluster;

  beforeEach(async () => {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    cluster = await Cluster.start(folder, { ingesters: 2, queriers: 2, environment: ENVIRONMENT });
  });

  afterEach(async () => {
    await cluster.killAll();
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  /** Names of the queriers that own the flows, by flow; those without an owner are left out. */
  async function owners(): Promise<Map<string, Member>> {
    const [{ flows }, { nodes }] = await Promise.all([
      cluster.metadata.listFlows({}, CALL),
      cluster.metadata.listNodes({}, CALL),
    ]);
    const found = new Map<string, Member>();
    for (const { spec, nodeId } of flows) {
      const addr = nodes.find((node) => node.nodeId === nodeId)?.addr;
      const member = cluster.of('querier').find((it) => it.addr === addr);
      if (spec !== undefined && member !== undefined) found.set(spec.name, member);
    }
    return found;
  }

  async function allOwned(): Promise<Map<string, Member>> {
    await eventually(async () => (await owners()).size === CHECKED_FLOWS.length, WITHIN_MS);
    return owners();
  }

  async function change(changes: RandomChanges, history: string[], count: number): Promise<void> {
    for (let i = 0; i < count; i++) history.push(await changes.change(cluster));
  }

  async function isGone({ addr }: Member): Promise<boolean> {
    const { nodes } = await cluster.metadata.listNodes({}, CALL);
    return nodes.every((node) => node.addr !== addr || node.state === 'gone' || node.state === 'left');
  }

  /** Writes a row of nulls to a sink as an owner of its flow does. @returns the code of the refusal, if it is refused. */
  async function lateResult(sink: string, flow: FlowOwner): Promise<string | undefined> {
    const [table, { nodes }] = await Promise.all([
      cluster.metadata.getTable({ database: 'public', name: sink, tableId: 0 }, CALL),
      cluster.metadata.listNodes({}, CALL),
    ]);
    const connections = table.regions.map(({ nodeId }) => {
      const addr = nodes.find((node) => node.nodeId === nodeId)?.addr ?? '';
      return connect(addr, { clock: systemClock });
    });
    const metrics = new Metrics({ unprefixedProcess: false });
    const sender = new RegionSender({
      catalog: { known: () => table, knownById: () => table, apply: () => undefined, onDropped: () => () => undefined },
      ingesters: { ownerOf: ({ index }) => connections[index].client('Ingester'), isAway: () => false },
      clock: systemClock,
      random: systemRandom,
      metrics,
    });
    try {
      const written = new RowSink(sender, metrics).insert(table, [timeIndexOf(table)], [[[0n]]], { ...CALL, flow });
      return (await refusal(written))?.code;
    } finally {
      for (const connection of connections) connection.close();
    }
  }

  it('spreads flows over queriers, and keeps exact sinks when an owner is killed', async () => {
    const changes = new RandomChanges(11);
    await changes.createTables(cluster);
    const first = await allOwned();
    expect(new Set(first.values()).size, 'owners').to.equal(2);
    const history: string[] = [];
    await change(changes, history, 20);
    const [killed, other] = cluster.of('querier');
    await killed.kill();
    // The gateway sends it statements until it is known to be gone.
    await eventually(() => isGone(killed), WITHIN_MS);
    await eventually(async () => [...(await owners()).values()].every((owner) => owner === other), WITHIN_MS);
    await change(changes, history, 10);
    await expectExact(cluster, history);
    killed.start();
    await cluster.ready();
    await other.kill();
    await eventually(() => isGone(other), WITHIN_MS);
    await eventually(async () => [...(await owners()).values()].every((owner) => owner === killed), WITHIN_MS);
    await change(changes, history, 10);
    await expectExact(cluster, history);
  });

  it('lets no owner write that was suspended while another took its flows', async () => {
    const changes = new RandomChanges(12);
    await changes.createTables(cluster);
    await allOwned();
    const history: string[] = [];
    for (let round = 0; round < 4; round++) {
      const suspended = [...(await owners()).values()][0];
      const other = cluster.of('querier').find((member) => member !== suspended);
      await change(changes, history, 8);
      suspended.signal('SIGSTOP');
      await eventually(() => isGone(suspended), WITHIN_MS);
      await eventually(async () => [...(await owners()).values()].every((owner) => owner === other), WITHIN_MS);
      await change(changes, history, 8);
      await expectExact(cluster, history);
      suspended.signal('SIGCONT');
      await eventually(async () => !(await isGone(suspended)), WITHIN_MS);
      await expectExact(cluster, history);
    }
    // What an earlier owner had sent may arrive even later.
    const { flows } = await cluster.metadata.listFlows({}, CALL);
    for (const { flowId, epoch, spec } of flows) {
      const sink = spec?.sinkTable ?? '';
      expect(await lateResult(sink, { flowId, epoch: epoch - 1 }), sink).to.equal('illegal_state');
      expect(await lateResult(sink, { flowId, epoch }), `${sink}, by its owner`).to.equal(undefined);
    }
  });

  it('moves flows at once when their owner stops', async () => {
    const changes = new RandomChanges(13);
    await changes.createTables(cluster);
    await allOwned();
    const history: string[] = [];
    await change(changes, history, 20);
    const [stopped, other] = cluster.of('querier');
    expect(await stopped.stop()).to.equal(0);
    await eventually(async () => [...(await owners()).values()].every((owner) => owner === other), WITHIN_MS);
    await change(changes, history, 10);
    await expectExact(cluster, history);
  });
});
