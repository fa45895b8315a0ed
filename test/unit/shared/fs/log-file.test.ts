import { mkdtempSync, readFileSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { nodeFileSystem } from '#shared/fs/node-file-system';
import { pollUntil } from '#test/support/almanac';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

const KIB = 1024;
/** Other systems have no zeros ahead of a log. */
const HAS_ZEROS = process.platform === 'linux';

describe('a log file', () => {
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

  it('is written without zeros if these cannot be', async () => {
    const file = await nodeFileSystem.open(path, 'log');
    await file.append([Buffer.alloc(100 * KIB)]);
    // Zeros are written by another handle, which this file has no name for any more.
    unlinkSync(path);
    for (let i = 0; i < 20; i++) await file.append([Buffer.alloc(100 * KIB)]);
    await file.close();
  });
});
