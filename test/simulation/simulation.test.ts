import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const LIMIT_MS = 400_000;
/** Of a failed run's trace: its end; `npm run simulate -- --seed N` shows all of it. */
const TRACE_CHARS = 10_000;

describe('simulation', function () {
  this.timeout(LIMIT_MS);

  it('of a cluster loses, doubles and hides nothing with seeds 1 to 100', async () => {
    const failures = await Promise.all([simulate(['--cluster'], 1, 50), simulate(['--cluster'], 51, 50)]);
    expect(failures.join('')).to.equal('');
  });

  it('of a bad disk loses, doubles and hides nothing with seeds 1 to 200', async () => {
    const failures = await Promise.all([simulate([], 1, 100), simulate([], 101, 100)]);
    expect(failures.join('')).to.equal('');
  });
});

/** Runs some seeds in a process of their own. @returns the end of the trace if one of them failed. */
function simulate(kind: readonly string[], first: number, count: number): Promise<string> {
  const args = [MAIN, ...kind, '--seed', String(first), '--count', String(count)];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: LIMIT_MS, maxBuffer: 64 << 20 }, (error, _stdout, stderr) => {
      resolve(error === null ? '' : `${stderr.slice(-TRACE_CHARS)}\n${error.message.slice(0, TRACE_CHARS)}`);
    });
  });
}
