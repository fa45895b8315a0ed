import { checkCall } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import { quoteName } from '#shared/duckdb/quote';
import type { EngineColumn } from '#shared/duckdb/query-connection';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { isAppendOnly, tagsOf, timeIndexOf } from '#shared/schema/table-schema';
import type { CellValue } from '#shared/write/cell-value';

import { converterOf } from '../cells.js';
import type { Cursor, ObjectName } from '../cursor.js';
import { deleteInRounds, type DeleteRound } from '../delete-rounds.js';
import { lex } from '../lex.js';
import { areSameTables, sourceOf } from '../logical-table.js';
import type { QueryText } from '../query-text.js';
import { queryRows, rowsOf, withBoundQuery, type BoundQuery } from '../run-query.js';
import { checkWritable, metricCell, storedColumn } from '../stored-columns.js';
import { truncateTable } from '../truncate-table.js';
import type { Statement, StatementContext, StatementKind } from './statement.js';

/**
 * `DELETE FROM t [WHERE ..]`: the rows of the predicate are read, and a deletion is written for each, unless the row
 * was written anew meanwhile: then all is read again.
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
    return rowsWhere(name, conditionOf(cursor));
  },
};

/** The rest of the statement as it was written: one expression, so it closes no parenthesis but its own. */
function conditionOf(cursor: Cursor): string {
  const { tokens, at, to } = cursor;
  let depth = 0;
  for (; !cursor.done; cursor.at++) {
    if (cursor.seesSymbol('(')) depth++;
    else if (cursor.seesSymbol(')') && --depth < 0) throw cursor.unexpected('end of statement');
  }
  return tokens.source.slice(tokens.start(at), tokens.end(to - 1));
}

function rowsWhere(name: ObjectName, condition: string): Statement {
  return {
    isQuery: true,
    check: ({ deps, session }) => {
      const query = queryOf(['true'], name, condition);
      return deps.connections.use((connection) => deps.planner.check(query, session.database, connection));
    },
    async *run(context) {
      yield { kind: 'affected', rows: await deleteWhere(name, condition, context) };
    },
  };
}

function everything(name: ObjectName): Statement {
  return {
    isQuery: true,
    async *run(context) {
      const table = await tableOf(name, context);
      // The other metrics of its physical table stay.
      if (sourceOf(table) !== undefined) {
        yield { kind: 'affected', rows: await deleteWhere(name, 'true', context) };
        return;
      }
      const { rows } = await queryRows(context, queryOf(['count(*)'], name, 'true'));
      await context.place.aside(() => truncateTable(table, context.deps, context.call));
      yield { kind: 'affected', rows: Number(rows[0][0]) };
    },
  };
}

async function tableOf({ catalog, schema, name }: ObjectName, context: StatementContext): Promise<Table> {
  const { deps, session, call } = context;
  const database = deps.names.databaseOf(catalog, schema, session.database);
  const table = await deps.names.get(database, name, call);
  checkWritable(table);
  if (isAppendOnly(table)) throw new AlmanacError('invalid_arguments', 'DELETE is not allowed under append mode');
  return table;
}

function queryOf(columns: readonly string[], { catalog, schema, name }: ObjectName, condition: string): QueryText {
  const parts = [catalog, schema, name].filter((part) => part !== '').map(quoteName);
  // On a line of its own: it may end with a comment.
  const tokens = lex(`SELECT ${columns.join(', ')} FROM ${parts.join('.')} WHERE (${condition}\n)`);
  return { tokens, from: 0, to: tokens.count };
}

function deleteWhere(name: ObjectName, condition: string, context: StatementContext): Promise<number> {
  const { deps, call, place } = context;
  return deleteInRounds(
    () => oneRound(name, condition, context),
    (forMs) => place.aside(() => deps.clock.sleep(forMs, call.signal)),
  );
}

async function oneRound(name: ObjectName, condition: string, context: StatementContext): Promise<DeleteRound> {
  checkCall(context.call);
  const table = await context.place.aside(() => tableOf(name, context));
  const keys = [...tagsOf(table), timeIndexOf(table)];
  const names = keys.map((column) => quoteName(column.name));
  let round: DeleteRound | undefined;
  const rounds = withBoundQuery(context, queryOf(names, name, condition), async function* (bound) {
    yield await deleteFound(bound, { name, table, keys }, context);
  });
  for await (const it of rounds) round = it;
  invariant(round !== undefined, 'a DELETE that was not carried out');
  return round;
}

interface Found {
  readonly name: ObjectName;
  readonly table: Table;
  /** Columns of the query. */
  readonly keys: readonly Column[];
}

async function deleteFound(
  { connection, sql, snapshot, planned }: BoundQuery,
  { name, table, keys }: Found,
  context: StatementContext,
): Promise<DeleteRound> {
  const { deps, session, call, place } = context;
  const isOfRowsAlone = planned.plan.tables.length === 1;
  // Rows of series with a tag that is new would look like those of others.
  const now = await place.aside(() => tableOf(name, context));
  if (!areSameTables(now, table)) return { rowCount: 0, isOutrun: true, isOfRowsAlone };
  const source = sourceOf(table);
  const types: readonly EngineColumn[] = await connection.describe(sql);
  const converters = keys.map((column) => converterOf(column, session.zone));
  const stored = source === undefined ? keys : keys.map((column) => storedColumn(source, column));
  const added = source === undefined ? [] : [metricCell(source)];
  async function* rows(): AsyncIterable<CellValue[][]> {
    for await (const block of connection.stream(sql, keys.length, call.signal)) {
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
