import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { collectFiles, collectOrphans } from '#services/ingester/region/garbage';
import { Region } from '#services/ingester/region/region';
import { systemClock } from '#shared/clock/clock';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { LocalStore } from '#shared/segments/local-store';
import { regionFolder } from '#shared/segments/segment-name';
import { Gate } from '#test/support/gate';
import { CALL, StorageRig } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const HOUR_MS = 3_600_000;

describe('orphaned files', () => {
  const cleanUps: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  it('are found in many regions with one garbage list, and the others stay', async () => {
    const rig = await StorageRig.start(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      { regions: 3 },
    );
    cleanUps.push(() => rig.stop());
    const table = await rig.table('t');
    const row = { host: 'x', time: 1n, a: 1 };
    for (const { regionId } of table.regions) {
      await rig.ingester.service.write(rig.request(table, [row], { regionId }), CALL);
    }
    await rig.flush(table);
    const store = new LocalStore(join(rig.folder, 'store'), nodeFileSystem);
    const folders = table.regions.map(({ regionId }) => regionFolder(table.databaseId, table.tableId, regionId));
    const before = await Promise.all(folders.map((folder) => store.list(folder)));
    for (const folder of folders) writeFileSync(store.absolute(`${folder}/stray.parquet`), '');
    let looks = 0;
    const { service } = rig.metadata;
    const metadata: MetadataService = {
      ...service,
      listGarbage: (request, call) => (looks++, service.listGarbage(request, call)),
    };
    const keys = { clock: systemClock, windowMs: HOUR_MS, onEarlyDiscard: () => undefined };
    const regions = await Promise.all(
      table.regions.map(
        async ({ regionId }) => new Region(table, await service.getManifest({ regionId }, CALL), 0n, keys),
      ),
    );
    const late = { ...systemClock, nowMs: () => systemClock.nowMs() + HOUR_MS };
    const options = { metadata, store, clock: late, graceMs: HOUR_MS / 2 };
    expect(await collectOrphans(regions, { ...options, graceMs: 2 * HOUR_MS })).to.equal(0);
    looks = 0;
    expect(await collectOrphans(regions, options)).to.equal(table.regions.length);
    expect(looks).to.equal(1);
    expect(await Promise.all(folders.map((folder) => store.list(folder)))).to.deep.equal(before);
  });

  it('and replaced files stay while a backup holds the store', async () => {
    const rig = await StorageRig.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    cleanUps.push(() => rig.stop());
    const table = await rig.table('t');
    const [{ regionId }] = table.regions;
    await rig.ingester.service.write(rig.request(table, [{ host: 'x', time: 1n, a: 1 }], { regionId }), CALL);
    await rig.flush(table);
    const { service: metadata } = rig.metadata;
    const keys = { clock: systemClock, windowMs: HOUR_MS, onEarlyDiscard: () => undefined };
    const region = new Region(table, await metadata.getManifest({ regionId }, CALL), 0n, keys);
    await rig.ingester.service.truncateTable({ tableId: table.tableId, regionIds: [regionId] }, CALL);
    const store = new LocalStore(join(rig.folder, 'store'), nodeFileSystem);
    const folder = regionFolder(table.databaseId, table.tableId, regionId);
    writeFileSync(store.absolute(`${folder}/stray.parquet`), '');
    const before = await store.list(folder);
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + HOUR_MS };
    const collect = (): Promise<void> =>
      collectFiles(
        { metadata, store, clock, graceMs: HOUR_MS / 2, compactor: { without: (_, work) => work() } },
        { open: [region].values() },
        rig.log,
      );

    const backup = new LocalStore(join(rig.folder, 'store'), nodeFileSystem);
    const release = backup.tryHold();
    await collect();
    expect(await store.list(folder)).to.deep.equal(before);
    release?.();
    await collect();
    const rest = await store.list(folder);
    expect(before.filter((path) => !rest.includes(path)).length).to.equal(2);
    expect(rest.length).to.equal(1);
    backup.tryHold()?.();
  });

  it('do not include the files of a long merge', async () => {
    const gate = new Gate();
    const rig = await StorageRig.start(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      {
        metadata: (service) => ({
          replaceSegments: async (request, call) => {
            await gate.pass();
            return service.replaceSegments(request, call);
          },
        }),
      },
    );
    cleanUps.push(() => rig.stop());
    const table = await rig.table('t');
    const [{ regionId }] = table.regions;
    for (const time of [1n, 2n]) {
      await rig.write(table, [{ host: 'x', time, a: 1 }]);
      await rig.flush(table);
    }
    const { service: metadata } = rig.metadata;
    const keys = { clock: systemClock, windowMs: HOUR_MS, onEarlyDiscard: () => undefined };
    const region = new Region(table, await metadata.getManifest({ regionId }, CALL), 0n, keys);
    const merging = rig.compact(table);
    await gate.reached;
    const endOfMerge = async (): Promise<void> => {
      gate.open();
      await merging;
    };
    await collectFiles(
      {
        metadata,
        store: new LocalStore(join(rig.folder, 'store'), nodeFileSystem),
        clock: { ...systemClock, nowMs: () => systemClock.nowMs() + HOUR_MS },
        graceMs: HOUR_MS * 0.9,
        compactor: { without: (_, work) => endOfMerge().then(work) },
      },
      { open: [region].values() },
      rig.log,
    );
    await endOfMerge();
    expect(await rig.count(table)).to.equal(2);
  });
});
