import { parseArgs } from 'node:util';

import { invariant } from '#shared/errors/invariant';
import { heldBodies, LoadJob, runJob } from '../load-job.js';
import { SeededRandom } from '../tsbs/seeded-random.js';
import { PROTOCOL_LOADS } from './bodies.js';
import { PIPELINE_LOADS } from './pipeline-loads.js';

/** Sends the records of one protocol in a process of its own. All bodies are made before the clock starts. */
async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { port: text, protocol: text, records: text, connections: text, seed: text, path: text },
  });
  const load = { ...PROTOCOL_LOADS, ...PIPELINE_LOADS }[values.protocol ?? ''];
  const random = new SeededRandom(Number(values.seed));
  const count = Math.ceil(Number(values.records) / load.batch);
  const bodies = Array.from({ length: count }, (_, index) => load.body(index, load.batch, random));
  const address = { host: '127.0.0.1', port: Number(values.port) };
  // A peer has a path of its own, and no pipelines.
  if (load.setup !== undefined && values.path === undefined) {
    const { path, contentType, body } = load.setup;
    const headers = { 'content-type': contentType };
    const reply = await fetch(`http://${address.host}:${address.port}${path}`, { method: 'POST', headers, body });
    invariant(reply.ok, `${path}: ${await reply.text()}`);
  }
  const job = new LoadJob(heldBodies(bodies), values.path ?? load.path, address, load.contentType);
  const result = await runJob(job, Number(values.connections), () => load.batch);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

await main();
