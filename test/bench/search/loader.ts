import { parseArgs } from 'node:util';

import { LoadJob, runJob } from '../load-job.js';
import { BATCH, LogLines } from './log-lines.js';

/** Sends log lines in a process of its own. */
async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { port: text, path: text, lines: text, connections: text, seed: text } });
  const bodies = new LogLines(Number(values.lines), Number(values.seed));
  const address = { host: '127.0.0.1', port: Number(values.port) };
  const job = new LoadJob(bodies, values.path ?? '', address, 'application/x-ndjson');
  const result = await runJob(job, Number(values.connections), () => BATCH);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

await main();
