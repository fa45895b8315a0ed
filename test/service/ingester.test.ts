import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'chai';

import type { Table } from '#shared/contracts/gen/common';
import type { FileSystem } from '#shared/fs/file-system';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { pollUntil } from '#test/support/almanac';
import { refusal } from '#test/support/failure';
import { HeldFiles } from '#test/support/held-files';
import { CALL, StorageRig, type RigOptions, type RigRow, type Transport } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

const SECOND = 1_000_000_000n;

for (const transport of ['direct', 'grpc'] as const) {
  describe(`ingester, ${transport}`, () => ingesterSuite(transport));
}

function ingesterSuite(transport: Transport): void {
  let cleanUps: (() => void)[] = [];
  let rigs: StorageRig[] = [];
  afterEach(async () => {
    for (const rig of rigs) await rig.stop();
    for (const cleanUp of cleanUps) cleanUp();
    rigs = [];
    cleanUps = [];
  });

  function newFolder(): string {
    return tempFolder((cleanUp) => cleanUps.push(cleanUp));
  }

  async function start(options: RigOptions = {}, folder = newFolder()): Promise<StorageRig> {
    const rig = await StorageRig.start(folder, { transport, ...options });
    rigs.push(rig);
    return rig;
  }

  /** Starts a rig on what a crash at this moment would leave. */
  async function afterCrash(rig: StorageRig): Promise<StorageRig> {
    const folder = newFolder();
    rig.crashImage(folder);
    return start({}, folder);
  }

  describe('after a failure', () => {
    it('reads fresh rows whole after they did not fit into the memory of queries', async () => {
      const rig = await start({ queryBytes: 16 << 20 });
      const table = await rig.table('t');
      await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
      expect(await rig.count(table)).to.equal(1);
      const rows = Array.from({ length: 30_000 }, (_, i) => ({
        host: `h${i}`,
        time: BigInt(i),
        s: `${i}`.repeat(200),
      }));
      await rig.write(table, rows);
      expect((await refusal(rig.count(table)))?.code).to.equal('resources_exhausted');
      expect((await refusal(rig.count(table)))?.code).to.equal('resources_exhausted');
      await rig.flush(table);
      await rig.write(table, [{ host: 'x', time: 2n, a: 1 }]);
      expect(await rig.count(table)).to.equal(30_002);
    });

    it('retries a failed flush, and removes its files', async () => {
      let isFull = true;
      const full: FileSystem = {
        ...nodeFileSystem,
        // Series files are written last.
        rename: (from, to) =>
          isFull && to.includes('series') ? Promise.reject(new Error('disk is full')) : nodeFileSystem.rename(from, to),
      };
      const rig = await start({ fs: full });
      const table = await rig.table('t');
      await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
      for (let i = 0; i < 2; i++) expect((await refusal(rig.flush(table)))?.message).to.equal('disk is full');
      expect(await rig.rows(table)).to.have.length(1);
      const left = readdirSync(rig.folder, { recursive: true, encoding: 'utf8' });
      expect(left.filter((name) => name.endsWith('.parquet'))).to.deep.equal([]);
      isFull = false;
      const flushed = () => Promise.resolve(rig.log.messages('info').includes('segments flushed'));
      expect(await pollUntil(performance.now() + 10_000, flushed)).to.equal(true);
      expect(await rig.rows(table)).to.have.length(1);
      const second = await afterCrash(rig);
      expect(await second.rows(table)).to.have.length(1);
    });
  });

  describe('files of the store', () => {
    const isSeries = (name: string): boolean => name.includes('series-');
    const isSegment = (name: string): boolean => name.endsWith('.parquet') && !isSeries(name);
    const damage = (path: string): void => {
      const bytes = readFileSync(path);
      bytes[bytes.length >> 1] ^= 1;
      writeFileSync(path, bytes);
    };
    for (const [title, isMeant, harm] of [
      ['a damaged series file', isSeries, damage],
      ['a missing series file', isSeries, (path: string) => rmSync(path)],
      ['a damaged segment', isSegment, damage],
      ['a missing segment', isSegment, (path: string) => rmSync(path)],
    ] as const) {
      it(`refuses reads and writes that need ${title}, naming it`, async () => {
        const rig = await start();
        const table = await rig.table('t');
        await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
        await rig.flush(table);
        const folder = newFolder();
        rig.crashImage(folder);
        const store = join(folder, 'store');
        const name = readdirSync(store, { recursive: true, encoding: 'utf8' }).find(isMeant) ?? '';
        harm(join(store, name));
        const second = await refusal(start({}, folder).then((it) => it.rows(table)));
        expect(second?.code).to.equal('storage_unavailable');
        expect(second?.message).to.include(name);
      });
    }
  });

  describe('Write', () => {
    it('shows a batch as soon as it is acknowledged', async () => {
      const rig = await start();
      const table = await rig.table('t');
      const rows: RigRow[] = [
        { host: 'x', time: 1n, a: 1 },
        { host: 'y', time: 2n, a: 2, s: 'text' },
      ];
      await rig.write(table, rows);
      expect(await rig.rows(table)).to.deep.equal(rows);
    });

    it('returns unknown series, and applies nothing then', async () => {
      const rig = await start();
      const table = await rig.table('t');
      await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
      const unknowing = { definitions: new Uint8Array(4) };
      const rows: RigRow[] = [
        { host: 'x', time: 2n, a: 2 },
        { host: 'new', time: 2n, a: 3 },
      ];
      const answer = await rig.ingester.service.write(rig.request(table, rows, unknowing), CALL);
      expect(answer.unknownSeries).to.deep.equal([1]);
      expect(await rig.rows(table)).to.have.length(1);
      await rig.write(table, rows);
      expect(await rig.rows(table)).to.have.length(3);
    });

    it('applies a repeated batch once: later, at the same time, and after a crash', async () => {
      const rig = await start();
      const table = await rig.table('t', { append_mode: 'true' });
      const request = rig.request(table, [{ host: 'x', time: 1n, a: 1 }]);
      await Promise.all([rig.ingester.service.write(request, CALL), rig.ingester.service.write(request, CALL)]);
      await rig.ingester.service.write(request, CALL);
      expect(await rig.rows(table)).to.have.length(1);
      const second = await afterCrash(rig);
      await second.ingester.service.write(request, CALL);
      expect(await second.rows(table)).to.have.length(1);
    });

    it('refuses an epoch that is not open, and a table that does not exist', async () => {
      const rig = await start();
      const table = await rig.table('t');
      const rows: RigRow[] = [{ host: 'x', time: 1n, a: 1 }];
      const stale = rig.ingester.service.write(rig.request(table, rows, { epoch: 9 }), CALL);
      expect((await refusal(stale))?.code).to.equal('region_not_ready');
      await rig.metadata.service.dropTable({ database: 'public', name: 't', ifExists: false }, CALL);
      rig.ingester.tableDropped(table.tableId);
      const gone = rig.ingester.service.write(rig.request(table, rows), CALL);
      expect((await refusal(gone))?.code).to.equal('table_not_found');
    });

    it('makes writes wait for memory, then refuses them', async () => {
      const held = new HeldFiles();
      const rig = await start({ fs: held.fileSystem, config: { memtableBytes: 1000 } });
      const table = await rig.table('t');
      const call = { ...CALL, deadlineMs: Date.now() + 400 };
      held.hold();
      const first = rig.write(table, [{ host: 'x', time: 1n, s: 'y'.repeat(2000) }]);
      await held.arrived(1);
      const second = rig.ingester.service.write(rig.request(table, [{ host: 'x', time: 2n, a: 1 }]), call);
      const error = await refusal(second);
      expect(error?.code).to.equal('region_busy');
      expect(error?.retryAfterSeconds).to.equal(1);
      held.releaseAll();
      await first;
      expect(await rig.rows(table)).to.have.length(1);
    });
  });

  describe('versions', () => {
    const first: RigRow[] = [
      { host: 'x', time: 1n * SECOND, a: 1, s: 'one' },
      { host: 'x', time: 2n * SECOND, a: 2 },
    ];
    const second: RigRow[] = [
      { host: 'x', time: 1n * SECOND, a: 10 },
      { host: 'y', time: 1n * SECOND, s: 'y' },
    ];

    const expected: Readonly<Record<string, RigRow[]>> = {
      last_row: [{ host: 'x', time: 1n * SECOND, a: 10 }, { host: 'x', time: 2n * SECOND, a: 2 }, second[1]],
      last_non_null: [
        { host: 'x', time: 1n * SECOND, a: 10, s: 'one' },
        { host: 'x', time: 2n * SECOND, a: 2 },
        second[1],
      ],
    };

    for (const mode of ['last_row', 'last_non_null']) {
      it(`${mode}: returns one row per key, from memory, from segments, and from both`, async () => {
        const rig = await start();
        const memory = await rig.table('memory', { merge_mode: mode });
        await rig.write(memory, [...first, ...second]);
        expect(await rig.rows(memory), 'one batch').to.deep.equal(expected[mode]);

        const across = await rig.table('across', { merge_mode: mode });
        await rig.write(across, first);
        await rig.flush(across);
        await rig.write(across, second);
        expect(await rig.rows(across), 'segment and memory').to.deep.equal(expected[mode]);
        await rig.flush(across);
        expect(await rig.rows(across), 'two segments').to.deep.equal(expected[mode]);
        await rig.flush(memory);
        expect(await rig.rows(memory), 'one segment').to.deep.equal(expected[mode]);
      });
    }

    it('append_mode: keeps every row, in memory and in segments', async () => {
      const rig = await start();
      const table = await rig.table('t', { append_mode: 'true' });
      await rig.write(table, [...first, ...first]);
      await rig.flush(table);
      await rig.write(table, first);
      expect(await rig.rows(table)).to.have.length(6);
      await rig.flush(table);
      expect(await rig.rows(table)).to.have.length(6);
    });
  });

  describe('flush', () => {
    it('cuts rows of very different times into a bounded number of segments', async () => {
      const rig = await start();
      const table = await rig.table('t');
      const day = 86_400n * SECOND;
      const rows = Array.from({ length: 3650 }, (_, i): RigRow => ({ host: 'x', time: BigInt(i) * day, a: i }));
      await rig.write(table, rows);
      await rig.flush(table);
      const { segments } = await rig.metadata.service.getManifest({ regionId: table.regions[0].regionId }, CALL);
      expect(segments.length).to.be.greaterThan(1).and.at.most(64);
      expect(await rig.rows(table)).to.deep.equal(rows);
    });

    it('keeps times at the ends of the range', async () => {
      const rig = await start();
      const table = await rig.table('t');
      const end = 9_223_372_036_854_775_806n;
      const rows: RigRow[] = [
        { host: 'x', time: -end, a: 1 },
        { host: 'x', time: 0n, a: 2 },
        { host: 'x', time: end, a: 3 },
      ];
      await rig.write(table, rows);
      expect(await rig.rows(table)).to.deep.equal(rows);
      await rig.flush(table);
      expect(await rig.rows(table)).to.deep.equal(rows);
    });

    it('starts when a region is large, and releases memory', async () => {
      const rig = await start({ config: { flushBytes: 100_000 } });
      const table = await rig.table('t');
      for (let i = 0; i < 20; i++) {
        const rows = Array.from({ length: 1000 }, (_, k): RigRow => ({ host: `h${k}`, time: BigInt(i), a: k }));
        await rig.write(table, rows);
      }
      await rig.flush(table);
      const { segments } = await rig.metadata.service.getManifest({ regionId: table.regions[0].regionId }, CALL);
      expect(segments.length).to.be.greaterThan(3);
      expect(await rig.rows(table)).to.have.length(20_000);
    });

    it('cuts many rows between series, sorted in each segment', async () => {
      const rig = await start();
      const table = await rig.table('t');
      for (let step = 0; step < 30; step++) {
        const rows = Array.from({ length: 20_000 }, (_, k): RigRow => {
          return { host: `h${k % 40}`, time: BigInt(step * 500 + Math.floor(k / 40)), a: k % 7 };
        });
        await rig.write(table, rows);
      }
      await rig.flush(table);
      const { segments } = await rig.metadata.service.getManifest({ regionId: table.regions[0].regionId }, CALL);
      expect(segments.length).to.be.greaterThan(1).and.at.most(4);
      for (const [i, { sidFirst }] of segments.slice(1).entries()) {
        expect(sidFirst).to.be.greaterThan(segments[i].sidLast);
      }
      expect(segments.reduce((sum, segment) => sum + segment.rowCount, 0)).to.equal(600_000);
      const connection = await (await DuckDBInstance.create()).connect();
      for (const { path } of segments) {
        const file = join(rig.folder, 'store', path);
        const unsorted = `SELECT count(*) FROM (SELECT __sid AS s, time AS t, lag(__sid) OVER () AS ls, lag(time) OVER () AS lt
          FROM read_parquet('${file}')) WHERE ls IS NOT NULL AND (ls, lt) >= (s, t)`;
        expect((await (await connection.run(unsorted)).getRows())[0][0]).to.equal(0n);
      }
      connection.closeSync();
    }).timeout(30_000);

    it('leaves nothing in scratch, and no file that is not in the manifest', async () => {
      const rig = await start();
      const table = await rig.table('t');
      await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
      await rig.flush(table);
      const { segments, seriesFiles } = await rig.metadata.service.getManifest(
        { regionId: table.regions[0].regionId },
        CALL,
      );
      const named = [...segments, ...seriesFiles].map((file) => file.path).sort();
      const onDisk = readdirSync(join(rig.folder, 'store'), { recursive: true, encoding: 'utf8' });
      expect(onDisk.filter((path) => path.endsWith('.parquet')).sort()).to.deep.equal(named);
      const scratch = readdirSync(join(rig.folder, 'scratch'), { recursive: true, encoding: 'utf8' });
      expect(scratch.filter((path) => path.endsWith('.parquet'))).to.deep.equal([]);
    });
  });

  describe('TruncateTable', () => {
    it('hides everything from before, and nothing after, also after a crash', async () => {
      const rig = await start();
      const table = await rig.table('t');
      await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
      await rig.flush(table);
      await rig.write(table, [{ host: 'x', time: 2n, a: 2 }]);
      await rig.ingester.service.truncateTable(
        { tableId: table.tableId, regionIds: table.regions.map(({ regionId }) => regionId) },
        CALL,
      );
      expect(await rig.rows(table)).to.deep.equal([]);
      const later: RigRow[] = [{ host: 'x', time: 1n, a: 7 }];
      await rig.write(table, later);
      expect(await rig.rows(table)).to.deep.equal(later);
      const second = await afterCrash(rig);
      expect(await second.rows(table)).to.deep.equal(later);
    });
  });

  describe('recovery', () => {
    it('restores every acknowledged row once, whatever was flushed', async () => {
      const rig = await start();
      const table = await rig.table('t', { append_mode: 'true' });
      const rows = (from: number): RigRow[] => {
        return Array.from({ length: 50 }, (_, i): RigRow => ({ host: `h${from + i}`, time: BigInt(i), a: i }));
      };
      await rig.write(table, rows(0));
      await rig.flush(table);
      await rig.write(table, rows(30));
      const second = await afterCrash(rig);
      expect(await second.rows(table)).to.have.length(100);
      await second.write(table, rows(60));
      const third = await afterCrash(second);
      expect(await third.rows(table)).to.have.length(150);
      await third.flush(table);
      expect(await third.rows(table)).to.have.length(150);
    });

    it('stays within its memory budget by flushing on the way', async () => {
      const rig = await start();
      const tables: Table[] = [];
      for (let i = 0; i < 4; i++) tables.push(await rig.table(`t${i}`));
      const text = 'x'.repeat(1000);
      for (let i = 0; i < 40; i++) {
        const rows = Array.from({ length: 50 }, (_, k): RigRow => ({ host: `h${k}`, time: BigInt(i), s: text }));
        await rig.write(tables[i % 4], rows);
      }
      const folder = newFolder();
      rig.crashImage(folder);
      const second = await start({ config: { memtableBytes: 400_000 } }, folder);
      for (const table of tables) expect(await second.rows(table)).to.have.length(500);
      expect(
        second.log.messages('info').filter((message) => message === 'segments flushed'),
      ).to.have.length.greaterThan(2);
    });

    it('restores what is readable after a damaged record that defined series', async () => {
      const rig = await start();
      const table = await rig.table('t');
      await rig.write(table, [{ host: 'lost', time: 1n, a: 1 }]);
      await rig.write(table, [{ host: 'kept', time: 1n, a: 2 }]);
      const both: RigRow[] = [
        { host: 'lost', time: 2n, a: 3 },
        { host: 'kept', time: 2n, a: 4 },
      ];
      await rig.write(table, both);
      await rig.write(table, [{ host: 'lost', time: 3n, a: 5 }]);
      const folder = newFolder();
      rig.crashImage(folder);
      const walFolder = join(folder, 'slots/0/wal');
      const file = join(walFolder, readdirSync(walFolder)[0]);
      const bytes = readFileSync(file);
      bytes[8 + 80] ^= 1;
      writeFileSync(file, bytes);
      const second = await start({ config: { walRecover: 'skip-corrupt' } }, folder);
      const kept: RigRow[] = [{ host: 'kept', time: 1n, a: 2 }, both[1]];
      expect(await second.rows(table)).to.deep.equal(kept);
      await second.write(table, [both[0]]);
      await second.flush(table);
      expect(await second.rows(table)).to.deep.equal([...kept, both[0]]);
    });

    it('skips rows of dropped tables', async () => {
      const rig = await start();
      const table = await rig.table('t');
      const other = await rig.table('other');
      await rig.write(table, [{ host: 'x', time: 1n, a: 1 }]);
      await rig.write(other, [{ host: 'x', time: 1n, a: 2 }]);
      await rig.metadata.service.dropTable({ database: 'public', name: 't', ifExists: false }, CALL);
      const second = await afterCrash(rig);
      expect(await second.rows(other)).to.have.length(1);
    });
  });
}
