import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

const COUNT = 'SELECT count(*) FROM m';

/** Writes two rows to a segment and three to the log only. */
async function fill(folder: string, environment: Readonly<Record<string, string>> = {}): Promise<void> {
  const server = await Almanac.start(folder, { environment });
  try {
    await server.written('m,h=a v=1 1\nm,h=b v=2 2');
    await server.flush('m');
    await server.written('m,h=a v=3 3\nm,h=b v=4 4\nm,h=c v=5 5');
  } finally {
    await server.kill();
  }
}

describe('a write-ahead log that is missing', function () {
  this.timeout(120_000);
  let cleanUps: (() => void)[];
  let folder: string;
  let walDir: string;
  let almanac: Almanac | undefined;
  const finalCleanUps: (() => void)[] = [];
  let filled: string;
  /** The same with its log in another folder. */
  let filledApart: string;
  let logApart: string;

  before(async () => {
    [filled, filledApart, logApart] = [0, 1, 2].map(() => tempFolder((cleanUp) => finalCleanUps.push(cleanUp)));
    await fill(filled);
    await fill(filledApart, { ALMANAC_WAL__DIR: logApart });
  });
  after(() => {
    for (const cleanUp of finalCleanUps) cleanUp();
  });

  beforeEach(() => {
    cleanUps = [];
    folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    walDir = join(
      tempFolder((cleanUp) => cleanUps.push(cleanUp)),
      'log',
    );
  });

  afterEach(async () => {
    await almanac?.kill();
    almanac = undefined;
    for (const cleanUp of cleanUps) cleanUp();
  });

  async function start(environment: Readonly<Record<string, string>> = {}): Promise<Almanac> {
    almanac = await Almanac.start(folder, { environment });
    return almanac;
  }

  function copyFilled(): void {
    cpSync(filled, folder, { recursive: true });
  }

  function copyFilledApart(): void {
    cpSync(filledApart, folder, { recursive: true });
    cpSync(logApart, walDir, { recursive: true });
  }

  /** @returns the reason. */
  async function startIsRefused(environment: Readonly<Record<string, string>> = {}): Promise<string> {
    const flags = ['standalone', '--data-dir', folder, '--http-addr', '127.0.0.1:0'];
    const { code, stderr } = await runAlmanac(flags, { environment });
    expect(code).to.equal(1);
    const { msg, reason } = JSON.parse(stderr.trim().split('\n').at(-1)!) as { msg: string; reason: string };
    expect(msg).to.equal('start failed');
    return reason;
  }

  it('prevents the start while its disk is not mounted, is reported by check, and keeps its rows', async () => {
    const environment = { ALMANAC_WAL__DIR: walDir };
    copyFilledApart();
    const away = `${walDir}.away`;
    renameSync(walDir, away);
    for (const makeMountPoint of [() => undefined, () => mkdirSync(walDir)]) {
      makeMountPoint();
      const reason = await startIsRefused(environment);
      expect(reason).to.contain(`"${walDir}/log.json" is missing or damaged, "${folder}" has rows in the log `);
      expect(reason).to.contain('mount its disk').and.contain('wal.recover = "skip-corrupt"');
      const { code, stdout } = await runAlmanac(['check', folder], { environment });
      expect(code, stdout).to.equal(1);
      expect(stdout).to.contain(`${walDir}/log.json`).and.contain('the rows that are in no segment yet');
    }
    rmSync(walDir, { recursive: true, force: true });
    renameSync(away, walDir);
    expect((await runAlmanac(['check', folder], { environment })).code).to.equal(0);
    expect(await (await start(environment)).rows(COUNT)).to.deep.equal([[5]]);
  });

  it('prevents a start with another wal.dir, or with the log of another server', async () => {
    const environment = { ALMANAC_WAL__DIR: walDir };
    copyFilledApart();
    expect(await startIsRefused()).to.contain(`"${folder}/slots/0/wal/log.json" is missing`);
    const [first, other] = [folder, `${walDir}-of-other`];
    folder = tempFolder((cleanUp) => cleanUps.push(cleanUp));
    await fill(folder, { ALMANAC_WAL__DIR: other });
    const second = folder;
    folder = first;
    const { logId } = JSON.parse(readFileSync(join(other, 'log.json'), 'utf8')) as { logId: string };
    expect(await startIsRefused({ ALMANAC_WAL__DIR: other })).to.contain(`names the log ${logId}, "${first}" has`);
    expect(await (await start(environment)).rows(COUNT)).to.deep.equal([[5]]);
    await almanac?.kill();
    folder = second;
    expect(await (await start({ ALMANAC_WAL__DIR: other })).rows(COUNT)).to.deep.equal([[5]]);
  });

  it('may be moved while no server runs', async () => {
    copyFilled();
    renameSync(join(folder, 'slots/0/wal'), walDir);
    expect(await (await start({ ALMANAC_WAL__DIR: walDir })).rows(COUNT)).to.deep.equal([[5]]);
  });

  it('is replaced once with skip-corrupt', async () => {
    copyFilled();
    rmSync(join(folder, 'slots'), { recursive: true });
    expect(await startIsRefused()).to.contain(`"${folder}/slots/0/wal/log.json" is missing`);
    expect((await runAlmanac(['check', folder])).code).to.equal(1);
    const server = await start({ ALMANAC_WAL__RECOVER: 'skip-corrupt' });
    expect(await server.rows(COUNT)).to.deep.equal([[2]]);
    await server.written('m,h=d v=6 6');
    await server.kill();
    expect(await (await start()).rows(COUNT)).to.deep.equal([[3]]);
  });

  it('of an earlier release is accepted, and known from then on', async () => {
    copyFilled();
    const [record, id] = [join(folder, 'identity/log-0.json'), join(folder, 'slots/0/wal/log.json')];
    for (const gone of [[record, id], [record]]) {
      for (const path of gone) rmSync(path);
      const server = await start();
      expect(await server.rows(COUNT)).to.deep.equal([[5]]);
      await server.kill();
      expect(existsSync(record) && existsSync(id)).to.equal(true);
    }
  });
});
