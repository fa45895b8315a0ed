import { parseArgs } from 'node:util';
import { systemClock } from '#shared/clock/clock';
import { HttpConnection, requestHead, type Address } from './http-connection.js';
import { readBodies } from './tsbs/lines-file.js';

/** What a load run measured; printed by the loader as one line of JSON. */
export interface LoadResult {
  readonly rows: number;
  readonly requests: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly rowsPerSecond: number;
  /** Requests that were refused for good or broke; their rows are not in `rows`. */
  readonly errors: number;
  /** Requests that were sent again after 429 or 503. */
  readonly retries: number;
  readonly firstError: string;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** CPU of the loader itself, to judge what it took from the server. */
  readonly loaderCpuSeconds: number;
}

const RETRY_DELAY_MS = 20;
const RETRIES_MAX = 500;

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
    },
  });
  const address = { host: '127.0.0.1', port: Number(values.port) };
  const file = { linesPath: values.lines ?? '', endsPath: values.ends ?? '' };
  const from = Number(values.from);
  const to = Number(values.to);
  const batch = Number(values.batch);
  const bodies = readBodies(file, from, to, batch);
  const job = new LoadJob(bodies, values.path ?? '', address);

  const cpuBefore = process.cpuUsage();
  const startedMs = systemClock.monotonicMs();
  await Promise.all(Array.from({ length: Number(values.connections) }, () => job.work()));
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  const cpu = process.cpuUsage(cpuBefore);

  const refused = job.refused.reduce((sum, index) => sum + Math.min(batch, to - from - index * batch), 0);
  const rows = to - from - refused;
  const latencies = job.latenciesMs.slice().sort();
  const result: LoadResult = {
    rows,
    requests: bodies.length,
    bytes: bodies.reduce((sum, body) => sum + body.length, 0),
    seconds,
    rowsPerSecond: rows / seconds,
    errors: job.refused.length,
    retries: job.retries,
    firstError: job.firstError,
    p50Ms: latencies[Math.floor(latencies.length * 0.5)],
    p99Ms: latencies[Math.floor(latencies.length * 0.99)],
    maxMs: latencies[latencies.length - 1],
    loaderCpuSeconds: (cpu.user + cpu.system) / 1e6,
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
}

/** Bodies that any number of connections share: each takes the next one that nobody has. */
class LoadJob {
  readonly latenciesMs: Float64Array;
  readonly refused: number[] = [];
  retries = 0;
  firstError = '';
  readonly #bodies: readonly Buffer[];
  readonly #heads: readonly Buffer[];
  readonly #address: Address;
  #next = 0;

  constructor(bodies: readonly Buffer[], path: string, address: Address) {
    this.#bodies = bodies;
    this.#address = address;
    this.#heads = bodies.map((body) =>
      requestHead('POST', path, address, { contentType: 'text/plain; charset=utf-8', bytes: body.length }),
    );
    this.latenciesMs = new Float64Array(bodies.length);
  }

  async work(): Promise<void> {
    const connection = new HttpConnection(this.#address);
    while (this.#next < this.#bodies.length) {
      const index = this.#next++;
      const startedMs = systemClock.monotonicMs();
      const error = await this.#sendUntilTaken(connection, index);
      this.latenciesMs[index] = systemClock.monotonicMs() - startedMs;
      if (error === '') continue;
      this.refused.push(index);
      if (this.firstError === '') this.firstError = error;
    }
    connection.close();
  }

  /** Returns '' when the body was taken, else the reason why not. */
  async #sendUntilTaken(connection: HttpConnection, index: number): Promise<string> {
    for (let retry = 0; ; retry++) {
      const answer = await connection
        .send(this.#heads[index], this.#bodies[index])
        .catch((cause: unknown) => String(cause));
      if (typeof answer === 'string') return answer;
      if (answer.status < 300) return '';
      const isBusy = answer.status === 429 || answer.status === 503;
      if (!isBusy || retry === RETRIES_MAX) return `${answer.status} ${answer.body.toString('utf8', 0, 300)}`;
      this.retries++;
      await systemClock.sleep(RETRY_DELAY_MS);
    }
  }
}

await main();
