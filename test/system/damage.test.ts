import { cpSync, existsSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac, MERGES_BY_HAND, pollUntil, type AlmanacOptions } from '#test/support/almanac';
import { isSeriesFile, parquetPaths } from '#test/support/parquet-table';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';
import { TinyDisk } from '#test/support/tiny-disk';

const DAY_NS = 86_400_000_000_000n;

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly file?: string;
  readonly reason?: string;
}

function linesOf(stderr: string): LogLine[] {
  const whole = stderr.slice(0, stderr.lastIndexOf('\n'));
  return whole.split('\n').map((line) => JSON.parse(line) as LogLine);
}

/** Returns the offset of a record in a log file (docs/formats/wal.md). */
function recordAt(bytes: Buffer, index: number): number {
  let at = 8;
  for (let i = 0; i < index; i++) at += bytes.readUInt32LE(at);
  return at;
}

/** Writes two days of `m` and one of `other`, all in segments; then stops the server. */
async function fill(folder: string): Promise<void> {
  const almanac = await Almanac.start(folder, MERGES_BY_HAND);
  try {
    await almanac.written(`m,h=a v=1 1\nm,h=b v=2 ${DAY_NS + 1n}`);
    await almanac.written('other,h=a v=3 1');
    await almanac.flush('m');
    await almanac.flush('other');
    expect(await almanac.stop()).to.equal(0);
  } finally {
    await almanac.kill();
  }
}

describe('damage', function () {
  this.timeout(120_000);
  const cleanUps: (() => unknown)[] = [];
  const finalCleanUps: (() => void)[] = [];
  let filled = '';
  let folder = '';

  before(async () => {
    filled = tempFolder((cleanUp) => finalCleanUps.push(cleanUp));
    await fill(filled);
  });
  after(() => {
    for (const cleanUp of finalCleanUps) cleanUp();
  });
  beforeEach(() => (folder = tempFolder((cleanUp) => cleanUps.push(cleanUp))));
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  async function start(options: AlmanacOptions = {}): Promise<Almanac> {
    const almanac = await Almanac.start(folder, {
      ...options,
      environment: { ...MERGES_BY_HAND.environment, ...options.environment },
    });
    cleanUps.push(() => almanac.kill());
    return almanac;
  }

  const copyFilled = (): void => cpSync(filled, folder, { recursive: true });

  /** Returns the first file of table `m` of a kind; those of `other` are after it. */
  function fileOf(isMeant: (path: string) => boolean): string {
    return parquetPaths(folder).find(isMeant)!;
  }
  const segment = (): string => fileOf((path) => !isSeriesFile(path));

  function flip(path: string, at: number): void {
    const bytes = readFileSync(path);
    bytes[at] ^= 1;
    writeFileSync(path, bytes);
  }

  async function metric(almanac: Almanac, name: string): Promise<number> {
    const { text } = await almanac.get('/metrics');
    return Number(new RegExp(`^almanac_${name} (\\S+)$`, 'm').exec(text)?.[1]);
  }

  /** Sends the statement twice: every response has the error, but it is logged once. */
  async function expectRefused(almanac: Almanac, statement: string, path: string, text: string): Promise<void> {
    const name = path.slice(join(folder, 'store/').length);
    for (let i = 0; i < 2; i++) {
      const answer = await almanac.sql(statement);
      expect(answer.status, answer.text).to.equal(503);
      const { code, error } = JSON.parse(answer.text) as { code: number; error: string };
      expect(code).to.equal(5000);
      expect(error).to.equal(`"${name}" ${text}`);
    }
  }

  function linesAbout(almanac: Almanac, path: string): LogLine[] {
    const name = path.slice(join(folder, 'store/').length);
    return linesOf(almanac.stderr).filter(({ msg, file }) => msg === 'store file is unusable' && file === name);
  }

  for (const [title, harm, text] of [
    ['a damaged segment', (path: string) => flip(path, 30), 'is damaged: its checksum does not match'],
    ['a missing segment', (path: string) => rmSync(path), 'is missing'],
  ] as const) {
    it(`${title} fails the queries that need it, is logged and counted once, and others continue to work`, async () => {
      copyFilled();
      const path = segment();
      const whole = readFileSync(path);
      harm(path);
      const almanac = await start();
      await expectRefused(almanac, 'SELECT count(*) FROM m', path, text);
      const prom = await almanac.get('/v1/prometheus/api/v1/query?query=m&time=1');
      // Like Prometheus; the text is for people.
      expect(prom.status, prom.text).to.equal(500);
      expect(prom.text).to.contain(`.parquet\\" ${text}`);
      const lines = linesAbout(almanac, path);
      expect(lines, almanac.stderr).to.have.length(1);
      expect(lines[0].level).to.equal('error');
      expect(await metric(almanac, 'querier_damaged_files_total')).to.equal(1);

      const rest = `SELECT v FROM m WHERE almanac_timestamp >= ${DAY_NS}`;
      expect((await almanac.sql(rest)).rows).to.deep.equal([[2]]);
      expect((await almanac.sql('SELECT v FROM other')).rows).to.deep.equal([[3]]);
      await almanac.written('m,h=c v=4 4');
      expect((await almanac.sql('SELECT v FROM m WHERE almanac_timestamp = 4')).rows).to.deep.equal([[4]]);
      writeFileSync(path, whole);
      expect((await almanac.sql('SELECT v FROM m ORDER BY v')).rows).to.deep.equal([[1], [2], [4]]);
      expect(await almanac.stop()).to.equal(0);
    });
  }

  describe('that was read before', () => {
    let almanac: Almanac;
    let path = '';
    let whole: Buffer;
    let damagedBefore = 0;

    before(async () => {
      almanac = await Almanac.start(
        tempFolder((cleanUp) => finalCleanUps.push(cleanUp)),
        MERGES_BY_HAND,
      );
    });
    beforeEach(async () => {
      folder = almanac.folder;
      await almanac.dropTables();
      // Files of dropped tables are deleted later.
      const former = new Set(parquetPaths(folder));
      damagedBefore = await metric(almanac, 'querier_damaged_files_total');
      const rows = Array.from({ length: 5_000 }, (_, i) => `m,h=h${i % 7} v=${Math.sin(i)},s="text ${i % 50}" ${i}`);
      await almanac.written(rows.join('\n'));
      await almanac.flush('m');
      path = fileOf((name) => !isSeriesFile(name) && !former.has(name));
      whole = readFileSync(path);
      expect((await almanac.sql(FIRST)).status).to.equal(200);
    });
    after(() => almanac.kill());

    async function damagedFiles(): Promise<number> {
      return (await metric(almanac, 'querier_damaged_files_total')) - damagedBefore;
    }

    const FIRST = 'SELECT sum(v), max(s) FROM m';
    const DAMAGED = 'is damaged: its checksum does not match';
    const harms: readonly (readonly [string, () => void, string])[] = [
      ['cut short', () => writeFileSync(path, whole.subarray(0, 1_000)), DAMAGED],
      [
        'without its footer',
        () => writeFileSync(path, Buffer.concat([whole.subarray(0, -600), Buffer.alloc(600)])),
        DAMAGED,
      ],
      ['overwritten', () => writeFileSync(path, Buffer.alloc(whole.length, 0xa5)), DAMAGED],
      ['moved away', () => renameSync(path, `${path}.away`), 'is missing'],
    ];

    for (const [title, harm, text] of harms) {
      it(`and ${title} since is refused with its name at once, logged and counted once, until it is restored`, async () => {
        harm();
        await expectRefused(almanac, FIRST, path, text);
        expect(linesAbout(almanac, path), almanac.stderr).to.have.length(1);
        expect(await damagedFiles()).to.equal(1);
        writeFileSync(path, whole);
        expect((await almanac.sql(FIRST)).status).to.equal(200);
      });

      it(`and ${title} since is refused to PromQL, too`, async () => {
        harm();
        // The engine has cached the footer, and what it reads with that is right.
        if (title === 'without its footer') await expectNoticed('SELECT count(*) FROM m');
        for (let i = 0; i < 2; i++) {
          const { status, text: answer } = await almanac.get('/v1/prometheus/api/v1/query?query=m&time=1');
          expect(status, answer).to.equal(500);
          expect(answer).to.contain(`.parquet\\" ${text}`);
        }
        expect(linesAbout(almanac, path), almanac.stderr).to.have.length(1);
        writeFileSync(path, whole);
        const answer = await almanac.get('/v1/prometheus/api/v1/query?query=m&time=1');
        expect(answer.status, answer.text + almanac.stderr).to.equal(200);
      });
    }

    /** Modification times are checked once a second. */
    async function expectNoticed(statement: string): Promise<void> {
      const untilMs = Date.now() + 10_000;
      while ((await almanac.sql(statement)).status === 200) expect(Date.now()).to.be.lessThan(untilMs);
    }

    it('and has another byte since is refused once it is verified again', async () => {
      flip(path, 30);
      await expectNoticed('SELECT count(*) FROM m');
      await expectRefused(almanac, 'SELECT count(*) FROM m', path, DAMAGED);
      expect(linesAbout(almanac, path), almanac.stderr).to.have.length(1);
      writeFileSync(path, whole);
      expect((await almanac.sql('SELECT count(*) FROM m')).rows).to.deep.equal([[5_000]]);
    });

    it('and is found damaged by a merge is refused, though its size and time are as before', async () => {
      await almanac.written('m,h=z v=1 9');
      await almanac.flush('m');
      const { atime, mtime } = statSync(path);
      flip(path, 30);
      utimesSync(path, atime, mtime);
      const merge = await almanac.sql("ADMIN compact_table('m')");
      expect(merge.status, merge.text).to.equal(503);
      await expectRefused(almanac, FIRST, path, DAMAGED);
      writeFileSync(path, whole);
      expect((await almanac.sql('SELECT count(*) FROM m')).rows).to.deep.equal([[5_001]]);
    });

    it('keeps the error of a query that fails over intact files', async () => {
      const { status, text } = await almanac.sql('SELECT sum(s::DOUBLE) FROM m');
      expect(status, text).to.equal(400);
      expect(text).to.contain("Could not convert string 'text");
      expect(await damagedFiles()).to.equal(0);
    });
  });

  for (const [title, harm] of [
    ['a damaged series file', (path: string) => flip(path, 30)],
    ['a missing series file', (path: string) => rmSync(path)],
  ] as const) {
    it(`${title} fails reads and writes of its table, is logged and counted, and others continue to work`, async () => {
      copyFilled();
      const path = fileOf(isSeriesFile);
      const whole = readFileSync(path);
      harm(path);
      const almanac = await start();
      const { status, text } = await almanac.sql('SELECT count(*) FROM m');
      expect(status, text).to.equal(503);
      expect(text).to.contain(path.slice(join(folder, 'store/').length));
      expect((await almanac.write('m,h=a v=1 5')).status).to.equal(503);
      // By writers and by readers.
      expect(linesAbout(almanac, path).length, almanac.stderr).to.be.within(1, 2);
      expect(await metric(almanac, 'ingester_damaged_files_total')).to.equal(1);
      expect((await almanac.sql('SELECT v FROM other')).rows).to.deep.equal([[3]]);
      await almanac.written('other,h=b v=4 2');
      writeFileSync(path, whole);
      expect((await almanac.sql('SELECT v FROM m ORDER BY v')).rows).to.deep.equal([[1], [2]]);
      expect(await almanac.stop()).to.equal(0);
    });
  }

  it('a damaged series file prevents the start while rows of its region are in the log only', async () => {
    const almanac = await start();
    await almanac.written('m,h=a v=1 1');
    await almanac.flush('m');
    await almanac.written('m,h=a v=2 2');
    await almanac.kill();
    const path = fileOf(isSeriesFile);
    flip(path, 30);
    const { code, stderr } = await runAlmanac(['standalone', '--data-dir', folder, '--http-addr', '127.0.0.1:0']);
    expect(code).to.equal(1);
    const lines = linesOf(stderr);
    expect(lines.at(-1)?.reason).to.match(/^region 1 cannot be opened, and has rows in the log that are in no segment/);
    expect(lines.filter(({ msg }) => msg === 'region cannot be opened').map(({ reason }) => reason)).to.deep.equal([
      `"${path.slice(join(folder, 'store/').length)}" is damaged: its checksum does not match`,
    ]);
    flip(path, 30);
    expect((await (await start()).sql('SELECT v FROM m ORDER BY v')).rows).to.deep.equal([[1], [2]]);
  });

  it('a damaged log prevents the start with its name and offset, and is skipped with skip-corrupt', async () => {
    let almanac = await start();
    await almanac.written('m,h=a v=1 1');
    await almanac.flush('m');
    for (let i = 2; i < 6; i++) await almanac.written(`other,h=a v=${i} ${i}`);
    await almanac.kill();
    const log = join(folder, 'slots/0/wal/0000000001.wal');
    const bytes = readFileSync(log);
    // There is one record of `m`, and the first of `other` defines its series.
    flip(log, recordAt(bytes, 2) + 100);

    const { code, stderr } = await runAlmanac(['standalone', '--data-dir', folder, '--http-addr', '127.0.0.1:0']);
    expect(code).to.equal(1);
    const end = linesOf(stderr).at(-1)!;
    expect(end.msg).to.equal('start failed');
    expect(end.reason)
      .to.match(/0000000001\.wal" is damaged at byte \d+ \(\d+ bytes after it\)/)
      .and.to.contain('skip-corrupt');
    expect(readFileSync(log)).to.have.length(bytes.length);

    const skipping = { ALMANAC_WAL__RECOVER: 'skip-corrupt', ALMANAC_WAL__RETRY_WINDOW: '1s' };
    almanac = await start({ environment: skipping });
    const skipped = linesOf(almanac.stderr).filter(({ msg }) => msg === 'damaged log record skipped');
    expect(skipped).to.have.length(1);
    expect(skipped[0].file).to.equal(log);
    const counted = /almanac_log_lines_total\{level="error",component="ingester"\} 1$/m;
    expect((await almanac.get('/metrics')).text).to.match(counted);
    expect((await almanac.sql('SELECT v FROM m')).rows).to.deep.equal([[1]]);
    expect((await almanac.sql('SELECT count(*) FROM other')).rows).to.deep.equal([[3]]);
    // Once its other rows are in segments the file is deleted, and the setting can be removed.
    for (const table of ['m', 'other']) await almanac.flush(table);
    const isGone = (): Promise<boolean> => Promise.resolve(!existsSync(log));
    expect(await pollUntil(performance.now() + 20_000, isGone)).to.equal(true);
    expect(await almanac.stop()).to.equal(0);
    almanac = await start();
    expect((await almanac.sql('SELECT v FROM m')).rows).to.deep.equal([[1]]);
    expect(await almanac.stop()).to.equal(0);
  });

  it('a missing log file prevents the start, naming the lost rows, and is ignored with skip-corrupt', async () => {
    for (let i = 1; i < 4; i++) {
      const almanac = await start();
      await almanac.written(`m,h=${i} v=${i} ${i}`);
      await almanac.kill();
    }
    const [first, second] = [1, 2].map((number) => join(folder, `slots/0/wal/000000000${number}.wal`));
    for (const missing of [first, second]) {
      const whole = readFileSync(missing);
      rmSync(missing);
      const { code, stderr } = await runAlmanac(['standalone', '--data-dir', folder, '--http-addr', '127.0.0.1:0']);
      expect(code).to.equal(1);
      expect(linesOf(stderr).at(-1)?.reason)
        .to.match(/^the write-ahead log lacks the rows \d+ to \d+ of region 1, which are in no segment/)
        .and.to.contain('skip-corrupt');
      writeFileSync(missing, whole);
    }
    rmSync(second);
    const almanac = await start({ environment: { ALMANAC_WAL__RECOVER: 'skip-corrupt' } });
    expect((await almanac.sql('SELECT v FROM m ORDER BY v')).rows).to.deep.equal([[1], [3]]);
    expect(await almanac.stop()).to.equal(0);
  });

  it('a damaged catalog prevents the start with its path, wherever the damage is', async () => {
    copyFilled();
    const catalog = join(folder, 'metadata/almanac.db');
    const whole = readFileSync(catalog);
    const pageBytes = whole.readUInt16BE(16);
    const reasons: string[] = [];
    // The header, the schema, and what a start reads first: databases and facts are early tables.
    for (const at of [0, 100, pageBytes, 4 * pageBytes]) {
      writeFileSync(catalog, Buffer.from(whole).fill(0xee, at, at + 2_000));
      const { code, stderr } = await runAlmanac(['standalone', '--data-dir', folder, '--http-addr', '127.0.0.1:0']);
      expect(code).to.equal(1);
      const end = linesOf(stderr).at(-1)!;
      expect(end.msg).to.equal('start failed');
      expect(stderr).not.to.contain('stack');
      reasons.push(end.reason ?? '');
    }
    for (const reason of reasons) {
      expect(reason).to.contain(`cannot open "${catalog}": SQLITE_`);
    }
  });

  describe('a disk of its own', () => {
    let disk: TinyDisk;
    /** Programs that use the disk have to enter its mount namespace. */
    let inside: AlmanacOptions;

    beforeEach(async () => {
      disk = await TinyDisk.mount(folder, 64);
      inside = { through: disk.through };
      cleanUps.push(() => disk.unmount());
    });

    it('that is full refuses writes and flushes, answers reads, and accepts writes again when there is space', async () => {
      let almanac = await start(inside);
      await almanac.written('m,h=a v=1 1');
      await almanac.flush('m');
      await almanac.written('m,h=a v=2 2');
      const filler = join(disk.folder, 'filler');
      disk.fill(filler);
      const flushed = await almanac.sql("ADMIN flush_table('m')");
      expect(flushed.status, flushed.text).to.equal(503);
      expect(flushed.text).to.match(/"code":5000,"error":"rows cannot be flushed: no space left on device"/i);
      expect(await metric(almanac, 'ingester_flush_failures_total')).to.be.greaterThan(0);

      const many = Array.from({ length: 3_000 }, (_, i) => `m,h=a v=0 ${i + 1_000}`).join('\n');
      const refused = await almanac.post('/v1/lineproto/api/v2/write', many);
      expect(refused.status, refused.text).to.equal(503);
      expect(refused.text).to.contain('no space is left on its disk');
      // Small enough to fit into what is left, but the log refuses everything now.
      const refusedV1 = await almanac.write('m,h=b v=9 9');
      expect(refusedV1.status, refusedV1.text).to.equal(503);
      expect(refusedV1.text).to.match(/"error":"timeout: .*no space is left on its disk"/);
      expect(await metric(almanac, 'ingester_wal_full')).to.equal(1);
      for (const prefix of ['influxdb', 'lineproto']) {
        const health = await almanac.get(`/v1/${prefix}/health`);
        expect(health.status, health.text).to.equal(503);
        expect(JSON.parse(health.text)).to.include({
          status: 'fail',
          message: 'no space is left on the disk of the write-ahead log: writes are refused, queries answered',
        });
      }
      expect((await almanac.get('/ready')).status).to.equal(200);
      const text = 'write-ahead log has no space left: writes are refused until there is space, queries are answered';
      expect(linesOf(almanac.stderr).filter(({ msg }) => msg === text)).to.have.length(1);
      for (let i = 0; i < 3; i++) {
        expect((await almanac.sql('SELECT v FROM m ORDER BY v')).rows).to.deep.equal([[1], [2]]);
      }

      rmSync(filler);
      const isAccepted = async (): Promise<boolean> => (await almanac.write('m,h=b v=9 9')).status === 204;
      expect(await pollUntil(performance.now() + 5_000, isAccepted)).to.equal(true);
      expect(linesOf(almanac.stderr).map(({ msg }) => msg)).to.include(
        'write-ahead log has space again: writes are accepted',
      );
      expect((await almanac.get('/v1/influxdb/health')).status).to.equal(200);
      expect(await metric(almanac, 'ingester_wal_full')).to.equal(0);
      expect((await almanac.sql('SELECT v FROM m ORDER BY v')).rows).to.deep.equal([[1], [2], [9]]);
      await almanac.kill();
      almanac = await start(inside);
      expect((await almanac.sql('SELECT v FROM m ORDER BY v')).rows).to.deep.equal([[1], [2], [9]]);
      await almanac.flush('m');
      expect((await almanac.sql('SELECT count(*) FROM m')).rows).to.deep.equal([[3]]);
      expect(await almanac.stop()).to.equal(0);
      expect((await runAlmanac(['check', folder], inside)).code).to.equal(0);
    });

    it('that is full or read-only prevents the start with a clear message', async () => {
      cpSync(filled, disk.folder, { recursive: true });
      const flags = ['standalone', '--data-dir', folder, '--http-addr', '127.0.0.1:0'];
      const filler = join(disk.folder, 'filler');
      disk.fill(filler);
      const full = await runAlmanac(flags, inside);
      expect(full.code).to.equal(1);
      expect(linesOf(full.stderr).at(-1)?.reason).to.match(/SQLITE_FULL|no space left/i);
      rmSync(filler);
      await disk.makeReadOnly();
      const readOnly = await runAlmanac(flags, inside);
      expect(readOnly.code).to.equal(1);
      expect(linesOf(readOnly.stderr).at(-1)?.reason).to.match(/"[^"]+": SQLITE_(READONLY|CANTOPEN)/);
    });
  });
});
