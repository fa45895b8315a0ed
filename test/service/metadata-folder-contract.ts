import { expect } from 'chai';

import { ownCall } from '#shared/contracts/call';
import { failure } from '../support/failure.js';
import { ClusterRig, NO_FOLDER, watch, type StartMetadata } from '../support/metadata-rig.js';

const call = ownCall('test');
const [FOLDER, OTHER] = ['a'.repeat(32), 'b'.repeat(32)];

/** Which data folder is the cluster's, and which processes may register with which folder. */
export function folderContract(name: string, start: StartMetadata): void {
  describe(`metadata service, ${name}: the data folder`, () => {
    let rig: ClusterRig;

    beforeEach(async () => {
      rig = await ClusterRig.start(start);
    });

    afterEach(() => rig.stop());

    function register(role: string, slot: string, dataFolderId: string, clusterId = '') {
      return rig.service.registerNode(
        { role, addr: `${role}:1`, slot, version: 'test', dataFolderId, clusterId },
        call,
      );
    }

    it('is that of the first ingester, also after a restart', async () => {
      const first = await register('ingester', 'a', FOLDER);
      expect(first.dataFolderKnown).to.equal(true);
      expect(first.clusterId).to.match(/^[0-9a-f]{32}$/);
      await rig.restart();
      const again = await register('ingester', 'b', FOLDER, first.clusterId);
      expect(again).to.include({ clusterId: first.clusterId, dataFolderKnown: true });
      for (const role of ['ingester', 'querier', 'standalone']) {
        const refused = await failure(register(role, role === 'querier' ? '' : 'c', OTHER));
        expect(refused.code).to.equal('illegal_state');
        expect(refused.message).to.contain(FOLDER).and.to.contain(OTHER).and.to.contain('storage.data_home');
      }
      expect((await rig.service.listNodes({}, call)).nodes).to.have.length(2);
    });

    it('is that of a standalone process', async () => {
      await register('standalone', '0', FOLDER);
      expect((await failure(register('ingester', 'a', OTHER))).message).to.contain(FOLDER);
      await register('ingester', 'a', FOLDER);
    });

    it('is never that of a querier, which has to register again once another one is known', async () => {
      const wrong = await register('querier', '', OTHER);
      const right = await register('querier', '', FOLDER);
      expect([wrong.dataFolderKnown, right.dataFolderKnown]).to.deep.equal([false, false]);
      for (const { nodeId } of [wrong, right]) {
        expect(await rig.beat(nodeId)).to.include({ dataFolderKnown: false });
      }
      const watching = watch(rig.service, await rig.version());
      await register('ingester', 'a', FOLDER);
      // Watchers learn of it first, because no call goes to it afterwards.
      expect((await watching.next()).node).to.include({ nodeId: wrong.nodeId, state: 'left' });
      await watching.end();
      expect((await failure(rig.beat(wrong.nodeId))).code).to.equal('illegal_state');
      expect((await failure(register('querier', '', OTHER))).message).to.contain(FOLDER);
      expect(await rig.beat(right.nodeId)).to.include({ dataFolderKnown: true });
    });

    it('is compared again when a node that was gone comes back', async () => {
      const { nodeId } = await register('querier', '', OTHER);
      await rig.beat(nodeId);
      const ingester = await register('ingester', 'a', FOLDER);
      await rig.pass(12_500, [ingester.nodeId]);
      expect((await failure(rig.beat(nodeId))).code).to.equal('illegal_state');
      expect(await rig.beat(nodeId, 'left')).to.include({ hasTakers: false });
    });

    it("is refused if it belongs to another cluster, before it becomes this cluster's", async () => {
      const other = 'c'.repeat(32);
      for (const role of ['ingester', 'querier']) {
        const refused = await failure(register(role, role === 'querier' ? '' : 'a', OTHER, other));
        expect(refused.code).to.equal('illegal_state');
        expect(refused.message).to.contain(OTHER).and.to.contain(other).and.to.contain('metadata.addr');
      }
      const { clusterId } = await register('ingester', 'a', FOLDER);
      await register('ingester', 'b', FOLDER, clusterId);
    });

    it('does not matter to processes without one', async () => {
      await register('ingester', 'a', FOLDER);
      const { nodeId } = await rig.service.registerNode(
        { role: 'gateway', addr: 'gateway:1', slot: '', version: 'test', ...NO_FOLDER },
        call,
      );
      await rig.beat(nodeId);
    });

    it('of a cluster that is older than folder ids comes from an ingester that was part of it', async () => {
      const [nodeId] = await rig.ready('a');
      await rig.create('cpu');
      const stranger = await failure(register('ingester', 'of another folder', OTHER));
      expect(stranger.code).to.equal('external');
      expect(stranger.message).to.contain('has started again');
      expect((await register('ingester', 'a', FOLDER)).nodeId).to.equal(nodeId);
      expect((await failure(register('ingester', 'of another folder', OTHER))).code).to.equal('illegal_state');
    });
  });
}
