import { appendFileSync, copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';

import { expect } from 'chai';

import { encodeRecord } from '#services/ingester/wal/record';
import { readLiveWal } from '#services/ingester/wal/read-live';
import { Wal } from '#services/ingester/wal/wal';
import { walFilePath } from '#services/ingester/wal/wal-files';
import { systemClock } from '#shared/clock/clock';
import type { FileSystem } from '#shared/fs/file-system';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { pollUntil } from '#test/support/almanac';
import { failure } from '#test/support/failure';
import { tempFolder } from '#test/support/temp-folder';

const BATCH = new Uint8Array(64).fill(0xab);
const RECORD_BYTES = 72 + BATCH.length;
const HEADER_BYTES = 8;

describe('readLiveWal', () => {
  const cleanUps: (() => unknown)[] = [];
  let folder = '';
  let wal: Wal;

  beforeEach(async () => {
    folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const place = { folder, fs: nodeFileSystem, clock: systemClock };
    wal = await Wal.open({ ...place, sync: 'group', fileBytesMax: 3 * RECORD_BYTES, onBroken: () => undefined }, []);
    cleanUps.push(() => wal.close());
  });

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  async function append(...sequences: readonly bigint[]): Promise<void> {
    for (const sequenceFrom of sequences) {
      const ids = { batchId: new Uint8Array(16), tableId: 1, regionId: 7, epoch: 1, schemaVersion: 1 };
      const parts = encodeRecord({ ...ids, sequenceFrom, rowCount: 1, firstSid: 0 }, new Uint8Array(0), BATCH);
      await new Promise<void>((resolve, reject) => {
        wal.append({ regionId: 7, sequenceTo: sequenceFrom + 1n, parts, onDurable: resolve, onFailed: reject });
      });
    }
  }

  async function read(fs: FileSystem = nodeFileSystem): Promise<bigint[]> {
    const sequences: bigint[] = [];
    await readLiveWal({ folder, fs, onRecord: ({ sequenceFrom }) => void sequences.push(sequenceFrom) });
    return sequences;
  }

  const path = (number: number): string => walFilePath(folder, number);

  it('returns every record of all files while they are written', async () => {
    expect(await read()).to.deep.equal([]);
    await append(0n, 1n, 2n, 3n, 4n);
    expect(await read()).to.deep.equal([0n, 1n, 2n, 3n, 4n]);
    await append(5n, 6n);
    expect(await read()).to.deep.equal([0n, 1n, 2n, 3n, 4n, 5n, 6n]);
    expect(wal.files.length).to.be.greaterThan(1);
  });

  it('stops at zeros that are written ahead of records', async () => {
    await append(0n, 1n);
    appendFileSync(path(1), Buffer.alloc(1 << 20));
    expect(await read()).to.deep.equal([0n, 1n]);
  });

  it('reads records that replace zeros while it reads', async () => {
    const place = { folder, fs: nodeFileSystem, clock: systemClock };
    const long = await Wal.open(
      { ...place, sync: 'group', fileBytesMax: 1 << 26, onBroken: () => undefined },
      wal.files,
    );
    cleanUps.push(() => long.close());
    const appendLong = async (from: number, count: number): Promise<void> => {
      for (let i = from; i < from + count; i++) {
        const ids = { batchId: new Uint8Array(16), tableId: 1, regionId: 7, epoch: 1, schemaVersion: 1 };
        const header = { ...ids, sequenceFrom: BigInt(i), rowCount: 1, firstSid: 0 };
        const parts = encodeRecord(header, new Uint8Array(0), new Uint8Array(40_000).fill(1));
        await new Promise<void>((resolve, reject) => {
          long.append({ regionId: 7, sequenceTo: BigInt(i + 1), parts, onDurable: resolve, onFailed: reject });
        });
      }
    };
    await appendLong(0, 20);
    const longPath = long.files[long.files.length - 1].path;
    const hasZeros = (): Promise<boolean> => Promise.resolve(statSync(longPath).size > 1 << 20);
    if (process.platform === 'linux') expect(await pollUntil(performance.now() + 10_000, hasZeros)).to.equal(true);
    let next = 20;
    const fs: FileSystem = {
      ...nodeFileSystem,
      open: async (filePath, mode) => {
        const file = await nodeFileSystem.open(filePath, mode);
        return {
          ...file,
          close: () => file.close(),
          read: async (target, position) => {
            const bytes = await file.read(target, position);
            await appendLong(next, 2);
            next += 2;
            return bytes;
          },
        };
      },
    };
    const found = await read(fs);
    expect(found.length).to.be.at.least(20);
    expect(found).to.deep.equal(found.map((_, i) => BigInt(i)));
  });

  it('stops before a record that is being written, and leaves the file as it is', async () => {
    await append(0n, 1n);
    for (const cut of [1, RECORD_BYTES / 2, RECORD_BYTES - 1]) {
      writeFileSync(path(1), readFileSync(path(1)).subarray(0, HEADER_BYTES + 2 * RECORD_BYTES));
      appendFileSync(path(1), readFileSync(path(1)).subarray(HEADER_BYTES, HEADER_BYTES + cut));
      const before = readFileSync(path(1));
      expect(await read()).to.deep.equal([0n, 1n]);
      expect(readFileSync(path(1))).to.deep.equal(before);
    }
  });

  it('skips files that are deleted meanwhile, and one that has no header yet', async () => {
    await append(0n);
    const listed = { ...nodeFileSystem, list: () => Promise.resolve(['0000000000.wal', '0000000001.wal']) };
    expect(await read(listed)).to.deep.equal([0n]);
    for (const header of ['', 'ALM']) {
      writeFileSync(path(2), header);
      expect(await read()).to.deep.equal([0n]);
    }
  });

  it('reports what is not the end of a log as damage', async () => {
    await append(0n, 1n, 2n);
    const bytes = readFileSync(path(1));
    bytes[HEADER_BYTES + RECORD_BYTES + 80] ^= 1;
    writeFileSync(path(1), bytes);
    const text = `write-ahead log "${path(1)}" is damaged at byte ${HEADER_BYTES + RECORD_BYTES}`;
    expect((await failure(read())).message).to.contain(text);
    truncateSync(path(1), HEADER_BYTES + RECORD_BYTES + 80);
    expect(await read()).to.deep.equal([0n]);
    copyFileSync(path(1), path(2));
    expect((await failure(read())).message).to.contain(text);
    truncateSync(path(1), 3);
    expect((await failure(read())).message).to.contain('does not begin as a log of this format does');
  });
});
