import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { checkRegions } from '#services/cli/check/check-store';
import { FileChecker } from '#services/cli/check/file-checker';
import { Report } from '#services/cli/check/report';
import { CatalogCopy } from '#services/metadata/index';
import { systemClock } from '#shared/clock/clock';
import type { Problem } from '#shared/errors/problem';
import { nodeFileSystem as fs } from '#shared/fs/node-file-system';
import { parquetPaths } from '#test/support/parquet-table';
import { StorageRig } from '#test/support/storage-rig';
import { tempFolder } from '#test/support/temp-folder';

describe('checking files while segments are merged', () => {
  const cleanUps: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  it('skips files that are no longer live, and reports those that are', async () => {
    const rig = await StorageRig.start(tempFolder((cleanUp) => cleanUps.push(cleanUp)));
    cleanUps.push(() => rig.stop());
    const scratch = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const take = async (name: string): Promise<CatalogCopy> => {
      mkdirSync(join(scratch, name));
      const folder = join(rig.folder, 'metadata');
      return CatalogCopy.take({ folder, scratch: join(scratch, name), fs, clock: systemClock });
    };
    const table = await rig.table('t');
    for (let i = 0; i < 2; i++) {
      await rig.write(table, [{ host: 'x', time: BigInt(i), a: i }]);
      await rig.flush(table);
    }
    const before = await take('before');
    cleanUps.push(() => before.close());
    const old = parquetPaths(rig.folder).filter((path) => !path.includes('series-'));
    expect(await rig.compact(table)).to.equal(2);
    // As the server does after the grace time.
    for (const path of old) rmSync(path);

    const storeFolder = join(rig.folder, 'store');
    const files = await FileChecker.open(storeFolder, { fs, scratch: join(scratch, 'spill'), isQuick: false });
    cleanUps.push(() => files.close());
    const problemsOf = async (catalog: CatalogCopy, again: string): Promise<string[]> => {
      const problems: Problem[] = [];
      const report = new Report({ problem: (problem) => problems.push(problem), note: () => undefined });
      const progress = { expect: () => undefined, done: () => undefined, end: () => undefined };
      await checkRegions({ catalog, files, storeFolder, fs, report, again: () => take(again), progress });
      return problems.map(({ path, what }) => `${path} ${what}`);
    };
    expect(await problemsOf(before, 'after')).to.deep.equal([]);
    const [live] = parquetPaths(rig.folder).filter((path) => !path.includes('series-'));
    rmSync(live);
    const present = await take('present');
    cleanUps.push(() => present.close());
    expect(await problemsOf(present, 'still')).to.deep.equal([`${live} is missing`]);
  });
});
