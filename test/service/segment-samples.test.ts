import { join } from 'node:path';

import { expect } from 'chai';

import { ColumnCache } from '#services/querier/columns/column-cache';
import { OpenSegments } from '#services/querier/columns/open-segments';
import { SegmentSamples } from '#services/querier/samples/segment-samples';
import { SegmentFiles } from '#services/querier/snapshot/segment-files';
import { systemClock } from '#shared/clock/clock';
import { openSandbox } from '#shared/duckdb/engine';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { UNCOUNTED_SLOT } from '#shared/limits/bounded-queue';
import { fieldsOf } from '#shared/schema/table-schema';
import { LocalStore } from '#shared/segments/local-store';
import { CALL, StorageRig } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const SEGMENTS = 5;

describe('SegmentSamples', () => {
  const cleanUps: (() => unknown)[] = [];

  after(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  });

  it('keeps no entry for a file whose samples were evicted', async () => {
    const rig = await StorageRig.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    cleanUps.push(() => rig.stop());
    const table = await rig.table('m');
    for (let i = 0; i < SEGMENTS; i++) {
      await rig.write(table, [{ host: 'x', time: BigInt(i), a: i }]);
      await rig.flush(table);
    }
    const local = new LocalStore(join(rig.folder, 'store'), nodeFileSystem);
    const spillFolder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const engine = await openSandbox({ threads: 1, memoryBytes: 1 << 28, spillFolder }, local.root);
    cleanUps.push(() => engine.closeSync());
    const connection = await engine.connect();
    const files = new SegmentFiles({
      store: local,
      connection,
      confirmDataFolder: () => Promise.resolve(),
      clock: systemClock,
    });
    const cache = new ColumnCache(local, { footerBytes: 1 << 20, runBytes: 1 << 20, valueBytes: 0 });
    const open = new OpenSegments(cache, systemClock);
    const samples = new SegmentSamples({
      files,
      columns: { cache, open },
      connection,
      clock: systemClock,
      segmentRead: () => undefined,
      limitBytes: () => 1000,
    });
    cleanUps.push(() => open.stop());
    const [{ regionId }] = table.regions;
    const { segments } = await rig.metadata.service.getManifest({ regionId }, CALL);
    expect(segments).to.have.length(SEGMENTS);
    const [{ id: value }] = fieldsOf(table);
    const wantedOf = (all: typeof segments): Parameters<SegmentSamples['read']>[1] => {
      const range = { fromMs: -1, toMs: 1 };
      return all.map((segment) => {
        return {
          segment,
          sids: Int32Array.of(0),
          metrics: undefined,
          isMajority: true,
          isPart: false,
          share: 1,
          range,
          isWhole: true,
        };
      });
    };
    const read = async (all: typeof segments): Promise<(number | undefined)[]> => {
      const columns = { value, histogram: undefined, start: undefined };
      const found = await samples.read(table, wantedOf(all), columns, { call: CALL, slot: UNCOUNTED_SLOT });
      return found.map(([slice]) => slice?.values[0]);
    };
    for (const segment of segments) await read([segment]);
    expect(samples.keptCount).to.equal(1);
    expect(await read(segments)).to.have.members([0, 1, 2, 3, 4]);
    expect(samples.keptCount).to.equal(1);
    const abort = AbortSignal.abort();
    const gone = { call: { ...CALL, signal: abort }, slot: UNCOUNTED_SLOT };
    const columns = { value, histogram: undefined, start: 99 };
    await samples.read(table, wantedOf(segments), columns, gone).catch(() => undefined);
    expect(samples.keptCount).to.equal(1);
  });
});
