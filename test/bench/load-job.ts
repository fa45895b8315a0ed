import { systemClock } from '#shared/clock/clock';
import { HttpConnection, requestHead, type Address } from './http-connection.js';

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

/** What is sent, request by request. */
export interface Bodies {
  readonly count: number;
  byteLength(index: number): number;
  at(index: number): Buffer;
}

/** Bodies in memory. */
export function heldBodies(bodies: readonly Buffer[]): Bodies {
  return { count: bodies.length, byteLength: (index) => bodies[index].length, at: (index) => bodies[index] };
}

const RETRY_DELAY_MS = 20;
const RETRIES_MAX = 500;

/**
 * Sends all bodies and returns the figures.
 *
 * @param rowsOf how many rows each body has.
 */
export async function runJob(
  job: LoadJob,
  connections: number,
  rowsOf: (index: number) => number,
): Promise<LoadResult> {
  const { bodies } = job;
  const cpuBefore = process.cpuUsage();
  const startedMs = systemClock.monotonicMs();
  await Promise.all(Array.from({ length: connections }, () => job.work()));
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  const cpu = process.cpuUsage(cpuBefore);

  const refused = new Set(job.refused);
  let rows = 0;
  let bytes = 0;
  for (let index = 0; index < bodies.count; index++) {
    bytes += bodies.byteLength(index);
    if (!refused.has(index)) rows += rowsOf(index);
  }
  const latencies = job.latenciesMs.slice().sort();
  return {
    rows,
    requests: bodies.count,
    bytes,
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
}

/** Bodies shared by any number of connections: each takes the next one. */
export class LoadJob {
  readonly latenciesMs: Float64Array;
  readonly refused: number[] = [];
  retries = 0;
  firstError = '';
  readonly bodies: Bodies;
  readonly #heads: readonly Buffer[];
  readonly #address: Address;
  #next = 0;

  /** @param contentType of all bodies. */
  constructor(bodies: Bodies, path: string, address: Address, contentType: string) {
    this.bodies = bodies;
    this.#address = address;
    this.#heads = Array.from({ length: bodies.count }, (_, index) =>
      requestHead('POST', path, address, { contentType, bytes: bodies.byteLength(index) }),
    );
    this.latenciesMs = new Float64Array(bodies.count);
  }

  async work(): Promise<void> {
    const connection = new HttpConnection(this.#address);
    while (this.#next < this.bodies.count) {
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
    const body = this.bodies.at(index);
    for (let retry = 0; ; retry++) {
      const answer = await connection.send(this.#heads[index], body).catch((cause: unknown) => String(cause));
      if (typeof answer === 'string') return answer;
      if (answer.status < 300) return '';
      const isBusy = answer.status === 429 || answer.status === 503;
      if (!isBusy || retry === RETRIES_MAX) return `${answer.status} ${answer.body.toString('utf8', 0, 300)}`;
      this.retries++;
      await systemClock.sleep(RETRY_DELAY_MS);
    }
  }
}
