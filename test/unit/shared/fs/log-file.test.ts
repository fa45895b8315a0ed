import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { LogFile, type LogHandle } from '#shared/fs/log-file';
import { NodeFile, ShortWrite } from '#shared/fs/node-file';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { pollUntil } from '#test/support/almanac';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

const KIB = 1024;
/** Other systems have no zeros ahead of a log. */
const HAS_ZEROS = process.platform === 'linux';

describe('LogFile', () => {
  let folder = '';
  let path = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'almanac-log-'));
    path = join(folder, 'log');
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('has zeros ahead once it is long, until it is closed', async () => {
    const file = await nodeFileSystem.open(path, 'log');
    const part = Buffer.alloc(200 * KIB, 'x');
    await file.append([part]);
    expect(statSync(path).size).to.equal(part.length);
    await file.append([part]);
    if (HAS_ZEROS) {
      const untilMs = performance.now() + 10_000;
      const isLonger = await pollUntil(untilMs, () => Promise.resolve(statSync(path).size > 1024 * KIB));
      expect(isLonger).to.equal(true);
    }
    const bytes = readFileSync(path);
    expect(bytes.subarray(0, 2 * part.length).every((byte) => byte === 120)).to.equal(true);
    expect(bytes.subarray(2 * part.length).every((byte) => byte === 0)).to.equal(true);
    await file.append([part]);
    await file.close();
    expect(Buffer.compare(readFileSync(path), Buffer.concat([part, part, part]))).to.equal(0);
  });

  it('contains what was written, whatever the sizes', async () => {
    const random = new SeededRandom(7);
    const file = await nodeFileSystem.open(path, 'log');
    const written: Buffer[] = [];
    for (let i = 1; i <= 150; i++) {
      // Some are longer than the zeros that are there.
      const bytes = random.below(10) === 0 ? random.below(3_000 * KIB) : random.below(60 * KIB);
      const parts = [Buffer.alloc(bytes, i), Buffer.alloc(random.below(100), 255 - i)];
      await file.append(parts);
      written.push(...parts);
    }
    await file.close();
    expect(Buffer.compare(readFileSync(path), Buffer.concat(written))).to.equal(0);
  });

  it('continues after what a truncation leaves, or where an earlier one ended', async () => {
    const file = await nodeFileSystem.open(path, 'log');
    await file.append([Buffer.alloc(600 * KIB, 'a')]);
    await file.truncate(500 * KIB);
    expect(statSync(path).size).to.equal(500 * KIB);
    await file.append([Buffer.from('b')]);
    await file.close();
    const again = await nodeFileSystem.open(path, 'log');
    await again.append([Buffer.from('c')]);
    await again.close();
    const expected = Buffer.concat([Buffer.alloc(500 * KIB, 'a'), Buffer.from('bc')]);
    expect(Buffer.compare(readFileSync(path), expected)).to.equal(0);
  });

  /** Opens the file by two handles, of which the second one writes zeros. */
  async function openLog(zeros: (handle: NodeFile) => Partial<LogHandle>): Promise<LogFile> {
    const file = new NodeFile(await open(path, 'w'));
    const ahead = new NodeFile(await open(path, 'r+'));
    const handle: LogHandle = {
      writeAt: (parts, position) => ahead.writeAt(parts, position),
      syncData: () => ahead.syncData(),
      read: (target, position) => ahead.read(target, position),
      sync: () => ahead.sync(),
      truncate: (bytes) => ahead.truncate(bytes),
      close: () => ahead.close(),
    };
    return new LogFile(file, { ...handle, ...zeros(ahead) }, 0);
  }

  it('contains what was written if zeros are written in part, or not synced', async () => {
    const part = Buffer.alloc(100 * KIB, 'x');
    const faults: ((ahead: NodeFile) => Partial<LogHandle>)[] = [
      (ahead) => ({
        writeAt: async ([bytes], position) => {
          await ahead.writeAt([bytes.subarray(0, 300 * KIB)], position);
          throw new ShortWrite(300 * KIB, bytes.length);
        },
      }),
      () => ({ syncData: () => Promise.reject(new Error('EIO')) }),
    ];
    for (const fault of faults) {
      const file = await openLog(fault);
      for (let i = 0; i < 4; i++) await file.append([part]);
      await file.close();
      expect(Buffer.compare(readFileSync(path), Buffer.concat([part, part, part, part]))).to.equal(0);
    }
  });

  it('never has zeros in the place of records, however long they take', async () => {
    const held: (() => void)[] = [];
    const file = await openLog((ahead) => ({
      writeAt: async (parts, position) => {
        await new Promise<void>((resolve) => held.push(resolve));
        await ahead.writeAt(parts, position);
      },
    }));
    const part = Buffer.alloc(300 * KIB, 'x');
    await file.append([part]);
    expect(held).to.have.length(1);
    let isWritten = false;
    const second = file.append([part]).then(() => (isWritten = true));
    await systemClock.yield();
    expect(isWritten).to.equal(false);
    held[0]();
    await second;
    // There are 724 KiB of zeros now, and others are on their way.
    await file.append([part]);
    expect(held).to.have.length(2);
    const closed = file.close();
    held[1]();
    await closed;
    expect(Buffer.compare(readFileSync(path), Buffer.concat([part, part, part]))).to.equal(0);
  });

  it('keeps what is after a failed write until it is truncated', async () => {
    let isFailing = false;
    const file = await openLog(() => ({}));
    const part = Buffer.alloc(300 * KIB, 'x');
    await file.append([part]);
    isFailing = true;
    const handle = new NodeFile(await open(path, 'r+'));
    const failing = new LogFile(
      {
        read: (target, position) => handle.read(target, position),
        sync: () => handle.sync(),
        syncData: () => handle.syncData(),
        truncate: (bytes) => handle.truncate(bytes),
        close: () => handle.close(),
        writeAt: async (parts, position) => {
          await handle.writeAt(parts, position);
          if (isFailing) throw new Error('EIO');
        },
      },
      new NodeFile(await open(path, 'r+')),
      part.length,
    );
    await file.close();
    expect(await failing.append([Buffer.from('abc')]).catch(String)).to.equal('Error: EIO');
    expect(statSync(path).size).to.equal(part.length + 3);
    isFailing = false;
    await failing.truncate(part.length);
    await failing.append([Buffer.from('d')]);
    await failing.close();
    expect(Buffer.compare(readFileSync(path), Buffer.concat([part, Buffer.from('d')]))).to.equal(0);
  });
});
