import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { ColumnCache, type SegmentFile } from '#services/querier/columns/column-cache';
import { OpenSegments } from '#services/querier/columns/open-segments';
import { systemClock } from '#shared/clock/clock';
import { openEngine } from '#shared/duckdb/engine';
import type { FileSystem } from '#shared/fs/file-system';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { LocalStore } from '#shared/segments/local-store';
import { eventually } from '#test/support/conditions';
import { tempFolder } from '#test/support/temp-folder';

const FILES = 70;
const FILES_MAX = 64;

describe('OpenSegments', () => {
  const cleanUps: (() => unknown)[] = [];
  const files: SegmentFile[] = [];
  let opened = 0;
  let closed = 0;
  let segments: OpenSegments;

  before(async () => {
    const folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const engine = await openEngine({ threads: 1, memoryBytes: 1 << 28, spillFolder: folder });
    cleanUps.push(() => engine.closeSync());
    const connection = await engine.connect();
    await connection.run(`COPY (SELECT 1 AS a) TO '${join(folder, '0')}' (FORMAT parquet, FIELD_IDS {a: 1})`);
    for (let i = 0; i < FILES; i++) {
      if (i > 0) copyFileSync(join(folder, '0'), join(folder, String(i)));
      files.push({ path: String(i), bytes: statSync(join(folder, '0')).size });
    }
    const fs: FileSystem = {
      ...nodeFileSystem,
      open: async (path, mode) => {
        const file = await nodeFileSystem.open(path, mode);
        opened++;
        const close = async (): Promise<void> => {
          await file.close();
          closed++;
        };
        return { ...file, read: (target, position) => file.read(target, position), close };
      },
    };
    const cache = new ColumnCache(new LocalStore(folder, fs), { footerBytes: 1 << 20, runBytes: 1, valueBytes: 0 });
    segments = new OpenSegments(cache, systemClock);
  });

  beforeEach(() => {
    opened = 0;
    closed = 0;
  });

  after(() => {
    segments.stop();
    for (const cleanUp of cleanUps.reverse()) cleanUp();
  });

  const use = (file: SegmentFile): Promise<number> => {
    return segments.use(file, ({ footer }) => Promise.resolve(footer.rowCounts[0]));
  };

  it('opens a file once for several reads, and closes it when it stops', async () => {
    expect(await Promise.all([use(files[0]), use(files[0])])).to.deep.equal([1, 1]);
    expect(await use(files[0])).to.equal(1);
    expect([opened, closed]).to.deep.equal([1, 0]);
    segments.stop();
    await eventually(() => closed === 1);
  });

  it('opens a file again after an error', async () => {
    const fail = (): Promise<never> => Promise.reject(new Error('read failed'));
    const error: unknown = await segments.use(files[0], fail).catch((thrown: unknown) => thrown);
    expect(error).to.have.property('message', 'read failed');
    await eventually(() => closed === 1);
    await use(files[0]);
    expect(opened).to.equal(2);
  });

  it('limits the number of open files', async () => {
    for (const file of files) await use(file);
    await eventually(() => opened - closed <= FILES_MAX);
    const before = opened;
    await use(files[FILES - 1]);
    expect(opened).to.equal(before);
    await use(files[0]);
    expect(opened).to.equal(before + 1);
  });
});
