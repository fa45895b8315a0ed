import { expect } from 'chai';

import { ownCall } from '#shared/contracts/call';
import type { OpenRegionResponse } from '#shared/contracts/gen/metadata';
import { failure, failureCode } from '../support/failure.js';
import { ClusterRig, known, segment, watch, type StartMetadata } from '../support/metadata-rig.js';

const call = ownCall('test');
const epochStart = (epoch: number): bigint => BigInt(epoch) << 40n;

/** Grants of a metadata service: one owner per region, and how it changes. */
export function grantsContract(name: string, start: StartMetadata): void {
  describe(`metadata service, ${name}: grants`, () => {
    let rig: ClusterRig;

    beforeEach(async () => {
      rig = await ClusterRig.start(start);
    });

    afterEach(() => rig.stop());

    function open(regionId: number, nodeId: number): Promise<OpenRegionResponse> {
      return rig.service.openRegion({ regionId, nodeId }, call);
    }

    function move(regionId: number, toNodeId: number): Promise<unknown> {
      return rig.service.moveRegion({ regionId, toNodeId }, call);
    }

    describe('of new tables', () => {
      it('go to ready nodes, round robin, starting with the least loaded', async () => {
        const [a, b, c] = await rig.ready('a', 'b', 'c');
        await rig.join('d');
        const owners = async (table: string, regions: number): Promise<number[]> =>
          (await rig.create(table, regions)).regions.map((region) => region.nodeId);
        expect(await owners('one', 4)).to.deep.equal([a, b, c, a]);
        expect(await owners('two', 4)).to.deep.equal([b, c, a, b]);
        await rig.beat(b, 'draining');
        expect(await owners('three', 2)).to.deep.equal([c, a]);
      });

      it('wait until a node is ready', async () => {
        await rig.create('cpu', 3);
        const early = await rig.join('a');
        expect((await rig.find('cpu')).regions.map((region) => region.nodeId)).to.deep.equal([0, 0, 0]);
        const version = await rig.version();
        await rig.beat(early);
        const { regions } = await rig.find('cpu');
        expect(regions.map(({ nodeId, epoch }) => [nodeId, epoch])).to.deep.equal(Array(3).fill([early, 1]));
        const watching = watch(rig.service, version);
        expect((await watching.next()).kind).to.equal('node_changed');
        expect((await watching.next()).table?.regions).to.deep.equal(regions);
        expect((await watching.next()).manifest).to.include({ epoch: 1, watermark: epochStart(1) });
        await watching.end();
      });
    });

    it('open a region for its owner only', async () => {
      const [a, b] = await rig.ready('a', 'b');
      const table = await rig.create('cpu');
      const [{ regionId }] = table.regions;
      const opened = await open(regionId, a);
      expect(opened.table).to.deep.equal(table);
      expect(opened.manifest).to.deep.equal(await rig.service.getManifest({ regionId }, call));
      expect(opened.appliedIds).to.have.length(0);
      const error = await failure(open(regionId, b));
      expect([error.code, error.retryAfterSeconds]).to.deep.equal(['region_not_ready', 1]);
      expect(await failureCode(open(regionId, 0))).to.equal('region_not_ready');
      expect(await failureCode(open(999, a))).to.equal('region_not_found');
    });

    describe('that are sealed', () => {
      it('pass the next epoch, with the ids of the last, to the node that the owner names', async () => {
        const [a, b] = await rig.ready('a', 'b');
        const before = (await rig.create('cpu')).regions[0];
        const manifest = await rig.service.getManifest({ regionId: before.regionId }, call);
        const version = await rig.version();
        const after = await rig.seal(before, { toNodeId: b, appliedIds: Uint8Array.of(1, 2, 3) });
        expect(after).to.deep.equal({ ...before, epoch: 2, nodeId: b, idsSinceEpoch: 1 });
        const opened = await open(after.regionId, b);
        expect([...opened.appliedIds]).to.deep.equal([1, 2, 3]);
        const next = { ...manifest, epoch: 2, watermark: epochStart(2), version: manifest.version + 1n };
        expect(opened.manifest).to.deep.equal(next);
        expect(await failureCode(open(after.regionId, a))).to.equal('region_not_ready');
        const watching = watch(rig.service, version);
        expect((await watching.next()).table?.regions).to.deep.equal([after]);
        expect((await watching.next()).manifest).to.deep.equal(next);
        await watching.end();
        await rig.seal(after, { toNodeId: a });
        expect((await open(after.regionId, a)).appliedIds).to.have.length(0);
      });

      it('are refused from another watermark, epoch or node, and then nothing changed', async () => {
        const [a, b] = await rig.ready('a', 'b');
        const region = (await rig.create('cpu')).regions[0];
        const from = epochStart(1);
        await rig.commit(region, from, from + 10n, [segment('a', from, from + 10n)]);
        const stale = await failure(rig.seal(region, { watermark: from }));
        expect([stale.code, stale.details['watermark']]).to.deep.equal(['illegal_state', String(from + 10n)]);
        expect(await failureCode(rig.seal(region, { watermark: from + 11n }))).to.equal('illegal_state');
        expect(await failureCode(rig.seal(region, { epoch: 2 }))).to.equal('illegal_state');
        expect(await failureCode(rig.seal(region, { nodeId: b }))).to.equal('illegal_state');
        expect(await failureCode(rig.seal(region, { nodeId: 0 }))).to.equal('illegal_state');
        const large = new Uint8Array((4 << 20) + 1);
        expect(await failureCode(rig.seal(region, { appliedIds: large }))).to.equal('invalid_arguments');
        const missing = rig.service.sealRegion(
          { ...region, regionId: 999, watermark: 0n, appliedIds: large.subarray(0, 1), toNodeId: 0, opening: 0n },
          call,
        );
        expect(await failureCode(missing)).to.equal('region_not_found');
        expect(await rig.region('cpu')).to.deep.equal({ ...region, nodeId: a });
      });

      it('are refused from a process that has a successor, and after a restart until the region is opened', async () => {
        const [a, b] = await rig.ready('a', 'b');
        const region = (await rig.create('cpu')).regions[0];
        const { opening: first } = await open(region.regionId, a);
        const { opening: second } = await open(region.regionId, a);
        expect(await failureCode(rig.seal(region, { opening: first }))).to.equal('illegal_state');
        expect(await failureCode(rig.seal(region, { opening: 0n }))).to.equal('illegal_state');
        await rig.restart();
        expect(await failureCode(rig.seal(region, { opening: second }))).to.equal('illegal_state');
        expect(await rig.region('cpu')).to.deep.equal(region);
        const { opening } = await open(region.regionId, a);
        expect((await rig.seal(region, { opening, toNodeId: b })).nodeId).to.equal(b);
      });

      it('open one epoch when two seals race', async () => {
        const [a, b, c] = await rig.ready('a', 'b', 'c');
        const region = (await rig.create('cpu')).regions[0];
        const { opening } = await open(region.regionId, a);
        const seals = [b, c].map((toNodeId) => rig.seal(region, { opening, toNodeId }));
        const answers = await Promise.all(seals);
        expect(answers[0]).to.deep.equal(answers[1]);
        expect(await rig.region('cpu')).to.deep.equal(answers[0]);
        expect(answers[0].epoch).to.equal(2);
      });

      it("are accepted again if the reply was lost, with the region's present state", async () => {
        const [a, b] = await rig.ready('a', 'b');
        const first = (await rig.create('cpu')).regions[0];
        const second = await rig.seal(first, { toNodeId: b });
        await rig.restart();
        expect(await rig.seal(first, { toNodeId: b, watermark: epochStart(1) })).to.deep.equal(second);
        const third = await rig.seal(second, { toNodeId: a });
        expect(await rig.seal(first, { watermark: epochStart(1) })).to.deep.equal(third);
        expect(await failureCode(rig.seal(first, { nodeId: b }))).to.equal('illegal_state');
      });

      it('accept no commit afterwards, but repeat the reply to an earlier one', async () => {
        const [, b] = await rig.ready('a', 'b');
        const region = (await rig.create('cpu')).regions[0];
        const from = epochStart(1);
        const passed = [segment('a', from, from + 10n)];
        await rig.commit(region, from, from + 10n, passed);
        const next = await rig.seal(region, { toNodeId: b });
        const late = [segment('b', from + 10n, from + 12n)];
        expect(await failureCode(rig.commit(region, from + 10n, from + 12n, late))).to.equal('illegal_state');
        const again = await rig.commit(region, from, from + 10n, passed);
        expect(again).to.include({ epoch: 2, watermark: epochStart(2) });
        expect(again.segments).to.deep.equal(passed);
        const start2 = epochStart(2);
        const committed = await rig.commit(next, start2, start2 + 1n, [segment('c', start2, start2 + 1n)]);
        expect(committed.segments.map((it) => it.path)).to.deep.equal(['a', 'c']);
      });
    });

    describe('continue', () => {
      it('at the planned node if the named one cannot take them', async () => {
        const [, b, c] = await rig.ready('a', 'b', 'c');
        const region = (await rig.create('cpu')).regions[0];
        await rig.beat(b, 'draining');
        await move(region.regionId, c);
        expect((await rig.seal(region, { toNodeId: b })).nodeId).to.equal(c);
      });

      it('at the same node if it is ready and no other is planned', async () => {
        const [a] = await rig.ready('a', 'b');
        const region = (await rig.create('cpu')).regions[0];
        expect(await rig.seal(region)).to.include({ nodeId: a, epoch: 2 });
      });

      it('at the least loaded node if their node drains', async () => {
        const [a, , c] = await rig.ready('a', 'b', 'c');
        const { regions } = await rig.create('cpu', 5);
        await rig.beat(a, 'draining');
        expect((await rig.seal(regions[0])).nodeId).to.equal(c);
      });

      it('with the sequences of a further epoch after the region had no owner', async () => {
        const [a] = await rig.ready('a');
        const region = (await rig.create('cpu')).regions[0];
        await rig.beat(a, 'draining');
        const free = await rig.seal(region, { appliedIds: Uint8Array.of(7) });
        expect(free.nodeId).to.equal(0);
        const [b] = await rig.ready('b');
        const after = await rig.region('cpu');
        expect(after).to.include({ nodeId: b, epoch: free.epoch + 1, idsSinceEpoch: 1 });
        const opened = await open(after.regionId, b);
        expect(opened.manifest?.watermark).to.equal(epochStart(after.epoch));
        expect([...opened.appliedIds]).to.deep.equal([7]);
      });

      it('at the adopter of a slot, which seals as the node that is gone', async () => {
        const [gone, adopter] = await rig.ready('a', 'b');
        const region = (await rig.create('cpu')).regions[0];
        expect(region.nodeId).to.equal(gone);
        await rig.pass(12_000, [adopter]);
        expect(await rig.state(gone)).to.equal('gone');
        expect((await rig.seal(region, { toNodeId: adopter })).nodeId).to.equal(adopter);
      });
    });

    it('are truncated by each owner for its own regions, at points of the open grant', async () => {
      const [, b] = await rig.ready('a', 'b');
      const { tableId, regions } = await rig.create('cpu', 2);
      const [first, second] = regions;
      const from = epochStart(1);
      const truncate = (regionId: number, sequence: bigint) =>
        rig.service.truncateTable({ tableId, points: [{ regionId, sequence }] }, call);
      await rig.commit(first, from, from + 10n, [segment('a', from, from + 10n)]);
      await rig.commit(second, from, from + 5n, [segment('b', from, from + 5n)]);
      const answer = await truncate(first.regionId, from + 10n);
      expect(answer.regions.map((it) => [it.regionId, it.segments.length])).to.deep.equal([[first.regionId, 0]]);
      const other = await rig.service.getManifest({ regionId: second.regionId }, call);
      expect([other.truncatedSequence, other.segments.length]).to.deep.equal([0n, 1]);
      const moved = await rig.seal(second, { toNodeId: b });
      expect(await failureCode(truncate(second.regionId, from + 5n))).to.equal('illegal_state');
      const { regions: after } = await truncate(second.regionId, epochStart(moved.epoch));
      expect(after[0].segments).to.deep.equal([]);
      const elsewhere = (await rig.create('other')).regions[0];
      expect(await failureCode(truncate(elsewhere.regionId, epochStart(1)))).to.equal('region_not_found');
    });

    it('survive a restart', async () => {
      const [, b] = await rig.ready('a', 'b');
      const region = (await rig.create('cpu', 2)).regions[0];
      await rig.seal(region, { toNodeId: b, appliedIds: Uint8Array.of(9) });
      const before = await rig.find('cpu');
      await rig.restart();
      expect(await rig.find('cpu')).to.deep.equal(before);
      expect([...(await open(region.regionId, b)).appliedIds]).to.deep.equal([9]);
    });

    describe('of an abandoned node', () => {
      const abandon = (nodeId: number) => rig.service.abandonNode({ nodeId }, call);

      it('are closed only if it is away', async () => {
        const [a] = await rig.ready('a');
        expect(await failureCode(abandon(99))).to.equal('invalid_arguments');
        for (const state of ['ready', 'draining', 'starting']) {
          await rig.beat(a, state);
          expect(await failureCode(abandon(a))).to.equal('invalid_arguments');
        }
      });

      it('go to other nodes, which know only the batch ids from before it', async () => {
        const [a, b, c] = await rig.ready('a', 'b', 'c');
        const { regions } = await rig.create('cpu', 6);
        await rig.seal(regions[0], { toNodeId: a, appliedIds: Uint8Array.of(1) });
        await rig.pass(12_000, [b, c]);
        const version = await rig.version();
        const { regionIds } = await abandon(a);
        expect(regionIds).to.deep.equal([regions[0].regionId, regions[3].regionId]);
        const after = (await rig.find('cpu')).regions;
        expect(after[0]).to.include({ epoch: 3, nodeId: b, idsSinceEpoch: 3 });
        expect(after[3]).to.include({ epoch: 2, nodeId: c, idsSinceEpoch: 2 });
        expect(after[1]).to.deep.equal(regions[1]);
        const opened = await open(regions[0].regionId, b);
        expect([...opened.appliedIds, opened.manifest?.watermark]).to.deep.equal([1, epochStart(3)]);
        const watching = watch(rig.service, version);
        expect((await watching.next()).table?.regions).to.deep.equal(after);
        expect(known((await watching.next()).manifest).regionId).to.equal(regionIds[0]);
        expect(known((await watching.next()).manifest).regionId).to.equal(regionIds[1]);
        await watching.end();
      });

      it('are not returned when it comes back', async () => {
        const [a, b] = await rig.ready('a', 'b');
        const region = (await rig.create('cpu')).regions[0];
        await rig.pass(12_000, [b]);
        await abandon(a);
        expect(await rig.join('a')).to.equal(a);
        expect((await rig.service.listGrants({ nodeId: a }, call)).regionIds).to.deep.equal([]);
        expect(await failureCode(rig.seal(region, { watermark: epochStart(1) }))).to.equal('illegal_state');
        const from = epochStart(1);
        const late = rig.commit(region, from, from + 1n, [segment('late', from, from + 1n)]);
        expect(await failureCode(late)).to.equal('illegal_state');
      });

      it('wait for a ready node', async () => {
        const [a] = await rig.ready('a');
        await rig.create('cpu');
        await rig.beat(a, 'left');
        await abandon(a);
        expect(await rig.region('cpu')).to.include({ epoch: 2, nodeId: 0, idsSinceEpoch: 2 });
        const [b] = await rig.ready('b');
        expect(await rig.region('cpu')).to.include({ epoch: 3, nodeId: b, idsSinceEpoch: 2 });
      });
    });
  });
}
