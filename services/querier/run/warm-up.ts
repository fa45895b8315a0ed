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
/** Longest duration of a query. */
const QUERY_MS = 1_000;
/** What runs several times is compiled, and its result is kept. */
const ROUNDS = 3;
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
    let queries = await this.#remembered(service);
    if (queries.length === 0) return;
    await clock.sleep(START_MS, signal);
    const startMs = clock.monotonicMs();
    const endMs = startMs + TOTAL_MS;
    let runs = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const answered: { readonly query: (typeof queries)[number]; readonly tookMs: number }[] = [];
      for (const query of queries) {
        while (isBusy() && !signal.aborted && clock.monotonicMs() < endMs) await clock.sleep(BUSY_MS, signal);
        const queryMs = clock.monotonicMs();
        if (signal.aborted || queryMs >= endMs) break;
        const isAnswered = await this.#answers(query, Math.min(QUERY_MS, endMs - queryMs));
        if (isAnswered) answered.push({ query, tookMs: clock.monotonicMs() - queryMs });
        runs++;
        await clock.yield();
      }
      queries = answered.sort((a, b) => a.tookMs - b.tookMs).map(({ query }) => query);
    }
    log.debug({ runs, durationMs: Math.round(clock.monotonicMs() - startMs) }, 'ran the latest queries again');
  }

  /** Returns whether a query was answered in time. Its table may be gone, which is no failure. */
  async #answers(query: (call: Call) => AsyncIterable<unknown>, maxMs: number): Promise<boolean> {
    const timed = withDeadline(ownCall('warm-up', this.#abort.signal), this.#deps.clock, maxMs);
    try {
      for await (const part of query(timed.call)) void part;
      return true;
    } catch {
      return false;
    } finally {
      timed.close();
    }
  }

  /** Returns what was remembered, the latest first, and removes it: a query that ends the process must not do so again. */
  async #remembered(open: WarmUpRun['service']): Promise<((call: Call) => AsyncIterable<unknown>)[]> {
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
      ...sql.map((request) => (call: Call) => {
        this.#sql.begin(request);
        return service.sql(request, call);
      }),
      ...promql.map((request) => (call: Call) => {
        this.#promql.begin(request);
        return service.promQuery(movedBy(laterMs, request), call);
      }),
    ];
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
    return [...this.#ofClients.values(), ...older, ...this.#waiting].slice(0, QUERIES_MAX);
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
