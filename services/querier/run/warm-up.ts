import { dirname } from 'node:path';

import { LRUCache } from 'lru-cache';

import type { Clock } from '#shared/clock/clock';
import { ownCall, type Call } from '#shared/contracts/call';
import type { PromQueryRequest, QuerierService, SqlRequest } from '#shared/contracts/gen/querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { FileSystem } from '#shared/fs/file-system';
import { replaceFile } from '#shared/fs/replace-file';
import type { Logger } from '#shared/telemetry/log';

import { withDeadline } from './deadline.js';

/** Queries of each language that are remembered; those that differ only in numbers and texts count once. */
const QUERIES_MAX = 64;
/** Longer queries are not remembered. */
const TEXT_CHARS_MAX = 4_096;
/** Clients that waited for the start come first. */
const START_MS = 300;
/** Longest duration of all. */
const TOTAL_MS = 2_500;
/** Longest duration of a query in the first round, so that long ones leave time for the others. */
const FIRST_MS = 250;
/** A query that takes longer than this does not run after the next start. */
const QUERY_MS = 1_000;
/** Longest durations of those that take longer, which run after all rounds: the shorter ones of them come first. */
const LONG_MS = [500, QUERY_MS];
/** What runs several times is compiled, and its result is kept. */
const ROUNDS = 8;
/** Pause while queries of clients run. */
const BUSY_MS = 20;

/** Dependencies of a `WarmUp`. */
export interface WarmUpDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Logger;
  /** File for the queries; undefined: none are remembered. */
  readonly path: string | undefined;
}

/** Answers remembered queries. */
export type WarmUpService = Pick<QuerierService, 'sql' | 'promQuery'>;

/** What runs remembered queries. */
export interface WarmUpRun {
  /** Makes what runs queries unnoticed: they are neither counted nor listed. Called only if there are some. */
  readonly service: () => WarmUpService;
  /** Whether queries of clients run. */
  readonly isBusy: () => boolean;
}

interface Remembered {
  readonly savedMs: number;
  /** The latest first, as the other list. */
  readonly sql: readonly SqlRequest[];
  readonly promql: readonly PromQueryRequest[];
}

interface RememberedQuery {
  /** Notes that it runs. */
  begin(): void;
  /** Notes that it shall run later, or after the next start. */
  wait(): void;
  run(call: Call): AsyncIterable<unknown>;
}

type Outcome = { readonly kind: 'answered'; readonly tookMs: number } | { readonly kind: 'late' | 'failed' };

/**
 * Remembers the latest queries when the process stops, and runs them once it has started again: the first queries of clients find
 * code compiled, segments open and columns decoded.
 */
export class WarmUp {
  readonly #deps: WarmUpDeps;
  readonly #abort = new AbortController();
  readonly #sql = new LatestQueries<number, SqlRequest>();
  readonly #promql = new LatestQueries<string, PromQueryRequest>();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: WarmUpDeps) {
    this.#deps = deps;
  }

  /** Notes a query that kernels have answered. @param plan number of its plan */
  sqlRan(plan: number, request: SqlRequest): void {
    if (this.#deps.path === undefined || request.sql.length > TEXT_CHARS_MAX || request.after !== undefined) return;
    this.#sql.add(plan, request);
  }

  /** Notes one that a client sent before the start. */
  sqlRanAgain(plan: number, request: SqlRequest): void {
    this.#sql.addOlder(plan, request);
  }

  promqlRan(request: PromQueryRequest): void {
    if (this.#deps.path === undefined || request.query.length > TEXT_CHARS_MAX) return;
    this.#promql.add(panelOf(request), request);
  }

  promqlRanAgain(request: PromQueryRequest): void {
    this.#promql.addOlder(panelOf(request), request);
  }

  /** Begins to run the queries that were remembered. */
  start(run: WarmUpRun): void {
    this.#running = this.#run(run).catch((error: unknown) => {
      this.#deps.log.warn({ error }, 'failed to run the latest queries again');
    });
  }

  /** Ends the running ones, and remembers the queries since the start. */
  async stop(): Promise<void> {
    this.#abort.abort(new AlmanacError('cancelled', 'the process stops'));
    await this.#running;
    const { fs, clock, log, path } = this.#deps;
    const queries: Remembered = {
      savedMs: clock.nowMs(),
      sql: this.#sql.all(),
      promql: this.#promql.all(),
    };
    if (path === undefined || queries.sql.length + queries.promql.length === 0) return;
    try {
      await fs.makeFolder(dirname(path));
      await replaceFile(fs, path, JSON.stringify(queries));
    } catch (error) {
      log.warn({ error }, 'failed to remember the latest queries');
    }
  }

  async #run({ service, isBusy }: WarmUpRun): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#abort;
    const queries = await this.#remembered(service);
    if (queries.length === 0) return;
    await clock.sleep(START_MS, signal);
    const startMs = clock.monotonicMs();
    const endMs = startMs + TOTAL_MS;
    let runs = 0;
    const run: Run = async (query, maxMs) => {
      while (isBusy() && !signal.aborted && clock.monotonicMs() < endMs) await clock.sleep(BUSY_MS, signal);
      const remainingMs = endMs - clock.monotonicMs();
      if (signal.aborted || remainingMs <= 0) return undefined;
      const limitMs = Math.min(maxMs, remainingMs);
      const outcome = await this.#outcome(query, limitMs);
      if (outcome.kind === 'late' && limitMs < QUERY_MS) query.wait();
      runs++;
      await clock.yield();
      return outcome;
    };
    await inRounds(queries, run);
    log.debug({ runs, durationMs: Math.round(clock.monotonicMs() - startMs) }, 'ran the latest queries again');
  }

  async #outcome(query: RememberedQuery, maxMs: number): Promise<Outcome> {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    const timed = withDeadline(ownCall('warm-up', this.#abort.signal), clock, maxMs);
    try {
      query.begin();
      for await (const part of query.run(timed.call)) void part;
      return { kind: 'answered', tookMs: clock.monotonicMs() - startMs };
    } catch {
      // Its table may be gone, which is no failure.
      const isLate = timed.call.signal.aborted && !this.#abort.signal.aborted;
      return { kind: isLate ? 'late' : 'failed' };
    } finally {
      timed.close();
    }
  }

  /** Returns what was remembered, the latest first, and removes it: a query that ends the process must not do so again. */
  async #remembered(open: WarmUpRun['service']): Promise<RememberedQuery[]> {
    const { fs, clock, path } = this.#deps;
    if (path === undefined || (await fs.size(path)) === undefined) return [];
    const text = new TextDecoder().decode(await fs.readFile(path));
    await fs.remove(path);
    const { savedMs, sql, promql } = JSON.parse(text) as Remembered;
    const laterMs = clock.nowMs() - savedMs;
    const service = open();
    this.#sql.expect(sql);
    this.#promql.expect(promql);
    return [
      ...sql.map((request) => ({
        begin: () => this.#sql.begin(request),
        wait: () => this.#sql.expect([request]),
        run: (call: Call) => service.sql(request, call),
      })),
      ...promql.map((request) => ({
        begin: () => this.#promql.begin(request),
        wait: () => this.#promql.expect([request]),
        run: (call: Call) => service.promQuery(movedBy(laterMs, request), call),
      })),
    ];
  }
}

/** Runs a query for some time; undefined: all have had their time. */
type Run = (query: RememberedQuery, maxMs: number) => Promise<Outcome | undefined>;

/** Runs queries in rounds, the shortest first, and those that take longer after these. */
async function inRounds(queries: readonly RememberedQuery[], run: Run): Promise<void> {
  let long: RememberedQuery[] = [];
  let short = queries;
  for (let round = 0; round < ROUNDS; round++) {
    const answered: { readonly query: RememberedQuery; readonly tookMs: number }[] = [];
    for (const query of short) {
      const outcome = await run(query, round === 0 ? FIRST_MS : LONG_MS[0]);
      if (outcome?.kind === 'answered') answered.push({ query, tookMs: outcome.tookMs });
      if (outcome?.kind === 'late') long.push(query);
    }
    short = answered.sort((a, b) => a.tookMs - b.tookMs).map(({ query }) => query);
  }
  for (const maxMs of LONG_MS) {
    const late: RememberedQuery[] = [];
    const answered: RememberedQuery[] = [];
    for (const query of long) {
      const outcome = await run(query, maxMs);
      if (outcome?.kind === 'answered') answered.push(query);
      if (outcome?.kind === 'late') late.push(query);
    }
    // The result of a second run is kept.
    for (const query of answered) await run(query, maxMs);
    long = late;
  }
}

/** Queries by what makes them the same. */
class LatestQueries<K extends number | string, R extends object> {
  readonly #ofClients = new LRUCache<K, R>({ max: QUERIES_MAX });
  /** Those of clients before the start, the latest first. */
  readonly #older = new Map<K, R>();

  /** Those of them that have not run yet. */
  readonly #waiting = new Set<R>();

  add(key: K, request: R): void {
    this.#ofClients.set(key, request);
  }

  addOlder(key: K, request: R): void {
    this.#older.set(key, request);
  }

  expect(requests: readonly R[]): void {
    for (const request of requests) this.#waiting.add(request);
  }

  /** Notes that a request runs, which may end the process or take too long. */
  begin(request: R): void {
    this.#waiting.delete(request);
  }

  /** Returns the latest ones, the latest first. */
  all(): R[] {
    const older = [...this.#older].filter(([key]) => !this.#ofClients.has(key)).map(([, request]) => request);
    // One that was answered and not sent in time is in two of them.
    return [...new Set([...this.#ofClients.values(), ...older, ...this.#waiting])].slice(0, QUERIES_MAX);
  }
}

/** Returns what the queries of a panel have in common while its time range moves. */
function panelOf({ query, database, stepMs, startMs, endMs }: PromQueryRequest): string {
  return `${stepMs} ${endMs - startMs} ${database} ${query}`;
}

/** Returns the query that a dashboard sends later: all its times are later by whole steps. */
function movedBy(laterMs: number, request: PromQueryRequest): PromQueryRequest {
  const { startMs, endMs, stepMs } = request;
  const ms = stepMs === 0 ? laterMs : Math.floor(laterMs / stepMs) * stepMs;
  return { ...request, startMs: startMs + ms, endMs: endMs + ms };
}
