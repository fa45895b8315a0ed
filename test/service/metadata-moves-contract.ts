import { expect } from 'chai';

import { ownCall } from '#shared/contracts/call';
import type { RegionInfo } from '#shared/contracts/gen/common';
import { failureCode } from '../support/failure.js';
import { ClusterRig, type StartMetadata } from '../support/metadata-rig.js';

const call = ownCall('test');

/** Moves that a metadata service plans: for an operator, for an even load, and when a node drains. */
export function movesContract(name: string, start: StartMetadata): void {
  describe(`metadata service, ${name}: moves`, () => {
    let rig: ClusterRig;

    beforeEach(async () => {
      rig = await ClusterRig.start(start);
    });

    afterEach(() => rig.stop());

    function move(regionId: number, toNodeId: number): Promise<unknown> {
      return rig.service.moveRegion({ regionId, toNodeId }, call);
    }

    /** Returns the regions of a table that a node owns. */
    async function owned(table: string, nodeId: number): Promise<RegionInfo[]> {
      return (await rig.find(table)).regions.filter((region) => region.nodeId === nodeId);
    }

    describe('for an even load', () => {
      it('go to a node that joins, no more than needed', async () => {
        const three = await rig.ready('a', 'b', 'c');
        await rig.create('cpu', 12);
        expect(await rig.settle(three)).to.equal(0);
        const four = [...three, ...(await rig.ready('d'))];
        expect(await rig.settle(four)).to.equal(3);
        expect(await rig.loads(four)).to.deep.equal([3, 3, 3, 3]);
      });

      it('come from the most loaded nodes, and spread each table', async () => {
        const [a, b] = await rig.ready('a', 'b');
        for (const table of ['one', 'two', 'three', 'four', 'five']) await rig.create(table, 4);
        await rig.pass(3_000, [a, b]);
        const { regionIds } = await rig.service.listGrants({ nodeId: a }, call);
        for (const regionId of regionIds) await move(regionId, b);
        expect([await rig.obey(a), await rig.obey(a)]).to.deep.equal([8, 2]);
        expect(await rig.loads([a, b])).to.deep.equal([0, 20]);
        const [c, d] = await rig.ready('c', 'd');
        const all = [a, b, c, d];
        // For this time half of the regions stay where an operator put them.
        await rig.pass(61_000, all);
        expect(await rig.settle(all)).to.equal(15);
        expect(await rig.loads(all)).to.deep.equal([5, 5, 5, 5]);
        for (const table of ['one', 'two', 'three', 'four', 'five']) {
          const owners = new Set((await rig.find(table)).regions.map((region) => region.nodeId));
          expect(owners.size, table).to.be.at.least(3);
        }
      });

      it('ignore a difference of one', async () => {
        const [a, b] = await rig.ready('a', 'b');
        await rig.create('cpu', 3);
        expect(await rig.settle([a, b])).to.equal(0);
        expect(await rig.loads([a, b])).to.deep.equal([2, 1]);
      });

      it('wait until the node was ready for a while, and are planned at most eight at a time', async () => {
        const [a] = await rig.ready('a');
        await rig.create('cpu', 40);
        const [b] = await rig.ready('b');
        expect((await rig.beat(a)).regionIds).to.deep.equal([]);
        await rig.clock.advance(1_900);
        await rig.beat(b);
        expect((await rig.beat(a)).regionIds).to.deep.equal([]);
        await rig.clock.advance(100);
        const { regionIds } = await rig.beat(a);
        expect(regionIds).to.have.length(8);
        expect((await rig.beat(a)).regionIds).to.deep.equal(regionIds);
        expect(await rig.settle([a, b])).to.equal(20);
      });

      it('are cancelled when the taker is not ready any more', async () => {
        const [a] = await rig.ready('a');
        await rig.create('cpu', 4);
        const [b] = await rig.ready('b');
        await rig.pass(2_000, [a, b]);
        expect((await rig.beat(a)).regionIds).to.have.length(2);
        await rig.join('b');
        expect((await rig.beat(a)).regionIds).to.deep.equal([]);
      });

      it('are cancelled when the load became even otherwise', async () => {
        const [a] = await rig.ready('a');
        await rig.create('cpu', 4);
        const [b] = await rig.ready('b');
        await rig.pass(2_000, [a, b]);
        expect((await rig.beat(a)).regionIds).to.have.length(2);
        for (const table of ['one', 'two', 'three']) await rig.create(table);
        expect(await rig.loads([a, b])).to.deep.equal([4, 3]);
        expect((await rig.beat(a)).regionIds).to.deep.equal([]);
      });

      it('are cancelled for a region whose table was dropped', async () => {
        const [a] = await rig.ready('a');
        await rig.create('cpu', 4);
        const [b] = await rig.ready('b');
        await rig.pass(2_000, [a, b]);
        expect((await rig.beat(a)).regionIds).to.have.length(2);
        await rig.service.dropTable({ database: 'public', name: 'cpu', ifExists: false }, call);
        expect((await rig.beat(a)).regionIds).to.deep.equal([]);
      });

      it('are planned again after a restart', async () => {
        const [a] = await rig.ready('a');
        await rig.create('cpu', 4);
        const [b] = await rig.ready('b');
        await rig.pass(2_000, [a, b]);
        expect((await rig.beat(a)).regionIds).to.have.length(2);
        await rig.restart();
        expect((await rig.beat(a)).regionIds).to.deep.equal([]);
        expect(await rig.settle([a, b])).to.equal(2);
        expect(await rig.loads([a, b])).to.deep.equal([2, 2]);
      });
    });

    describe('of a draining node', () => {
      it('include all of its regions while another node can take them', async () => {
        const [a] = await rig.ready('a');
        await rig.create('cpu', 40);
        expect(await rig.beat(a, 'draining')).to.deep.equal({
          regionIds: [],
          hasTakers: false,
          dataFolderKnown: false,
        });
        const [b, c] = await rig.ready('b', 'c');
        const first = await rig.beat(a, 'draining');
        expect([first.regionIds.length, first.hasTakers]).to.deep.equal([32, true]);
        expect([await rig.obey(a, 'draining'), await rig.obey(a, 'draining')]).to.deep.equal([32, 8]);
        expect(await rig.beat(a, 'draining')).to.deep.equal({ regionIds: [], hasTakers: true, dataFolderKnown: false });
        expect(await rig.loads([a, b, c])).to.deep.equal([0, 20, 20]);
        await rig.beat(a, 'left');
        expect(await rig.settle([b, c])).to.equal(0);
      });

      it('return to it when it starts again, for an even load', async () => {
        const [a, b] = await rig.ready('a', 'b');
        await rig.create('cpu', 4);
        await rig.obey(a, 'draining');
        await rig.beat(a, 'left');
        await rig.ready('a');
        expect(await rig.settle([a, b])).to.equal(2);
        expect(await rig.loads([a, b])).to.deep.equal([2, 2]);
      });
    });

    describe('requested by an operator', () => {
      it('are executed by the owner, and not undone for a while', async () => {
        const [a, b] = await rig.ready('a', 'b');
        await rig.create('cpu', 4);
        await rig.pass(3_000, [a, b]);
        const wished = await owned('cpu', a);
        for (const { regionId } of wished) await move(regionId, b);
        expect(await rig.obey(a)).to.equal(2);
        expect(await rig.loads([a, b])).to.deep.equal([0, 4]);
        // Its other regions may move, so that the load becomes even.
        expect(await rig.settle([a, b])).to.equal(2);
        const ids = wished.map((region) => region.regionId);
        expect((await owned('cpu', b)).map((region) => region.regionId)).to.deep.equal(ids);
      });

      it('may be undone later', async () => {
        const [a, b] = await rig.ready('a', 'b');
        const [first, second] = (await rig.create('cpu', 2)).regions;
        await move(first.regionId, b);
        await move(second.regionId, b);
        expect(await rig.obey(a)).to.equal(1);
        expect(await rig.settle([a, b])).to.equal(0);
        await rig.pass(60_000, [a, b]);
        expect(await rig.settle([a, b])).to.equal(1);
      });

      it('come first, and replace those of the rebalancer', async () => {
        const [a] = await rig.ready('a');
        const { regions } = await rig.create('cpu', 40);
        const [b, c] = await rig.ready('b', 'c');
        await rig.pass(2_000, [a, b, c]);
        const last = regions[39].regionId;
        const { regionIds } = await rig.beat(a);
        expect(regionIds).to.not.include(last);
        await move(last, c);
        await move(regionIds[0], a);
        const after = await rig.beat(a);
        expect([after.regionIds[0], after.regionIds.length]).to.deep.equal([last, 8]);
        expect(after.regionIds).to.not.include(regionIds[0]);
      });

      it('require a region that exists and a node that can take it', async () => {
        const [a, b] = await rig.ready('a', 'b');
        const { regionId } = (await rig.create('cpu')).regions[0];
        const gateway = await rig.join('', 'gateway');
        await rig.beat(gateway);
        await rig.beat(b, 'draining');
        expect(await failureCode(move(999, a))).to.equal('region_not_found');
        for (const nodeId of [0, 99, gateway, b]) {
          expect(await failureCode(move(regionId, nodeId))).to.equal('invalid_arguments');
        }
      });
    });
  });
}
