import { systemClock } from '#shared/clock/clock';
import { invariant } from '#shared/errors/invariant';
import { HttpConnection } from './http-connection.js';
import type { RunningServer, TsbsServerKind } from './server.js';
import type { TsbsData } from './tsbs/generator.js';
import { drawQueries, LASTPOINT_FORMS, QUERY_KIND_NAMES, type QueryKind, type TsbsQuery } from './tsbs/queries.js';

export interface QueryFigures {
  readonly kind: QueryKind;
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  /** Of one answer, uncompressed. */
  readonly answerBytes: number;
  /** '' if the answers that were checked were right, else the first difference or error. */
  readonly problem: string;
}

const QUERY_SEED = 7;
/** Queries that are sent first, not timed, and compared with the reference. */
const CHECKED_COUNT = 3;
/** Queries of a kind that are sent after these, not timed: what is measured is a server that has run such queries before. */
const WARMING_COUNT_MAX = 300;
const WARMING_MS_MAX = 2_000;
const TIMED_COUNT_MIN = 5;
const TIMED_COUNT_MAX = 400;
/** Time after which no more queries of a kind are sent. */
const TIMED_MS_MAX = 4_000;

/** Sends queries of all kinds over one connection, one after the other. Latency is from the first byte sent to the last received. */
export async function measureQueries(server: RunningServer<TsbsServerKind>, data: TsbsData): Promise<QueryFigures[]> {
  const figures: QueryFigures[] = [];
  for (const kind of QUERY_KIND_NAMES) {
    figures.push(await measureKind(server, data, kind));
  }
  return figures;
}

async function measureKind(
  server: RunningServer<TsbsServerKind>,
  data: TsbsData,
  kind: QueryKind,
): Promise<QueryFigures> {
  const queries = drawQueries(kind, data.shape, CHECKED_COUNT + WARMING_COUNT_MAX + TIMED_COUNT_MAX, QUERY_SEED);
  const connection = new HttpConnection({ host: '127.0.0.1', port: server.port });
  let answerBytes = 0;
  let problem = '';
  const ask = async (query: TsbsQuery): Promise<{ readonly ms: number; readonly body: Buffer }> => {
    const question = server.kind.question(query, data.shape);
    const askedMs = systemClock.monotonicMs();
    const { status, body } = await connection.postForm(question.path, question.form);
    const ms = systemClock.monotonicMs() - askedMs;
    answerBytes = body.length;
    if (status !== 200 && problem === '') problem = `status ${status}`;
    return { ms, body };
  };
  for (const query of queries.splice(0, CHECKED_COUNT)) {
    const { body } = await ask(query);
    if (problem === '') problem = server.kind.check(query, data, body.toString());
  }
  const untilMs = systemClock.monotonicMs() + WARMING_MS_MAX;
  for (const query of queries.splice(0, WARMING_COUNT_MAX)) {
    if (systemClock.monotonicMs() < untilMs) await ask(query);
  }
  const latenciesMs: number[] = [];
  const startedMs = systemClock.monotonicMs();
  for (const query of queries) {
    latenciesMs.push((await ask(query)).ms);
    if (latenciesMs.length >= TIMED_COUNT_MIN && systemClock.monotonicMs() - startedMs > TIMED_MS_MAX) break;
  }
  connection.close();
  latenciesMs.sort((a, b) => a - b);
  return {
    kind,
    count: latenciesMs.length,
    p50Ms: quantile(latenciesMs, 0.5),
    p95Ms: quantile(latenciesMs, 0.95),
    maxMs: latenciesMs[latenciesMs.length - 1],
    answerBytes,
    problem,
  };
}

/** Throughput of one kind with several clients at once. */
export interface ClientFigures {
  readonly clients: number;
  readonly queriesPerSecond: number;
  readonly p99Ms: number;
  readonly cpuMsPerQuery: number;
}

const CLIENTS = 8;
const CLIENTS_MS = 5_000;

/** Sends queries of the smallest kind over several connections at once. */
export async function measureClients(server: RunningServer<TsbsServerKind>, data: TsbsData): Promise<ClientFigures> {
  const queries = drawQueries('single-groupby-1-1-1', data.shape, 10_000, QUERY_SEED);
  const questions = queries.map((query) => server.kind.question(query, data.shape));
  const latenciesMs: number[] = [];
  const cpuBefore = server.cpuSeconds();
  const startedMs = systemClock.monotonicMs();
  let next = 0;
  const client = async (): Promise<void> => {
    const connection = new HttpConnection({ host: '127.0.0.1', port: server.port });
    while (systemClock.monotonicMs() - startedMs < CLIENTS_MS) {
      const { path, form } = questions[next++ % questions.length];
      const askedMs = systemClock.monotonicMs();
      const { status } = await connection.postForm(path, form);
      invariant(status === 200, `status ${status}`);
      latenciesMs.push(systemClock.monotonicMs() - askedMs);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  latenciesMs.sort((a, b) => a - b);
  return {
    clients: CLIENTS,
    queriesPerSecond: latenciesMs.length / seconds,
    p99Ms: quantile(latenciesMs, 0.99),
    cpuMsPerQuery: ((server.cpuSeconds() - cpuBefore) * 1000) / latenciesMs.length,
  };
}

/** Latencies of one SQL text. */
export interface FormFigures {
  readonly form: string;
  readonly p50Ms: number;
  readonly rows: number;
}

const FORM_COUNT = 30;

/** Sends the other forms of lastpoint, which peers do not have. */
export async function measureForms(server: RunningServer<TsbsServerKind>): Promise<FormFigures[]> {
  const connection = new HttpConnection({ host: '127.0.0.1', port: server.port });
  const figures: FormFigures[] = [];
  for (const [form, sql] of Object.entries(LASTPOINT_FORMS)) {
    const latenciesMs: number[] = [];
    let rows = 0;
    for (let i = 0; i < FORM_COUNT; i++) {
      // Each text is another, so that no result of an earlier one is used again.
      const text = `${sql} LIMIT ${100_000 + i}`;
      const askedMs = systemClock.monotonicMs();
      const { body } = await connection.postForm('/v1/sql?db=public', { sql: text });
      latenciesMs.push(systemClock.monotonicMs() - askedMs);
      rows = Number(/"total_rows":(\d+)/.exec(body.toString())?.[1]);
    }
    latenciesMs.sort((a, b) => a - b);
    figures.push({ form, p50Ms: quantile(latenciesMs, 0.5), rows });
  }
  connection.close();
  return figures;
}

const REST_MS = 3_000;

/** Restarts the server, and returns the latency of the first query of each kind, each with other literals than before. */
export async function measureFirst(
  server: RunningServer<TsbsServerKind>,
  data: TsbsData,
): Promise<Partial<Record<QueryKind, number>>> {
  await server.restart();
  await systemClock.sleep(REST_MS);
  const connection = new HttpConnection({ host: '127.0.0.1', port: server.port });
  const firstMs: Partial<Record<QueryKind, number>> = {};
  for (const kind of QUERY_KIND_NAMES) {
    const [query] = drawQueries(kind, data.shape, 1, QUERY_SEED + 1);
    const { path, form } = server.kind.question(query, data.shape);
    const askedMs = systemClock.monotonicMs();
    await connection.postForm(path, form);
    firstMs[kind] = systemClock.monotonicMs() - askedMs;
  }
  connection.close();
  return firstMs;
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
}
