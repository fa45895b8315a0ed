import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { HttpConnection, requestHead } from './http-connection.js';
import { runLoader } from './ingest.js';
import type { LoadResult } from './load-job.js';
import { RunningServer, type TsbsServerKind } from './server.js';
import type { TsbsShape } from './tsbs/generator.js';
import type { LinesFile } from './tsbs/lines-file.js';
import { drawQueries, type QueryKind, type TsbsQuery } from './tsbs/queries.js';

/** What a server is loaded with, and how. */
export interface BesidePlan {
  readonly file: LinesFile;
  readonly shape: TsbsShape;
  readonly rows: number;
  /** Lines a request. */
  readonly batch: number;
  readonly connections: number;
  readonly port: number;
}

/** Latencies of requests of one kind. */
export interface Latencies {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** What small requests and writes cost while a large query runs again and again. */
export interface BesideFigures {
  readonly server: string;
  /** Rows/s without and with queries. */
  readonly aloneRowsPerSecond: number;
  readonly besideRowsPerSecond: number;
  readonly large: Latencies;
  /** Small queries beside writes, without and with the large query. */
  readonly smallBesideWrites: Latencies;
  readonly small: Latencies;
  readonly health: Latencies;
}

const LARGE: QueryKind = 'double-groupby-all';
const SMALL: QueryKind = 'single-groupby-1-1-1';
const SEED = 11;
const QUERIES = 20_000;
/** Shares of the rows: stored before, written alone, written beside small queries; the rest is written beside all. */
const STORED = 0.4;
const ALONE = 0.6;
const SMALL_ONLY = 0.8;
/** Pauses of clients that look at a dashboard or a probe: they do not compete for the processor. */
const SMALL_PAUSE_MS = 5;
const HEALTH_PAUSE_MS = 20;

/** Bounds of the figures. */
export const BESIDE_BOUNDS = { smallP99Ms: 5, healthMs: 50, ingestShare: 0.6 };

/**
 * Writes rows while one client repeats a query over all series, a second one small queries, and a third one health checks,
 * each with one connection.
 */
export async function measureBeside(kind: TsbsServerKind, plan: BesidePlan): Promise<BesideFigures> {
  const server = await RunningServer.start(kind, plan.port);
  const at = (share: number): number => Math.floor(plan.rows * share);
  const load = async (from: number, to: number): Promise<LoadResult> => {
    const result = await runLoader({ port: server.port, path: kind.writePath }, { ...plan, from, to });
    invariant(result.errors === 0, `rows were refused: ${result.firstError}`);
    return result;
  };
  try {
    await load(0, at(STORED));
    await server.flush();
    await server.compact();
    const stored = { ...plan.shape, steps: Math.floor(plan.shape.steps * STORED) };
    const ask = (queries: QueryKind, pauseMs: number): Client => asking(server, stored, queries, pauseMs);
    // So that no client is the first of its kind.
    await runBeside([ask(LARGE, 0), ask(SMALL, 0)], systemClock.sleep(WARMING_MS));
    const alone = await load(at(STORED), at(ALONE));
    const [smallBesideWrites] = await runBeside([ask(SMALL, SMALL_PAUSE_MS)], load(at(ALONE), at(SMALL_ONLY)));
    const beside = load(at(SMALL_ONLY), plan.rows);
    const clients = [ask(LARGE, 0), ask(SMALL, SMALL_PAUSE_MS), probing(server)];
    const [large, small, health] = await runBeside(clients, beside);
    return {
      server: kind.name,
      aloneRowsPerSecond: alone.rowsPerSecond,
      besideRowsPerSecond: (await beside).rowsPerSecond,
      ...{ large, smallBesideWrites, small, health },
    };
  } finally {
    await server.stop();
  }
}

const WARMING_MS = 5_000;
/** Prime, so that ranges repeat only after all others. */
const RANGE_STEP = 7;

/** Sends one request over a connection, and waits for the reply. */
interface Client {
  readonly pauseMs: number;
  readonly send: (connection: HttpConnection, number: number) => Promise<{ readonly status: number }>;
  readonly port: number;
}

function asking(server: RunningServer<TsbsServerKind>, shape: TsbsShape, kind: QueryKind, pauseMs: number): Client {
  const queries = drawQueries(kind, shape, QUERIES, SEED).map((query, i) => ({ ...query, ...movedRange(query, i) }));
  return {
    port: server.port,
    pauseMs,
    send: (connection, number) => {
      const { path, form } = server.kind.question(queries[number % QUERIES], shape);
      return connection.postForm(path, form);
    },
  };
}

/** Cuts the range of a query to another one for each, so that no result of an earlier one is used again. */
function movedRange({ from, to }: TsbsQuery, number: number): Pick<TsbsQuery, 'from' | 'to'> {
  const spareSeconds = Math.floor((to - from) / 10);
  const offset = (number * RANGE_STEP) % spareSeconds;
  return { from: from + offset, to: to - spareSeconds + offset };
}

function probing({ port }: RunningServer): Client {
  const head = requestHead('GET', '/health', { host: '127.0.0.1', port });
  return { port, pauseMs: HEALTH_PAUSE_MS, send: (connection) => connection.send(head) };
}

/** Lets clients send requests until something else has ended. */
async function runBeside(clients: readonly Client[], until: Promise<unknown>): Promise<Latencies[]> {
  let hasEnded = false;
  const ended = until.finally(() => (hasEnded = true));
  // Awaited later: until then, a failure is no unhandled one.
  ended.catch(() => undefined);
  const figures = await Promise.all(
    clients.map(async ({ port, pauseMs, send }) => {
      const connection = new HttpConnection({ host: '127.0.0.1', port });
      const latenciesMs: number[] = [];
      for (let number = 0; !hasEnded; number++) {
        const askedMs = systemClock.monotonicMs();
        const { status } = await send(connection, number);
        invariant(status < 300, `status ${status}`);
        latenciesMs.push(systemClock.monotonicMs() - askedMs);
        if (pauseMs > 0) await systemClock.sleep(pauseMs);
      }
      connection.close();
      return latenciesOf(latenciesMs);
    }),
  );
  await ended;
  return figures;
}

function latenciesOf(latenciesMs: readonly number[]): Latencies {
  const sorted = [...latenciesMs].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}
