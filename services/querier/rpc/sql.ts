import { utf8Bytes } from '#shared/bytes/utf8';
import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { ResultColumn, SqlEvent, SqlRequest, TailPositions } from '#shared/contracts/gen/querier';
import type { LocalQuerier } from '#shared/contracts/local-querier';
import { mayAccess, mayUseDatabase, requireAccess } from '#shared/contracts/rights';
import type { ViewCatalog } from '#shared/discovery/catalog';
import type { Ingesters } from '#shared/discovery/ingesters';
import { QueryConnections, type EngineInstance } from '#shared/duckdb/query-connection';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { ConfinedFolder } from '#shared/fs/confined-folder';
import { BoundedQueue, UNCOUNTED_SLOT } from '#shared/limits/bounded-queue';
import type { Logger } from '#shared/telemetry/log';
import { parseZone } from '#shared/time/zone';

import { resultFormatNamed } from '#shared/formats/registry';
import type { QuerierMetrics } from '../metrics.js';
import type { Admission } from '../run/admission.js';
import type { KnownResult } from '../kernels/result/result-cache.js';
import { withOwnDeadline } from '../run/deadline.js';
import type { MemoryWatch } from '../run/memory-watch.js';
import type { ProcessDirectory } from '../run/process-directory.js';
import type { ListedProcess, Processes } from '../run/processes.js';
import type { Snapshots } from '../snapshot/snapshots.js';
import { lexSql } from '../sql/syntax/lex.js';
import type { LogicalTables } from '../snapshot/logical-table.js';
import { Planner } from '../sql/plan/plan.js';
import { withPosition } from '../sql/syntax/text-place.js';
import { splitStatements } from '../sql/syntax/split.js';
import { parsedQuery, parseStatement, type ParsedStatement } from '../sql/statements/registry.js';
import type {
  FlowRunner,
  ResultSlot,
  SqlKernels,
  StatementRowSink,
  Statement,
  StatementContext,
  StatementDeps,
  StatementEvent,
  TailReading,
} from '../sql/statement.js';
import { TableNames } from '../sql/plan/table-names.js';
import type { PromEngine } from '../promql/engine.js';

/** Limits of SQL requests. */
export interface SqlLimits {
  /** Longest duration of a request, whatever deadline it has. */
  readonly maxTimeoutMs: number;
  readonly planCacheEntries: number;
}

/** Dependencies of the SQL service. */
export interface SqlServiceDeps {
  readonly metadata: MetadataService;
  readonly catalog: ViewCatalog;
  readonly ingesters: Ingesters;
  readonly snapshots: Snapshots;
  /** Metrics, which are visible as tables too. */
  readonly logicalTables: LogicalTables;
  readonly insert: StatementRowSink;
  readonly promql: PromEngine;
  readonly copyRoot?: ConfinedFolder | undefined;
  /** The queries of this process, and those of all queriers. */
  readonly processes: Processes;
  readonly processDirectory: ProcessDirectory;
  /** The query instance: sandboxed and locked. */
  readonly duckdb: EngineInstance;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: QuerierMetrics;
  readonly limits: SqlLimits;
  /** Admission slots and memory that all queries of the process share. */
  readonly admission: Admission;
  readonly memory: MemoryWatch;
  /** Generated names: the catalog, in messages. */
  readonly names: { readonly catalog: string };
  /** The flows of this process. */
  readonly flows: FlowRunner;
  /** Undefined: the engine runs all queries. */
  readonly kernels?: SqlKernels | undefined;
  /** Called when kernels have answered a request of one query. @param plan number of its plan */
  readonly answered?: ((plan: number, request: SqlRequest) => void) | undefined;
}

const TEXT_CHARS_MAX = 16 * 1024 * 1024;
const STATEMENTS_MAX = 1000;
/** Passwords that wait for their hash; more get an error. */
const HASHES_MAX = 32;
const NO_TEXT = new Uint8Array(0);
const NO_COLUMNS: readonly ResultColumn[] = [];

/**
 * Implements Querier.Sql: runs the statements of a text in order. All are parsed before the first one runs. The first failure
 * ends the stream with its error, whose details contain the statement's index; effects of earlier statements stay.
 */
export function sqlService(
  deps: SqlServiceDeps,
  services: StatementDeps = statementDeps(deps),
): Pick<LocalQuerier, 'sql' | 'sqlNow'> {
  const runner = new SqlRunner(deps, services);
  return {
    sql: (request, call) => runner.run(request, call),
    sqlNow: (request, call) => runner.runNow(request, call),
  };
}

/** Creates the services that statements use. */
export function statementDeps(deps: SqlServiceDeps): StatementDeps {
  const { catalog, limits, clock } = deps;
  const names = new TableNames(catalog, deps.names.catalog, deps.logicalTables);
  return {
    metadata: deps.metadata,
    catalog,
    clock,
    ingesters: deps.ingesters,
    snapshots: deps.snapshots,
    insert: deps.insert,
    promql: deps.promql,
    names,
    copyRoot: deps.copyRoot,
    processes: deps.processDirectory,
    connections: new QueryConnections(deps.duckdb),
    planner: new Planner({ catalog, names, entries: limits.planCacheEntries }),
    hashing: new BoundedQueue({ name: 'password hashes', runningMax: 1, waitingMax: HASHES_MAX, clock }),
    flows: deps.flows,
    kernels: deps.kernels,
    queryRun: (path) => deps.metrics.queryRun(path),
  };
}

/** Who follows a statement while it runs. */
interface StatementWatch {
  /** Ends it early. */
  readonly end: (error: AlmanacError) => void;
  /** Records its outcome; undefined if it is not audited. */
  readonly ended: ((outcome: string) => void) | undefined;
  readonly listed: ListedProcess;
  readonly answered: StatementContext['answered'];
  readonly result: StatementContext['result'];
}

class SqlRunner {
  readonly #deps: SqlServiceDeps;
  readonly #admission: Admission;
  readonly #memory: MemoryWatch;
  readonly #statementDeps: StatementDeps;
  readonly #log: Logger;

  constructor(deps: SqlServiceDeps, services: StatementDeps) {
    this.#deps = deps;
    this.#log = deps.log.child({ component: 'audit' });
    this.#admission = deps.admission;
    this.#memory = deps.memory;
    this.#statementDeps = services;
  }

  /** Returns the only event of a small result that is known, without an admission slot; runs all other statements. */
  runNow(request: SqlRequest, call: Call): SqlEvent | AsyncIterable<SqlEvent> {
    const startMs = this.#deps.clock.monotonicMs();
    const result = this.#resultOf(request, call);
    const [event] = result?.known?.events ?? [];
    if (result?.known === undefined || event?.kind !== 'result') return this.#runFrom(request, call, result);
    const { metrics, answered } = this.#deps;
    this.#statementDeps.queryRun('cache');
    answered?.(result.known.plan, request);
    metrics.rowsSent(event.rows);
    metrics.statementEnded((this.#deps.clock.monotonicMs() - startMs) / 1000, 'ok');
    return encoded(0, event);
  }

  run(request: SqlRequest, call: Call): AsyncIterable<SqlEvent> {
    return this.#runFrom(request, call, this.#resultOf(request, call));
  }

  /** Returns where the result of a request is kept, and the result, if it is known and the caller may read its tables. */
  #resultOf(request: SqlRequest, call: Call): ResultSlot | undefined {
    const { catalog, ingesters, kernels, snapshots } = this.#statementDeps;
    if (kernels === undefined || request.after !== undefined) return undefined;
    const key = resultKey(request);
    const { version: catalogVersion } = catalog;
    // Owners in other processes have to be called; and traces show how long planning and binding took.
    const isReady = ingesters.hasNothingNew !== undefined && call.span === undefined;
    const known = isReady
      ? kernels.results.known(key, {
          catalogVersion,
          versionsOf: (tables) => snapshots.versionsNow(tables),
        })
      : undefined;
    // The statement itself is refused to a caller who may not read its tables.
    const isAllowed = known !== undefined && mayReadAll(known, request, call);
    return { key, catalogVersion, known: isAllowed ? known : undefined };
  }

  async *#runFrom(request: SqlRequest, call: Call, result: ResultSlot | undefined): AsyncIterable<SqlEvent> {
    try {
      yield* this.#run(request, call, result);
    } catch (error) {
      throw withPosition(error, request.sql);
    }
  }

  async *#run(request: SqlRequest, outerCall: Call, result: ResultSlot | undefined): AsyncIterable<SqlEvent> {
    const timed = withOwnDeadline(outerCall, this.#deps.clock, this.#deps.limits.maxTimeoutMs);
    const end = (error: AlmanacError): void => timed.end(error);
    try {
      const context = await this.#context(request, timed.call);
      const { sql } = request;
      const known = this.#statementDeps.planner.known(sql, context.session.database);
      const statements = known === undefined ? parseSqlText(sql) : [parsedQuery(known, sql)];
      if (context.format.isSingle && statements.length > 1) {
        const text = `cannot output multi-statements result in ${context.format.names[0]} format`;
        throw new AlmanacError('invalid_arguments', text);
      }
      for (const [i, { statement, access }] of statements.entries()) {
        await numbered(i, async () => {
          if (access !== 'own') requireAccess(context.call, access);
          if (statements.length > 1) await statement.check?.(context);
        });
      }
      const { answered: note } = this.#deps;
      const isOne = statements.length === 1;
      const answered = note && isOne ? (plan: number) => note(plan, request) : undefined;
      for (const [i, { statement, text, isAudited }] of statements.entries()) {
        const ended = isAudited ? this.#audit(context, text) : undefined;
        const { database } = context.session;
        const { rights, requestId: queryId } = context.call;
        const listed = this.#deps.processes.begin({ database, text, rights, queryId, kind: 'sql', end });
        try {
          yield* this.#statement(i, statement, context, {
            end,
            ended,
            listed,
            answered,
            result: result && (isOne ? result : ofStatement(i, result)),
          });
        } finally {
          listed.end();
        }
      }
    } finally {
      timed.close();
    }
  }

  async #context(request: SqlRequest, call: Call): Promise<StatementContext> {
    const database = request.database === '' ? 'public' : request.database;
    // An account without rights to a database may still change its own password.
    if (mayUseDatabase(call.rights, database) || !isOfAccount(request.sql)) {
      await this.#statementDeps.names.checkDatabase(database, call);
    } else {
      await this.#deps.catalog.database(database, call);
    }
    const format = resultFormatNamed(request.format);
    await format.load?.();
    return {
      deps: this.#statementDeps,
      session: { database, zone: parseZone(request.timezone) },
      call,
      slot: UNCOUNTED_SLOT,
      format,
      limit: request.limit,
      nowNs: this.#deps.clock.nowNs(),
      tail: tailOf(request),
    };
  }

  /** Returns a function that records who ran a statement, and how it ended. */
  #audit({ call, session }: StatementContext, statement: string): (outcome: string) => void {
    const { database } = session;
    const user = call.rights?.user ?? '';
    return (outcome) =>
      this.#log.info({ user, database, statement, outcome, requestId: call.requestId }, 'statement run');
  }

  async *#statement(
    index: number,
    statement: Statement,
    shared: StatementContext,
    { end, ended, listed, answered, result }: StatementWatch,
  ): AsyncIterable<SqlEvent> {
    const { clock, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    const { deps, session, format, limit, tail } = shared;
    const span = shared.call.span?.child('run statement', { 'db.namespace': session.database });
    const call = span === undefined ? shared.call : { ...shared.call, span };
    const nowNs = index === 0 ? shared.nowNs : clock.nowNs();
    let outcome = 'cancelled';
    let failure: AlmanacError | undefined;
    try {
      const entered = statement.isQuery ? this.#admission.enter(call) : { slot: shared.slot, leave: () => false };
      const { slot, leave } = entered instanceof Promise ? await entered : entered;
      // The watch begins after admission: a waiting query holds no memory, and would be the first to be ended.
      const unwatch = this.#memory.enter(end);
      try {
        let rows = (listed.rowsSent = 0);
        let isStream = false;
        const context = { deps, session, call, slot, format, limit, nowNs, tail, listed, answered, result };
        for await (const event of statement.run(context)) {
          if (event.kind === 'schema') isStream = true;
          if (event.kind === 'result' || event.kind === 'text') listed.rowsSent = rows += event.rows;
          yield encoded(index, event);
        }
        metrics.rowsSent(rows);
        if (isStream) yield endOf(index, rows, tail);
      } finally {
        unwatch();
        leave();
      }
      outcome = 'ok';
    } catch (error) {
      const known = withIndex(error, index);
      outcome = known.code;
      failure = known;
      throw known;
    } finally {
      span?.end(failure);
      metrics.statementEnded((clock.monotonicMs() - startMs) / 1000, outcome);
      ended?.(outcome);
    }
  }
}

/** Returns where the result of one of several statements is kept. It is not known before the statements before it have run. */
function ofStatement(index: number, { key, catalogVersion }: ResultSlot): ResultSlot {
  return { key: `${index}\0${key}`, catalogVersion, known: undefined };
}

/** Returns the text, and all else of a request that its result depends on. */
function resultKey({ sql, database, timezone, format, limit = -1 }: SqlRequest): string {
  return `${format}\0${timezone}\0${limit}\0${database}\0${sql}`;
}

function mayReadAll({ tables }: KnownResult<StatementEvent>, { database }: SqlRequest, { rights }: Call): boolean {
  if (rights === undefined) return true;
  if (!mayUseDatabase(rights, database === '' ? 'public' : database)) return false;
  return tables.every((table) => mayAccess(rights, 'read', table.database));
}

function endOf(statement: number, rows: number, tail: TailReading | undefined): SqlEvent {
  const positions = tail === undefined ? undefined : positionsOf(tail);
  return { statement, kind: 'end', schema: NO_COLUMNS, text: NO_TEXT, rows, affectedRows: 0, positions };
}

function encoded(statement: number, event: StatementEvent): SqlEvent {
  switch (event.kind) {
    case 'affected':
      return { statement, kind: 'affected', schema: NO_COLUMNS, text: NO_TEXT, rows: 0, affectedRows: event.rows };
    case 'schema':
      return { statement, kind: 'schema', schema: event.columns, text: NO_TEXT, rows: 0, affectedRows: 0 };
    case 'result':
    case 'text': {
      const { kind, rows } = event;
      const schema = kind === 'result' ? event.columns : NO_COLUMNS;
      return { statement, kind, schema, text: utf8Bytes(event.text), rows, affectedRows: 0 };
    }
  }
}

function tailOf({ after }: SqlRequest): TailReading | undefined {
  if (after === undefined) return undefined;
  return { after: new Map(after.regions.map((it) => [it.regionId, it.sequence])), snapshot: undefined };
}

function positionsOf({ snapshot }: TailReading): TailPositions {
  const regions = Array.from(snapshot?.sequences ?? [], ([regionId, sequence]) => ({ regionId, sequence }));
  return { regions, mayRepeat: snapshot?.mayRepeat ?? false };
}

/** Parses a text. @throws `invalid_syntax`, `unsupported`, `invalid_arguments`, with the statement's index in the details. */
export function parseSqlText(text: string): ParsedStatement[] {
  if (text.length > TEXT_CHARS_MAX) {
    throw new AlmanacError(
      'invalid_arguments',
      `SQL text is ${text.length} characters long, the limit is ${TEXT_CHARS_MAX}`,
    );
  }
  const cursors = splitStatements(lexSql(text));
  if (cursors.length === 0) throw new AlmanacError('invalid_arguments', 'Invalid SQL, error: empty statements');
  if (cursors.length > STATEMENTS_MAX) {
    throw new AlmanacError(
      'invalid_arguments',
      `request has ${cursors.length} statements, the limit is ${STATEMENTS_MAX}`,
    );
  }
  return cursors.map((cursor, i) => {
    try {
      return parseStatement(cursor);
    } catch (error) {
      throw withIndex(error, i);
    }
  });
}

/** Whether a text has only statements about the account of its user, which belong to no database. */
function isOfAccount(text: string): boolean {
  return parseSqlText(text).every(({ access }) => access === 'own');
}

/** Runs work for a statement; an error gets the index of the statement. */
export async function numbered(index: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw withIndex(error, index);
  }
}

/** Adds the index of the statement within its request to an error. */
function withIndex(thrown: unknown, index: number): AlmanacError {
  return AlmanacError.from(thrown).withDetails({ statement_index: String(index) });
}
