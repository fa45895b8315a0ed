import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import type { Config } from '#shared/config/schema';
import { ownCall, type Call } from '#shared/contracts/call';
import type { QuerierService } from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import { quoteText } from '#shared/duckdb/quote';
import type { Logger } from '#shared/telemetry/log';
import type { Counter, Metrics } from '#shared/telemetry/metrics';

import type { RequestContext } from '../request-context.js';
import { allSqlRows } from './sql-rows.js';

/** Dependencies of `SlowQueries`. */
export interface SlowQueriesDeps {
  readonly config: Config;
  readonly querier: QuerierService;
  readonly catalog: Pick<Catalog, 'tables'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Queries that wait to be recorded; more are dropped. */
const WAITING_MAX = 100;
const TEXT_LENGTH_MAX = 64 * 1024;
const PLAN_LENGTH_MAX = 64 * 1024;
const CALL_MS_MAX = 30_000;
/** Texts that may have several statements: with EXPLAIN before the first, the others would run again. */
const SEVERAL = /;\s*\S/;
/** Statements with secrets in their texts. */
const SECRET = /\b(PASSWORD|TOKEN|IDENTIFIED|(CREATE|ALTER)\s+USER)\b/i;
const TABLE = 'slow_queries';

/** A query that took long. */
interface SlowQuery {
  readonly text: string;
  readonly isPromql: boolean;
  readonly range: { readonly startMs: number; readonly endMs: number; readonly stepMs: number } | undefined;
  readonly database: string;
  readonly user: string;
  readonly requestId: string;
  readonly costMs: number;
  readonly atMs: number;
  readonly rights: RequestContext['rights'];
}

/** Records queries that take longer than a threshold, with their plans, in a table that can be queried, or in the log. */
export class SlowQueries {
  readonly #deps: SlowQueriesDeps;
  readonly #database: string;
  readonly #recorded: Counter<'to'>;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(deps: SlowQueriesDeps) {
    this.#deps = deps;
    this.#database = `${deps.config.naming}_private`;
    this.#recorded = deps.metrics.counter({
      name: 'slow_queries_total',
      help: 'queries that took longer than slow_query.threshold, by where they were recorded: `table`, `log`, or `dropped`',
      labelNames: ['to'],
    });
  }

  /**
   * Creates the table if a statement may be about it, so that it can be queried before the first slow query. Whatever is
   * wrong then, such as a metadata service that cannot be reached, is for the statement itself to report.
   */
  async prepare({ text, database }: { readonly text: string; readonly database: string }, call: Call): Promise<void> {
    const { enable, recordType } = this.#deps.config.slow_query;
    if (!enable || recordType === 'log') return;
    if (database !== this.#database && !text.toLowerCase().includes(this.#database)) return;
    try {
      if (await this.#isMissing(call)) await this.#createTable();
    } catch (error) {
      this.#deps.log.debug({ reason: AlmanacError.from(error).message }, 'table of slow queries not created');
    }
  }

  /** Looks at a request that has ended. */
  observe({ asked, elapsedMs, rights, requestId }: RequestContext): void {
    const { config, clock, random } = this.#deps;
    const { enable, thresholdMs, sampleRatio } = config.slow_query;
    if (asked === undefined || !enable || elapsedMs < thresholdMs || random.fraction() >= Number(sampleRatio)) return;
    if (this.#waiting >= WAITING_MAX) return this.#recorded.inc({ to: 'dropped' });
    const query: SlowQuery = {
      ...asked,
      text: SECRET.test(asked.text) ? '(hidden)' : asked.text.slice(0, TEXT_LENGTH_MAX),
      user: rights?.user ?? '',
      requestId,
      costMs: elapsedMs,
      atMs: clock.nowMs() - elapsedMs,
      rights,
    };
    this.#waiting++;
    this.#last = this.#last.then(() => this.#record(query)).finally(() => this.#waiting--);
  }

  async #record(query: SlowQuery): Promise<void> {
    const { config, log } = this.#deps;
    const { costMs, text, database, user, requestId } = query;
    if (config.slow_query.recordType === 'log') {
      log.warn({ durationMs: costMs, query: text, database, user, requestId }, 'slow query');
      return this.#recorded.inc({ to: 'log' });
    }
    try {
      const plan = query.isPromql ? '' : await this.#planOf(query);
      await this.#insert(query, plan);
      this.#recorded.inc({ to: 'table' });
    } catch (error) {
      this.#recorded.inc({ to: 'dropped' });
      log.warn({ reason: AlmanacError.from(error).message, requestId }, 'slow query not recorded');
    }
  }

  /** Returns the plan of a statement; empty for one that has none, and for texts that may be several. */
  async #planOf({ text, database, rights }: SlowQuery): Promise<string> {
    if (SEVERAL.test(text)) return '';
    try {
      const request = { sql: `EXPLAIN ${text}`, database };
      const rows = await allSqlRows(this.#deps.querier, request, { ...this.#call(), rights });
      const plans = rows.map((row) => row.at(-1)).filter((plan) => typeof plan === 'string');
      return plans.join('\n').slice(0, PLAN_LENGTH_MAX);
    } catch {
      return '';
    }
  }

  async #insert(query: SlowQuery, plan: string): Promise<void> {
    try {
      await this.#run(this.#insertSql(query, plan), this.#database);
    } catch (thrown) {
      const { code } = AlmanacError.from(thrown);
      if (code !== 'database_not_found' && code !== 'table_not_found') throw thrown;
      await this.#createTable();
      await this.#run(this.#insertSql(query, plan), this.#database);
    }
  }

  async #isMissing(call: Call): Promise<boolean> {
    try {
      // As this process: the rights of the user are checked by the statement.
      const tables = await this.#deps.catalog.tables(this.#database, { ...call, rights: undefined });
      return !tables.some(({ name }) => name === TABLE);
    } catch (error) {
      if (AlmanacError.from(error).code !== 'database_not_found') throw error;
      return true;
    }
  }

  async #createTable(): Promise<void> {
    await this.#run(`CREATE DATABASE IF NOT EXISTS ${this.#database}`, 'public');
    await this.#run(
      `CREATE TABLE IF NOT EXISTS ${TABLE} (cost UINT64, threshold UINT64, query STRING, is_promql BOOLEAN, ` +
        '"timestamp" TIMESTAMP(3) TIME INDEX, promql_range UINT64, promql_step UINT64, promql_start TIMESTAMP(3), ' +
        'promql_end TIMESTAMP(3), plan STRING, "database" STRING, "user" STRING, request_id STRING) ' +
        `WITH (append_mode = 'true', ttl = ${quoteText(this.#deps.config.slow_query.ttl)})`,
      this.#database,
    );
  }

  #insertSql({ costMs, text, isPromql, range, atMs, database, user, requestId }: SlowQuery, plan: string): string {
    const { thresholdMs } = this.#deps.config.slow_query;
    const times =
      range === undefined
        ? ['NULL', 'NULL', 'NULL', 'NULL']
        : [range.endMs - range.startMs, range.stepMs, range.startMs, range.endMs];
    const texts = [plan, database, user, requestId].map(quoteText);
    const values = [costMs, thresholdMs, quoteText(text), isPromql, Math.round(atMs), ...times, ...texts];
    return `INSERT INTO ${TABLE} VALUES (${values.join(', ')})`;
  }

  async #run(sql: string, database: string): Promise<void> {
    await allSqlRows(this.#deps.querier, { sql, database }, this.#call());
  }

  #call(): Call {
    return { ...ownCall('slow query'), deadlineMs: this.#deps.clock.nowMs() + CALL_MS_MAX };
  }
}
