import { spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac, pollUntil, type HttpApi } from '#test/support/almanac';
import { BackupLoad, LOAD_TABLES } from '#test/support/backup-load';
import { Cluster } from '#test/support/cluster';
import { runAlmanac, type ProgramEnd } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

const PROGRAM = new URL('../../../services/cli/almanac.cjs', import.meta.url).pathname;
const WITHIN_MS = 30_000;
/** Many segments, and merges of them, within seconds. */
const SMALL = {
  ALMANAC_MEMORY__LIMIT: '512MiB',
  ALMANAC_INGESTER__FLUSH_BYTES: '64KiB',
  ALMANAC_WAL__FILE_SIZE: '256KiB',
};

interface ListedFile {
  readonly path: string;
  readonly bytes: number;
  readonly crc32c: number;
}

interface List {
  files: ListedFile[];
}

describe('almanac backup and restore', function () {
  this.timeout(180_000);
  const cleanUps: (() => unknown)[] = [];

  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  const folder = (): string => tempFolder((cleanUp) => cleanUps.push(cleanUp));

  async function start(data: string, environment: Readonly<Record<string, string>> = SMALL): Promise<Almanac> {
    const server = await Almanac.start(data, { environment });
    cleanUps.push(() => server.kill());
    return server;
  }

  function backup(server: { folder: string; url: string }, target: string, ...flags: string[]): Promise<ProgramEnd> {
    return runAlmanac(['backup', target, '--data-dir', server.folder, '--host', server.url, ...flags]);
  }

  function restore(source: string, data: string, ...flags: string[]): Promise<ProgramEnd> {
    return runAlmanac(['restore', source, '--data-dir', data, ...flags]);
  }

  async function done(end: Promise<ProgramEnd>): Promise<string> {
    const { code, stdout, stderr } = await end;
    expect(code, stderr).to.equal(0);
    expect(stderr).to.equal('');
    return stdout;
  }

  async function refused(end: Promise<ProgramEnd>, reason: string, exitCode = 1): Promise<void> {
    const { code, stdout, stderr } = await end;
    expect(stderr).to.contain(reason).and.not.to.contain('    at ');
    expect(code, stderr).to.equal(exitCode);
    expect(stdout).to.equal('');
  }

  async function write(server: HttpApi, lines: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const { status, text } = await server.post('/v1/lineproto/write', lines, headers);
    expect(status, text).to.equal(204);
  }

  async function rows(server: HttpApi, statement: string): Promise<unknown[][]> {
    const answer = await server.sql(statement);
    expect(answer.status, `${statement}: ${answer.text}`).to.equal(200);
    return answer.rows;
  }

  /** A server with segments and rows in its log. */
  async function startWithRows(data = folder()): Promise<Almanac> {
    const server = await start(data);
    await write(server, 'm,h=a v=1 1\nm,h=b v=2 2');
    await rows(server, "ADMIN flush_table('m')");
    await write(server, 'm,h=a v=3 3\nother v=1 1');
    return server;
  }

  const ROWS = [
    ['a', 1],
    ['b', 2],
    ['a', 3],
  ];

  async function expectRows(server: HttpApi): Promise<void> {
    expect(await rows(server, 'SELECT h, v FROM m ORDER BY v')).to.deep.equal(ROWS);
    expect(await rows(server, 'SELECT v FROM other')).to.deep.equal([[1]]);
  }

  it('keep every row that was acknowledged before, under load, and the original goes on', async () => {
    const server = await start(folder());
    for (const statement of LOAD_TABLES) await rows(server, statement);
    const load = new BackupLoad(server);
    load.start();
    const hasLoad = (least: number) => (): Promise<boolean> =>
      Promise.resolve([...load.acknowledged().values()].every((count) => count > least));
    expect(await pollUntil(performance.now() + WITHIN_MS, hasLoad(800))).to.equal(true);

    const kept: { target: string; acknowledged: Map<string, number> }[] = [];
    for (const flags of [[], ['--copy']]) {
      const target = join(folder(), 'not/there');
      const acknowledged = load.acknowledged();
      expect(await done(backup(server, target, ...flags))).to.contain('every row that was acknowledged before');
      kept.push({ target, acknowledged });
    }
    expect(await pollUntil(performance.now() + WITHIN_MS, hasLoad(2_000))).to.equal(true);
    await rows(server, "ADMIN compact_table('replaced')");
    await load.stop();
    await load.check(server, load.acknowledged());

    for (const { target, acknowledged } of kept) {
      const data = folder();
      await done(restore(target, data));
      const restored = await start(data);
      await load.check(restored, acknowledged);
      await restored.kill();
      const again = await start(data);
      await load.check(again, acknowledged);
      expect(await again.stop()).to.equal(0);
    }
  });

  it('make an instance of its own, which runs beside the original, and leave the backup as it is', async () => {
    const server = await startWithRows();
    const [target, copy] = [join(folder(), 'backup'), join(folder(), 'copy')];
    await done(backup(server, target));
    await done(backup(server, copy, '--copy'));
    const [linked, copied] = [filesOf(target), filesOf(copy)];
    const isShared = (root: string, path: string): boolean => statSync(join(root, path)).nlink > 1;
    expect(linked.filter(({ path }) => isShared(target, path)).length).to.equal(linked.length - 1);
    expect(isShared(target, 'metadata/almanac.db')).to.equal(false);
    expect(copied.filter(({ path }) => isShared(copy, path))).to.deep.equal([]);

    const restored: Almanac[] = [];
    for (const flags of [[], ['--link']]) {
      const data = join(folder(), 'data');
      expect(await done(restore(target, data, ...flags))).to.contain(`almanac standalone --data-dir ${data}\n`);
      restored.push(await start(data));
    }
    const all = [server, ...restored];
    for (const [i, each] of all.entries()) {
      await write(each, `m,h=new${i} v=${10 + i} 4\nm,h=b v=${20 + i} 5`);
      await rows(each, "ADMIN flush_table('m')");
      await rows(each, "ADMIN compact_table('m')");
      await write(each, `fresh v=${i} 1`);
    }
    for (const [i, each] of all.entries()) {
      await each.kill();
      const again = await start(each.folder);
      const expected = [...ROWS, [`new${i}`, 10 + i], ['b', 20 + i]];
      expect(await rows(again, 'SELECT h, v FROM m ORDER BY v')).to.deep.equal(expected);
      expect(await rows(again, 'SELECT v FROM fresh')).to.deep.equal([[i]]);
    }
    const identities = all.map((each) => readFileSync(join(each.folder, 'identity/folder.json'), 'utf8'));
    const ids = identities.flatMap((text) => Object.values(JSON.parse(text) as Record<string, string>));
    expect(new Set(ids).size).to.equal(2 * all.length);
    const last = join(folder(), 'last');
    await done(restore(target, last));
    await expectRows(await start(last));
    expect(filesOf(target)).to.deep.equal(linked);
  });

  it('know a request that is sent again under its key, and only if its rows are there', async () => {
    const server = await start(folder());
    const append = `CREATE TABLE a (v DOUBLE, ts TIMESTAMP(9) TIME INDEX) WITH (append_mode = 'true')`;
    await rows(server, append);
    const target = join(folder(), 'backup');
    await write(server, 'a v=1 1', { 'idempotency-key': 'before' });
    await done(backup(server, target));
    await write(server, 'a v=2 2', { 'idempotency-key': 'after' });
    // A backup of the restored one knows what the first one knew.
    let data = folder();
    await done(restore(target, data));
    const first = await start(data);
    const second = join(folder(), 'second');
    await done(backup(first, second));
    data = folder();
    await done(restore(second, data));
    for (const each of [first, await start(data)]) {
      for (const key of ['before', 'after', 'after']) {
        await write(each, key === 'before' ? 'a v=1 1' : 'a v=2 2', { 'idempotency-key': key });
      }
      expect(await rows(each, 'SELECT v FROM a ORDER BY v')).to.deep.equal([[1], [2]]);
    }
  });

  it('refuse folders that would be in the way', async () => {
    const server = await startWithRows();
    const data = server.folder;
    const other = folder();
    const full = join(folder(), 'full');
    mkdirSync(full);
    writeFileSync(join(full, 'a'), '');
    symlinkSync(data, join(other, 'to-data'));
    symlinkSync(join(other, 'loop'), join(other, 'loop'));
    symlinkSync(join(other, 'nowhere'), join(other, 'dangling'));
    const apart = 'must be neither';
    for (const [target, reason] of [
      [data, apart],
      [join(data, 'backup'), apart],
      [join(data, 'store/backup'), apart],
      [`${data}/x/../../${data.slice(data.lastIndexOf('/') + 1)}/y`, apart],
      [join(data, '..'), apart],
      ['/', apart],
      [join(other, 'to-data'), apart],
      [join(other, 'to-data/deep/er'), apart],
      [join(other, 'loop'), 'circle'],
      [join(other, 'loop/x'), 'circle'],
      [full, 'is not empty'],
      [join(full, 'a'), 'is no folder'],
    ]) {
      await refused(backup(server, target), reason, 2);
    }
    await refused(backup(server, join(full, 'a/b')), 'cannot be used', 2);
    await refused(backup(server, join(other, 'dangling')), 'dangling');
    await refused(backup(server, '/proc/backup'), '/proc/backup');
    expect(readdirSync(full)).to.deep.equal(['a']);
    expect(existsSync(join(data, 'backup'))).to.equal(false);
    await refused(runAlmanac(['backup', other, '--data-dir', full]), 'has no metadata/almanac.db', 2);
    // A relative folder is one of the shell that the command is given in.
    const flags = ['--data-dir', data, '--host', server.url];
    await done(runAlmanac(['backup', 'here/there', ...flags], { folder: full }));

    const source = join(full, 'here/there');
    for (const [target, reason] of [
      [source, apart],
      [join(source, 'data'), apart],
      [full, apart],
      [join(other, 'loop'), 'circle'],
      [other, 'is not empty'],
      [data, 'is not empty'],
    ]) {
      await refused(restore(source, target), reason, 2);
    }
    await refused(restore(join(other, 'loop'), folder()), 'loop');
    await refused(restore(join(other, 'none'), folder()), 'is no backup');
    await expectRows(server);
  });

  it('refuse a backup that is damaged or not whole, and leave nothing then', async () => {
    const server = await startWithRows();
    const whole = join(folder(), 'backup');
    await done(backup(server, whole));
    const files = filesOf(whole);
    const segment = files.find(({ path }) => path.startsWith('store/'))!.path;

    const refuses = async (damage: (copy: string) => void, reason: string): Promise<void> => {
      const copy = join(folder(), 'copy');
      cpSync(whole, copy, { recursive: true });
      damage(copy);
      const data = folder();
      await refused(restore(copy, data), reason);
      expect(readdirSync(data).filter((name) => !name.startsWith('lock.db'))).to.deep.equal([]);
      expect(existsSync(join(copy, 'metadata/almanac.db-wal'))).to.equal(false);
    };
    await refuses((copy) => flip(join(copy, segment)), 'its checksum does not match');
    await refuses((copy) => flip(join(copy, 'metadata/almanac.db')), 'its checksum does not match');
    await refuses((copy) => appendFileSync(join(copy, segment), 'x'), 'bytes, not');
    await refuses((copy) => rmSync(join(copy, segment)), 'is missing');
    await refuses((copy) => rmSync(join(copy, 'backup.json')), 'was cut short');
    await refuses((copy) => writeFileSync(join(copy, 'backup.json'), '{"format":1'), 'is damaged');
    await refuses((copy) => writeFileSync(join(copy, 'backup.json'), 'null'), 'is damaged');
    await refuses((copy) => edit(copy, (list) => ({ ...list, format: 2 })), 'use a newer release');
    await refuses((copy) => edit(copy, (list) => ({ ...list, files: list.files.slice(0, -1) })), 'does not have');
    await refuses((copy) => edit(copy, (list) => ({ ...list, files: list.files.slice(1) })), 'does not name');
    for (const path of ['store/../../etc/1.parquet', '/etc/passwd', 'store/1/1/1/../../x.parquet', 'slots/0/wal', '']) {
      const outside = { path, bytes: 1, crc32c: 1 };
      await refuses((copy) => edit(copy, (list) => ({ ...list, files: [...list.files, outside] })), 'has an entry');
    }

    // The data folder itself: what is damaged there is not backed up.
    flip(join(server.folder, segment));
    const target = folder();
    await refused(backup(server, target, '--copy'), 'its checksum does not match');
    expect(readdirSync(target)).to.deep.equal([]);
  });

  it('that were killed are not taken for whole ones, and can be done again', async () => {
    const server = await start(folder());
    for (const statement of LOAD_TABLES) await rows(server, statement);
    const load = new BackupLoad(server);
    load.start();
    const lists = ['merged', 'replaced', 'appended', 'metric_0', 'metric_1'];
    const isEnough = (): Promise<boolean> =>
      Promise.resolve(lists.every((name) => (load.acknowledged().get(name) ?? 0) > 2_000));
    expect(await pollUntil(performance.now() + WITHIN_MS, isEnough)).to.equal(true);
    const acknowledged = load.acknowledged();

    const cut = await killed(folder, 'metadata/almanac.db', 'backup.json', (target) => [
      ...['backup', target, '--copy'],
      ...['--data-dir', server.folder, '--host', server.url],
    ]);
    await refused(restore(cut, folder()), 'is no backup, or one that was cut short');
    await refused(backup(server, cut), 'is not empty', 2);
    const target = folder();
    await done(backup(server, target));
    await load.stop();

    const data = await killed(folder, 'restore.unfinished', 'identity', (to) => ['restore', target, '--data-dir', to]);
    for (const role of ['standalone', 'metadata']) {
      const { code, stderr } = await runAlmanac([role, '--data-dir', data]);
      expect(code).to.equal(1);
      expect(stderr).to.contain('is under way or was cut short');
    }
    await done(restore(target, data));
    await load.check(await start(data), acknowledged);
    await load.check(server, load.acknowledged());
  });

  it('need the server of the data folder only while its log has rows that are in no segment', async () => {
    const [server, other] = [await startWithRows(), await startWithRows()];
    const target = join(folder(), 'backup');
    await refused(backup({ folder: server.folder, url: other.url }, target), 'the server of this data folder');
    await server.kill();
    await refused(backup(server, target), 'cannot reach');
    expect(existsSync(join(target, 'backup.json'))).to.equal(false);
    const again = await start(server.folder);
    for (const table of ['m', 'other']) await rows(again, `ADMIN flush_table('${table}')`);
    await again.kill();
    await done(backup(server, target));
    const data = folder();
    await done(restore(target, data));
    await expectRows(await start(data));
  });

  it('find the log where it is kept apart, and any name of a table', async () => {
    const [data, walDir] = [folder(), folder()];
    const server = await start(data, { ...SMALL, ALMANAC_WAL__DIR: walDir });
    await rows(server, 'CREATE DATABASE "a.b-c"');
    const names = ["it's", '"quoted"', "a';b", 'größer.als', 'Case', 'case'];
    const lines = names.map((name, i) => `${name} v=${i} 1`).join('\n');
    expect((await server.write(lines, 'db=a.b-c')).status).to.equal(204);
    const target = folder();
    await refused(backup(server, target), 'wal.dir');
    const { code, stderr } = await runAlmanac(['backup', target, '--data-dir', data, '--host', server.url], {
      environment: { ALMANAC_WAL__DIR: walDir },
    });
    expect(code, stderr).to.equal(0);
    const to = folder();
    await done(restore(target, to));
    const restored = await start(to);
    for (const [i, name] of names.entries()) {
      const quoted = `"${name.replaceAll('"', '""')}"`;
      expect(await rows(restored, `SELECT v FROM "a.b-c".${quoted}`), name).to.deep.equal([[i]]);
    }
  });

  it('take a cluster over one folder, and make a standalone server or a cluster of it', async () => {
    const cluster = await Cluster.start(folder(), { ingesters: 2, environment: { ALMANAC_MEMORY__LIMIT: '256MiB' } });
    cleanUps.push(() => cluster.killAll());
    const lines = Array.from({ length: 200 }, (_, i) => `m,h=${i} v=${i} ${i + 1}`).join('\n');
    await write(cluster, lines);
    const target = join(folder(), 'backup');
    await done(backup(cluster, target));
    await write(cluster, 'm,h=later v=1 1');
    const expected = [[200, 19_900]];
    const question = 'SELECT count(*), sum(v) FROM m';
    const [alone, together] = [folder(), folder()];
    await done(restore(target, alone));
    expect(await rows(await start(alone), question)).to.deep.equal(expected);
    await done(restore(target, together));
    const second = await Cluster.start(together, { ingesters: 2, environment: { ALMANAC_MEMORY__LIMIT: '256MiB' } });
    cleanUps.push(() => second.killAll());
    expect(await rows(second, question)).to.deep.equal(expected);
    await write(second, 'm,h=0 v=1000 1');
    expect(await rows(second, question)).to.deep.equal([[200, 20_900]]);
    expect(await rows(cluster, 'SELECT count(*) FROM m')).to.deep.equal([[201]]);
  });
});

function filesOf(backup: string): ListedFile[] {
  return (JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8')) as List).files;
}

function edit(backup: string, change: (list: List) => unknown): void {
  const path = join(backup, 'backup.json');
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as List)));
}

/** Flips a bit in the middle of a file. */
function flip(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1] ^= 1;
  writeFileSync(path, bytes);
}

/**
 * Runs `almanac` on new folders until it was killed after it had made one file there and before it made another.
 *
 * @returns the folder.
 */
async function killed(
  folder: () => string,
  after: string,
  before: string,
  args: (target: string) => readonly string[],
): Promise<string> {
  for (;;) {
    const target = folder();
    const child = spawn(process.execPath, [PROGRAM, ...args(target)], { stdio: 'ignore' });
    const ended = new Promise((resolve) => child.on('close', resolve));
    await pollUntil(performance.now() + WITHIN_MS, () => Promise.resolve(existsSync(join(target, after))));
    child.kill('SIGKILL');
    await ended;
    if (existsSync(join(target, after)) && !existsSync(join(target, before))) return target;
  }
}
