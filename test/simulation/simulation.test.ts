import { execFile, type ChildProcess } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const LIMIT_MS = 600_000;
/** Characters at the end of a failed run's trace; `npm run simulate -- --seed N` shows all of it. */
const TRACE_CHARS = 10_000;
/** Lowest priority. */
const PRIORITY = 19;

/** Seeds that run in a separate process. */
class Seeds {
  /** The end of the trace if one of them failed. */
  readonly failure: Promise<string>;
  readonly #process: ChildProcess;

  constructor(flags: readonly string[], count: number) {
    const args = [MAIN, ...flags, '--seed', '1', '--count', String(count)];
    let end: (failure: string) => void = () => undefined;
    this.failure = new Promise((resolve) => (end = resolve));
    this.#process = execFile(process.execPath, args, { maxBuffer: 64 << 20 }, (error, _stdout, stderr) => {
      end(error === null ? '' : `${stderr.slice(-TRACE_CHARS)}\n${error.message.slice(0, TRACE_CHARS)}`);
    });
    if (this.#process.pid !== undefined) setPriority(this.#process.pid, PRIORITY);
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

// They start with the first of all tests, use what the others leave of the machine, and are awaited here.
const runs: { cluster?: Seeds; badDisk?: Seeds } = {};
before(() => {
  runs.cluster = new Seeds(['--cluster'], 100);
  runs.badDisk = new Seeds([], 200);
});
after(() => {
  runs.cluster?.kill();
  runs.badDisk?.kill();
});

describe('simulation', function () {
  this.timeout(LIMIT_MS);

  it('of a cluster loses, duplicates and hides nothing with seeds 1 to 100', async () => {
    expect(await runs.cluster?.failure).to.equal('');
  });

  it('of a bad disk loses, duplicates and hides nothing with seeds 1 to 200', async () => {
    expect(await runs.badDisk?.failure).to.equal('');
  });
});
