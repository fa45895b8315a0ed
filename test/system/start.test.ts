import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { Almanac } from '#test/support/almanac';
import { bigWal } from '#test/support/big-wal';
import { eventually } from '#test/support/conditions';
import { runAlmanac } from '#test/support/program';
import { tempFolder } from '#test/support/temp-folder';

const PROGRAM = new URL('../../../services/cli/almanac.cjs', import.meta.url).pathname;
const MEBIBYTE = 1024 * 1024;
/** Measured by `npm run trial -- start-time`; here it only must not go out of hand on a busy machine. */
const START_MS_MAX = 10_000;

async function refuses(dataFolder: string, text: string): Promise<void> {
  const { code, stderr } = await runAlmanac(['standalone', '--data-dir', dataFolder, '--http-addr', '127.0.0.1:0']);
  expect(code).to.equal(1);
  const { msg, reason } = JSON.parse(stderr.trim().split('\n').at(-1)!) as { msg: string; reason: string };
  expect(msg).to.equal('start failed');
  expect(reason).to.contain(text);
}

describe('a start', () => {
  it('is refused in a folder that accepts no names', () => refuses('/proc/none/data', 'cannot be made'));

  let cleanUp: () => void = () => undefined;
  afterEach(() => cleanUp());

  /** Runs throughout: another start must not disturb it. */
  let first: Almanac;
  let removeFirst: () => void;
  before(async () => {
    first = await Almanac.start(tempFolder((after) => (removeFirst = after)));
  });
  after(async () => {
    const code = await first.stop();
    removeFirst();
    expect(code).to.equal(0);
  });

  it('on an empty folder is fast', async () => {
    const startMs = performance.now();
    const almanac = await Almanac.start(tempFolder((after) => (cleanUp = after)));
    const startedMs = performance.now();
    expect(await almanac.stop()).to.equal(0);
    expect(startedMs - startMs).to.be.lessThan(START_MS_MAX);
  });

  it('leaves the young generation of the heap small, and load does not let it grow', async () => {
    const youngBytes = async (): Promise<number> => {
      const { text } = await first.get('/metrics');
      return Number(/nodejs_heap_space_size_total_bytes\{[^}]*space="new"[^}]*\} (\d+)/.exec(text)?.[1]);
    };
    const before = await youngBytes();
    for (let i = 0; i < 20; i++) {
      const lines = Array.from({ length: 5_000 }, (_, row) => `m,h=${i}_${row % 500} v=${row} ${i * 5_000 + row}`);
      expect((await first.write(lines.join('\n'))).status).to.equal(204);
    }
    expect([before, await youngBytes()].every((bytes) => bytes > 0 && bytes <= 16 * MEBIBYTE)).to.equal(true);
  });

  it('with a long log reports its progress, serves health, and has every row', async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const { answers, secondsToReady } = await bigWal(folder, 64 * MEBIBYTE);
    const starting = answers.filter(({ httpStatus }) => httpStatus === 503);
    expect(starting.length, 'answers of /ready while starting').to.be.greaterThan(2);
    expect(new Set(starting.map(({ status }) => status))).to.deep.equal(new Set(['starting']));
    expect(starting.flatMap(({ waiting }) => waiting)).to.include('wal replay');
    const progress = starting.map((answer) => answer.progress ?? -1);
    expect(progress).to.deep.equal([...progress].sort((a, b) => a - b));
    expect(progress.some((share) => share > 0 && share < 1)).to.equal(true);
    expect(answers.at(-1)).to.deep.equal({ httpStatus: 200 });
    expect(secondsToReady).to.be.lessThan(30);
  });

  it('with a file in place of the data folder fails with a clear message', async () => {
    const file = join(
      tempFolder((after) => (cleanUp = after)),
      'data',
    );
    writeFileSync(file, 'not a folder');
    await refuses(file, `data folder "${file}" cannot be made`);
    await refuses(join(file, 'below'), 'cannot be made');
  });

  it('in a folder that cannot be written fails with a clear message', async () => {
    // Not even root can make anything in /sys.
    await refuses('/sys/almanac-data', 'data folder "/sys/almanac-data" cannot be made');
    await refuses('/sys', 'cannot lock "/sys/lock.db"');
  });

  it('in a folder that another process uses fails with a clear message, and does not disturb that process', async () => {
    await first.written('one v=1 1');
    const { code, stderr } = await runAlmanac(['standalone', '--data-dir', first.folder, '--http-addr', '127.0.0.1:0']);
    expect(code).to.equal(1);
    expect(stderr)
      .to.contain('start failed')
      .and.to.match(/in use|another process/);
    expect((await first.sql('SELECT v FROM one')).rows).to.deep.equal([[1]]);
  });

  it('on a port that is in use fails with a clear message', async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const address = first.url.slice('http://'.length);
    const { code, stderr } = await runAlmanac(['standalone', '--data-dir', folder, '--http-addr', address]);
    expect(code).to.equal(1);
    expect(stderr).to.contain('start failed').and.to.contain(address);
    expect((await first.get('/ready')).status).to.equal(200);
  });

  it('on a terminal shows where it listens and how to stop it, and Ctrl+C stops it', async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const command = `exec ${process.execPath} ${PROGRAM} standalone --data-dir ${folder}/data --http-addr 127.0.0.1:0`;
    // `script` of util-linux runs it on a terminal of its own; without `exec`, a shell that gets Ctrl+C too may end with 130.
    const terminal = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null']);
    let shown = '';
    terminal.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
    const ended = new Promise((resolve) => terminal.on('close', resolve));
    try {
      await eventually(() => shown.includes('Ctrl+C'), START_MS_MAX);
      expect(shown)
        .to.match(/Almanac \S+ \(standalone\) is ready after \d+\.\d s/)
        .and.to.match(/data +\S+\/data\r?\n/)
        .and.to.match(/HTTP +http:\/\/127\.0\.0\.1:\d+\r?\n/)
        .and.to.match(/dashboard +http:\/\/127\.0\.0\.1:\d+\/dashboard\/\r?\n/);
      expect(shown, 'readable lines').to.not.contain('{"level"');
      terminal.stdin.write('\u0003');
      expect(await ended).to.equal(0);
    } finally {
      terminal.kill('SIGKILL');
    }
  });

  it('of a check on a terminal shows its progress on one line', async () => {
    const folder = tempFolder((after) => (cleanUp = after));
    const almanac = await Almanac.start(folder);
    await almanac.write('m v=1 1');
    await almanac.flush('m');
    expect(await almanac.stop()).to.equal(0);
    const command = `${process.execPath} ${PROGRAM} check ${folder}`;
    const { stdout, status } = spawnSync('script', ['--quiet', '--return', '--command', command, '/dev/null']);
    expect(status).to.equal(0);
    expect(stdout.toString())
      .to.match(/\r1 files checked, 0 MiB/)
      .and.to.contain(': 0 problems');
    const piped = await runAlmanac(['check', folder]);
    expect(piped.stdout + piped.stderr).to.not.contain('files checked');
  });
});
