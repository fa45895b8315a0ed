import type { Cell } from '#shared/duckdb/chunk-reader';
import type { EngineColumn, QueryConnection, ResultSet, RowBlock } from '#shared/duckdb/query-connection';
import { quoteText } from '#shared/duckdb/quote';
import { invariant } from '#shared/errors/invariant';

import type { OutputColumn } from '#shared/formats/format';
import { NewerSchema, type BindRequest } from '../../snapshot/binding.js';
import type { Snapshot } from '../../snapshot/snapshots.js';
import { ExternalTables } from '../files/external-files.js';
import { beginEarly, slotAfter, takenAfter } from './early-run.js';
import {
  engineRan,
  isForEngine,
  kernelAnswer,
  kernelQuery,
  readyPlan,
  readyQuery,
  ROWS_ENCODED_MAX,
  runKernels,
  schemaOf,
  type KernelAnswer,
  type KernelResult,
} from './kernel-run.js';
import type { KnownQuery, NameScope, PlannedQuery, QueryPlan } from '../plan/plan.js';
import type { QueryText } from '../syntax/query-text.js';
import { bindingOf } from '../plan/plan-table.js';
import { StatementRun, type StatementContext, type StatementEvent, type TextEvent } from '../statement.js';
import { inlineTql } from '../syntax/inline-tql.js';
import { FilledTables } from '../system-tables/filled-tables.js';
import type { ReadFigures } from '../../run/processes.js';
import { sizeOf } from './scan-lines.js';
import { isSystemTable } from '../system-tables/system-table.js';
import { InlinedTables } from '../tql/inlined-tables.js';
import { withMissingName } from './missing-names.js';
import type { FindTable } from '../range/input.js';
import { hasRanges, rewriteRanges, type RewrittenRanges } from '../range/rewrite-ranges.js';

/** A query with bound tables, ready for the engine. */
export interface BoundQuery {
  readonly planned: PlannedQuery;
  readonly run: StatementRun;
  readonly sql: () => Promise<string>;
  /** Returns the query over no rows, which has the same result columns. */
  readonly emptySql: () => Promise<string>;
  readonly connection: QueryConnection;
  readonly snapshot: Snapshot;
  /** Duration of the snapshot in milliseconds. */
  readonly snapshotMs: number;
  /** The result, if it is known to be small and the query ran before the snapshot was complete. */
  readonly result: ResultSet | undefined;
}

/**
 * Plans the query, takes a snapshot of its tables and passes both to `use`. Snapshot and connection are held until its events
 * have all been consumed.
 *
 * @param mayBeEarly whether the query may begin before the snapshot is complete; its rows are all held in memory then.
 */
export async function* withBoundQuery<T>(
  context: StatementContext,
  text: QueryText,
  use: (bound: BoundQuery) => AsyncIterable<T>,
  mayBeEarly: (planned: PlannedQuery) => boolean = () => false,
): AsyncGenerator<T> {
  const { deps, session } = context;
  const { query: written, parts } = inlineTql(text);
  let query = written;
  let flat: RewrittenRanges['flat'];
  const connection = await deps.connections.take();
  const inlined = new InlinedTables(connection);
  const system = new FilledTables(connection);
  const external = new ExternalTables(connection);
  try {
    await inlined.fill(parts, context);
    const constants = { nowNs: context.nowNs, zone: session.zone };
    const names = { database: session.database, given: inlined.given, constants };
    if (hasRanges(written)) ({ query, flat } = await withoutRanges(context, written, names));
    const bound = await bindQuery({ context, query, flat, names, connection, system, external, mayBeEarly });
    const { listed } = context;
    if (listed !== undefined) listed.figures = engineFigures(bound);
    try {
      yield* use(bound);
    } catch (error) {
      throw await bound.snapshot.reasonOf(error, context.call.signal);
    } finally {
      if (listed !== undefined) listed.figures = undefined;
      bound.snapshot.release();
    }
  } catch (error) {
    throw withMissingName(error, query, context);
  } finally {
    await inlined.drop();
    await system.drop();
    await external.drop();
    deps.connections.giveBack(connection);
  }
}

/**
 * Returns what shows how much the engine has read. It reports a share of its work only, so that rows and bytes are this share of
 * those that the query reads.
 */
function engineFigures({ connection, snapshot }: BoundQuery): () => ReadFigures {
  return () => {
    const { progress } = connection;
    if (progress === undefined) return {};
    const all = sizeOf(snapshot.reads);
    return { rowsScanned: Math.round(all.rows * progress), bytesScanned: Math.round(all.bytes * progress), progress };
  };
}

/** Replaces range queries by ordinary SQL, which depends on the time index and the primary key of their tables. */
function withoutRanges(
  { deps, call, slot, nowNs, session }: StatementContext,
  query: QueryText,
  names: NameScope,
): Promise<RewrittenRanges> {
  const find: FindTable = async (schema, name) => {
    const given = schema === '' ? names.given.get(name) : undefined;
    return given ?? deps.names.getSource(deps.names.databaseOf('', schema, names.database), name, call);
  };
  return slot.releaseWhile(() => rewriteRanges(query, { nowNs, zone: session.zone, find }));
}

/** A query before its tables are bound. */
interface UnboundQuery {
  readonly context: StatementContext;
  readonly query: QueryText;
  /** Of a range query. */
  readonly flat: RewrittenRanges['flat'];
  readonly names: NameScope;
  readonly connection: QueryConnection;
  readonly system: FilledTables;
  readonly external: ExternalTables;
  readonly mayBeEarly: (planned: PlannedQuery) => boolean;
}

/** Tables may be altered again while a query is planned again; it is retried up to this often. */
const TRIES = 5;

/** Plans and binds the query, with the schema that its tables have when they are read. */
async function bindQuery(unbound: UnboundQuery): Promise<BoundQuery> {
  const { deps, call, slot } = unbound.context;
  for (let attempt = 1; ; attempt++) {
    try {
      return await bindOnce(unbound);
    } catch (error) {
      if (!(error instanceof NewerSchema) || attempt === TRIES) throw error;
      await slot.releaseWhile(() => deps.catalog.renew(error.tableId, call));
    }
  }
}

async function bindOnce({
  context,
  query,
  flat,
  names,
  connection,
  system,
  external,
  mayBeEarly,
}: UnboundQuery): Promise<BoundQuery> {
  const { deps, call, slot } = context;
  const planned = await slot.releaseWhile(() => deps.planner.plan(query, names, connection, call, flat));
  if (planned.plan.tables.some(({ table }) => isSystemTable(table))) {
    await slot.releaseWhile(() => fillSystemTables(planned, system, context));
  }
  const tables = planned.plan.tables.map(({ table }) => table);
  await external.open(tables, deps);
  const run = new StatementRun(context, planned.literals);
  const bindings = planned.plan.tables.map((table) => bindingOf(table, run, context.timeRange));
  const asked = bindings.filter(({ request }) => request !== undefined);
  const after = context.tail?.after;
  const requests: BindRequest[] = [];
  for (const { request } of asked) {
    if (request !== undefined) requests.push(after === undefined ? request : { ...request, after });
  }
  const sqlOf = async (relations: readonly string[]): Promise<string> => {
    const read = bindings.map((binding) => binding.relation(relations[asked.indexOf(binding)]));
    return (await planned.plan.printed(connection))(run, read, planned.itemNames);
  };
  const now = deps.snapshots.takeNow(requests, call);
  const isEarly = now === undefined && mayBeEarly(planned);
  const early = isEarly
    ? await beginEarly({
        snapshots: deps.snapshots,
        requests,
        connection,
        call,
        sqlOf: async (guess) => sqlOf(await guess.relations()),
      })
    : undefined;
  const waiting = { guess: early?.guess, slot: slotAfter(early, slot) };
  const askedMs = deps.clock.monotonicMs();
  const snapshot = now ?? (await takenAfter(early, deps.snapshots.take(requests, call, waiting)));
  if (context.tail !== undefined) context.tail.snapshot = snapshot;
  try {
    const result = snapshot === early?.guess ? await early.result : undefined;
    const snapshotMs = deps.clock.monotonicMs() - askedMs;
    const emptySql = (): Promise<string> => sqlOf(snapshot.emptyRelations);
    const sql = async (): Promise<string> => sqlOf(await snapshot.relations());
    return { planned, run, sql, emptySql, connection, snapshot, snapshotMs, result };
  } catch (error) {
    const reason = await snapshot.reasonOf(error, call.signal);
    snapshot.release();
    throw reason;
  }
}

async function fillSystemTables(
  { plan }: PlannedQuery,
  system: FilledTables,
  { deps, call, nowNs }: StatementContext,
): Promise<void> {
  const { metadata, processes, ingesters, clock } = deps;
  const source = {
    ...deps.names.systemSource(),
    metadata,
    processes,
    ingesters,
    clock,
    call,
    nowMs: Number(nowNs / 1_000_000n),
  };
  const tables = plan.tables.map(({ table }) => table);
  await system.fill(tables, source, () => deps.clock.yield());
}

/** Runs a query and returns its result in the request's format. */
export function answerQuery(context: StatementContext, query: QueryText): AsyncIterable<StatementEvent> {
  const { deps, session, call } = context;
  return answerReady(
    context,
    () => deps.planner.ready(query, session.database, call),
    () => query,
  );
}

/** Runs a query whose plan is known. @param query parses its text, which kernels do not need */
export function answerKnown(
  context: StatementContext,
  known: KnownQuery,
  query: () => QueryText,
): AsyncIterable<StatementEvent> {
  return answerReady(context, () => known.ready(context.call), query);
}

async function* answerReady(
  context: StatementContext,
  plan: () => PlannedQuery | undefined,
  query: () => QueryText,
): AsyncIterable<StatementEvent> {
  const known = context.result?.known;
  if (known !== undefined) {
    context.deps.queryRun('cache');
    context.answered?.(known.plan);
    yield* known.events;
    return;
  }
  const planned = readyPlan(context, plan);
  const ready = planned && readyQuery(context, planned);
  let refusal: string | undefined;
  if (ready !== undefined) {
    try {
      const answered = await kernelAnswer(ready, context);
      if (typeof answered !== 'string') {
        yield* eventsOf(answered);
        return;
      }
      refusal = answered;
    } catch (error) {
      throw await ready.snapshot.reasonOf(error, context.call.signal);
    } finally {
      ready.snapshot.release();
    }
  }
  yield* boundAnswer(context, query(), refusal);
}

/** @param refusal why kernels do not run the query, if that is known */
function boundAnswer(
  context: StatementContext,
  query: QueryText,
  refusal: string | undefined,
): AsyncIterable<StatementEvent> {
  const mayBeEarly = (planned: PlannedQuery): boolean => {
    const { plan, literals } = planned;
    if (context.limit !== undefined || context.tail !== undefined || !plan.isSmall(literals)) return false;
    return isForEngine(planned, context.deps);
  };
  return withBoundQuery(context, query, (bound) => answer(context, bound, refusal), mayBeEarly);
}

async function* answer(
  context: StatementContext,
  bound: BoundQuery,
  refusal: string | undefined,
): AsyncIterable<StatementEvent> {
  const begun = bound.result === undefined ? refusal : 'the engine has begun';
  const query = begun ?? kernelQuery(bound, context);
  if (typeof query !== 'string') {
    const { planned, run, snapshot } = bound;
    const columns = (): Promise<readonly OutputColumn[]> => kernelColumns(bound);
    const answered = await kernelAnswer({ planned, run, snapshot, query, columns }, context);
    if (typeof answered !== 'string') {
      yield* eventsOf(answered);
      return;
    }
  }
  yield* engineAnswer(context, bound);
}

async function* engineAnswer(context: StatementContext, bound: BoundQuery): AsyncIterable<StatementEvent> {
  engineRan(bound.planned);
  context.deps.queryRun('engine');
  const whole = await bound.sql();
  const sql = context.limit === undefined ? whole : `SELECT * FROM (${whole}) LIMIT ${context.limit}`;
  const isSmall = bound.planned.plan.isSmall(bound.planned.literals) || (context.limit ?? Infinity) <= ROWS_ENCODED_MAX;
  if (isSmall) {
    const result = bound.result ?? (await bound.connection.run(sql, context.call.signal));
    const columns = outputColumns(result.columns, bound);
    yield schemaOf(columns);
    for (const block of result.blocks()) yield encode(context, columns, block);
    return;
  }
  const columns = outputColumns(await bound.connection.describe(await bound.emptySql()), bound);
  yield schemaOf(columns);
  yield* streamedRows(sql, columns, { context, connection: bound.connection });
}

async function* eventsOf({ events, release }: KernelAnswer): AsyncIterable<StatementEvent> {
  try {
    yield* events;
  } finally {
    release();
  }
}

/** Runs a bound query by kernels. @returns its result, or why the engine must run it. */
export async function fastResult(bound: BoundQuery, context: StatementContext): Promise<KernelResult | string> {
  const query = kernelQuery(bound, context);
  return typeof query === 'string' ? query : runKernels(bound, query, () => kernelColumns(bound), context);
}

/** Returns the result columns of a query that kernels run; if only the engine knows them, it describes them once for a plan. */
async function kernelColumns(bound: BoundQuery): Promise<readonly OutputColumn[]> {
  const { plan, itemNames } = bound.planned;
  const own = 'refusal' in plan.kernel ? undefined : plan.kernel.columns;
  if (own !== undefined && plan.declaredTypes.size === 0) return own(itemNames);
  const key = itemNames.join('\0');
  const known = described.get(plan);
  if (known?.key === key) return known.columns;
  const columns = outputColumns(await bound.connection.describe(await bound.emptySql()), bound);
  described.set(plan, { key, columns });
  return columns;
}

/** Result columns by plan, for the texts of the items that name them. */
const described = new WeakMap<QueryPlan, { readonly key: string; readonly columns: readonly OutputColumn[] }>();

/** Streams the rows of a query, as texts that the engine makes if it can. */
async function* streamedRows(
  sql: string,
  columns: readonly OutputColumn[],
  { context, connection }: { readonly context: StatementContext; readonly connection: QueryConnection },
): AsyncIterable<TextEvent> {
  const { format, call } = context;
  const names = columns.map((_, i) => `c${i}`);
  const rowSql = format.rowSql(columns, names);
  if (rowSql === undefined) {
    const blocks = connection.stream(sql, columns.length, call.signal);
    for await (const block of blocks) yield encode(context, columns, block);
    return;
  }
  const texts = `SELECT concat(${rowSql}, ${quoteText(format.separator)}) FROM (${sql}) AS q(${names.join(', ')})`;
  const separatorBytes = Buffer.byteLength(format.separator);
  for await (const block of connection.stream(texts, 1, call.signal)) {
    const text = block.joined(0);
    yield { kind: 'text', text: text.subarray(0, text.length - separatorBytes), rows: block.rowCount };
  }
}

function encode(context: StatementContext, columns: readonly OutputColumn[], block: RowBlock): TextEvent {
  const { format } = context;
  const { rowCount: rows } = block;
  if (format.encodeColumns !== undefined) {
    const arrays = columns.map((_, i) => block.arrays(i));
    return { kind: 'text', text: format.encodeColumns(columns, arrays, rows), rows };
  }
  const cells = columns.map((_, i) => block.cells(i));
  return { kind: 'text', text: format.encodeRows(columns, cells, rows), rows };
}

/** Returns the result columns of a bound query. @param columns as the engine describes them. */
export function outputColumns(columns: readonly EngineColumn[], bound: BoundQuery): OutputColumn[] {
  const { declaredTypes } = bound.planned.plan;
  return columns.map(({ name, type }, i) => {
    const declared = declaredTypes.get(i);
    if (declared === undefined) return { name, type };
    return { name, type: { name: declared, kind: declared === 'Json' ? 'json' : 'vector' } };
  });
}

/** Returns all rows of a query, for statements that process them further. Rows are arrays of values. */
export async function queryRows(
  context: StatementContext,
  query: QueryText,
): Promise<{ columns: readonly EngineColumn[]; rows: Cell[][] }> {
  let columns: readonly EngineColumn[] = [];
  const rows: Cell[][] = [];
  for await (const block of queryBlocks(context, query, (given) => (columns = given))) {
    rows.push(...rowsOf(block, columns.length));
  }
  return { columns, rows };
}

/** Describes a query without running it: its result columns, and its plan. */
export async function describeQuery(
  context: StatementContext,
  query: QueryText,
): Promise<{ readonly columns: readonly OutputColumn[]; readonly plan: QueryPlan }> {
  const described = withBoundQuery(context, query, async function* (bound) {
    const columns = outputColumns(await bound.connection.describe(await bound.emptySql()), bound);
    yield { columns, plan: bound.planned.plan };
  });
  for await (const result of described) return result;
  invariant(false, 'query without a description');
}

/** Returns the rows of a query, block by block. @param onColumns called with the columns before the first block. */
export function queryBlocks(
  context: StatementContext,
  query: QueryText,
  onColumns: (columns: readonly EngineColumn[]) => void,
): AsyncGenerator<RowBlock> {
  return withBoundQuery(context, query, async function* ({ connection, sql, emptySql }) {
    const columns = await connection.describe(await emptySql());
    onColumns(columns);
    yield* connection.stream(await sql(), columns.length, context.call.signal);
  });
}

/** Transposes a block to rows. */
export function rowsOf(block: RowBlock, columnCount: number): Cell[][] {
  const cells = Array.from({ length: columnCount }, (_, i) => block.cells(i));
  return Array.from({ length: block.rowCount }, (_, row) => cells.map((column) => column[row]));
}
