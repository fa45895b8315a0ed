import { systemClock } from '#shared/clock/clock';
import { HttpConnection } from './http-connection.js';
import type { RunningServer, TsbsServerKind } from './server.js';
import type { TsbsData } from './tsbs/generator.js';
import { drawQueries, QUERY_KIND_NAMES, type QueryKind } from './tsbs/queries.js';

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
const TIMED_COUNT_MIN = 5;
const TIMED_COUNT_MAX = 100;
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
  const queries = drawQueries(kind, data.shape, CHECKED_COUNT + TIMED_COUNT_MAX, QUERY_SEED);
  const connection = new HttpConnection({ host: '127.0.0.1', port: server.port });
  const latenciesMs: number[] = [];
  const startedMs = systemClock.monotonicMs();
  let checkMs = 0;
  let answerBytes = 0;
  let problem = '';
  for (let i = 0; i < queries.length; i++) {
    const question = server.kind.question(queries[i], data.shape);
    const askedMs = systemClock.monotonicMs();
    const answer = await connection.postForm(question.path, question.form);
    const answeredMs = systemClock.monotonicMs();
    answerBytes = answer.body.length;
    if (i >= CHECKED_COUNT) latenciesMs.push(answeredMs - askedMs);
    else if (problem === '') problem = server.kind.check(queries[i], data, answer.body.toString());
    if (answer.status !== 200 && problem === '') problem = `status ${answer.status}`;
    if (i < CHECKED_COUNT) checkMs += systemClock.monotonicMs() - askedMs;
    const timedMs = systemClock.monotonicMs() - startedMs - checkMs;
    if (latenciesMs.length >= TIMED_COUNT_MIN && timedMs > TIMED_MS_MAX) break;
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

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
}
