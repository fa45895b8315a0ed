import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { pollUntil, type Almanac } from '#test/support/almanac';
import { BackupLoad, LOAD_TABLES } from '#test/support/backup-load';
import { BackupRig, filesOf, ROWS, SMALL } from '#test/support/backup-rig';
import { Cluster } from '#test/support/cluster';
import { runAlmanac } from '#test/support/program';

const PROGRAM = new URL('../../../services/cli/almanac.cjs', import.meta.url).pathname;
const WITHIN_MS = 30_000;

describe('almanac backup and restore', function () {
  this.timeout(180_000);
  const rig = new BackupRig();
  const folder = (): string => rig.folder();

  afterEach(() => rig.cleanUp());

  it('keeps every acknowledged row under load, and the original continues to run', async () => {
    const server = await rig.start(folder());
    for (const statement of LOAD_TABLES) await rig.rows(server, statement);
    const load = new BackupLoad(server);
    load.start();
    const hasLoad = (least: number) => (): Promise<boolean> =>
      Promise.resolve([...load.acknowledged().values()].every((count) => count > least));
    expect(await pollUntil(performance.now() + WITHIN_MS, hasLoad(800))).to.equal(true);

    const kept: { target: string; acknowledged: Map<string, number> }[] = [];
    for (const flags of [[], ['--copy']]) {
      const target = join(folder(), 'not/there');
      const acknowledged = load.acknowledged();
      expect(await rig.done(rig.backup(server, target, ...flags))).to.contain('every row that was acknowledged before');
      kept.push({ target, acknowledged });
    }
    expect(await pollUntil(performance.now() + WITHIN_MS, hasLoad(2_000))).to.equal(true);
    await rig.rows(server, "ADMIN compact_table('replaced')");
    await load.stop();
    await load.check(server, load.acknowledged());

    for (const { target, acknowledged } of kept) {
      const data = folder();
      await rig.done(rig.restore(target, data));
      const restored = await rig.start(data);
      await load.check(restored, acknowledged);
      await restored.kill();
      const again = await rig.start(data);
      await load.check(again, acknowledged);
      expect(await again.stop()).to.equal(0);
    }
  });

  it('creates an independent instance that runs beside the original, and leaves the backup unchanged', async () => {
    const server = await rig.startWithRows();
    const [target, copy] = [join(folder(), 'backup'), join(folder(), 'copy')];
    // Two at once take turns.
    await Promise.all([rig.done(rig.backup(server, target)), rig.done(rig.backup(server, copy, '--copy'))]);
    const [linked, copied] = [filesOf(target), filesOf(copy)];
    const isShared = (root: string, path: string): boolean => statSync(join(root, path)).nlink > 1;
    expect(linked.filter(({ path }) => isShared(target, path)).length).to.equal(linked.length - 1);
    expect(isShared(target, 'metadata/almanac.db')).to.equal(false);
    expect(copied.filter(({ path }) => isShared(copy, path))).to.deep.equal([]);

    const restored: Almanac[] = [];
    for (const flags of [[], ['--link']]) {
      const data = join(folder(), 'data');
      expect(await rig.done(rig.restore(target, data, ...flags))).to.contain(`almanac standalone --data-dir ${data}\n`);
      restored.push(await rig.start(data));
    }
    const all = [server, ...restored];
    for (const [i, each] of all.entries()) {
      await rig.write(each, `m,h=new${i} v=${10 + i} 4\nm,h=b v=${20 + i} 5`);
      await rig.rows(each, "ADMIN flush_table('m')");
      await rig.rows(each, "ADMIN compact_table('m')");
      await rig.write(each, `fresh v=${i} 1`);
    }
    for (const [i, each] of all.entries()) {
      await each.kill();
      const again = await rig.start(each.folder);
      const expected = [...ROWS, [`new${i}`, 10 + i], ['b', 20 + i]];
      expect(await rig.rows(again, 'SELECT h, v FROM m ORDER BY v')).to.deep.equal(expected);
      expect(await rig.rows(again, 'SELECT v FROM fresh')).to.deep.equal([[i]]);
    }
    const identities = all.map((each) => readFileSync(join(each.folder, 'identity/folder.json'), 'utf8'));
    const ids = identities.flatMap((text) => Object.values(JSON.parse(text) as Record<string, string>));
    expect(new Set(ids).size).to.equal(2 * all.length);
    const last = join(folder(), 'last');
    await rig.done(rig.restore(target, last));
    await rig.expectRows(await rig.start(last));
    expect(filesOf(target)).to.deep.equal(linked);
  });

  it('recognises a request that is repeated under its key, and only if its rows are there', async () => {
    const server = await rig.start(folder());
    const append = `CREATE TABLE a (v DOUBLE, ts TIMESTAMP(9) TIME INDEX) WITH (append_mode = 'true')`;
    await rig.rows(server, append);
    const target = join(folder(), 'backup');
    await rig.write(server, 'a v=1 1', { 'idempotency-key': 'before' });
    await rig.done(rig.backup(server, target));
    await rig.write(server, 'a v=2 2', { 'idempotency-key': 'after' });
    // A backup of the restored one knows what the first one knew.
    let data = folder();
    await rig.done(rig.restore(target, data));
    const first = await rig.start(data);
    const second = join(folder(), 'second');
    await rig.done(rig.backup(first, second));
    data = folder();
    await rig.done(rig.restore(second, data));
    for (const each of [first, await rig.start(data)]) {
      for (const key of ['before', 'after', 'after']) {
        await rig.write(each, key === 'before' ? 'a v=1 1' : 'a v=2 2', { 'idempotency-key': key });
      }
      expect(await rig.rows(each, 'SELECT v FROM a ORDER BY v')).to.deep.equal([[1], [2]]);
    }
  });

  it('accepts an instance without tables, before and after its first start', async () => {
    const server = await rig.start(folder());
    let target = folder();
    await rig.done(rig.backup(server, target));
    const data = folder();
    await rig.done(rig.restore(target, data));
    target = folder();
    await rig.done(rig.backup({ folder: data, url: server.url }, target));
    const restored = await rig.start(data);
    await rig.write(restored, 'm v=1 1');
    expect(await rig.rows(restored, 'SELECT v FROM m')).to.deep.equal([[1]]);
  });

  it('follows symbolic links by which segments were moved to another disk', async () => {
    const server = await rig.startWithRows();
    const [disk, target, data] = [folder(), folder(), folder()];
    await rig.refused(rig.backup(server, join(server.folder, 'store')), 'must be separate from', 2);
    expect(await server.stop()).to.equal(0);
    const segments = filesUnder(join(server.folder, 'store')).filter((path) => path.endsWith('.parquet'));
    for (const [i, path] of segments.entries()) {
      renameSync(path, join(disk, `${i}`));
      symlinkSync(join(disk, `${i}`), path);
    }
    renameSync(join(server.folder, 'store'), join(disk, 'store'));
    symlinkSync(join(disk, 'store'), join(server.folder, 'store'));
    const again = await rig.start(server.folder);
    await rig.refused(rig.backup(again, join(disk, 'store/backup')), 'must be separate from', 2);
    await rig.done(rig.backup(again, target));
    await again.kill();
    rmSync(disk, { recursive: true });
    await rig.done(rig.restore(target, data, '--link'));
    await rig.expectRows(await rig.start(data));
  });

  it('does not mistake an interrupted run for a complete one, and can be repeated', async () => {
    const server = await rig.start(folder());
    for (const statement of LOAD_TABLES) await rig.rows(server, statement);
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
    await rig.refused(rig.restore(cut, folder()), 'is not a complete backup');
    await rig.refused(rig.backup(server, cut), 'is not empty', 2);
    const target = folder();
    await rig.done(rig.backup(server, target));
    await load.stop();

    const data = await killed(folder, 'restore.unfinished', 'identity', (to) => ['restore', target, '--data-dir', to]);
    for (const role of ['standalone', 'metadata']) {
      const { code, stderr } = await runAlmanac([role, '--data-dir', data]);
      expect(code).to.equal(1);
      expect(stderr).to.contain('is running or was interrupted');
    }
    const checked = await runAlmanac(['check', data]);
    expect(checked.code, checked.stderr).to.equal(1);
    expect(checked.stdout).to.contain('a restore into this folder is running, or was interrupted');
    expect(checked.stdout).to.contain('run almanac restore again').and.to.contain(' 1 problems');
    await rig.done(rig.restore(target, data));
    await load.check(await rig.start(data), acknowledged);
    await load.check(server, load.acknowledged());
  });

  it('finds a log in a separate folder, and tables with any name', async () => {
    const [data, walDir] = [folder(), folder()];
    const server = await rig.start(data, { ...SMALL, ALMANAC_WAL__DIR: walDir });
    await rig.rows(server, 'CREATE DATABASE "a.b-c"');
    const names = ["it's", '"quoted"', "a';b", 'größer.als', 'Case', 'case'];
    const lines = names.map((name, i) => `${name} v=${i} 1`).join('\n');
    expect((await server.write(lines, 'db=a.b-c')).status).to.equal(204);
    const target = folder();
    await rig.refused(rig.backup(server, target), 'wal.dir');
    const { code, stderr } = await runAlmanac(['backup', target, '--data-dir', data, '--host', server.url], {
      environment: { ALMANAC_WAL__DIR: walDir },
    });
    expect(code, stderr).to.equal(0);
    const to = folder();
    await rig.done(rig.restore(target, to));
    const restored = await rig.start(to);
    for (const [i, name] of names.entries()) {
      const quoted = `"${name.replaceAll('"', '""')}"`;
      expect(await rig.rows(restored, `SELECT v FROM "a.b-c".${quoted}`), name).to.deep.equal([[i]]);
    }
  });

  it('backs up a cluster that shares one folder, and restores a standalone server or a cluster', async () => {
    const cluster = await Cluster.start(folder(), { ingesters: 2, environment: { ALMANAC_MEMORY__LIMIT: '256MiB' } });
    rig.cleanUps.push(() => cluster.killAll());
    const lines = Array.from({ length: 200 }, (_, i) => `m,h=${i} v=${i} ${i + 1}`).join('\n');
    await rig.write(cluster, lines);
    const target = join(folder(), 'backup');
    await rig.done(rig.backup(cluster, target));
    await rig.write(cluster, 'm,h=later v=1 1');
    const expected = [[200, 19_900]];
    const question = 'SELECT count(*), sum(v) FROM m';
    const [alone, together] = [folder(), folder()];
    await rig.done(rig.restore(target, alone));
    expect(await rig.rows(await rig.start(alone), question)).to.deep.equal(expected);
    await rig.done(rig.restore(target, together));
    const second = await Cluster.start(together, { ingesters: 2, environment: { ALMANAC_MEMORY__LIMIT: '256MiB' } });
    rig.cleanUps.push(() => second.killAll());
    expect(await rig.rows(second, question)).to.deep.equal(expected);
    await rig.write(second, 'm,h=0 v=1000 1');
    expect(await rig.rows(second, question)).to.deep.equal([[200, 20_900]]);
    expect(await rig.rows(cluster, 'SELECT count(*) FROM m')).to.deep.equal([[201]]);
  });
});

function filesUnder(root: string): string[] {
  const entries = readdirSync(root, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
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
