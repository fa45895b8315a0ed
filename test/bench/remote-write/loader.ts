import { parseArgs } from 'node:util';

import { compressSync } from 'snappy';

import { heldBodies, LoadJob, runJob } from '../load-job.js';
import { NodeExporters, STEP_SECONDS } from './generator.js';

/**
 * Sends samples of node exporters, target after target and scrape after scrape, in a process of its own. All bodies
 * are made and compressed before the clock starts.
 */
async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { port: text, path: text, hosts: text, hours: text, batch: text, connections: text, seed: text },
  });
  const batch = Number(values.batch);
  const steps = Math.round((Number(values.hours) * 3600) / STEP_SECONDS);
  const exporters = new NodeExporters({ targets: Number(values.hosts), seed: Number(values.seed) });
  const bodies: Buffer[] = [];
  const counts: number[] = [];
  for (const { bytes, samples } of exporters.bodies(steps, batch)) {
    bodies.push(compressSync(bytes));
    counts.push(samples);
  }
  const address = { host: '127.0.0.1', port: Number(values.port) };
  const job = new LoadJob(heldBodies(bodies), values.path ?? '', address, 'application/x-protobuf');
  const result = await runJob(job, Number(values.connections), (index) => counts[index]);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

await main();
