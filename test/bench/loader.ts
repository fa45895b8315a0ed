import { parseArgs } from 'node:util';
import { LoadJob, runJob } from './load-job.js';
import { lateOrder, type Lateness } from './tsbs/late-order.js';
import { readBodies, readOrdered } from './tsbs/lines-file.js';

/**
 * Sends rows of a lines file over keep-alive connections, each with one request at a time, in a process of
 * its own. All bodies and heads are in memory before the clock starts.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string' },
      path: { type: 'string' },
      lines: { type: 'string' },
      ends: { type: 'string' },
      from: { type: 'string' },
      to: { type: 'string' },
      batch: { type: 'string' },
      connections: { type: 'string' },
      lateness: { type: 'string' },
    },
  });
  const address = { host: '127.0.0.1', port: Number(values.port) };
  const file = { linesPath: values.lines ?? '', endsPath: values.ends ?? '' };
  const from = Number(values.from);
  const to = Number(values.to);
  const batch = Number(values.batch);
  const order = values.lateness === undefined ? undefined : lateOrder(to, JSON.parse(values.lateness) as Lateness);
  const bodies = order === undefined ? readBodies(file, from, to, batch) : readOrdered(file, order, batch);
  const rows = order?.length ?? to - from;
  const job = new LoadJob(bodies, values.path ?? '', address, 'text/plain; charset=utf-8');

  const rowsOf = (index: number): number => Math.min(batch, rows - index * batch);
  const result = await runJob(job, Number(values.connections), rowsOf);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

await main();
