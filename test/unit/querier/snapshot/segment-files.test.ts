import { mkdirSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { SegmentFiles, type ManifestFile } from '#services/querier/snapshot/segment-files';
import { crc32c } from '#shared/bytes/crc32c';
import { systemClock } from '#shared/clock/clock';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { LocalStore } from '#shared/segments/local-store';
import { tempFolder } from '#test/support/temp-folder';

const BYTES = Buffer.alloc(1000, 7);
const DAMAGED = Buffer.alloc(1000, 8);
const FILES = ['a', 'b'].map((name): ManifestFile => ({
  path: `1/${name}.parquet`,
  bytes: 1000,
  crc32c: crc32c(BYTES),
}));
const READ_FAILED = new Error('Invalid Error: TProtocolException: Invalid data');

describe('SegmentFiles', () => {
  const cleanUps: (() => unknown)[] = [];
  let files: SegmentFiles;
  let folder = '';
  let nowMs = 0;
  /** Time that passes at each reading of the clock. */
  let stepMs = 0;
  let yields = 0;
  let reads: string[] = [];

  beforeEach(() => {
    folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    mkdirSync(join(folder, '1'));
    for (const { path } of FILES) writeFileSync(join(folder, path), BYTES);
    reads = [];
    nowMs = 0;
    const fs: typeof nodeFileSystem = {
      ...nodeFileSystem,
      open: (path, mode) => {
        reads.push(path.slice(folder.length + 3));
        return nodeFileSystem.open(path, mode);
      },
    };
    files = new SegmentFiles({
      store: new LocalStore(folder, fs),
      connection: {} as DuckDBConnection,
      confirmDataFolder: () => Promise.resolve(),
      clock: {
        ...systemClock,
        monotonicMs: () => (nowMs += stepMs),
        yield: () => {
          yields++;
          return Promise.resolve();
        },
      },
    });
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  /** Damages a file without changing its stamp. */
  function rot({ path }: ManifestFile): void {
    const { atime, mtime } = statSync(join(folder, path));
    writeFileSync(join(folder, path), DAMAGED);
    utimesSync(join(folder, path), atime, mtime);
  }

  async function failureOf(work: Promise<unknown>): Promise<string> {
    return work.then(
      () => 'none',
      (error: unknown) => (error as Error).message,
    );
  }

  it('verifies a file once while its stamp stays the same', async () => {
    for (nowMs = 0; nowMs < 100_000; nowMs += 10_000) await files.check(FILES);
    expect(reads).to.deep.equal(['a.parquet', 'b.parquet']);
  });

  it('verifies a file again at most a second after it was written or replaced', async () => {
    await files.check(FILES);
    nowMs = 1_000;
    writeFileSync(join(folder, 'other'), BYTES);
    renameSync(join(folder, 'other'), join(folder, FILES[0].path));
    await files.check(FILES);
    expect(reads).to.deep.equal(['a.parquet', 'b.parquet', 'a.parquet']);
    nowMs = 2_000;
    writeFileSync(join(folder, FILES[1].path), DAMAGED);
    expect(await failureOf(files.check(FILES))).to.equal('"1/b.parquet" is damaged: its checksum does not match');
  });

  it('verifies files again when a read fails in a way that damage can cause', async () => {
    await files.check(FILES);
    nowMs = 10_000;
    rot(FILES[1]);
    const failing = files.readChecked(FILES, () => Promise.reject(READ_FAILED));
    expect(await failureOf(failing)).to.equal('"1/b.parquet" is damaged: its checksum does not match');
    expect(await failureOf(files.check(FILES))).to.contain('"1/b.parquet" is damaged');
    writeFileSync(join(folder, FILES[1].path), BYTES);
    await files.check(FILES);
  });

  it('verifies the files that the engine names first', async () => {
    await files.check(FILES);
    nowMs = 10_000;
    rot(FILES[1]);
    reads = [];
    const named = new Error(
      `Invalid Input Error: Failed to read file "${files.absolute(FILES[1].path)}": ZSTD failure`,
    );
    const translated = new AlmanacError('execute_query', 'Failed to read file', { cause: named });
    expect(await failureOf(files.readChecked(FILES, () => Promise.reject(translated)))).to.contain('is damaged');
    expect(reads).to.deep.equal(['b.parquet']);
  });

  it('returns the original error when the files are intact, and does not verify them for each of many errors', async () => {
    await files.check(FILES);
    nowMs = 10_000;
    reads = [];
    const failing = Array.from({ length: 50 }, () => files.reasonOf(READ_FAILED, FILES));
    for (const reason of await Promise.all(failing)) expect(reason).to.equal(READ_FAILED);
    expect(reads).to.deep.equal(['a.parquet', 'b.parquet']);
  });

  it('verifies a file once at a time, however long that takes', async () => {
    await files.check(FILES);
    reads = [];
    const failing: Promise<unknown>[] = [];
    for (nowMs = 10_000; nowMs < 100_000; nowMs += 10_000) failing.push(files.reasonOf(READ_FAILED, FILES.slice(0, 1)));
    for (const reason of await Promise.all(failing)) expect(reason).to.equal(READ_FAILED);
    expect(reads).to.deep.equal(['a.parquet']);
  });

  it('verifies no file for errors of the query itself', async () => {
    await files.check(FILES);
    nowMs = 10_000;
    reads = [];
    for (const text of [
      "Conversion Error: Could not convert string 'x'",
      'Binder Error: no',
      'Invalid Input Error: bad',
      'Invalid Input Error: Could not parse string "a corrupt parquet" according to format specifier "%Y"',
    ]) {
      const thrown = new Error(text);
      expect(await files.reasonOf(thrown, FILES)).to.equal(thrown);
    }
    expect(reads).to.deep.equal([]);
  });

  it('checks many files in slices and yields in between', async () => {
    const many = Array.from({ length: 2_000 }, () => FILES[0]);
    await files.check(many);
    for (const look of [() => files.check(many), () => files.checkKnown(many)]) {
      yields = 0;
      nowMs += 1_000;
      // A stat call takes time.
      stepMs = 0.01;
      await look();
      stepMs = 0;
      expect(yields).to.be.greaterThan(2);
    }
    expect(reads).to.deep.equal(['a.parquet']);
  });

  it('rejects a guess with files that were not verified yet', async () => {
    expect(await failureOf(files.checkKnown(FILES))).to.contain('must be verified again');
    expect(reads).to.deep.equal([]);
    await files.check(FILES);
    await files.checkKnown(FILES);
  });

  it('rejects a guess with files that were written, and verifies them for the following query', async () => {
    await files.check(FILES);
    nowMs = 1_000;
    writeFileSync(join(folder, FILES[0].path), DAMAGED);
    expect(await failureOf(files.checkKnown(FILES))).to.contain('must be verified again');
    expect(await failureOf(files.check(FILES))).to.contain('is damaged');
  });
});
