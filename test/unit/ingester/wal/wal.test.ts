import { readdirSync, statSync } from 'node:fs';

import { expect } from 'chai';

import { Wal, type WalOptions } from '#services/ingester/wal/wal';
import type { AlmanacError } from '#shared/errors/almanac-error';
import { pollUntil } from '#test/support/almanac';
import { HeldFiles } from '#test/support/held-files';
import { BATCH, LogRig, REGION } from '#test/support/log-rig';
import { ManualClock } from '#test/support/manual-clock';
import { tempFolder } from '#test/support/temp-folder';

describe('Wal', () => {
  const cleanUps: (() => void)[] = [];
  let rig: LogRig;

  beforeEach(() => {
    rig = new LogRig(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
  });

  afterEach(() => {
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  it('returns appended records in order', async () => {
    const wal = await Wal.open(rig.options(), []);
    await rig.append(wal, 10n, 3);
    await rig.append(wal, 13n, 1, new Uint8Array(8));
    await wal.close();

    const { records } = await rig.replay();
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
    const wal = await Wal.open(rig.options({ fs: held.fileSystem }), []);
    const before = held.syncCount;
    held.hold();
    const first = rig.append(wal, 0n);
    await held.arrived(1);
    const others = [rig.append(wal, 1n), rig.append(wal, 2n), rig.append(wal, 3n)];
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
    const wal = await Wal.open(rig.options({ fs: held.fileSystem }), []);
    held.hold();
    const first = rig.append(wal, 0n);
    await held.arrived(1);
    const others = Array.from({ length: 2_000 }, (_, i) => rig.append(wal, BigInt(i + 1)));
    held.releaseAll();
    await Promise.all([first, ...others]);
    await wal.close();
    // Of the header, the first record, and all others.
    expect(held.partCounts).to.have.length(3);
    expect(Math.max(...held.partCounts)).to.be.at.most(1_024);
    const { records } = await rig.replay();
    expect(records.map(({ sequenceFrom }) => sequenceFrom)).to.deep.equal(
      Array.from({ length: 2_001 }, (_, i) => BigInt(i)),
    );
  });

  it('has zeros ahead of the records only in the last file, and none once it is closed', async () => {
    const wal = await Wal.open(rig.options(), []);
    const batch = new Uint8Array(150_000);
    for (let i = 0; i < 40; i++) await rig.append(wal, BigInt(i), 1, batch);
    const sizes = (): number[] => wal.files.map(({ path }) => statSync(path).size);
    const expected = wal.files.map(({ bytes }) => bytes);
    expect(sizes().slice(0, -1)).to.deep.equal(expected.slice(0, -1));
    await wal.close();
    expect(sizes()).to.deep.equal(expected);
    expect((await rig.replay()).records).to.have.length(40);
  });

  it('acknowledges nothing before the sync has ended', async () => {
    const held = new HeldFiles();
    const wal = await Wal.open(rig.options({ fs: held.fileSystem }), []);
    held.hold();
    let isDurable = false;
    const appended = rig.append(wal, 0n).then(() => (isDurable = true));
    await held.arrived(1);
    expect(isDurable).to.equal(false);
    held.releaseAll();
    await appended;
    await wal.close();
  });

  it('refuses everything after a failed write, and reports it once', async () => {
    const held = new HeldFiles();
    const broken: unknown[] = [];
    const wal = await Wal.open(rig.options({ fs: held.fileSystem, onBroken: (error) => broken.push(error) }), []);
    await rig.append(wal, 0n);
    held.writeError = new Error('no space');
    const outcomes = await Promise.allSettled([rig.append(wal, 1n), rig.append(wal, 2n)]);
    held.writeError = undefined;
    outcomes.push(...(await Promise.allSettled([rig.append(wal, 3n)])));
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
      wal = await Wal.open(rig.options({ fs, clock, fileBytesMax: 4096, onBroken, onFull, onSpace, ...overrides }), []);
    }

    function failure(code: string): Error {
      return Object.assign(new Error(`${code}: as the disk says`), { code });
    }

    async function expectRefused(sequence: bigint): Promise<void> {
      const error = await rig.append(wal, sequence).catch((cause: unknown) => cause as AlmanacError);
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
      return (await rig.replay()).records.map(({ sequenceFrom }) => sequenceFrom);
    }

    for (const code of ['ENOSPC', 'EDQUOT', 'EROFS']) {
      it(`refuses appends after ${code} and continues in a new file once the disk accepts writes`, async () => {
        await open();
        await rig.append(wal, 0n);
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
        await rig.append(wal, 1n);
        expect(wal.files.map(({ number }) => number)).to.deep.equal([1, 2]);
        expect(readdirSync(rig.folder)).to.deep.equal(['0000000001.wal', '0000000002.wal']);
        expect(await sequences()).to.deep.equal([0n, 1n]);
      });
    }

    it('cuts off records whose sync failed, although they read back', async () => {
      await open();
      await rig.append(wal, 0n);
      const { bytes } = wal.files[0];
      held.syncError = failure('ENOSPC');
      await expectRefused(1n);
      // Truncating needs no space: it does not wait for any.
      const isCut = (): Promise<boolean> => Promise.resolve(statSync(rig.fileOf(wal)).size === bytes);
      expect(await pollUntil(performance.now() + 2_000, isCut)).to.equal(true);
      held.syncError = undefined;
      await retried();
      await rig.append(wal, 1n, 2);
      const { records } = await rig.replay();
      expect(records.map(({ sequenceFrom, rowCount }) => [sequenceFrom, rowCount])).to.deep.equal([
        [0n, 1],
        [1n, 2],
      ]);
    });

    it('replaces a file that was created without its whole header', async () => {
      await open({ fileBytesMax: 100 });
      await rig.append(wal, 0n);
      held.writeError = failure('ENOSPC');
      await expectRefused(1n);
      expect(statSync(`${rig.folder}/0000000002.wal`).size).to.equal(0);
      held.writeError = undefined;
      await retried();
      await rig.append(wal, 1n);
      expect(await sequences()).to.deep.equal([0n, 1n]);
    });

    it('breaks for good if cutting off fails otherwise', async () => {
      await open();
      await rig.append(wal, 0n);
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
      await rig.append(wal, 0n);
      held.syncError = failure('ENOSPC');
      await wal.syncNow();
      expect(events).to.deep.equal(['broken']);
    });

    it('breaks for good after any other failure', async () => {
      await open();
      await rig.append(wal, 0n);
      held.writeError = failure('EIO');
      const error = await rig.append(wal, 1n).catch((cause: unknown) => cause as AlmanacError);
      expect(error?.code).to.equal('storage_unavailable');
      expect(events).to.deep.equal(['broken']);
    });

    it('closes while it waits for space, and the next start cuts off what is torn', async () => {
      await open();
      await rig.append(wal, 0n);
      held.writeError = failure('ENOSPC');
      await expectRefused(1n);
      await wal.close();
      expect(await sequences()).to.deep.equal([0n]);
    });
  });

  it('starts a new file when one is full, and deletes the oldest', async () => {
    const wal = await Wal.open(rig.options({ fileBytesMax: 300 }), []);
    for (let i = 0; i < 10; i++) await rig.append(wal, BigInt(i));
    expect(wal.files.length).to.be.greaterThan(2);
    expect(wal.files[0].lastSequences.get(REGION)).to.equal(3n);
    await wal.deleteOldest();
    await wal.close();
    const { records } = await rig.replay();
    expect(records.length).to.be.greaterThan(0).and.lessThan(10);
    expect(records.at(-1)?.sequenceFrom).to.equal(9n);
  });

  it('continues after the files of an earlier run', async () => {
    const first = await Wal.open(rig.options(), []);
    await rig.append(first, 0n);
    await first.close();
    const { files } = await rig.replay();
    const second = await Wal.open(rig.options(), files);
    await rig.append(second, 1n);
    await second.close();
    const { records } = await rig.replay();
    expect(records.map((record) => record.sequenceFrom)).to.deep.equal([0n, 1n]);
  });

  it('syncs later in the other modes, and at close', async () => {
    const held = new HeldFiles();
    const wal = await Wal.open(rig.options({ fs: held.fileSystem, sync: 'none' }), []);
    const before = held.syncCount;
    await rig.append(wal, 0n);
    expect(held.syncCount).to.equal(before);
    await wal.close();
    expect(held.syncCount).to.equal(before + 1);
  });
});
