import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND } from '#test/support/almanac';
import { Cluster } from '#test/support/cluster';
import { folderSums } from '#test/support/folder-sums';
import { isSeriesFile, parquetPaths } from '#test/support/parquet-table';
import { runAlmanac, type ProgramEnd } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';
import { TinyDisk } from '#test/support/tiny-disk';

const LOG = 'slots/0/wal';
const SUMMARY =
  /^checked (\d+) segments \((\d+) rows, \d+ bytes\), (\d+) series files, (\d+) log records in (\d+) files: (\d+) problems$/;

/** Three lives of a server, each ended by SIGKILL: two segments of `m`, one of `other`, rows in each of three log files. */
async function fill(folder: string): Promise<void> {
  let almanac = await Almanac.start(folder, MERGES_BY_HAND);
  await almanac.written('m,h=a v=1 1\nm,h=b v=2 2');
  await almanac.flush('m');
  await almanac.written('m,h=c v=3 3');
  await almanac.flush('m');
  await almanac.written('m,h=a v=4 4\nm,h=d v=5 5');
  await almanac.kill();
  almanac = await Almanac.start(folder, MERGES_BY_HAND);
  await almanac.written('m,h=a v=6 6');
  await almanac.kill();
  almanac = await Almanac.start(folder, MERGES_BY_HAND);
  await almanac.written('other v=1 1');
  await almanac.flush('other');
  for (let i = 7; i < 10; i++) await almanac.written(`m,h=a v=${i} ${i}`);
  await almanac.kill();
}

describe('almanac check', function () {
  this.timeout(120_000);
  const cleanUps: (() => unknown)[] = [];
  const last: (() => void)[] = [];
  let filled = '';
  let folder = '';
  let temporary = '';

  before(async () => {
    filled = tempFolder((cleanUp) => last.push(cleanUp));
    await fill(filled);
  });
  after(() => {
    for (const cleanUp of last) cleanUp();
  });
  beforeEach(() => {
    folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    temporary = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    cpSync(filled, folder, { recursive: true });
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  /** Runs the command and sees that it left everything as it was. */
  async function check(...flags: string[]): Promise<ProgramEnd & { readonly lines: string[] }> {
    const before = folderSums(folder);
    const end = await runAlmanac(['check', folder, ...flags], { environment: { TMPDIR: temporary } });
    expect(folderSums(folder)).to.deep.equal(before);
    expect(readdirSync(temporary), 'temporary files').to.deep.equal([]);
    return { ...end, lines: end.stdout.trimEnd().split('\n') };
  }

  /**
   * The only problem, which the check is to find; it still looks at all the rest.
   *
   * @returns all that it printed.
   */
  async function expectProblem(pattern: RegExp, flags: readonly string[] = []): Promise<string> {
    const { code, lines, stderr } = await check(...flags);
    expect(code, stderr).to.equal(1);
    const problems = lines.filter((line) => line.startsWith('problem: '));
    expect(problems, lines.join('\n')).to.have.length(1);
    expect(problems[0]).to.match(pattern);
    expect(lines.at(-1))
      .to.match(SUMMARY)
      .and.to.match(/: 1 problems$/);
    return lines.join('\n');
  }

  function fileOf(isMeant: (path: string) => boolean): string {
    return parquetPaths(folder).find(isMeant)!;
  }
  const segment = (): string => fileOf((path) => !isSeriesFile(path));
  const seriesFile = (): string => fileOf(isSeriesFile);
  const logFile = (number: number): string => join(folder, LOG, `${String(number).padStart(10, '0')}.wal`);

  function flip(path: string, at: number): void {
    const bytes = readFileSync(path);
    bytes[at] ^= 1;
    writeFileSync(path, bytes);
  }

  /** The catalog with everything in its main file. */
  function catalog(change?: (connection: Database.Database) => void): string {
    const path = join(folder, 'metadata/almanac.db');
    const connection = new Database(path);
    change?.(connection);
    connection.pragma('wal_checkpoint(TRUNCATE)');
    connection.close();
    return path;
  }

  it('finds no problem after a crash, and counts files and rows', async () => {
    const { code, lines } = await check();
    expect(lines).to.have.length(1);
    const [, segments, rows, seriesFiles, records, files] = SUMMARY.exec(lines[0])!.map(Number);
    expect({ segments, rows, seriesFiles, records, files }).to.deep.equal({
      segments: 3,
      rows: 4,
      seriesFiles: 3,
      records: 8,
      files: 3,
    });
    expect(code).to.equal(0);
  });

  it('prints one JSON object with --json', async () => {
    flip(segment(), 20);
    const { code, stdout } = await check('--json');
    expect(code).to.equal(1);
    const { dataFolder, problemCount, problems, notes, segments, log, orphans } = JSON.parse(stdout) as Record<
      string,
      unknown
    >;
    expect(dataFolder).to.equal(folder);
    expect(problemCount).to.equal(1);
    expect(problems).to.deep.equal([
      {
        path: segment(),
        what: 'is damaged: its checksum does not match',
        lost: '2 rows of public.m',
        remedy: 'restore the file from a backup; queries that need it fail until then, others continue to work',
      },
    ]);
    expect(notes).to.deep.equal([]);
    expect(segments).to.include({ files: 3, rows: 4 });
    expect(log).to.include({ files: 3, records: 8 });
    expect(orphans).to.deep.equal({ files: 0, bytes: 0 });
  });

  it('finds a flipped bit anywhere in a segment, except with --quick', async () => {
    const path = segment();
    const bytes = readFileSync(path);
    for (const at of [0, 4, bytes.length >> 1, bytes.length - 1]) {
      flip(path, at);
      await expectProblem(/"[^"]+\.parquet" is damaged: its checksum does not match; lost: 2 rows of public\.m; /);
      writeFileSync(path, bytes);
    }
    flip(path, 4);
    expect((await check('--quick')).code).to.equal(0);
  });

  it('finds a truncated segment, even with --quick', async () => {
    truncateSync(segment(), 100);
    const text = /\.parquet" is damaged: it has 100 bytes instead of \d+; lost: 2 rows of public\.m; restore the file/;
    await expectProblem(text);
    await expectProblem(text, ['--quick']);
  });

  it('finds a missing segment', async () => {
    rmSync(segment());
    await expectProblem(/\.parquet" is missing; lost: 2 rows of public\.m; restore the file/);
  });

  it('finds an unreadable segment', async () => {
    const path = segment();
    rmSync(path);
    symlinkSync(path, path);
    await expectProblem(/\.parquet" cannot be read: ELOOP.*; lost: 2 rows of public\.m/);
  });

  it('reports unreadable folders', async () => {
    for (const name of ['store/1/1/1', LOG]) {
      const path = join(folder, name);
      rmSync(path, { recursive: true });
      symlinkSync(path, path);
    }
    const { code, lines, stderr } = await check();
    expect(code, stderr).to.equal(1);
    for (const name of ['store/1/1/1', LOG]) {
      const about = lines.filter((line) => line.startsWith(`problem: "${join(folder, name)}" cannot be read: ELOOP`));
      expect(about, name).to.have.length(1);
    }
    const slots = join(folder, 'slots');
    rmSync(slots, { recursive: true });
    symlinkSync(slots, slots);
    expect((await check()).stderr).to.match(/^error: the check cannot continue: ELOOP[^\n]+\n$/);
  });

  it('finds a missing and a damaged series file', async () => {
    const path = seriesFile();
    const bytes = readFileSync(path);
    flip(path, 40);
    await expectProblem(/series-\w+-\w+\.parquet" is damaged.*lost: the tags of 2 series of public\.m/);
    rmSync(path);
    await expectProblem(/series-\w+-\w+\.parquet" is missing.*lost: the tags of 2 series of public\.m/);
    writeFileSync(path, bytes);
    expect((await check()).code).to.equal(0);
  });

  it('finds contradictions within the catalog', async () => {
    const faults = [
      ['UPDATE regions SET watermark = watermark - 1 WHERE region_id = 1', /the region is flushed up to \d+/],
      ['UPDATE regions SET truncated_sequence = (1 << 40) + 1 WHERE region_id = 1', /is truncated up to/],
    ] as const;
    for (const [sql, pattern] of faults) {
      rmSync(folder, { recursive: true });
      cpSync(filled, folder, { recursive: true });
      catalog((connection) => connection.exec(sql));
      await expectProblem(pattern);
    }
    rmSync(folder, { recursive: true });
    cpSync(filled, folder, { recursive: true });
    catalog((connection) => connection.exec('DELETE FROM series_files WHERE region_id = 1 AND sid_first = 0'));
    await expectProblem(/series-\w+-\w+\.parquet" begins at series 2 where 0 is the next/);
    catalog((connection) => connection.exec('DELETE FROM series_files WHERE region_id = 1'));
    const { code, stdout } = await check();
    expect(code).to.equal(1);
    expect(stdout).to.match(/has rows of series 2, the last one defined is -1/);
  });

  it('reports a damaged, an empty and a missing catalog, and reads the logs nevertheless', async () => {
    const path = catalog();
    const whole = readFileSync(path);
    const expectCatalog = async (text: RegExp): Promise<void> => {
      const { code, stdout } = await check();
      expect(code).to.equal(1);
      expect(stdout).to.match(text).and.to.contain('8 log records in 3 files: 1 problems');
    };
    writeFileSync(path, Buffer.from(whole).fill(0xaa, 0, 200));
    await expectCatalog(/almanac\.db" cannot be read: .*SQLITE_NOTADB; lost: which rows/);
    writeFileSync(path, Buffer.from(whole).fill(0xaa, 4096));
    await expectCatalog(/almanac\.db" (is damaged|cannot be read): .*; lost: which rows/);
    writeFileSync(path, '');
    await expectCatalog(/almanac\.db" is damaged: it is empty/);
    rmSync(path);
    await expectCatalog(/almanac\.db" is missing.*--metadata-dir/);
  });

  it('refuses a catalog of a newer release, and accepts one of an earlier one', async () => {
    catalog((connection) => connection.pragma('user_version = 99'));
    await expectProblem(/almanac\.db" the catalog has format 99, this release supports up to \d+: use a newer release/);
    catalog((connection) => {
      connection.exec('ALTER TABLE columns DROP COLUMN backfill_sql');
      connection.exec('ALTER TABLE columns DROP COLUMN former_types');
      connection.exec('ALTER TABLE segments DROP COLUMN has_ops');
      connection.exec('DROP TABLE pipelines');
      connection.exec('ALTER TABLE columns DROP COLUMN indexes');
      connection.exec('DROP TABLE user_tokens; DROP TABLE user_grants; DROP TABLE users');
      connection.exec('ALTER TABLE garbage DROP COLUMN bytes');
      connection.exec('ALTER TABLE segments DROP COLUMN is_merged');
      connection.exec('ALTER TABLE segments DROP COLUMN has_scaled');
      connection.exec(
        'DROP TABLE flow_changes; DROP TABLE flow_positions; DROP TABLE flows; DROP TABLE views; DROP TABLE dashboards',
      );
      connection.pragma('user_version = 4');
    });
    const { code, lines } = await check();
    expect(lines[0]).to.match(/^note: .*almanac\.db" has format 4 of an earlier release: the next start migrates it/);
    expect(lines.at(-1)).to.match(/^checked 3 segments \(4 rows, .* 0 problems$/);
    expect(code).to.equal(0);
  });

  it('finds a damaged log record followed by others, and a file that is not a log', async () => {
    flip(logFile(3), 8 + 80);
    await expectProblem(/0000000003\.wal" is damaged at byte 8 \(\d+ bytes after it\); lost: .*skip-corrupt/);
    cpSync(join(filled, LOG), join(folder, LOG), { recursive: true });
    writeFileSync(logFile(1), 'not a log of this format');
    await expectProblem(/0000000001\.wal" does not begin as a log of this format does/);
  });

  it('accepts zeros that were written ahead of the records of a log', async () => {
    appendFileSync(logFile(3), Buffer.alloc(100_000));
    const { code, lines } = await check();
    expect(code).to.equal(0);
    expect(lines).to.have.length(1);
    expect(lines[0]).to.contain('8 log records in 3 files: 0 problems');
  });

  it('accepts the torn end of a log, and notes it', async () => {
    const { length } = readFileSync(logFile(3));
    truncateSync(logFile(3), length - 5);
    const { code, lines } = await check();
    expect(code).to.equal(0);
    expect(lines[0]).to.match(
      /^note: the last \d+ bytes of ".*3\.wal" are no whole record: a torn write, .* or damage to the last record/,
    );
    expect(lines.at(-1)).to.contain('7 log records in 3 files: 0 problems');
    truncateSync(logFile(3), 3);
    expect((await check()).lines[0]).to.match(/^note: ".*3\.wal" is a log file without its whole header/);
  });

  it('finds missing log files: in the middle, and at the start of rows that are in no segment', async () => {
    rmSync(logFile(2));
    await expectProblem(/0000000002\.wal" is missing; lost: its rows that are in no segment yet/);
    rmSync(logFile(1));
    await expectProblem(/slots\/0\/wal" continues at row \d+ of region 1, .* end at \d+; lost: 3 rows of that region/);
  });

  it('finds damaged small files', async () => {
    writeFileSync(join(folder, LOG, 'applied.json'), '{"format":1,"reg');
    await expectProblem(/applied\.json" cannot be read.*or remove it/);
    rmSync(join(folder, LOG, 'applied.json'));
    writeFileSync(join(folder, 'slots/0/slot.json'), '{}');
    await expectProblem(/slot\.json" cannot be read, or contains no identity/);
    rmSync(join(folder, 'slots/0/slot.json'));
    writeFileSync(join(folder, 'identity/folder.json'), '{"folderId":');
    await expectProblem(
      /^problem: "[^"]+folder\.json" is damaged or was not written by Almanac; the files of this catalog are in the data folder \w{32}, of the cluster \w{32}; lost: no row; servers do not start; name that folder, or if this is it, write \{"folderId":"\w{32}","clusterId":"\w{32}"\} into the file; files were not compared$/,
    );
  });

  it('finds a catalog of another cluster, and then counts no file as an orphan', async () => {
    const path = catalog((connection) => connection.exec("UPDATE identity SET value = 'other' WHERE name = 'cluster'"));
    const printed = await expectProblem(
      /identity\/folder\.json" names the cluster \w{32}, the catalog is that of the cluster other; lost: .*restore a backup/,
    );
    expect(printed).not.to.contain('belong to nothing');
    // An empty one, as a server of an earlier release made it where the right one was missing.
    const empty = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const almanac = await Almanac.start(empty, MERGES_BY_HAND);
    expect(await almanac.stop()).to.equal(0);
    cpSync(join(empty, 'metadata/almanac.db'), path);
    await expectProblem(/names the cluster \w{32}, the catalog is that of the cluster \w{32};/);
  });

  it('counts orphaned files without reporting a problem', async () => {
    writeFileSync(join(segment(), '../stray.parquet'), 'stray');
    mkdirSync(join(folder, 'store/9/9/9'), { recursive: true });
    writeFileSync(join(folder, 'store/9/9/9/stray.parquet'), 'of an unknown table');
    const { code, lines } = await check();
    expect(code).to.equal(0);
    expect(lines[0]).to.match(/^note: 2 files \(24 bytes\) in the store belong to nothing/);
  });

  it('refuses a folder that is not a data folder', async () => {
    const empty = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const file = join(empty, 'file');
    writeFileSync(file, '');
    const circle = join(empty, 'circle');
    symlinkSync(circle, circle);
    for (const [path, code, text] of [
      [join(empty, 'absent'), 2, `error: there is no folder "${join(empty, 'absent')}"`],
      [empty, 2, `error: "${empty}" is not a data folder of Almanac`],
      [file, 2, `error: "${file}" cannot be read: ENOTDIR`],
      [circle, 1, `error: "${circle}" cannot be read: ELOOP`],
    ] as const) {
      const end = await runAlmanac(['check', path]);
      expect(end.code, path).to.equal(code);
      expect(end.stdout).to.equal('');
      expect(end.stderr).to.contain(text);
    }
    expect((await runAlmanac(['check', folder, folder])).code).to.equal(2);
  });

  it('checks the configured folder by default', async () => {
    const environment = { ALMANAC_STORAGE__DATA_HOME: folder };
    const { code, stdout } = await runAlmanac(['check', '--quick'], { environment });
    expect(code).to.equal(0);
    expect(stdout).to.match(/^checked 3 segments/);
  });

  it('checks a read-only disk', async () => {
    const mountPoint = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const disk = await TinyDisk.mount(mountPoint, 64);
    cleanUps.push(() => disk.unmount());
    cpSync(filled, disk.folder, { recursive: true });
    await disk.makeReadOnly();
    const { code, stdout, stderr } = await runAlmanac(['check', mountPoint], { through: disk.through });
    expect(code, stderr).to.equal(0);
    expect(stdout).to.match(/^checked 3 segments \(4 rows/);
  });

  it('finds no problem beside a server that writes, flushes, merges and drops, and does not disturb it', async () => {
    const almanac = await Almanac.start(folder, { environment: { ALMANAC_WAL__FILE_SIZE: '64KiB' } });
    cleanUps.push(() => almanac.kill());
    let isDone = false;
    let next = 100;
    const work = async (): Promise<void> => {
      for (let turn = 0; !isDone; turn++) {
        const lines = Array.from({ length: 200 }, (_, i) => `m,h=h${(next + i) % 50} v=1 ${next + i}`);
        next += lines.length;
        await almanac.written(lines.join('\n'));
        await almanac.written(`t${turn % 3} v=1 ${next}`);
        if (turn % 4 === 1) await almanac.flush('m');
        if (turn % 8 === 3) await almanac.sql("ADMIN compact_table('m')");
        if (turn % 8 === 5) await almanac.sql(`DROP TABLE t${turn % 3}`);
      }
    };
    const working = work();
    for (let i = 0; i < 4; i++) {
      const { code, stdout, stderr } = await runAlmanac(['check', folder]);
      expect(code, stdout + stderr).to.equal(0);
      expect(stdout).to.match(/ 0 problems\n$/);
    }
    isDone = true;
    await working;
    const count = 'SELECT count(*) FROM m WHERE almanac_timestamp >= 100';
    expect((await almanac.sql(count)).rows).to.deep.equal([[next - 100]]);
    expect(await almanac.stop()).to.equal(0);
  });

  it('checks the folders of a cluster, and reports that metadata has a folder of its own', async () => {
    const data = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    const cluster = await Cluster.start(data, { ingesters: 2, environment: { ALMANAC_MEMORY__LIMIT: '256MiB' } });
    cleanUps.push(() => cluster.killAll());
    const hosts = Array.from({ length: 40 }, (_, i) => `m,h=h${i} v=1 1`);
    expect((await cluster.write(hosts.join('\n'))).status).to.equal(204);
    expect((await cluster.sql("ADMIN flush_table('m')")).status).to.equal(200);
    expect((await cluster.write('m,h=h1 v=2 2')).status).to.equal(204);
    await cluster.killAll();
    folder = data;
    const { code, stdout } = await check();
    expect(code, stdout).to.equal(0);
    expect(stdout).to.match(/\(40 rows, .* 0 problems\n$/);
    expect(readdirSync(join(data, 'slots'))).to.have.length(2);

    const elsewhere = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    cpSync(join(data, 'metadata'), join(elsewhere, 'metadata'), { recursive: true });
    rmSync(join(data, 'metadata'), { recursive: true });
    await expectProblem(/metadata\/almanac\.db" is missing/);
    expect((await check('--metadata-dir', elsewhere)).code).to.equal(0);
    folder = elsewhere;
    await expectProblem(/folder\.json" is missing; the files of this catalog are in the data folder \w{32}/);
  });
});
