import type { Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import type { Cell } from '#shared/duckdb/chunk-reader';
import { HELD_ROWS, type EngineColumn, type QueryConnection } from '#shared/duckdb/query-connection';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { dataType } from '#shared/schema/data-type';
import { impliedTags } from '#shared/schema/implied-tags';
import { tagsOf, timeIndexOf } from '#shared/schema/table-schema';
import type { TimeBounds } from '#shared/segments/bands';
import type { CellValue } from '#shared/write/cell-value';

import type { SinkLayout } from '../sql/flow/sink.js';
import type { QueryPlan } from '../sql/plan/plan.js';
import { hullOf, rowsWithin } from '../sql/plan/plan-table.js';
import { withBoundQuery, rowsOf, type BoundQuery } from '../sql/run/run-query.js';
import type { QueryText } from '../sql/syntax/query-text.js';
import { converterOf } from '../sql/syntax/cells.js';
import type { StatementContext } from '../sql/statement.js';

/** Where the results of a run go. */
export interface SinkTarget {
  readonly table: Table;
  readonly layout: SinkLayout;
  /** Rows that the run replaces, by ranges of time in the sink's unit; undefined: it only adds and overwrites rows. */
  readonly replaced: readonly TimeBounds[] | undefined;
  /** The call of every write: its deadline ends before the lease of the flow. @throws if the lease has ended. */
  readonly writeCall: () => Call;
}

/** Rows may be written to the sink by others while those that are gone are deleted. */
const DELETE_TRIES = 5;

/**
 * Evaluates a query and stores its result in a sink: rows of the sink that the result lacks are deleted, then the result is
 * written over those that remain.
 *
 * @returns the number of rows written and deleted.
 */
export async function writeResults(query: QueryText, target: SinkTarget, context: StatementContext): Promise<number> {
  let rowCount = 0;
  const work = withBoundQuery(context, query, async function* (bound) {
    const { connection, sql } = bound;
    const types = await describeResult(query, bound);
    const names = types.map((_, i) => `c${i}`);
    await connection.hold(await sql(), names, context.call.signal);
    try {
      const { replaced } = target;
      const deleted = replaced === undefined ? 0 : await deleteOthers({ ...target, replaced }, connection, context);
      yield deleted + (await writeHeld(target, types, connection, context));
    } finally {
      await connection.dropHeld();
    }
  });
  for await (const rows of work) rowCount += rows;
  return rowCount;
}

/** Types of the keys of sinks, and of the results of queries by plan. Each would take the engine as long as a small query. */
const keyTypes = new WeakMap<Table, readonly EngineColumn[]>();
const resultTypes = new WeakMap<QueryPlan, { readonly query: QueryText; readonly types: readonly EngineColumn[] }>();

async function describeResult(
  query: QueryText,
  { planned: { plan }, connection, emptySql }: BoundQuery,
): Promise<readonly EngineColumn[]> {
  const known = resultTypes.get(plan);
  if (known?.query === query) return known.types;
  const types = await connection.describe(await emptySql());
  resultTypes.set(plan, { query, types });
  return types;
}

async function describeKeys(table: Table, sql: string, connection: QueryConnection): Promise<readonly EngineColumn[]> {
  const types = keyTypes.get(table) ?? (await connection.describe(sql));
  keyTypes.set(table, types);
  return types;
}

async function writeHeld(
  target: SinkTarget,
  types: readonly EngineColumn[],
  connection: QueryConnection,
  context: StatementContext,
): Promise<number> {
  const rows = connection.stream(`SELECT * FROM ${HELD_ROWS}`, types.length, context.call.signal);
  async function* blocks(): AsyncIterable<Cell[][]> {
    for await (const block of rows) yield rowsOf(block, types.length);
  }
  return insertRows(target, types, blocks(), context);
}

/** Writes result rows to a sink. @returns their number. */
export async function insertRows(
  { table, layout, writeCall }: SinkTarget,
  types: readonly EngineColumn[],
  blocks: AsyncIterable<readonly Cell[][]>,
  { deps, session }: StatementContext,
): Promise<number> {
  const makers = layout.columns.map(({ column, from }): ((row: readonly Cell[]) => CellValue) => {
    if ('value' in from) return () => from.value;
    const converter = converterOf(column, session.zone);
    return (row) => converter.cell(row[from.item], types[from.item].type);
  });
  const columns = layout.columns.map(({ column }) => column);
  const time = columns.findIndex(({ kind }) => kind === 'time');
  async function* rows(): AsyncIterable<CellValue[][]> {
    for await (const block of blocks) {
      // A group without a time, for example of no rows at all, has no place in the sink.
      yield block.map((row) => makers.map((make) => make(row))).filter((row) => row[time] !== null);
      writeCall();
    }
  }
  return deps.insert.insert(table, columns, rows(), writeCall());
}

/** A target of which a run replaces rows. */
type ReplacedTarget = SinkTarget & { readonly replaced: readonly TimeBounds[] };

/** Deletes rows of the sink that the held result lacks. @returns their number. */
async function deleteOthers(
  target: ReplacedTarget,
  connection: QueryConnection,
  context: StatementContext,
): Promise<number> {
  let rowCount = 0;
  for (let attempt = 0; attempt < DELETE_TRIES; attempt++) {
    const deleted = await deleteOnce(target, connection, context);
    rowCount += deleted.rowCount;
    if (!deleted.isOutrun) return rowCount;
  }
  throw new AlmanacError('region_busy', `rows of "${target.table.name}" are written while a flow replaces them`, {
    retryAfterSeconds: 1,
  });
}

async function deleteOnce(
  { table, layout, replaced, writeCall }: ReplacedTarget,
  connection: QueryConnection,
  { deps, session, call, slot }: StatementContext,
): Promise<{ readonly rowCount: number; readonly isOutrun: boolean }> {
  const keys = [...tagsOf(table), timeIndexOf(table)];
  const columns = new Set(keys.map(({ name }) => name));
  const { from: timeFrom, to: timeTo } = hullOf(replaced);
  const request = { table, columns, timeFrom, timeTo, tagValues: new Map<string, readonly string[]>(), texts: [] };
  const snapshot = await deps.snapshots.take([request], call, { slot });
  try {
    const sql = othersSql(rowsWithin((await snapshot.relations())[0], table, replaced), keys, layout);
    const types = await describeKeys(table, sql, connection);
    const converters = keys.map((column) => converterOf(column, session.zone));
    async function* rows(): AsyncIterable<CellValue[][]> {
      for await (const block of connection.stream(sql, keys.length, call.signal)) {
        yield rowsOf(block, keys.length).map((row) => row.map((cell, i) => converters[i].cell(cell, types[i].type)));
        writeCall();
      }
    }
    return await deps.insert.delete(table, keys, rows(), snapshot.sequences, writeCall());
  } catch (error) {
    throw await snapshot.reasonOf(error, call.signal);
  } finally {
    snapshot.release();
  }
}

/** Returns SQL of the keys of rows that the held result lacks. */
function othersSql(relation: string, keys: readonly Column[], layout: SinkLayout): string {
  const implied = impliedTags({ columns: keys, options: {} });
  const conditions = keys.flatMap((key) => {
    const from = layout.columns.find(({ column }) => column.id === key.id)?.from;
    if (from === undefined || 'value' in from) return [];
    const type = dataType(key.type).duckdb;
    const written = `CAST(h.c${from.item} AS ${type})`;
    const missing = implied.get(key.id);
    const stored = missing === undefined ? written : `coalesce(${written}, ${quoteText(missing)}::${type})`;
    return [`s.${quoteName(key.name)} IS NOT DISTINCT FROM ${stored}`];
  });
  const selected = keys.map(({ name }) => `s.${quoteName(name)}`).join(', ');
  const isIn = conditions.length === 0 ? 'true' : conditions.join(' AND ');
  return `SELECT ${selected} FROM ${relation} AS s WHERE NOT EXISTS (SELECT 1 FROM ${HELD_ROWS} AS h WHERE ${isIn})`;
}
