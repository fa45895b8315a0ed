import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const SEEDS_PER_PROCESS = 50;
const LIMIT_MS = 400_000;
/** Of a failed run's trace: its end; `npm run simulate -- --cluster --seed N` shows all of it. */
const TRACE_CHARS = 10_000;

describe('cluster simulation', function () {
  this.timeout(LIMIT_MS);

  it('loses, doubles and hides nothing with seeds 1 to 100', async () => {
    const failures = await Promise.all([simulate(1), simulate(1 + SEEDS_PER_PROCESS)]);
    expect(failures.join('')).to.equal('');
  });
});

/** Runs some seeds in a process of their own. @returns the end of the trace if one of them failed. */
function simulate(first: number): Promise<string> {
  const args = [MAIN, '--cluster', '--seed', String(first), '--count', String(SEEDS_PER_PROCESS)];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: LIMIT_MS, maxBuffer: 64 << 20 }, (error, _stdout, stderr) => {
      resolve(error === null ? '' : `${stderr.slice(-TRACE_CHARS)}\n${error.message.slice(0, TRACE_CHARS)}`);
    });
  });
}
