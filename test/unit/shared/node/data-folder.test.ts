import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import type { FileSystem } from '#shared/fs/file-system';
import { tryLockFolder } from '#shared/fs/folder-lock';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { DataFolder } from '#shared/node/data-folder';
import { failure } from '#test/support/failure';
import { ManualClock } from '#test/support/manual-clock';
import { tempFolder } from '#test/support/temp-folder';

const [CLUSTER, OTHER] = ['c'.repeat(32), 'd'.repeat(32)];

describe('a data folder', () => {
  const cleanUps: (() => void)[] = [];
  let folder = '';
  let file = '';

  beforeEach(() => {
    folder = join(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      'data',
    );
    file = join(folder, 'identity/folder.json');
  });
  afterEach(() => {
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
  });

  const open = (fs: FileSystem = nodeFileSystem): Promise<DataFolder> =>
    DataFolder.open(folder, { fs, clock: systemClock, random: systemRandom });

  it('gets an identity, which stays', async () => {
    const made = await open();
    expect(made.id).to.match(/^[0-9a-f]{32}$/);
    expect(made.clusterId).to.equal('');
    expect((await open()).id).to.equal(made.id);
    expect(JSON.parse(readFileSync(file, 'utf8'))).to.deep.equal({ folderId: made.id, clusterId: '' });
  });

  it('gets an identity if it is older than identities', async () => {
    mkdirSync(join(folder, 'slots/0'), { recursive: true });
    expect((await open()).id).to.match(/^[0-9a-f]{32}$/);
  });

  it('has one identity, however many processes open it at once', async () => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => open()));
    expect(new Set(opened.map(({ id }) => id)).size).to.equal(1);
  });

  it('belongs to the first cluster that binds it', async () => {
    const [first, second] = [await open(), await open()];
    await first.bind(CLUSTER);
    await first.bind(CLUSTER);
    await second.bind(CLUSTER);
    expect((await open()).clusterId).to.equal(CLUSTER);
    const late = await failure((await open()).bind(OTHER));
    expect(late.code).to.equal('illegal_state');
    expect(late.message).to.contain(CLUSTER).and.to.contain(OTHER).and.to.contain(first.id);
    expect((await open()).clusterId).to.equal(CLUSTER);
  });

  it('is bound to one of two clusters that try at once', async () => {
    const [first, second] = [await open(), await open()];
    const outcomes = await Promise.allSettled([first.bind(CLUSTER), second.bind(OTHER)]);
    expect(outcomes.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
    expect(first.clusterId).to.equal(second.clusterId);
  });

  it('has a complete identity or none after a crash', async () => {
    mkdirSync(join(folder, 'identity'), { recursive: true });
    writeFileSync(`${file}.new`, '{"folderId":"12');
    const { id } = await open();
    expect(JSON.parse(readFileSync(file, 'utf8'))).to.deep.equal({ folderId: id, clusterId: '' });
    expect(existsSync(`${file}.new`)).to.equal(false);
  });

  it('has an identity only once that is durable, even if another process wrote it', async () => {
    const synced: string[] = [];
    const noting = {
      ...nodeFileSystem,
      async syncFolder(path: string) {
        await nodeFileSystem.syncFolder(path);
        synced.push(path);
      },
    };
    await open(noting);
    expect(synced).to.deep.equal([join(folder, 'identity'), folder]);
    await open(noting);
    expect(synced.slice(2)).to.deep.equal([join(folder, 'identity'), folder]);
  });

  for (const text of ['', '{"folderId":"12', '[]', 'null', '{"folderId":"x","clusterId":""}', '{"folderId":7}']) {
    it(`with ${JSON.stringify(text)} as its identity is an error`, async () => {
      mkdirSync(join(folder, 'identity'), { recursive: true });
      writeFileSync(file, text);
      const error = await failure(open());
      expect(error.code).to.equal('storage_unavailable');
      expect(error.message).to.contain(`"${file}" is damaged`);
      expect(readFileSync(file, 'utf8')).to.equal(text);
    });
  }

  it('is an error while another process locks it', async () => {
    mkdirSync(join(folder, 'identity'), { recursive: true });
    const unlock = tryLockFolder(join(folder, 'identity'));
    const clock = new ManualClock();
    const opening = failure(DataFolder.open(folder, { fs: nodeFileSystem, clock, random: systemRandom }));
    let isOver = false;
    void opening.then(() => (isOver = true));
    while (!isOver) {
      await clock.advance(1_000);
      await systemClock.yield();
    }
    expect((await opening).message).to.contain('has been locked by another process');
    unlock?.();
  });

  it('is an error that names it if it cannot be created or written', async () => {
    const inFile = join(folder, '..', 'file');
    writeFileSync(inFile, '');
    const deps = { fs: nodeFileSystem, clock: systemClock, random: systemRandom };
    expect((await failure(DataFolder.open(inFile, deps))).message).to.contain(`data folder "${inFile}" cannot be made`);
    // Not even root can make anything in /sys.
    expect((await failure(DataFolder.open('/sys', deps))).message).to.contain('data folder "/sys" cannot be written');
  });
});
