import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';

import { expect } from 'chai';

import { encodeRecord, type LogRecord } from '#services/ingester/wal/record';
import { replayWal } from '#services/ingester/wal/replay';
import { Wal, type WalOptions } from '#services/ingester/wal/wal';
import type { WalFile } from '#services/ingester/wal/wal-files';
import { systemClock } from '#shared/clock/clock';
import type { AlmanacError } from '#shared/errors/almanac-error';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { pollUntil } from '#test/support/almanac';
import { HeldFiles } from '#test/support/held-files';
import { ManualClock } from '#test/support/manual-clock';
import { KeptLog } from '#test/support/quiet-log';
import { tempFolder } from '#test/support/temp-folder';

const REGION = 7;
const BATCH = new Uint8Array(64).fill(0xab);

describe('Wal', () => {
  let folder = '';
  let cleanUps: (() => void)[] = [];
  beforeEach(() => {
    folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
  });
  afterEach(() => {
    for (const cleanUp of cleanUps) cleanUp();
    cleanUps = [];
  });

  function options(overrides: Partial<WalOptions> = {}): WalOptions {
    return {
      folder,
      fs: nodeFileSystem,
      clock: systemClock,
      sync: 'group',
      fileBytesMax: 1 << 20,
      onBroken: () => undefined,
      ...overrides,
    };
  }

  /** Appends a record of `rows` rows after `sequenceFrom`. */
  function append(wal: Wal, sequenceFrom: bigint, rows = 1, batch = BATCH): Promise<void> {
    const batchId = new Uint8Array(16).fill(Number(sequenceFrom & 0xffn));
    const header = {
      batchId,
      tableId: 1,
      regionId: REGION,
      epoch: 1,
      schemaVersion: 3,
      sequenceFrom,
      rowCount: rows,
      firstSid: 5,
    };
    const parts = encodeRecord(header, new Uint8Array([1, 2, 3]), batch);
    return new Promise((resolve, reject) => {
      const sequenceTo = sequenceFrom + BigInt(rows);
      wal.append({ regionId: REGION, sequenceTo, parts, onDurable: resolve, onFailed: reject });
    });
  }

  async function replay(
    recover: 'strict' | 'skip-corrupt' = 'strict',
  ): Promise<{ records: LogRecord[]; files: WalFile[]; log: KeptLog }> {
    const log = new KeptLog();
    const records: LogRecord[] = [];
    const files = await replayWal({
      folder,
      fs: nodeFileSystem,
      log,
      recover,
      onRecord: (record) =>
        void records.push({ ...record, batch: record.batch.slice(), definitions: record.definitions.slice() }),
      onProgress: () => undefined,
    });
    return { records, files, log };
  }

  function fileOf(wal: Wal): string {
    return wal.files[wal.files.length - 1].path;
  }

  it('returns appended records in order', async () => {
    const wal = await Wal.open(options(), []);
    await append(wal, 10n, 3);
    await append(wal, 13n, 1, new Uint8Array(8));
    await wal.close();

    const { records } = await replay();
    expect(records.map(({ sequenceFrom, rowCount }) => [sequenceFrom, rowCount])).to.deep.equal([
      [10n, 3],
      [13n, 1],
    ]);
    expect(records[0]).to.include({ tableId: 1, regionId: REGION, epoch: 1, schemaVersion: 3, firstSid: 5 });
    expect([...records[0].definitions]).to.deep.equal([1, 2, 3]);
    expect([...records[0].batch]).to.deep.equal([...BATCH]);
  });

  it('shares one sync among records that arrive while another sync runs', async () => {
    const held = new HeldFiles();
    const wal = await Wal.open(options({ fs: held.fileSystem }), []);
    const before = held.syncCount;
    held.hold();
    const first = append(wal, 0n);
    await held.arrived(1);
    const others = [append(wal, 1n), append(wal, 2n), append(wal, 3n)];
    await held.release();
    await first;
    await held.release();
    await Promise.all(others);
    expect(held.syncCount - before).to.equal(2);
    held.releaseAll();
    await wal.close();
  });

  it('writes many records of a group in one call, in parts that the system accepts at once', async () => {
    const held = new HeldFiles();
    const wal = await Wal.open(options({ fs: held.fileSystem }), []);
    held.hold();
    const first = append(wal, 0n);
    await held.arrived(1);
    const others = Array.from({ length: 2_000 }, (_, i) => append(wal, BigInt(i + 1)));
    held.releaseAll();
    await Promise.all([first, ...others]);
    await wal.close();
    // Of the header, the first record, and all others.
    expect(held.partCounts).to.have.length(3);
    expect(Math.max(...held.partCounts)).to.be.at.most(1_024);
    const { records } = await replay();
    expect(records.map(({ sequenceFrom }) => sequenceFrom)).to.deep.equal(
      Array.from({ length: 2_001 }, (_, i) => BigInt(i)),
    );
  });

  it('acknowledges nothing before the sync has ended', async () => {
    const held = new HeldFiles();
    const wal = await Wal.open(options({ fs: held.fileSystem }), []);
    held.hold();
    let isDurable = false;
    const appended = append(wal, 0n).then(() => (isDurable = true));
    await held.arrived(1);
    expect(isDurable).to.equal(false);
    held.releaseAll();
    await appended;
    await wal.close();
  });

  it('refuses everything after a failed write, and reports it once', async () => {
    const held = new HeldFiles();
    const broken: unknown[] = [];
    const wal = await Wal.open(options({ fs: held.fileSystem, onBroken: (error) => broken.push(error) }), []);
    await append(wal, 0n);
    held.writeError = new Error('no space');
    const outcomes = await Promise.allSettled([append(wal, 1n), append(wal, 2n)]);
    held.writeError = undefined;
    outcomes.push(...(await Promise.allSettled([append(wal, 3n)])));
    for (const outcome of outcomes) {
      expect(outcome.status).to.equal('rejected');
      if (outcome.status === 'rejected') expect((outcome.reason as AlmanacError).code).to.equal('storage_unavailable');
    }
    expect(broken).to.have.length(1);
    await wal.close();
  });

  describe('on a full disk', () => {
    const clock = new ManualClock();
    let held: HeldFiles;
    let events: string[];
    let wal: Wal;

    beforeEach(() => {
      held = new HeldFiles();
      events = [];
    });
    afterEach(() => wal.close());

    async function open(overrides: Partial<WalOptions> = {}): Promise<void> {
      const onBroken = (): void => void events.push('broken');
      const onFull = (): void => void events.push('full');
      const onSpace = (): void => void events.push('space');
      const fs = held.fileSystem;
      wal = await Wal.open(options({ fs, clock, fileBytesMax: 4096, onBroken, onFull, onSpace, ...overrides }), []);
    }

    function failure(code: string): Error {
      return Object.assign(new Error(`${code}: as the disk says`), { code });
    }

    async function expectRefused(sequence: bigint): Promise<void> {
      const error = await append(wal, sequence).catch((cause: unknown) => cause as AlmanacError);
      expect(error?.code).to.equal('storage_unavailable');
      expect(error?.message).to.contain('no space is left on its disk');
    }

    /** Lets the log retry several times, or until it has space. */
    async function retried(): Promise<void> {
      await pollUntil(performance.now() + 200, async () => {
        await clock.advance(1_000);
        return events.includes('space');
      });
    }

    async function sequences(): Promise<bigint[]> {
      return (await replay()).records.map(({ sequenceFrom }) => sequenceFrom);
    }

    for (const code of ['ENOSPC', 'EDQUOT', 'EROFS']) {
      it(`refuses appends after ${code} and continues in a new file once the disk accepts writes`, async () => {
        await open();
        await append(wal, 0n);
        held.writeError = failure(code);
        await expectRefused(1n);
        expect(() => wal.checkWritable()).to.throw('no space is left on its disk');
        await retried();
        await expectRefused(1n);
        expect(events).to.deep.equal(['full']);
        held.writeError = undefined;
        await retried();
        expect(events).to.deep.equal(['full', 'space']);
        wal.checkWritable();
        await append(wal, 1n);
        expect(wal.files.map(({ number }) => number)).to.deep.equal([1, 2]);
        expect(readdirSync(folder)).to.deep.equal(['0000000001.wal', '0000000002.wal']);
        expect(await sequences()).to.deep.equal([0n, 1n]);
      });
    }

    it('cuts off records whose sync failed, although they read back', async () => {
      await open();
      await append(wal, 0n);
      const { bytes } = wal.files[0];
      held.syncError = failure('ENOSPC');
      await expectRefused(1n);
      // Truncating needs no space: it does not wait for any.
      const isCut = (): Promise<boolean> => Promise.resolve(statSync(fileOf(wal)).size === bytes);
      expect(await pollUntil(performance.now() + 2_000, isCut)).to.equal(true);
      held.syncError = undefined;
      await retried();
      await append(wal, 1n, 2);
      const { records } = await replay();
      expect(records.map(({ sequenceFrom, rowCount }) => [sequenceFrom, rowCount])).to.deep.equal([
        [0n, 1],
        [1n, 2],
      ]);
    });

    it('replaces a file that was created without its whole header', async () => {
      await open({ fileBytesMax: 100 });
      await append(wal, 0n);
      held.writeError = failure('ENOSPC');
      await expectRefused(1n);
      expect(statSync(`${folder}/0000000002.wal`).size).to.equal(0);
      held.writeError = undefined;
      await retried();
      await append(wal, 1n);
      expect(await sequences()).to.deep.equal([0n, 1n]);
    });

    it('breaks for good if cutting off fails otherwise', async () => {
      await open();
      await append(wal, 0n);
      held.syncError = failure('ENOSPC');
      held.truncateError = failure('EIO');
      await expectRefused(1n);
      expect(await pollUntil(performance.now() + 2_000, () => Promise.resolve(events.length === 2))).to.equal(true);
      expect(events).to.deep.equal(['full', 'broken']);
      held.syncError = undefined;
      await clock.advance(10_000);
      expect(() => wal.checkWritable()).to.throw('does not accept writes');
    });

    it('breaks for good if acknowledged records cannot be synced', async () => {
      await open({ sync: 'interval' });
      await append(wal, 0n);
      held.syncError = failure('ENOSPC');
      await wal.syncNow();
      expect(events).to.deep.equal(['broken']);
    });

    it('breaks for good after any other failure', async () => {
      await open();
      await append(wal, 0n);
      held.writeError = failure('EIO');
      const error = await append(wal, 1n).catch((cause: unknown) => cause as AlmanacError);
      expect(error?.code).to.equal('storage_unavailable');
      expect(events).to.deep.equal(['broken']);
    });

    it('closes while it waits for space, and the next start cuts off what is torn', async () => {
      await open();
      await append(wal, 0n);
      held.writeError = failure('ENOSPC');
      await expectRefused(1n);
      await wal.close();
      expect(await sequences()).to.deep.equal([0n]);
    });
  });

  it('starts a new file when one is full, and deletes the oldest', async () => {
    const wal = await Wal.open(options({ fileBytesMax: 300 }), []);
    for (let i = 0; i < 10; i++) await append(wal, BigInt(i));
    expect(wal.files.length).to.be.greaterThan(2);
    expect(wal.files[0].lastSequences.get(REGION)).to.equal(3n);
    await wal.deleteOldest();
    await wal.close();
    const { records } = await replay();
    expect(records.length).to.be.greaterThan(0).and.lessThan(10);
    expect(records.at(-1)?.sequenceFrom).to.equal(9n);
  });

  it('continues after the files of an earlier run', async () => {
    const first = await Wal.open(options(), []);
    await append(first, 0n);
    await first.close();
    const { files } = await replay();
    const second = await Wal.open(options(), files);
    await append(second, 1n);
    await second.close();
    const { records } = await replay();
    expect(records.map((record) => record.sequenceFrom)).to.deep.equal([0n, 1n]);
  });

  it('syncs later in the other modes, and at close', async () => {
    const held = new HeldFiles();
    const wal = await Wal.open(options({ fs: held.fileSystem, sync: 'none' }), []);
    const before = held.syncCount;
    await append(wal, 0n);
    expect(held.syncCount).to.equal(before);
    await wal.close();
    expect(held.syncCount).to.equal(before + 1);
  });

  describe('after a crash', () => {
    it('cuts off a record that was torn at the end, at every byte', async () => {
      const wal = await Wal.open(options(), []);
      await append(wal, 0n);
      const whole = statSync(fileOf(wal)).size;
      await append(wal, 1n);
      await wal.close();
      const bytes = readFileSync(fileOf(wal));
      for (let cut = whole + 1; cut < bytes.length; cut++) {
        writeFileSync(fileOf(wal), bytes.subarray(0, cut));
        const { records, log } = await replay();
        expect(
          records.map((record) => record.sequenceFrom),
          `cut at ${cut}`,
        ).to.deep.equal([0n]);
        expect(log.messages('warn')).to.deep.equal(['torn record at the end of the log cut off']);
        expect(statSync(fileOf(wal)).size).to.equal(whole);
      }
    });

    it('cuts off a group of which an early page is missing, although later records are intact', async () => {
      const held = new HeldFiles();
      const wal = await Wal.open(options({ fs: held.fileSystem }), []);
      await append(wal, 0n);
      held.hold();
      const first = append(wal, 1n);
      await held.arrived(1);
      const group = [append(wal, 2n), append(wal, 3n)];
      held.releaseAll();
      await Promise.all([first, ...group]);
      await wal.close();
      const bytes = readFileSync(fileOf(wal));
      const recordBytes = (bytes.length - 8) / 4;
      bytes.fill(0, 8 + 2 * recordBytes, 8 + 2 * recordBytes + 40);
      writeFileSync(fileOf(wal), bytes);
      const { records } = await replay();
      expect(records.map((record) => record.sequenceFrom)).to.deep.equal([0n, 1n]);
    });

    it('refuses to start at damage before acknowledged records, naming file and offset', async () => {
      const wal = await Wal.open(options(), []);
      for (let i = 0; i < 3; i++) await append(wal, BigInt(i));
      await wal.close();
      const bytes = readFileSync(fileOf(wal));
      bytes[8 + 100] ^= 1;
      writeFileSync(fileOf(wal), bytes);
      const refusal = await replay().then(
        () => undefined,
        (error: unknown) => error as AlmanacError,
      );
      expect(refusal?.code).to.equal('storage_unavailable');
      expect(refusal?.message).to.include(fileOf(wal)).and.to.include('damaged at byte 8');
    });

    it('skips damaged records with skip-corrupt, and continues', async () => {
      const wal = await Wal.open(options(), []);
      for (let i = 0; i < 3; i++) await append(wal, BigInt(i));
      await wal.close();
      const bytes = readFileSync(fileOf(wal));
      bytes[8 + 100] ^= 1;
      writeFileSync(fileOf(wal), bytes);
      const { records, log } = await replay('skip-corrupt');
      expect(records.map((record) => record.sequenceFrom)).to.deep.equal([1n, 2n]);
      expect(log.messages('error')).to.deep.equal(['damaged log record skipped']);
    });

    it('refuses a cut in a file that is not the last', async () => {
      const wal = await Wal.open(options({ fileBytesMax: 300 }), []);
      for (let i = 0; i < 6; i++) await append(wal, BigInt(i));
      await wal.close();
      const [first] = wal.files;
      truncateSync(first.path, statSync(first.path).size - 8);
      const refusal = await replay().then(
        () => undefined,
        (error: unknown) => error as AlmanacError,
      );
      expect(refusal?.code).to.equal('storage_unavailable');
    });

    for (const header of ['', 'ALM', '\0\0\0\0\0\0\0\0']) {
      it(`removes a last file without a whole header: ${JSON.stringify(header)}`, async () => {
        const wal = await Wal.open(options(), []);
        await append(wal, 0n);
        await wal.close();
        writeFileSync(`${folder}/0000000002.wal`, header);
        const { records, files } = await replay();
        expect(records).to.have.length(1);
        // The next run adds files after it, and may end before it deletes the old ones.
        await (await Wal.open(options(), files)).close();
        expect((await replay()).records).to.have.length(1);
      });
    }

    it('searches after a torn record without reading it again and again', async () => {
      const wal = await Wal.open(options(), []);
      // Every offset of it looks like the start of a record of 4 MB.
      const words = new Uint32Array(4 << 20).fill(4 << 20);
      await append(wal, 0n, 1, new Uint8Array(words.buffer));
      await wal.close();
      truncateSync(fileOf(wal), statSync(fileOf(wal)).size - 8);
      const startMs = performance.now();
      expect((await replay()).records).to.have.length(0);
      expect(performance.now() - startMs).to.be.lessThan(10_000);
    });
  });
});
