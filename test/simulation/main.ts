import { parseArgs } from 'node:util';

import { ClusterSimulation } from './cluster/cluster-simulation.js';
import { CLUSTER, SeedFailure, SINGLE } from './cluster/seed-run.js';

/**
 * `npm run simulate -- [--cluster] --seed N [--count M] [--trace]`: runs seeds N, N + 1 .. and stops at the first
 * failure. Without `--cluster` it simulates one process of each kind on a bad disk.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      cluster: { type: 'boolean', default: false },
      seed: { type: 'string', default: '1' },
      count: { type: 'string', default: '1' },
      trace: { type: 'boolean', default: false },
    },
  });
  const simulation = new ClusterSimulation(values.cluster ? CLUSTER : SINGLE);
  const startedMs = performance.now();
  const first = Number(values.seed);
  const count = Number(values.count);
  try {
    for (let seed = first; seed < first + count; seed++) {
      const outcome = await simulation.run(seed);
      if (values.trace || count === 1 || (seed - first + 1) % 20 === 0) {
        const seconds = (performance.now() - startedMs) / 1000;
        process.stdout.write(`${JSON.stringify({ ...outcome, seconds: Math.round(seconds * 10) / 10 })}\n`);
      }
    }
  } catch (error) {
    if (!(error instanceof SeedFailure)) throw error;
    process.stderr.write(`${error.trace.join('\n')}\n${error.message}\n`);
    process.exitCode = 1;
  } finally {
    simulation.close();
  }
}

await main();
