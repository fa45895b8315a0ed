import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { InvariantError } from '#shared/errors/invariant';
import { blockingReads } from '#shared/fs/blocking-reads';
import { errorCode } from '#shared/fs/node-file-system';

describe('a file with blocking reads', () => {
  let folder = '';
  let path = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'almanac-file-'));
    path = join(folder, 'segment');
    writeFileSync(path, 'one two three');
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('reads at any position, and fewer bytes only at the end of the file', async () => {
    const file = await blockingReads.open(path, 'read');
    const target = Buffer.alloc(5);
    expect(await file.read(target, 4)).to.equal(5);
    expect(target.toString()).to.equal('two t');
    expect(await file.read(target, 11)).to.equal(2);
    expect(target.toString('utf8', 0, 2)).to.equal('ee');
    expect(await file.read(target, 13)).to.equal(0);
    await file.close();
  });

  it('fails as a promise: for a file that does not exist, and for one that is closed', async () => {
    expect(await blockingReads.open(join(folder, 'none'), 'read').catch(errorCode)).to.equal('ENOENT');
    const file = await blockingReads.open(path, 'read');
    await file.close();
    expect(await file.read(Buffer.alloc(1), 0).catch(errorCode)).to.equal('ERR_OUT_OF_RANGE');
  });

  it('changes nothing', async () => {
    const file = await blockingReads.open(path, 'read');
    for (const call of [file.append([Buffer.from('x')]), file.truncate(0), file.syncData(), file.sync()]) {
      expect(await call.catch((error: unknown) => error)).to.be.instanceOf(InvariantError);
    }
    await file.close();
    for (const mode of ['append', 'update'] as const) {
      expect(await blockingReads.open(path, mode).catch((error: unknown) => error)).to.be.instanceOf(InvariantError);
    }
  });
});
