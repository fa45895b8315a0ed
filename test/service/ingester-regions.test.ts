import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import type { Table } from '#shared/contracts/gen/common';
import type { MetadataService, SealRegionRequest } from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { failureCode, refusal } from '#test/support/failure';
import { Gate } from '#test/support/gate';
import { HeldFiles } from '#test/support/held-files';
import { NO_FOLDER } from '#test/support/metadata-rig';
import { CALL, StorageRig, type RigOptions, type RigRow, type Transport } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const ROW: RigRow = { host: 'x', time: 1n, a: 1 };

for (const transport of ['direct', 'grpc'] as const) {
  describe(`regions of an ingester, ${transport}`, () => suite(transport));
}

function suite(transport: Transport): void {
  let cleanUps: (() => void)[] = [];
  let rigs: StorageRig[] = [];
  afterEach(async () => {
    for (const rig of rigs) await rig.stop();
    for (const cleanUp of cleanUps) cleanUp();
    rigs = [];
    cleanUps = [];
  });

  async function start(options: RigOptions = {}, folder?: string): Promise<StorageRig> {
    const place = folder ?? tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const rig = await StorageRig.start(place, { transport, ...options });
    rigs.push(rig);
    return rig;
  }

  /** Starts a rig on what a crash at this moment would leave. */
  async function afterCrash(rig: StorageRig, options: RigOptions = {}): Promise<StorageRig> {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    rig.crashImage(folder);
    return start(options, folder);
  }

  describe('whose table is dropped', () => {
    it('accept no batch, and acknowledge none that is on its way to the log', async () => {
      const held = new HeldFiles();
      const rig = await start({ fs: held.fileSystem });
      const table = await rig.table('t');
      const other = await rig.table('other');
      await rig.write(table, [ROW]);
      held.hold();
      const late = failureCode(rig.write(table, [ROW]));
      await held.arrived(1);
      await drop(rig.metadata.service, 't');
      const request = { tableIds: [table.tableId, 99] };
      for (let i = 0; i < 2; i++) await rig.ingester.service.dropTables(request, CALL);
      held.releaseAll();
      expect(await late).to.equal('table_not_found');
      expect(await failureCode(rig.write(table, [ROW]))).to.equal('table_not_found');
      await rig.write(other, [ROW]);
      expect(await rig.rows(other)).to.have.length(1);
    });

    it('stay open if metadata still has the table: the caller mistook the ingester for another', async () => {
      const rig = await start();
      const table = await rig.table('t', { append_mode: 'true' });
      await rig.write(table, [ROW]);
      const dropping = rig.ingester.service.dropTables({ tableIds: [99, table.tableId] }, CALL);
      expect(await failureCode(dropping)).to.equal('region_not_ready');
      await rig.write(table, [ROW]);
      expect(await rig.count(table)).to.equal(2);
      expect(await (await afterCrash(rig)).count(table)).to.equal(2);
    });

    it('are announced while they are opened, and are not opened if the drop is known', async () => {
      const noted: string[] = [];
      const rig = await start({
        onTableOpened: ({ name }) => {
          noted.push(name);
          return name !== 'gone';
        },
      });
      for (const name of ['t', 'gone']) {
        const write = rig.write(await rig.table(name), [ROW]);
        expect((await refusal(write))?.code).to.equal(name === 'gone' ? 'table_not_found' : undefined);
      }
      expect(noted).to.deep.equal(['t', 'gone']);
    });

    it('are not opened by a request that was sent before the drop', async () => {
      const gate = new Gate();
      const rig = await start({
        metadata: (service) => ({
          getManifest: async (request, call) => {
            const manifest = await service.getManifest(request, call);
            await gate.pass();
            return manifest;
          },
        }),
      });
      const table = await rig.table('t');
      const writing = failureCode(rig.write(table, [ROW]));
      await gate.reached;
      await drop(rig.metadata.service, 't');
      await rig.ingester.service.dropTables({ tableIds: [table.tableId] }, CALL);
      gate.open();
      expect(await writing).to.equal('table_not_found');
      expect(await failureCode(rig.write(table, [ROW]))).to.equal('table_not_found');
    });

    it('end with a seal that succeeded without a reply', async () => {
      const rig = await start({
        metadata: (service) => ({
          sealRegion: async (request, call) => {
            await drop(service, 't');
            return service.sealRegion(request, call);
          },
        }),
      });
      const table = await rig.table('t');
      await rig.write(table, [ROW]);
      await rig.ingester.handOver([table.regions[0].regionId], 0);
      expect(await failureCode(rig.write(table, [ROW]))).to.equal('table_not_found');
    });

    it('do not keep an ingester from starting if they were dropped before it opens them', async () => {
      const { rig, table, other } = await twoTables();
      const second = await afterCrash(rig, {
        metadata: (service) => ({
          listGrants: async (request, call) => {
            const granted = await service.listGrants(request, call);
            await drop(service, 't');
            return granted;
          },
        }),
      });
      expect(await second.rows(other)).to.have.length(1);
      expect(await failureCode(second.write(table, [ROW]))).to.equal('table_not_found');
      const skipped = second.log.lines.find(
        ({ message }) => message === 'log rows of other nodes and dropped tables skipped',
      );
      expect(skipped?.fields['rowCount']).to.equal(2);
    });

    it('do not keep an ingester from starting if they are dropped while it opens them', async () => {
      const { rig, table, other } = await twoTables();
      const second = await afterCrash(rig, {
        metadata: (service) => ({
          getManifest: async (request, call) => {
            const manifest = await service.getManifest(request, call);
            if (manifest.tableId === table.tableId) await drop(service, 't');
            return manifest;
          },
        }),
      });
      // It is not informed; its first flush closes the region.
      expect(await failureCode(second.flush(table))).to.equal('region_not_found');
      expect(await failureCode(second.write(table, [ROW]))).to.equal('table_not_found');
      expect(await second.rows(other)).to.have.length(1);
    });

    async function twoTables(): Promise<{ rig: StorageRig; table: Table; other: Table }> {
      const rig = await start();
      const table = await rig.table('t');
      const other = await rig.table('other');
      for (const it of [table, other, table]) await rig.write(it, [ROW]);
      return { rig, table, other };
    }
  });

  describe('whose grant is closed without their log', () => {
    it('acknowledge no batch that is on its way to the log; the next owner accepts it', async () => {
      const held = new HeldFiles();
      const rig = await start({ fs: held.fileSystem });
      const table = await rig.table('t', { append_mode: 'true' });
      const request = rig.request(table, [ROW]);
      held.hold();
      const late = failureCode(rig.ingester.service.write(request, CALL));
      await held.arrived(1);
      const moved = await abandon(rig);
      rig.ingester.tableChanged(moved);
      held.releaseAll();
      expect(await late).to.equal('region_not_ready');
      await rig.ingester.service.write({ ...request, epoch: moved.regions[0].epoch }, CALL);
      expect(await rig.rows(moved)).to.have.length(1);
    });

    it('do not take the ids of its batches, whose rows are lost, from the log', async () => {
      const rig = await start();
      const table = await rig.table('t', { append_mode: 'true' });
      const sealed = rig.request(table, [ROW]);
      await rig.ingester.service.write(sealed, CALL);
      await rig.ingester.handOver([table.regions[0].regionId], 0);
      const again = await present(rig);
      const lost = rig.request(again, [{ host: 'x', time: 2n, a: 2 }]);
      await rig.ingester.service.write(lost, CALL);
      await abandon(rig);
      const second = await afterCrash(rig);
      const after = await present(second);
      const { epoch } = after.regions[0];
      for (const request of [sealed, lost]) await second.ingester.service.write({ ...request, epoch }, CALL);
      expect((await second.rows(after)).map(({ time }) => time)).to.deep.equal([1n, 2n]);
    });

    it('leave no series in the caches of readers', async () => {
      const rig = await start();
      const table = await rig.table('t');
      await rig.write(table, [{ host: 'lost', time: 1n, a: 1 }]);
      expect(await rig.rows(table)).to.have.length(1);
      const moved = await abandon(rig);
      rig.ingester.tableChanged(moved);
      await rig.write(moved, [ROW]);
      expect(await rig.rows(moved)).to.deep.equal([ROW]);
      await rig.flush(moved);
      expect(await rig.rows(moved)).to.deep.equal([ROW]);
    });

    it('do not keep an ingester from starting', async () => {
      const rig = await start();
      await rig.write(await rig.table('t'), [ROW]);
      const { nodeId } = rig;
      const second = await afterCrash(rig, {
        metadata: (service) => ({
          listGrants: async (request, call) => {
            const granted = await service.listGrants(request, call);
            await close(service, nodeId);
            return granted;
          },
        }),
      });
      const skipped = second.log.lines.find(
        ({ message }) => message === 'log rows of regions that have moved to other nodes skipped',
      );
      expect(skipped?.fields['rowCount']).to.equal(1);
    });

    it('are closed if that happens while metadata is called about a refused seal', async () => {
      let asked = 0;
      const rig: StorageRig = await start({
        metadata: (service) => ({
          sealRegion: () => Promise.reject(new AlmanacError('illegal_state', 'not yet')),
          openRegion: async (request, call) => {
            if (++asked > 1) await close(service, rig.nodeId);
            return service.openRegion(request, call);
          },
        }),
      });
      const table = await rig.table('t');
      await rig.write(table, [ROW]);
      await rig.ingester.handOver([table.regions[0].regionId], 0);
      expect(await failureCode(rig.write(table, [ROW]))).to.equal('region_not_ready');
    });

    async function close(service: MetadataService, nodeId: number): Promise<void> {
      await service.heartbeat({ nodeId, state: 'left' }, CALL);
      await service.abandonNode({ nodeId }, CALL);
    }

    /** Closes the grants of the rig's node, as if it were gone, and lets it come back. */
    async function abandon({ metadata: { service }, nodeId }: StorageRig): Promise<Table> {
      await close(service, nodeId);
      await service.registerNode({ role: 'standalone', addr: '', slot: '0', version: 'test', ...NO_FOLDER }, CALL);
      return service.getTable({ database: 'public', name: 't', tableId: 0 }, CALL);
    }

    function present({ metadata }: StorageRig): Promise<Table> {
      return metadata.service.getTable({ database: 'public', name: 't', tableId: 0 }, CALL);
    }
  });

  describe('that are handed over', () => {
    it('are not closed by the seal of a killed process once its successor has opened them', async () => {
      const sent = new Gate();
      const late: SealRegionRequest[] = [];
      const rig = await start({
        metadata: () => ({
          sealRegion: (request) => {
            late.push(request);
            void sent.pass();
            return Promise.reject(new AlmanacError('external', 'no answer'));
          },
        }),
      });
      const table = await rig.table('t');
      void rig.ingester.handOver([table.regions[0].regionId], 0);
      await sent.reached;
      const second = await afterCrash(rig);
      await second.write(table, [ROW]);
      expect(await failureCode(second.metadata.service.sealRegion(late[0], CALL))).to.equal('illegal_state');
      expect(await second.rows(table)).to.deep.equal([ROW]);
      expect(await (await afterCrash(second)).rows(table)).to.deep.equal([ROW]);
    });

    it('are recovered however long metadata takes to open them, while requests are refused', async () => {
      const rig = await start();
      const table = await rig.table('t');
      await rig.write(table, [ROW]);
      const slow = {
        metadata: (service: MetadataService): Partial<MetadataService> => ({
          openRegion: async (request, call) => {
            await new Promise<void>((done) => systemClock.after(3_500, done));
            return service.openRegion(request, call);
          },
        }),
      };
      expect(await (await afterCrash(rig, slow)).rows(table)).to.deep.equal([ROW]);
      const other = await start(slow);
      const waiting = await other.table('t');
      // Although the request has no epoch.
      expect(await failureCode(other.write(waiting, [ROW]))).to.equal('region_not_ready');
    });

    it('are opened again if metadata does not know their opening', async () => {
      const rig = await start();
      const table = await rig.table('t');
      await rig.write(table, [ROW]);
      const { regionId, epoch } = table.regions[0];
      const { service } = rig.metadata;
      // Its reply is lost, as when metadata restarts.
      await service.openRegion({ regionId, nodeId: rig.nodeId }, CALL);
      await rig.ingester.handOver([regionId], 0);
      expect((await service.getManifest({ regionId }, CALL)).epoch).to.equal(epoch + 1);
    });

    it('do not delay the end of the process if their seal has no reply', async () => {
      const asked = new Gate();
      const rig = await start({
        metadata: () => ({
          sealRegion: () => {
            void asked.pass();
            return Promise.reject(new AlmanacError('external', 'no answer'));
          },
        }),
      });
      const table = await rig.table('t');
      await rig.write(table, [ROW]);
      const giving = rig.ingester.handOver([table.regions[0].regionId], 0);
      await asked.reached;
      expect(await failureCode(rig.write(table, [ROW]))).to.equal('region_not_ready');
      rigs = rigs.filter((it) => it !== rig);
      await rig.stop();
      await giving;
    });
  });

  describe('of another node', () => {
    it("are neither truncated nor read: the address may have been that node's", async () => {
      const rig = await start();
      const table = await rig.table('t');
      await rig.write(table, [ROW]);
      const regionIds = [table.regions[0].regionId, await regionOfAnother(rig)];
      const request = { tableId: table.tableId, regionIds };
      expect(await failureCode(rig.ingester.service.truncateTable(request, CALL))).to.equal('region_not_ready');
      expect(await rig.rows(table)).to.have.length(1);
      expect(await failureCode(rig.ingester.service.flushTable(request, CALL))).to.equal('region_not_ready');
    });

    async function regionOfAnother(rig: StorageRig): Promise<number> {
      const { service } = rig.metadata;
      const registration = { role: 'ingester', addr: 'other:1', slot: 'other', version: 'test', ...NO_FOLDER };
      const { nodeId } = await service.registerNode(registration, CALL);
      await service.heartbeat({ nodeId, state: 'ready' }, CALL);
      const [region] = (await rig.table('elsewhere')).regions;
      expect(region.nodeId).to.equal(nodeId);
      return region.regionId;
    }
  });

  describe('whose flush got no reply', () => {
    it('continue to be flushed if the commit succeeded', async () => {
      let isLost = true;
      const rig = await start({
        metadata: (service) => ({
          commitSegments: async (request, call) => {
            const manifest = await service.commitSegments(request, call);
            if (isLost) throw new AlmanacError('external', 'the answer was lost');
            return manifest;
          },
        }),
      });
      const table = await rig.table('t', { append_mode: 'true' });
      await rig.write(table, [ROW]);
      expect(await failureCode(rig.flush(table))).to.equal('external');
      isLost = false;
      await rig.flush(table);
      expect(await rig.rows(table)).to.have.length(1);
      await rig.write(table, [ROW]);
      await rig.flush(table);
      expect(await rig.rows(table)).to.have.length(2);
    });
  });
}

async function drop(service: MetadataService, name: string): Promise<void> {
  await service.dropTable({ database: 'public', name, ifExists: true }, CALL);
}
