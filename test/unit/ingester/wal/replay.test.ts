import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';

import { expect } from 'chai';

import { Wal } from '#services/ingester/wal/wal';
import type { AlmanacError } from '#shared/errors/almanac-error';
import { HeldFiles } from '#test/support/held-files';
import { LogRig } from '#test/support/log-rig';
import { tempFolder } from '#test/support/temp-folder';

describe('replayWal', () => {
  const cleanUps: (() => void)[] = [];
  let rig: LogRig;

  beforeEach(() => {
    rig = new LogRig(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
  });

  afterEach(() => {
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  it('cuts off a record that was torn at the end, at every byte', async () => {
    const wal = await Wal.open(rig.options(), []);
    await rig.append(wal, 0n);
    const whole = statSync(rig.fileOf(wal)).size;
    await rig.append(wal, 1n);
    await wal.close();
    const bytes = readFileSync(rig.fileOf(wal));
    for (let cut = whole + 1; cut < bytes.length; cut++) {
      writeFileSync(rig.fileOf(wal), bytes.subarray(0, cut));
      const { records, log } = await rig.replay();
      expect(
        records.map((record) => record.sequenceFrom),
        `cut at ${cut}`,
      ).to.deep.equal([0n]);
      expect(log.messages('warn')).to.deep.equal(['torn record at the end of the log cut off']);
      expect(statSync(rig.fileOf(wal)).size).to.equal(whole);
    }
  });

  it('cuts off zeros that were written ahead, and warns only of a torn record before them', async () => {
    const wal = await Wal.open(rig.options(), []);
    await rig.append(wal, 0n);
    const whole = statSync(rig.fileOf(wal)).size;
    await rig.append(wal, 1n);
    await wal.close();
    const bytes = readFileSync(rig.fileOf(wal));
    for (const zeros of [1, 8, 100, 3 << 20]) {
      for (const torn of [0, 8, 60]) {
        writeFileSync(rig.fileOf(wal), Buffer.concat([bytes.subarray(0, whole + torn), Buffer.alloc(zeros)]));
        const { records, files, log } = await rig.replay();
        expect(
          records.map((record) => record.sequenceFrom),
          `${torn} bytes, ${zeros} zeros`,
        ).to.deep.equal([0n]);
        expect(log.messages('warn')).to.have.length(torn === 0 ? 0 : 1);
        expect(files.map((file) => file.bytes)).to.deep.equal([whole]);
        expect(statSync(rig.fileOf(wal)).size).to.equal(whole);
      }
    }
  });

  it('cuts off a torn record of full length with zeros after it, also with skip-corrupt', async () => {
    const wal = await Wal.open(rig.options(), []);
    await rig.append(wal, 0n);
    const whole = statSync(rig.fileOf(wal)).size;
    await rig.append(wal, 1n, 1, new Uint8Array(20_000).fill(7));
    await wal.close();
    const bytes = readFileSync(rig.fileOf(wal));
    const torn = bytes.length - whole - 5_000;
    bytes.fill(0, whole + torn);
    writeFileSync(rig.fileOf(wal), Buffer.concat([bytes, Buffer.alloc(100_000)]));
    const { records, files, log } = await rig.replay('skip-corrupt');
    expect(records).to.have.length(1);
    expect(log.messages('error')).to.deep.equal([]);
    expect(log.lines.find(({ level }) => level === 'warn')?.fields).to.include({ at: whole, lostBytes: torn });
    expect(statSync(files[0].path).size).to.equal(whole);
    await (await Wal.open(rig.options(), files)).close();
    expect((await rig.replay()).records).to.have.length(1);
  });

  it('cuts off a group of which an early page is missing, although later records are intact', async () => {
    const held = new HeldFiles();
    const wal = await Wal.open(rig.options({ fs: held.fileSystem }), []);
    await rig.append(wal, 0n);
    held.hold();
    const first = rig.append(wal, 1n);
    await held.arrived(1);
    const group = [rig.append(wal, 2n), rig.append(wal, 3n)];
    held.releaseAll();
    await Promise.all([first, ...group]);
    await wal.close();
    const bytes = readFileSync(rig.fileOf(wal));
    const recordBytes = (bytes.length - 8) / 4;
    bytes.fill(0, 8 + 2 * recordBytes, 8 + 2 * recordBytes + 40);
    writeFileSync(rig.fileOf(wal), bytes);
    const { records } = await rig.replay();
    expect(records.map((record) => record.sequenceFrom)).to.deep.equal([0n, 1n]);
  });

  it('refuses to start at damage before acknowledged records, naming file and offset', async () => {
    const wal = await Wal.open(rig.options(), []);
    for (let i = 0; i < 3; i++) await rig.append(wal, BigInt(i));
    await wal.close();
    const bytes = readFileSync(rig.fileOf(wal));
    bytes[8 + 100] ^= 1;
    writeFileSync(rig.fileOf(wal), bytes);
    const refusal = await rig.replay().then(
      () => undefined,
      (error: unknown) => error as AlmanacError,
    );
    expect(refusal?.code).to.equal('storage_unavailable');
    expect(refusal?.message).to.include(rig.fileOf(wal)).and.to.include('damaged at byte 8');
  });

  it('skips damaged records with skip-corrupt, and continues', async () => {
    const wal = await Wal.open(rig.options(), []);
    for (let i = 0; i < 3; i++) await rig.append(wal, BigInt(i));
    await wal.close();
    const bytes = readFileSync(rig.fileOf(wal));
    bytes[8 + 100] ^= 1;
    writeFileSync(rig.fileOf(wal), bytes);
    const { records, log } = await rig.replay('skip-corrupt');
    expect(records.map((record) => record.sequenceFrom)).to.deep.equal([1n, 2n]);
    expect(log.messages('error')).to.deep.equal(['damaged log record skipped']);
  });

  it('refuses a cut in a file that is not the last', async () => {
    const wal = await Wal.open(rig.options({ fileBytesMax: 300 }), []);
    for (let i = 0; i < 6; i++) await rig.append(wal, BigInt(i));
    await wal.close();
    const [first] = wal.files;
    truncateSync(first.path, statSync(first.path).size - 8);
    const refusal = await rig.replay().then(
      () => undefined,
      (error: unknown) => error as AlmanacError,
    );
    expect(refusal?.code).to.equal('storage_unavailable');
  });

  for (const header of ['', 'ALM', '\0\0\0\0\0\0\0\0']) {
    it(`removes a last file without a whole header: ${JSON.stringify(header)}`, async () => {
      const wal = await Wal.open(rig.options(), []);
      await rig.append(wal, 0n);
      await wal.close();
      writeFileSync(`${rig.folder}/0000000002.wal`, header);
      const { records, files } = await rig.replay();
      expect(records).to.have.length(1);
      // The next run adds files after it, and may end before it deletes the old ones.
      await (await Wal.open(rig.options(), files)).close();
      expect((await rig.replay()).records).to.have.length(1);
    });
  }

  it('searches after a torn record without reading it again and again', async () => {
    const wal = await Wal.open(rig.options(), []);
    // Every offset of it looks like the start of a record of 4 MB.
    const words = new Uint32Array(4 << 20).fill(4 << 20);
    await rig.append(wal, 0n, 1, new Uint8Array(words.buffer));
    await wal.close();
    truncateSync(rig.fileOf(wal), statSync(rig.fileOf(wal)).size - 8);
    const startMs = performance.now();
    expect((await rig.replay()).records).to.have.length(0);
    expect(performance.now() - startMs).to.be.lessThan(10_000);
  });
});
