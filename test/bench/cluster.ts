import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { HttpConnection } from './http-connection.js';
import { runLoader, type LoadPlan } from './ingest.js';
import { almanac, ALMANAC_PROGRAM } from './server-kinds.js';
import { RunningServer } from './server.js';
import type { TsbsData } from './tsbs/generator.js';
import { BENCH_FOLDER } from './tsbs/lines-file.js';
import { drawQueries, QUERY_KIND_NAMES, type QueryKind } from './tsbs/queries.js';

/** One query, timed on a cluster of one gateway, two ingesters, one querier and one metadata, and on one process. */
export interface ClusterKindFigures {
  readonly kind: QueryKind;
  readonly count: number;
  readonly clusterP50Ms: number;
  readonly standaloneP50Ms: number;
  /** '' if the answers of both that were checked were right. */
  readonly problem: string;
}

export interface ClusterFigures {
  readonly clusterRowsPerSecond: number;
  readonly standaloneRowsPerSecond: number;
  readonly kinds: readonly ClusterKindFigures[];
}

export interface ClusterPlan extends LoadPlan {
  readonly data: TsbsData;
  /** The first of seven. */
  readonly port: number;
}

const QUERY_SEED = 7;
const WARM_COUNT = 5;
const TIMED_COUNT = 200;
const TIMED_COUNT_MIN = 8;
/** Time after which no more queries of a kind are sent. */
const TIMED_MS_MAX = 15_000;
const POLL_MS = 50;
const READY_WITHIN_MS = 60_000;

/** Accepted cost of scaling out: a factor of the time of one process, and a number of ms. */
export const BOUND = { factor: 1.5, ms: 3 };

/** Loads the same rows into a cluster of processes and into one process, then sends both the same queries alternately. */
export async function measureCluster(plan: ClusterPlan): Promise<ClusterFigures> {
  const cluster = await ProcessCluster.start(plan.port);
  const standalone = await RunningServer.start(almanac, plan.port + 6);
  try {
    const rates: number[] = [];
    const connections: HttpConnection[] = [];
    for (const port of [cluster.httpPort, standalone.port]) {
      const { rowsPerSecond, errors, firstError } = await runLoader({ port, path: almanac.writePath }, plan);
      invariant(errors === 0, `load failed: ${firstError}`);
      const connection = new HttpConnection({ host: '127.0.0.1', port });
      await almanac.flush?.(connection);
      rates.push(rowsPerSecond);
      connections.push(connection);
    }
    const kinds: ClusterKindFigures[] = [];
    for (const kind of QUERY_KIND_NAMES) kinds.push(await measureKind(kind, connections, plan.data));
    for (const connection of connections) connection.close();
    return { clusterRowsPerSecond: rates[0], standaloneRowsPerSecond: rates[1], kinds };
  } finally {
    cluster.kill();
    await standalone.stop();
  }
}

/** In turn, so that what the machine does besides hits both alike. */
async function measureKind(
  kind: QueryKind,
  connections: readonly HttpConnection[],
  data: TsbsData,
): Promise<ClusterKindFigures> {
  const times: number[][] = connections.map(() => []);
  let problem = '';
  const startedMs = systemClock.monotonicMs();
  for (const [i, query] of drawQueries(kind, data.shape, WARM_COUNT + TIMED_COUNT, QUERY_SEED).entries()) {
    for (let turn = 0; turn < connections.length; turn++) {
      const which = (i + turn) % connections.length;
      const { path, form } = almanac.question(query, data.shape);
      const askedMs = systemClock.monotonicMs();
      const { status, body } = await connections[which].postForm(path, form);
      const ms = systemClock.monotonicMs() - askedMs;
      if (i >= WARM_COUNT) times[which].push(ms);
      else if (problem === '') {
        problem = status === 200 ? almanac.check(query, data, body.toString()) : `status ${status}`;
      }
    }
    if (i >= WARM_COUNT + TIMED_COUNT_MIN && systemClock.monotonicMs() - startedMs > TIMED_MS_MAX) break;
  }
  const [clusterP50Ms, standaloneP50Ms] = times.map(median);
  return { kind, count: times[0].length, clusterP50Ms, standaloneP50Ms, problem };
}

function median(times: number[]): number {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}

/** Five processes that find each other through metadata, over one folder. */
class ProcessCluster {
  readonly httpPort: number;
  readonly #folder = mkdtempSync(join(BENCH_FOLDER, 'cluster-'));
  readonly #processes: ChildProcess[] = [];

  private constructor(port: number) {
    const metadata = `127.0.0.1:${port}`;
    this.httpPort = port + 5;
    this.#spawn('metadata', port, []);
    const roles = ['ingester', 'ingester', 'querier', 'gateway'];
    for (const [i, role] of roles.entries()) this.#spawn(role, port + 1 + i, ['--metadata-addr', metadata]);
  }

  /** @param port of metadata; the other processes use the following ones, HTTP the last. */
  static async start(port: number): Promise<ProcessCluster> {
    const cluster = new ProcessCluster(port);
    const untilMs = systemClock.monotonicMs() + READY_WITHIN_MS;
    while (!(await cluster.#isReady())) {
      if (systemClock.monotonicMs() < untilMs) {
        await systemClock.sleep(POLL_MS);
        continue;
      }
      cluster.kill();
      throw new Error('the cluster is not ready in time');
    }
    return cluster;
  }

  kill(): void {
    for (const child of this.#processes) child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }

  #spawn(role: string, port: number, flags: readonly string[]): void {
    const http = role === 'gateway' ? ['--http-addr', `127.0.0.1:${this.httpPort}`] : [];
    const args = [role, '--data-dir', this.#folder, '--grpc-addr', `127.0.0.1:${port}`, ...http, ...flags];
    this.#processes.push(spawn(process.execPath, [ALMANAC_PROGRAM, ...args], { stdio: 'ignore' }));
  }

  /** All five are there, and the gateway takes requests. */
  async #isReady(): Promise<boolean> {
    try {
      const status = await fetch(`http://127.0.0.1:${this.httpPort}/status`);
      const { cluster } = (await status.json()) as { cluster: readonly { state: string }[] };
      const ready = await fetch(`http://127.0.0.1:${this.httpPort}/ready`);
      return ready.ok && cluster.length === 5 && cluster.every(({ state }) => state === 'ready');
    } catch {
      return false;
    }
  }
}
