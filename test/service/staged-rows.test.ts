import { readdirSync } from 'node:fs';

import { expect } from 'chai';

import type { FileSystem } from '#shared/fs/file-system';
import { ShortWrite } from '#shared/fs/node-file';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { syncedFile } from '#shared/fs/synced-file';
import { StorageRig } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

describe('a flush', () => {
  const cleanUps: (() => void)[] = [];
  const newFolder = (): string => tempFolder((cleanUp) => cleanUps.push(cleanUp));
  after(() => {
    for (const cleanUp of cleanUps) cleanUp();
  });

  it('stores rows for which the disk has no space before they are compressed', async () => {
    const refused: string[] = [];
    const full: FileSystem = {
      ...nodeFileSystem,
      async open(path, mode) {
        const file = await nodeFileSystem.open(path, mode);
        if (!path.endsWith('.staged')) return file;
        refused.push(path);
        return { ...syncedFile(file), append: () => Promise.reject(new ShortWrite(0, 1)) };
      },
    };
    const rig = await StorageRig.start(newFolder(), { fs: full });
    const table = await rig.table('t', {}, 'b');
    const rows = [1n, 2n].map((time) => ({ host: 'x', time, a: 1, b: -0.5 }));
    await rig.write(table, rows);
    await rig.flush(table);
    expect(refused).to.have.length(1);
    expect(await rig.rows(table)).to.deep.equal(rows);
    const left = readdirSync(rig.folder, { recursive: true, encoding: 'utf8' });
    expect(left.filter((name) => name.endsWith('.staged'))).to.deep.equal([]);
    const image = newFolder();
    rig.crashImage(image);
    await rig.stop();
    const second = await StorageRig.start(image);
    expect(await second.rows(table)).to.deep.equal(rows);
    await second.stop();
  });
});
