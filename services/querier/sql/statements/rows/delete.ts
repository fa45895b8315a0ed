import { checkCall } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import { quoteName } from '#shared/duckdb/quote';
import type { EngineColumn } from '#shared/duckdb/query-connection';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { isAppendOnly, tagsOf, timeIndexOf } from '#shared/schema/table-schema';
import type { CellValue } from '#shared/write/cell-value';

import { converterOf } from '../../syntax/cells.js';
import { Cursor, type ObjectName } from '../../syntax/cursor.js';
import { deleteInRounds, type DeleteRound } from './delete-rounds.js';
import { lexSql } from '../../syntax/lex.js';
import { areSameTables, sourceOf } from '../../../snapshot/logical-table.js';
import { doubtfulPredicates } from '../../syntax/predicates.js';
import type { QueryText } from '../../syntax/query-text.js';
import { queryRows, rowsOf, withBoundQuery, type BoundQuery } from '../../run/run-query.js';
import { checkWritable, metricCell, storedColumn } from './stored-columns.js';
import { truncateAtOwners } from './truncate-table.js';
import type { Statement, StatementContext, StatementKind } from '../../statement.js';

/**
 * `DELETE FROM t [WHERE ..]`: reads the matching rows and writes a deletion for each. If a row was written meanwhile,
 * everything is read again.
 */
export const deleteRows: StatementKind = {
  name: 'DELETE',

  matches: (cursor) => cursor.sees('DELETE', 'FROM'),

  parse(cursor) {
    cursor.expect('DELETE', 'FROM');
    const name = cursor.objectName('table name');
    if (cursor.done) return everything(name);
    cursor.expect('WHERE');
    if (cursor.done) throw cursor.unexpected('a condition');
    return rowsWhere({ name, ...conditionOf(cursor) });
  },
};

/** The rows to delete. */
interface DeleteTarget {
  readonly name: ObjectName;
  readonly condition: string;
  /** Parts of the condition that may not be boolean. */
  readonly doubtful: readonly string[];
}

/** Each is a column of the query, and the engine takes long to plan one with very many columns. */
const DOUBTFUL_MAX = 1000;

const ALL = { condition: 'true', doubtful: [] };

/** Parses the rest of the statement verbatim: one expression, so it closes no parenthesis but its own. */
function conditionOf(cursor: Cursor): Omit<DeleteTarget, 'name'> {
  const { tokens, at, to } = cursor;
  let depth = 0;
  for (; !cursor.done; cursor.at++) {
    if (cursor.seesSymbol('(')) depth++;
    else if (cursor.seesSymbol(')') && --depth < 0) throw cursor.unexpected('end of statement');
  }
  const condition = tokens.source.slice(tokens.start(at), tokens.end(to - 1));
  const doubtful = [...new Set(doubtfulPredicates(new Cursor(tokens, at, to)))];
  if (doubtful.length > DOUBTFUL_MAX) {
    throw new AlmanacError(
      'invalid_arguments',
      `too many conditions without a comparison in one DELETE, the limit is ${DOUBTFUL_MAX}`,
    );
  }
  return { condition, doubtful };
}

function rowsWhere(wanted: DeleteTarget): Statement {
  return {
    isQuery: true,
    check: (context) => told(() => checkGrammar(queryOf(['true'], wanted), context), wanted, context),
    async *run(context) {
      yield { kind: 'affected', rows: await told(() => deleteWhere(wanted, context), wanted, context) };
    },
  };
}

function checkGrammar(query: QueryText, { deps, session }: StatementContext): Promise<void> {
  return deps.connections.use((connection) => deps.planner.check(query, session.database, connection));
}

/** If a condition ends too early, the error must point at its end, not at the parenthesis that is put around it. */
async function told<T>(work: () => Promise<T>, wanted: DeleteTarget, context: StatementContext): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (AlmanacError.from(error).code === 'invalid_syntax') {
      await checkGrammar(queryOf(['true'], wanted, false), context);
    }
    throw error;
  }
}

function everything(name: ObjectName): Statement {
  return {
    isQuery: true,
    async *run(context) {
      const table = await tableOf(name, context);
      // The other metrics of its physical table must stay.
      if (sourceOf(table) !== undefined) {
        yield { kind: 'affected', rows: await deleteWhere({ name, ...ALL }, context) };
        return;
      }
      const { rows } = await queryRows(context, queryOf(['count(*)'], { name, ...ALL }));
      await context.slot.releaseWhile(() => truncateAtOwners(table, context.deps, context.call));
      yield { kind: 'affected', rows: Number(rows[0][0]) };
    },
  };
}

async function tableOf({ catalog, schema, name }: ObjectName, context: StatementContext): Promise<Table> {
  const { deps, session, call } = context;
  const database = deps.names.databaseOf(catalog, schema, session.database);
  const table = await deps.names.get(database, name, call, 'write');
  checkWritable(table);
  if (isAppendOnly(table)) throw new AlmanacError('invalid_arguments', 'DELETE is not allowed under append mode');
  return table;
}

/** @param isEnclosed whether the condition is known to be one expression; otherwise clauses may follow it. */
function queryOf(columns: readonly string[], { name, condition }: DeleteTarget, isEnclosed = true): QueryText {
  const parts = [name.catalog, name.schema, name.name].filter((part) => part !== '').map(quoteName);
  // On a line of its own, since it may end with a comment.
  const where = isEnclosed ? `(${condition}\n)` : condition;
  const tokens = lexSql(`SELECT ${columns.join(', ')} FROM ${parts.join('.')} WHERE ${where}`);
  return { tokens, from: 0, to: tokens.count };
}

function deleteWhere(wanted: DeleteTarget, context: StatementContext): Promise<number> {
  const { deps, call, slot } = context;
  return deleteInRounds(
    () => oneRound(wanted, context),
    (forMs) => slot.releaseWhile(() => deps.clock.sleep(forMs, call.signal)),
  );
}

async function oneRound(wanted: DeleteTarget, context: StatementContext): Promise<DeleteRound> {
  checkCall(context.call);
  const table = await context.slot.releaseWhile(() => tableOf(wanted.name, context));
  const keys = [...tagsOf(table), timeIndexOf(table)];
  const columns = [...keys.map((column) => quoteName(column.name)), ...wanted.doubtful.map((part) => `(${part}\n)`)];
  let round: DeleteRound | undefined;
  const rounds = withBoundQuery(context, queryOf(columns, wanted), async function* (bound) {
    yield await deleteFound(bound, { wanted, table, keys }, context);
  });
  for await (const it of rounds) round = it;
  invariant(round !== undefined, 'no round of a DELETE ran');
  return round;
}

interface Found {
  readonly wanted: DeleteTarget;
  readonly table: Table;
  /** The first columns of the query; the doubtful parts of its condition follow them. */
  readonly keys: readonly Column[];
}

async function deleteFound(
  { connection, sql, snapshot, planned }: BoundQuery,
  { wanted, table, keys }: Found,
  context: StatementContext,
): Promise<DeleteRound> {
  const { deps, session, call, slot } = context;
  const isOfRowsAlone = planned.plan.tables.length === 1;
  // Series with a tag that was added meanwhile would look like others.
  const now = await slot.releaseWhile(() => tableOf(wanted.name, context));
  if (!areSameTables(now, table)) return { rowCount: 0, isOutrun: true, isOfRowsAlone };
  const source = sourceOf(table);
  const query = await sql();
  const types: readonly EngineColumn[] = await connection.describe(query);
  checkBoolean(wanted, types.slice(keys.length));
  const converters = keys.map((column) => converterOf(column, session.zone));
  const stored = source === undefined ? keys : keys.map((column) => storedColumn(source, column));
  const added = source === undefined ? [] : [metricCell(source)];
  async function* rows(): AsyncIterable<CellValue[][]> {
    for await (const block of connection.stream(keysOf(query, wanted, keys), keys.length, call.signal)) {
      yield rowsOf(block, keys.length).map((row) => [
        ...row.map((cell, i) => converters[i].cell(cell, types[i].type)),
        ...added.map(({ value }) => value),
      ]);
    }
  }
  const columns = [...stored, ...added.map(({ column }) => column)];
  const deleted = await deps.insert.delete(source?.physical ?? table, columns, rows(), snapshot.sequences, call);
  return { ...deleted, isOfRowsAlone };
}

/** Returns the query without the parts whose types are known: one may fail for a row that another part has excluded. */
function keysOf(sql: string, { doubtful }: DeleteTarget, keys: readonly Column[]): string {
  return doubtful.length === 0 ? sql : `SELECT ${keys.map((_, i) => `#${i + 1}`).join(', ')} FROM (${sql})`;
}

/** The engine would treat any number but zero as true. */
function checkBoolean({ doubtful }: DeleteTarget, types: readonly EngineColumn[]): void {
  const wrong = types.findIndex(({ type }) => type.kind !== 'bool');
  if (wrong === -1) return;
  const text = `Cannot create filter with non-boolean predicate '${doubtful[wrong].slice(0, 100)}'`;
  throw new AlmanacError('plan_query', `Failed to plan SQL: ${text} returning ${types[wrong].type.name}`);
}
