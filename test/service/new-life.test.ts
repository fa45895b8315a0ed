import { join } from 'node:path';

import { expect } from 'chai';

import { RegionSnapshots } from '#services/querier/snapshot/snapshot';
import { systemClock } from '#shared/clock/clock';
import type { Table } from '#shared/contracts/gen/common';
import type { IngesterService } from '#shared/contracts/gen/ingester';
import { ManifestCache } from '#shared/discovery/manifest-cache';
import { openSandbox } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import type { AdmissionSlot } from '#shared/limits/bounded-queue';
import { LocalStore } from '#shared/segments/local-store';
import { failureCode, refusal } from '#test/support/failure';
import { CALL, StorageRig, type RigRow } from '#test/support/storage-rig';
import { seriesIndexes } from '#test/support/series-indexes';
import { tempFolder } from '#test/support/temp-folder';

const ROW: RigRow = { host: 'x', time: 1n, a: 1 };
const REGIONS = 20;

describe('a reader whose ingester restarts', () => {
  let cleanUps: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
    cleanUps = [];
  });

  async function start(folder: string): Promise<StorageRig> {
    const rig = await StorageRig.start(folder, { regions: REGIONS });
    cleanUps.push(() => rig.stop());
    return rig;
  }

  /** Snapshots of one reader, and the ingester that it calls. */
  async function reader(rig: StorageRig, table: Table) {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const store = new LocalStore(join(rig.folder, 'store'), nodeFileSystem);
    const query = await openSandbox({ threads: 1, memoryBytes: 1 << 30, spillFolder: folder }, store.root);
    cleanUps.push(() => query.closeSync());
    let scans = 0;
    const asked = (service: IngesterService): IngesterService => {
      return { ...service, scan: (request, call) => (scans++, service.scan(request, call)) };
    };
    const owner = { service: asked(rig.ingester.service) };
    const manifests = new ManifestCache(rig.metadata.service);
    const connection = await query.connect();
    const indexes = seriesIndexes({ connection, files: store, clock: systemClock, schemaOf: () => table });
    const snapshots = new RegionSnapshots({
      catalog: { knownById: () => table },
      ingesters: { ownerOf: () => owner.service, isAway: () => false },
      manifests,
      store,
      connection,
      appending: await query.connect(),
      clock: systemClock,
      indexes,
      confirmDataFolder: () => Promise.resolve(),
    });
    return {
      query,
      snapshots,
      manifests,
      scans: () => scans,
      ask: (service: IngesterService) => (owner.service = asked(service)),
    };
  }

  it('requests all regions again, and reads each row once', async () => {
    const rig = await start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    const table = await rig.table('t', { append_mode: 'true' });
    for (const { regionId } of table.regions) {
      await rig.ingester.service.write(rig.request(table, [ROW], { regionId }), CALL);
    }
    const { query, snapshots, scans, ask } = await reader(rig, table);
    const request = {
      table,
      columns: undefined,
      timeFrom: undefined,
      timeTo: undefined,
      tagValues: new Map(),
      texts: [],
    };
    const count = async (): Promise<number> => {
      const snapshot = await snapshots.take([request], CALL);
      const rows = await (
        await query.connect()
      ).run(`SELECT count(*) FROM ${(await snapshot.relations())[0]} WHERE host = 'x'`);
      snapshot.release();
      return Number((await rows.getRows())[0][0]);
    };
    expect(await count()).to.equal(REGIONS);
    expect(await count()).to.equal(REGIONS);
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    rig.crashImage(folder);
    ask((await start(folder)).ingester.service);
    const before = scans();
    expect(await count()).to.equal(REGIONS);
    expect(scans() - before).to.equal(2);
  });

  it('gets an error when the table is dropped while the reader waits for it', async () => {
    const rig = await start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    const table = await rig.table('t', {});
    const { snapshots, ask } = await reader(rig, table);
    const request = {
      table,
      columns: undefined,
      timeFrom: undefined,
      timeTo: undefined,
      tagValues: new Map(),
      texts: [],
    };
    const regionIds = table.regions.map(({ regionId }) => regionId);
    let dropping: Promise<void> | undefined;
    ask({
      ...rig.ingester.service,
      scan() {
        dropping = snapshots.removeTable({ tableId: table.tableId, regionIds });
        throw new AlmanacError('region_not_ready', 'the ingester is starting');
      },
    });
    expect(await failureCode(snapshots.take([request], CALL))).to.equal('table_not_found');
    await dropping;
  });

  it('keeps no manifest of a table that is dropped while it is read', async () => {
    const rig = await start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    const table = await rig.table('t', {});
    await rig.write(table, [ROW]);
    await rig.flush(table);
    const { snapshots, manifests, ask } = await reader(rig, table);
    const request = {
      table,
      columns: undefined,
      timeFrom: undefined,
      timeTo: undefined,
      tagValues: new Map(),
      texts: [],
    };
    const regionIds = table.regions.map(({ regionId }) => regionId);
    const knownIds = (): number[] => regionIds.filter((regionId) => manifests.known(regionId) !== undefined);
    let dropping: Promise<void> | undefined;
    let brought: number[] = [];
    ask({
      ...rig.ingester.service,
      scan(scanned, call) {
        brought = knownIds();
        dropping ??= snapshots.removeTable({ tableId: table.tableId, regionIds });
        return rig.ingester.service.scan(scanned, call);
      },
    });
    (await snapshots.take([request], CALL)).release();
    // The first response was the manifest.
    expect(brought).to.not.deep.equal([]);
    await dropping;
    expect(knownIds()).to.deep.equal([]);
  });

  it('releases its admission slot only while it waits for the owner, and everything if it gets none back', async () => {
    const rig = await start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    const table = await rig.table('t', {});
    await rig.write(table, [ROW]);
    await rig.flush(table);
    await rig.write(table, [ROW]);
    const { query, snapshots, ask } = await reader(rig, table);
    const request = {
      table,
      columns: undefined,
      timeFrom: undefined,
      timeTo: undefined,
      tagValues: new Map(),
      texts: [],
    };
    const events: string[] = [];
    ask({
      ...rig.ingester.service,
      scan: (scanned, call) => (events.push('scan'), rig.ingester.service.scan(scanned, call)),
    });
    const full = new AlmanacError('deadline_exceeded', 'no slot');
    const slot: AdmissionSlot = {
      async releaseWhile(work) {
        events.push('released');
        await work();
        throw full;
      },
    };
    expect(await refusal(snapshots.take([request], CALL, { slot }))).to.equal(full);
    expect(events.slice(0, 2)).to.deep.equal(['released', 'scan']);
    await snapshots.removeTable({ tableId: table.tableId, regionIds: table.regions.map(({ regionId }) => regionId) });
    const left = await (await query.connect()).run('SELECT count(*) FROM duckdb_tables()');
    expect(Number((await left.getRows())[0][0])).to.equal(0);
  });
});
