import { execFile, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const LIMIT_MS = 600_000;
/** Characters at the end of a failed run's trace; `npm run simulate -- --seed N` shows all of it. */
const TRACE_CHARS = 10_000;

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
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

describe('simulation', function () {
  this.timeout(LIMIT_MS);
  let cluster: Seeds;
  let badDisk: Seeds;

  // Both at once.
  before(() => {
    cluster = new Seeds(['--cluster'], 100);
    badDisk = new Seeds([], 200);
  });

  after(() => {
    cluster.kill();
    badDisk.kill();
  });

  it('of a cluster loses, duplicates and hides nothing with seeds 1 to 100', async () => {
    expect(await cluster.failure).to.equal('');
  });

  it('of a bad disk loses, duplicates and hides nothing with seeds 1 to 200', async () => {
    expect(await badDisk.failure).to.equal('');
  });
});
