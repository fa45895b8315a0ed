import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { ownCall } from '#shared/contracts/call';
import type { RegionManifest, Segment, Table } from '#shared/contracts/gen/common';
import { failure, failureCode } from '../support/failure.js';
import {
  HOST,
  known,
  NO_FOLDER,
  segment,
  TIME,
  watch,
  type MetadataUnderTest,
  type StartMetadata,
} from '../support/metadata-rig.js';

const call = ownCall('test');
const W = 1n << 40n;

/** Replacing segments with others. */
export function segmentsContract(name: string, start: StartMetadata): void {
  describe(`metadata service, ${name}: replaced segments`, () => {
    let metadata: MetadataUnderTest;
    let table: Table;

    beforeEach(async () => {
      metadata = await start(systemClock);
      const { service } = metadata;
      await service.registerNode({ role: 'standalone', addr: '', slot: '0', version: 'test', ...NO_FOLDER }, call);
      const spec = { database: 'public', name: 'cpu', columns: [HOST, TIME], options: {}, ifNotExists: false };
      table = known((await service.createTable({ ...spec, regions: 1, primaryKey: ['host'] }, call)).table);
    });

    afterEach(() => metadata.stop());

    /** Returns a segment with rows `[from, to)` of the region, between two times. */
    function rows(path: string, from: number, to: number, [timeFirst, timeLast] = [0, 9]): Segment {
      const times = { timeFirst: BigInt(timeFirst), timeLast: BigInt(timeLast) };
      return { ...segment(path, W + BigInt(from), W + BigInt(to)), ...times };
    }

    async function commit(...segments: readonly Segment[]): Promise<void> {
      const [{ regionId, epoch }] = table.regions;
      for (const one of segments) {
        const request = { regionId, epoch, watermarkFrom: one.sequenceFrom, watermarkTo: one.sequenceTo };
        await metadata.service.commitSegments({ ...request, segments: [one], seriesFiles: [] }, call);
      }
    }

    function replace(replaced: readonly string[], segments: readonly Segment[], epoch = 1): Promise<RegionManifest> {
      const [{ regionId }] = table.regions;
      return metadata.service.replaceSegments({ regionId, epoch, replaced, segments }, call);
    }

    async function live(): Promise<string[]> {
      const [{ regionId }] = table.regions;
      return (await metadata.service.getManifest({ regionId }, call)).segments.map(({ path }) => path);
    }

    it('leave the manifest in one step, which is sent to watchers, and become garbage', async () => {
      const watching = watch(metadata.service, (await metadata.service.listDatabases({}, call)).catalogVersion);
      await commit(rows('a', 0, 10), rows('b', 10, 20), rows('c', 20, 30));
      const before = await metadata.service.getManifest({ regionId: table.regions[0].regionId }, call);
      const after = await replace(['a', 'b'], [rows('ab', 0, 20)]);
      expect(after.version > before.version).to.equal(true);
      expect(after.watermark).to.equal(before.watermark);
      expect(after.segments.map(({ path }) => path)).to.deep.equal(['ab', 'c']);
      let told: RegionManifest | undefined;
      while (told?.version !== after.version) told = (await watching.next()).manifest;
      expect(told).to.deep.equal(after);
      await watching.end();
      const garbage = await metadata.service.listGarbage({ removedBeforeMs: Number.MAX_SAFE_INTEGER, limit: 9 }, call);
      expect(garbage.paths).to.have.members(['a', 'b']);
    });

    it('are replaced successfully again by the same request', async () => {
      await commit(rows('a', 0, 10), rows('b', 10, 20));
      const first = await replace(['a', 'b'], [rows('ab', 0, 20)]);
      expect(await replace(['a', 'b'], [rows('ab', 0, 20)])).to.deep.equal(first);
    });

    it('are so even if the new ones were replaced, truncated or have expired meanwhile', async () => {
      const [{ regionId, epoch }] = table.regions;
      const first = { regionId, epoch, watermarkFrom: W, watermarkTo: W + 10n, seriesFiles: [] };
      const segments = [rows('a1', 0, 10), rows('a2', 0, 10, [10, 19])];
      await metadata.service.commitSegments({ ...first, segments }, call);
      await commit(rows('b', 10, 20));
      const merged = await replace(['a1', 'b'], [rows('ab', 0, 20)]);
      expect(await metadata.service.commitSegments({ ...first, segments }, call)).to.deep.equal(merged);
      const expired = await metadata.service.expireSegments({ regionId, epoch, paths: ['ab'] }, call);
      expect(await replace(['a1', 'b'], [rows('ab', 0, 20)])).to.deep.equal(expired);
      const points = [{ regionId, sequence: W + 20n }];
      await metadata.service.truncateTable({ tableId: table.tableId, points }, call);
      const { version } = await metadata.service.commitSegments({ ...first, segments }, call);
      expect(version > expired.version).to.equal(true);
      expect(await live()).to.deep.equal([]);
    });

    it('stay if one of them is not live any more, also after a truncation', async () => {
      await commit(rows('a', 0, 10), rows('b', 10, 20));
      expect((await failure(replace(['a', 'x'], [rows('ax', 0, 20)]))).code).to.equal('illegal_state');
      const [{ regionId }] = table.regions;
      const points = [{ regionId, sequence: W + 10n }];
      await metadata.service.truncateTable({ tableId: table.tableId, points }, call);
      expect(await failureCode(replace(['a', 'b'], [rows('ab', 0, 20)]))).to.equal('illegal_state');
      expect(await live()).to.deep.equal(['b']);
    });

    it('stay if the grant is not open', async () => {
      await commit(rows('a', 0, 10), rows('b', 10, 20));
      expect(await failureCode(replace(['a', 'b'], [rows('ab', 0, 20)], 2))).to.equal('illegal_state');
      const unknown = metadata.service.replaceSegments({ regionId: 99, epoch: 1, replaced: [], segments: [] }, call);
      expect(await failureCode(unknown)).to.equal('region_not_found');
      expect(await live()).to.deep.equal(['a', 'b']);
    });

    it('stay if another one with rows of the same times is between them', async () => {
      await commit(rows('a', 0, 10), rows('b', 10, 20, [9, 12]), rows('c', 20, 30));
      expect(await failureCode(replace(['a', 'c'], [rows('ac', 0, 30)]))).to.equal('illegal_state');
      expect(await live()).to.deep.equal(['a', 'b', 'c']);
    });

    it('may have others of other times between them', async () => {
      await commit(rows('a', 0, 10), rows('b', 10, 20, [10, 12]), rows('c', 20, 30));
      await replace(['a', 'c'], [rows('ac', 0, 30)]);
      expect(await live()).to.have.members(['ac', 'b']);
    });

    it('stay if the new ones have a wider range, or if none are named', async () => {
      await commit(rows('a', 0, 10), rows('b', 10, 20));
      for (const wrong of [rows('ab', 0, 21), rows('ab', 0, 20, [0, 10])]) {
        expect(await failureCode(replace(['a', 'b'], [wrong]))).to.equal('illegal_state');
      }
      expect(await failureCode(replace([], [rows('n', 0, 10)]))).to.equal('illegal_state');
      expect(await live()).to.deep.equal(['a', 'b']);
    });
  });
}
