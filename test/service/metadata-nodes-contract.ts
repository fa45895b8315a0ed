import { expect } from 'chai';

import { ownCall } from '#shared/contracts/call';
import { failureCode } from '../support/failure.js';
import { ClusterRig, NO_FOLDER, watch, type StartMetadata } from '../support/metadata-rig.js';

const call = ownCall('test');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Nodes of a metadata service: how they join and how they are lost. */
export function nodesContract(name: string, start: StartMetadata): void {
  describe(`metadata service, ${name}: nodes`, () => {
    let rig: ClusterRig;

    beforeEach(async () => {
      rig = await ClusterRig.start(start);
    });

    afterEach(() => rig.stop());

    it('keep their id by slot, and get a new one each time without', async () => {
      const ingester = await rig.join('a');
      expect(await rig.join('b')).to.be.greaterThan(ingester);
      expect(await rig.join('a')).to.equal(ingester);
      const gateway = await rig.join('', 'gateway');
      expect(await rig.join('', 'gateway')).to.be.greaterThan(gateway);
    });

    it('receive their lease, and are listed with the state that they report', async () => {
      const request = { role: 'ingester', addr: 'host:1', slot: 'a', version: '1.2.3' };
      const { nodeId, leaseMs } = await rig.service.registerNode({ ...request, ...NO_FOLDER }, call);
      expect(leaseMs).to.equal(10_000);
      const registeredMs = rig.clock.nowMs();
      const listed = { ...request, nodeId, registeredMs, regionCount: 0 };
      expect(await rig.node(nodeId)).to.deep.equal({ ...listed, state: 'starting' });
      await rig.beat(nodeId);
      await rig.create('cpu', 3);
      expect(await rig.node(nodeId)).to.deep.equal({ ...listed, state: 'ready', regionCount: 3 });
      await rig.beat(nodeId, 'draining');
      expect(await rig.state(nodeId)).to.equal('draining');
      await rig.join('a');
      expect(await rig.state(nodeId)).to.equal('starting');
    });

    it('have to register first, and to report a valid state', async () => {
      expect(await failureCode(rig.beat(99))).to.equal('illegal_state');
      const [nodeId] = await rig.ready('a');
      expect(await failureCode(rig.beat(nodeId, 'gone'))).to.equal('invalid_arguments');
    });

    it('are sent to watchers when their state changes, and only then', async () => {
      const before = await rig.version();
      const [nodeId] = await rig.ready('a');
      const version = await rig.version();
      await rig.beat(nodeId);
      await rig.beat(nodeId);
      expect(await rig.version()).to.equal(version);
      await rig.beat(nodeId, 'draining');
      const watching = watch(rig.service, before);
      const states: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        const { kind, node } = await watching.next();
        states.push([kind, node?.nodeId, node?.state, node?.addr]);
      }
      await watching.end();
      const addr = 'ingester-a:1';
      expect(states).to.deep.equal([
        ['node_changed', nodeId, 'starting', addr],
        ['node_changed', nodeId, 'ready', addr],
        ['node_changed', nodeId, 'draining', addr],
      ]);
    });

    it('are part of the whole state', async () => {
      const nodeIds = await rig.ready('a', 'b');
      const watching = watch(rig.service, 0n);
      const seen: number[] = [];
      for (let event = await watching.next(); event.kind !== 'state_end'; event = await watching.next()) {
        if (event.kind === 'node_changed') seen.push(event.node?.nodeId ?? 0);
      }
      await watching.end();
      expect(seen).to.deep.equal(nodeIds);
    });

    it('are gone when their lease expires, until the next heartbeat', async () => {
      const [silent, alive] = await rig.ready('a', 'b');
      await rig.pass(9_000, [alive]);
      expect(await rig.state(silent)).to.equal('ready');
      const version = await rig.version();
      await rig.pass(2_500, [alive]);
      expect([await rig.state(silent), await rig.state(alive)]).to.deep.equal(['gone', 'ready']);
      const watching = watch(rig.service, version);
      expect((await watching.next()).node).to.include({ nodeId: silent, state: 'gone' });
      await watching.end();
      await rig.beat(silent);
      expect(await rig.state(silent)).to.equal('ready');
      await rig.pass(MINUTE_MS, [silent, alive]);
      expect(await rig.state(silent)).to.equal('ready');
    });

    it('are never gone if standalone', async () => {
      const nodeId = await rig.join('0', 'standalone');
      expect(await rig.state(nodeId)).to.equal('ready');
      await rig.clock.advance(MINUTE_MS);
      await rig.clock.jump(25 * HOUR_MS);
      expect(await rig.state(nodeId)).to.equal('ready');
    });

    it('have a fresh lease after a restart of metadata', async () => {
      const [silent, alive] = await rig.ready('a', 'b');
      await rig.pass(9_000, [silent, alive]);
      await rig.clock.advance(9_000);
      await rig.restart();
      await rig.pass(9_000, [alive]);
      expect(await rig.state(silent)).to.equal('ready');
      await rig.pass(3_000, [alive]);
      expect(await rig.state(silent)).to.equal('gone');
      await rig.restart();
      expect(await rig.state(silent)).to.equal('gone');
    });

    it('have a fresh lease after metadata was suspended', async () => {
      const [nodeId] = await rig.ready('a');
      await rig.clock.jump(HOUR_MS);
      expect(await rig.state(nodeId)).to.equal('ready');
      await rig.clock.advance(12_000);
      expect(await rig.state(nodeId)).to.equal('gone');
    });

    it('that leave are removed without a slot, and kept with one', async () => {
      const gateway = await rig.join('', 'gateway');
      const [ingester] = await rig.ready('a');
      const version = await rig.version();
      await rig.beat(gateway, 'left');
      await rig.beat(ingester, 'left');
      expect([await rig.state(gateway), await rig.state(ingester)]).to.deep.equal([undefined, 'left']);
      const watching = watch(rig.service, version);
      expect(await watching.next()).to.include({ kind: 'node_removed', removedNodeId: gateway });
      expect((await watching.next()).node).to.include({ nodeId: ingester, state: 'left' });
      await watching.end();
    });

    it('that left come back only by registering', async () => {
      const [nodeId] = await rig.ready('a');
      await rig.beat(nodeId, 'left');
      await rig.beat(nodeId, 'left');
      expect(await failureCode(rig.beat(nodeId, 'draining'))).to.equal('illegal_state');
      expect(await rig.ready('a')).to.deep.equal([nodeId]);
    });

    it('that are gone are removed: soon without a slot, later with one, never with regions', async () => {
      const gateway = await rig.join('', 'gateway');
      const [owner, empty] = await rig.ready('a', 'b');
      const table = await rig.create('cpu');
      expect(table.regions[0].nodeId).to.equal(owner);
      await rig.clock.advance(12_000);
      expect(await rig.state(gateway)).to.equal('gone');
      await rig.clock.jump(9 * MINUTE_MS);
      expect(await rig.state(gateway)).to.equal('gone');
      await rig.clock.jump(MINUTE_MS);
      expect(await rig.state(gateway)).to.equal(undefined);
      await rig.clock.jump(23 * HOUR_MS);
      expect(await rig.state(empty)).to.equal('gone');
      const version = await rig.version();
      await rig.clock.jump(HOUR_MS);
      expect([await rig.state(empty), await rig.state(owner)]).to.deep.equal([undefined, 'gone']);
      const watching = watch(rig.service, version);
      expect(await watching.next()).to.include({ kind: 'node_removed', removedNodeId: empty });
      await watching.end();
      const [again] = await rig.ready('b');
      expect(again).to.be.greaterThan(empty);
    });
  });
}
