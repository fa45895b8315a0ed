import { expect } from 'chai';

import type { RegionManifest, Table } from '#shared/contracts/gen/common';
import type { ScanChunk, ScanRegion } from '#shared/contracts/gen/ingester';
import { decodeDefinitions, encodeDefinitions, encodeTags } from '#shared/rowbatch/definitions';
import { refusal } from '#test/support/failure';
import { CALL, StorageRig, type RigOptions, type RigRow, type Transport } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

for (const transport of ['direct', 'grpc'] as const) {
  describe(`rows and series between processes, ${transport}`, () => scanSuite(transport));
}

function scanSuite(transport: Transport): void {
  let cleanUps: (() => void)[] = [];
  let rigs: StorageRig[] = [];
  afterEach(async () => {
    for (const rig of rigs) await rig.stop();
    for (const cleanUp of cleanUps) cleanUp();
    rigs = [];
    cleanUps = [];
  });

  async function start(options: RigOptions = {}): Promise<StorageRig> {
    const rig = await StorageRig.start(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      { transport, ...options },
    );
    rigs.push(rig);
    return rig;
  }

  function manifestsOf({ metadata }: StorageRig, { regions }: Table): Promise<RegionManifest[]> {
    return Promise.all(regions.map(({ regionId }) => metadata.service.getManifest({ regionId }, CALL)));
  }

  describe('Write', () => {
    it('refuses malformed definitions, and keeps nothing of their batch', async () => {
      const rig = await start();
      const table = await rig.table('t');
      const host = table.columns.find(({ kind }) => kind === 'tag')?.id ?? 0;
      const field = table.columns.find(({ kind }) => kind === 'field')?.id ?? 0;
      const rows: RigRow[] = [{ host: 'x', time: 1n, a: 1 }];
      const good = rig.request(table, rows).definitions;
      const [{ tsid }] = decodeDefinitions(good);
      const withTags = (tags: Uint8Array): Uint8Array => encodeDefinitions([{ tsid, tags }]);
      const tag = (columnId: number, value: Uint8Array) => ({ columnId, value });
      const x = Buffer.from('x');
      const lengthOf = (length: number): Uint8Array => {
        const bytes = good.slice();
        new DataView(bytes.buffer).setUint32(4, length, true);
        return bytes;
      };
      const malformed: Readonly<Record<string, Uint8Array>> = {
        'cut short': good.subarray(0, good.length - 1),
        'too long': Buffer.concat([good, Buffer.alloc(1)]),
        'only a count': new Uint8Array([255, 255, 255, 255]),
        'a length below that of an id': lengthOf(0),
        'a length beyond the end': lengthOf(0xffffffff),
        'a tag that is cut short': withTags(new Uint8Array([host, 5, 97])),
        'a number without an end': withTags(new Uint8Array(9).fill(255)),
        'a column that is not there': withTags(encodeTags([tag(77, x)])),
        'a column that is no tag': withTags(encodeTags([tag(field, x)])),
        'a column twice': withTags(encodeTags([tag(host, x), tag(host, x)])),
        'bytes that are no text': withTags(encodeTags([tag(host, new Uint8Array([0xc3, 0x28]))])),
      };
      for (const [what, definitions] of Object.entries(malformed)) {
        const outcome = await refusal(rig.ingester.service.write(rig.request(table, rows, { definitions }), CALL));
        expect(outcome?.code, what).to.equal('invalid_arguments');
      }
      expect(await rig.rows(table)).to.deep.equal([]);
      await rig.write(table, rows);
      await rig.flush(table);
      expect(await rig.rows(table)).to.deep.equal(rows);
    });
  });

  describe('Scan', () => {
    const NOTHING = {
      epoch: 0,
      manifestVersion: 0n,
      watermark: 0n,
      haveIncarnation: 0n,
      haveFrom: 0n,
      haveTo: 0n,
      haveSeries: 0,
    };

    async function chunksOf(rig: StorageRig, table: Table, regions: readonly Partial<ScanRegion>[]) {
      const chunks: ScanChunk[] = [];
      const asked = regions.map((region, i) => ({
        ...NOTHING,
        regionId: table.regions.at(i)?.regionId ?? 0,
        ...region,
      }));
      const request = { tableId: table.tableId, regions: asked };
      for await (const chunk of rig.ingester.service.scan(request, CALL)) chunks.push(chunk);
      return chunks;
    }

    it('sends series and text in messages of bounded length, however much there is', async () => {
      const rig = await start({ messageBytesMax: 6 << 20 });
      const table = await rig.table('t');
      const long = 'ä'.repeat(1000);
      const batchOf = (batch: number): RigRow[] => {
        return Array.from({ length: 1000 }, (_, i) => ({ host: `${long}${batch}-${i}`, time: BigInt(i), s: long }));
      };
      for (let batch = 0; batch < 6; batch++) await rig.write(table, batchOf(batch));
      const rows = await rig.rows(table);
      expect(rows).to.have.length(6000);
      expect(new Set(rows.map(({ host }) => host)).size).to.equal(6000);
      expect(rows.every(({ s, host }) => s === long && host.startsWith(long))).to.equal(true);
      const [manifest] = await manifestsOf(rig, table);
      const chunks = await chunksOf(rig, table, [{ manifestVersion: manifest.version, watermark: manifest.watermark }]);
      expect(chunks.length).to.be.greaterThan(5);
      const parts = chunks.flatMap((chunk) => chunk.parts);
      expect(parts.filter(({ complete }) => complete)).to.have.length(1);
      expect(Math.max(...parts.map(({ seriesTo }) => seriesTo))).to.equal(6000);
      // Known series are not sent again.
      await rig.write(table, [{ host: 'last', time: 1n, a: 1 }]);
      expect(await rig.count(table)).to.equal(6001);
    });

    it('answers for several regions at once, for each by what the caller already has', async () => {
      const rig = await start({ regions: 3 });
      const table = await rig.table('t');
      const rows: RigRow[] = [{ host: 'x', time: 1n, a: 1 }];
      for (const { regionId } of table.regions) {
        await rig.ingester.service.write(rig.request(table, rows, { regionId }), CALL);
      }
      expect(await rig.count(table)).to.equal(3);
      const [, { regionId }] = table.regions;
      await rig.ingester.service.flushTable({ tableId: table.tableId, regionIds: [regionId] }, CALL);
      const manifests = await manifestsOf(rig, table);
      const first = manifests.map(({ version, watermark }) => ({ manifestVersion: version, watermark }));
      const [chunk, ...others] = await chunksOf(rig, table, [first[0], {}, first[2]]);
      expect(others).to.deep.equal([]);
      expect(
        chunk.parts.map((part) => [part.batches.length, part.newerManifest?.version, part.complete]),
      ).to.deep.equal([
        [1, undefined, true],
        [0, first[1].manifestVersion, false],
        [1, undefined, true],
      ]);
      expect(await rig.count(table)).to.equal(3);
      const parts = (await chunksOf(rig, table, first)).flatMap((it) => it.parts);
      expect(parts.map((part) => [part.batches.length, part.complete])).to.deep.equal([
        [1, true],
        [0, true],
        [1, true],
      ]);
    });

    it('fails as a whole if one of the regions is not served', async () => {
      const rig = await start({ regions: 3 });
      const table = await rig.table('t');
      const closed = await refusal(chunksOf(rig, table, [{}, { epoch: 9 }, {}]));
      expect(closed?.code).to.equal('region_not_ready');
      const unknown = await refusal(chunksOf(rig, table, [{}, {}, { regionId: 4711 }]));
      expect(unknown?.code).to.equal('table_not_found');
      expect(await rig.count(table)).to.equal(0);
    });

    it('refuses too many regions, and duplicates, before calling metadata', async () => {
      const rig = await start();
      const table = await rig.table('t');
      const many = Array.from({ length: 100_000 }, (_, i) => 1000 + i);
      const [{ regionId }] = table.regions;
      for (const regionIds of [many, [regionId, regionId]]) {
        const request = { tableId: table.tableId, regionIds };
        const { service } = rig.ingester;
        const calls = [
          chunksOf(
            rig,
            table,
            regionIds.map((it) => ({ regionId: it })),
          ),
          service.flushTable(request, CALL),
          service.truncateTable(request, CALL),
        ];
        for (const call of calls) expect((await refusal(call))?.code).to.equal('invalid_arguments');
      }
    });

    it('is not needed while an owner in the same process has nothing new', async () => {
      const rig = await start({ regions: 2 });
      const table = await rig.table('t');
      const isDirect = transport === 'direct';
      const now = (count: number): number | undefined => (isDirect ? count : undefined);
      expect(await rig.countNow(table)).to.equal(undefined);
      expect(await rig.count(table)).to.equal(0);
      expect(await rig.countNow(table)).to.equal(now(0));
      await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
      expect(await rig.countNow(table)).to.equal(undefined);
      expect(await rig.count(table)).to.equal(1);
      expect(await rig.countNow(table)).to.equal(now(1));
      await rig.flush(table);
      expect(await rig.countNow(table)).to.equal(undefined);
      expect(await rig.count(table)).to.equal(1);
      expect(await rig.countNow(table)).to.equal(now(1));
      const regionIds = table.regions.map(({ regionId }) => regionId);
      await rig.ingester.service.truncateTable({ tableId: table.tableId, regionIds }, CALL);
      expect(await rig.countNow(table)).to.equal(undefined);
      expect(await rig.count(table)).to.equal(0);
    });

    it('is skipped if a guess is right, which it is only while nothing is new', async () => {
      const rig = await start({ regions: 2 });
      const table = await rig.table('t');
      expect(await rig.guess(table)).to.equal('none');
      expect(await rig.guess(table)).to.equal('none');
      expect(await rig.guess(table)).to.equal('right');
      await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
      expect(await rig.guess(table)).to.equal('wrong');
      expect(await rig.guess(table)).to.equal('none');
      expect(await rig.guess(table)).to.equal('right');
      await rig.flush(table);
      expect(await rig.guess(table)).to.equal('wrong');
      expect(await rig.count(table)).to.equal(1);
      expect(await rig.guess(table)).to.equal('right');
      const regionIds = table.regions.map(({ regionId }) => regionId);
      await rig.ingester.service.truncateTable({ tableId: table.tableId, regionIds }, CALL);
      expect(await rig.guess(table)).to.equal('wrong');
      expect(await rig.count(table)).to.equal(0);
    });
  });
}
