import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import type { Almanac } from '#test/support/almanac';
import { BackupRig, filesOf, type ListedFile } from '#test/support/backup-rig';
import { folderSums } from '#test/support/folder-sums';
import { runAlmanac } from '#test/support/program';

describe('almanac backup and restore', function () {
  this.timeout(180_000);
  const rig = new BackupRig();
  const folder = (): string => rig.folder();
  const shared = new BackupRig();
  /** Runs throughout, with the rows that `expectRows` expects. */
  let server: Almanac;

  before(async () => {
    server = await shared.startWithRows();
  });
  after(() => shared.cleanUp());
  afterEach(() => rig.cleanUp());

  it('refuses overlapping and non-empty folders', async () => {
    const data = server.folder;
    const other = folder();
    const full = join(folder(), 'full');
    mkdirSync(full);
    writeFileSync(join(full, 'a'), '');
    symlinkSync(data, join(other, 'to-data'));
    symlinkSync(join(other, 'loop'), join(other, 'loop'));
    symlinkSync(join(other, 'nowhere'), join(other, 'dangling'));
    const apart = 'must be separate from';
    for (const [target, reason] of [
      [data, apart],
      [join(data, 'backup'), apart],
      [join(data, 'store/backup'), apart],
      [`${data}/x/../../${data.slice(data.lastIndexOf('/') + 1)}/y`, apart],
      [join(data, '..'), apart],
      ['/', apart],
      [join(other, 'to-data'), apart],
      [join(other, 'to-data/deep/er'), apart],
      [join(other, 'loop'), 'loop'],
      [join(other, 'loop/x'), 'loop'],
      [full, 'is not empty'],
      [join(full, 'a'), 'is not a folder'],
    ]) {
      await rig.refused(rig.backup(server, target), reason, 2);
    }
    await rig.refused(rig.backup(server, join(full, 'a/b')), 'cannot be used', 2);
    await rig.refused(rig.backup(server, join(other, 'dangling')), 'dangling');
    await rig.refused(rig.backup(server, '/proc/backup'), '/proc/backup');
    expect(readdirSync(full)).to.deep.equal(['a']);
    expect(existsSync(join(data, 'backup'))).to.equal(false);
    await rig.refused(runAlmanac(['backup', other, '--data-dir', full]), 'has no metadata/almanac.db', 2);
    // A relative folder is one of the shell that the command is given in.
    const flags = ['--data-dir', data, '--host', server.url];
    await rig.done(runAlmanac(['backup', 'here/there', ...flags], { folder: full }));

    const source = join(full, 'here/there');
    for (const [target, reason] of [
      [source, apart],
      [join(source, 'data'), apart],
      [full, apart],
      [join(other, 'loop'), 'loop'],
      [other, 'is not empty'],
      [data, 'is not empty'],
    ]) {
      await rig.refused(rig.restore(source, target), reason, 2);
    }
    await rig.refused(rig.restore(join(other, 'loop'), folder()), 'loop');
    await rig.refused(rig.restore(join(other, 'none'), folder()), 'is not a complete backup');
    await rig.expectRows(server);
  });

  it('refuses a damaged or incomplete backup, and leaves no file', async () => {
    const whole = join(folder(), 'backup');
    await rig.done(rig.backup(server, whole));
    const files = filesOf(whole);
    const segment = files.find(({ path }) => path.startsWith('store/'))!.path;

    // What a restore refuses a check finds, without a restore.
    expect(await rig.done(runAlmanac(['check', whole]))).to.match(
      /^note: "[^"]+" is a backup\nchecked \d+ segments .* 0 problems\n$/,
    );
    const before = folderSums(whole);
    const refuses = async (damage: (copy: string) => void, reason: string): Promise<void> => {
      const copy = join(folder(), 'copy');
      cpSync(whole, copy, { recursive: true });
      damage(copy);
      const data = folder();
      const found = existsSync(join(copy, 'backup.json')) ? 1 : 0;
      const { code, stdout, stderr } = await runAlmanac(['check', copy]);
      expect(code, `${reason}: ${stdout}${stderr}`).to.equal(found);
      await rig.refused(rig.restore(copy, data), reason);
      expect(readdirSync(data)).to.deep.equal([]);
      expect(existsSync(join(copy, 'metadata/almanac.db-wal'))).to.equal(false);
    };
    await refuses((copy) => flip(join(copy, segment)), 'its checksum does not match');
    await refuses((copy) => flip(join(copy, 'metadata/almanac.db')), 'its checksum does not match');
    await refuses((copy) => appendFileSync(join(copy, segment), 'x'), 'bytes, not');
    await refuses((copy) => rmSync(join(copy, segment)), 'is missing');
    await refuses((copy) => rmSync(join(copy, 'backup.json')), 'is not a complete backup');
    await refuses((copy) => writeFileSync(join(copy, 'backup.json'), '{"format":1'), 'is damaged');
    await refuses((copy) => writeFileSync(join(copy, 'backup.json'), 'null'), 'is damaged');
    await refuses((copy) => edit(copy, (list) => ({ ...list, format: 2 })), 'use a newer release');
    await refuses((copy) => edit(copy, (list) => ({ ...list, files: list.files.slice(0, -1) })), 'does not have');
    await refuses((copy) => edit(copy, (list) => ({ ...list, files: list.files.slice(1) })), 'does not name');
    for (const path of ['store/../../etc/1.parquet', '/etc/passwd', 'store/1/1/1/../../x.parquet', 'slots/0/wal', '']) {
      const outside = { path, bytes: 1, crc32c: 1 };
      await refuses((copy) => edit(copy, (list) => ({ ...list, files: [...list.files, outside] })), 'has an entry');
    }

    expect(folderSums(whole)).to.deep.equal(before);

    // The data folder itself: what is damaged there is not backed up.
    const target = folder();
    flip(join(server.folder, segment));
    try {
      await rig.refused(rig.backup(server, target, '--copy'), 'its checksum does not match');
    } finally {
      flip(join(server.folder, segment));
    }
    expect(readdirSync(target)).to.deep.equal([]);
  });

  it('creates folders in which no process starts, because it would change the backup', async () => {
    // The same row again, so that the log has one that is in no segment.
    await rig.write(server, 'm,h=a v=3 3');
    const target = join(folder(), 'backup');
    await rig.done(rig.backup(server, target, '--copy'));
    const before = folderSums(target);
    const addresses = ['--grpc-addr', '127.0.0.1:0', '--metadata-addr', '127.0.0.1:9'];
    for (const [role, ...flags] of [
      ['standalone', '--http-addr', '127.0.0.1:0'],
      ['metadata', ...addresses.slice(0, 2)],
      ['ingester', ...addresses],
      ['querier', ...addresses],
    ]) {
      const { code, stderr } = await runAlmanac([role, '--data-dir', target, ...flags]);
      expect(code, stderr).to.equal(1);
      expect(stderr, role).to.contain('is a backup (it has backup.json)').and.to.contain('almanac restore');
      expect(folderSums(target), role).to.deep.equal(before);
    }
    const data = folder();
    await rig.done(rig.restore(target, data));
    await rig.expectRows(await rig.start(data));
  });

  it('needs the server of the data folder only while its log has rows that are in no segment', async () => {
    const own = await rig.startWithRows();
    const target = join(folder(), 'backup');
    await rig.refused(rig.backup({ folder: own.folder, url: server.url }, target), 'the server of this data folder');
    await own.kill();
    const remedy =
      'ECONNREFUSED; the log has rows that are in no segment yet, and only the server can flush them: start it';
    await rig.refused(rig.backup(own, target), `cannot reach ${own.url}: ${remedy}`);
    expect(existsSync(join(target, 'backup.json'))).to.equal(false);
    const again = await rig.start(own.folder);
    for (const table of ['m', 'other']) await rig.rows(again, `ADMIN flush_table('${table}')`);
    await again.kill();
    await rig.done(rig.backup(own, target));
    const data = folder();
    await rig.done(rig.restore(target, data));
    await rig.expectRows(await rig.start(data));
  });
});

function edit(backup: string, change: (list: { files: ListedFile[] }) => unknown): void {
  const path = join(backup, 'backup.json');
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as { files: ListedFile[] })));
}

/** Flips a bit in the middle of a file. */
function flip(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1] ^= 1;
  writeFileSync(path, bytes);
}
