import type { Column, Table } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { CellValue } from '#shared/write/cell-value';

import { converterOf } from '../../syntax/cells.js';
import type { Cursor, ObjectName } from '../../syntax/cursor.js';
import { defaultCell } from '../../syntax/defaults.js';
import { checkTuples, rowsOfTuples } from './insert-values.js';
import { sourceOf } from '../../../snapshot/logical-table.js';
import { queryBlocks } from '../../run/run-query.js';
import { checkWritable, metricCell, storedColumn, type FilledCell } from './stored-columns.js';
import type { ValueRange } from '../../syntax/tuples.js';
import type { Statement, StatementContext, StatementKind } from '../../statement.js';

/** `INSERT|REPLACE INTO [TABLE] t [(cols)] VALUES (..), ..` or a query. */
export const insert: StatementKind = {
  name: 'INSERT',

  matches: (cursor) => cursor.sees('INSERT', 'INTO') || cursor.sees('REPLACE', 'INTO'),

  parse(cursor) {
    cursor.at += 2;
    cursor.accept('TABLE');
    const name = cursor.objectName('table name');
    const columns = parseColumns(cursor);
    if (cursor.accept('VALUES')) return insertValues({ name, columns }, { cursor, from: cursor.at });
    if (cursor.done) throw cursor.unexpected('VALUES or a query');
    return insertQuery({ name, columns }, cursor);
  },
};

/** What rows are inserted into. */
export interface InsertTarget {
  readonly name: ObjectName;
  /** As listed; undefined means all columns of the table in order. */
  readonly columns: readonly string[] | undefined;
}

function parseColumns(cursor: Cursor): string[] | undefined {
  if (!cursor.seesSymbol('(')) return undefined;
  // `INSERT INTO t (SELECT ..)` has a query in parentheses, not columns.
  const start = cursor.at;
  cursor.expectSymbol('(');
  if (cursor.sees('SELECT') || cursor.sees('WITH') || cursor.sees('VALUES') || cursor.seesSymbol('(')) {
    cursor.at = start;
    return undefined;
  }
  const names: string[] = [];
  while (!cursor.acceptSymbol(')')) {
    names.push(cursor.name('column name'));
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  return names;
}

function insertValues(target: InsertTarget, range: ValueRange): Statement {
  return {
    isQuery: false,
    check: (context) => checkTuples(context, range),
    async *run(context) {
      const shape = await insertShape(target, context);
      const blocks = await rowsOfTuples(context, range, shape.given, (row) => shape.complete(row));
      yield {
        kind: 'affected',
        rows: await context.deps.insert.insert(shape.table, shape.stored, blocks, context.call),
      };
    },
  };
}

function insertQuery(target: InsertTarget, cursor: Cursor): Statement {
  const query = { tokens: cursor.tokens, from: cursor.at, to: cursor.to };
  return {
    isQuery: true,
    check: ({ deps, session }) =>
      deps.connections.use((connection) => deps.planner.check(query, session.database, connection)),
    async *run(context) {
      const shape = await insertShape(target, context);
      const rows = queryRowsOf(context, shape);
      yield { kind: 'affected', rows: await context.deps.insert.insert(shape.table, shape.stored, rows, context.call) };
    },
  };

  async function* queryRowsOf(context: StatementContext, shape: InsertShape): AsyncIterable<CellValue[][]> {
    const converters = shape.given.map((column) => converterOf(column, context.session.zone));
    let types: Parameters<Parameters<typeof queryBlocks>[2]>[0] = [];
    const blocks = queryBlocks(context, query, (columns) => {
      if (columns.length !== converters.length) {
        throw new AlmanacError('plan_query', "Failed to plan SQL: Column count doesn't match insert query!");
      }
      types = columns;
    });
    for await (const block of blocks) {
      const columns = converters.map((converter, i) => {
        const cells = block.cells(i).slice(0, block.rowCount);
        return cells.map((cell) => converter.cell(cell, types[i].type));
      });
      yield Array.from({ length: block.rowCount }, (_, row) => shape.complete(columns.map((cells) => cells[row])));
    }
  }
}

/** Where the cells of inserted rows belong. */
export interface InsertShape {
  readonly table: Table;
  /** Columns of the statement, in its order. */
  readonly given: readonly Column[];
  /** Those and the ones filled with defaults. */
  readonly stored: readonly Column[];
  /** Appends defaults to a row. @throws `invalid_arguments` for NULL in a column that is not nullable. */
  complete(row: CellValue[]): CellValue[];
}

/**
 * Finds the table and the columns of inserted rows, and the defaults of the other columns.
 *
 * @param mayLack whether a column without a default may be left out.
 * @throws `table_not_found`, `column_not_found`, `invalid_arguments`; errors of rights.
 */
export async function insertShape(
  target: InsertTarget,
  context: StatementContext,
  mayLack: (column: Column) => boolean = ({ nullable }) => nullable,
): Promise<InsertShape> {
  const { deps, session, call, nowNs } = context;
  const database = deps.names.databaseOf(target.name.catalog, target.name.schema, session.database);
  const table = await deps.names.get(database, target.name.name, call, 'write');
  checkWritable(table);
  const given =
    target.columns === undefined ? [...table.columns] : target.columns.map((name) => columnNamed(table, name));
  if (new Set(given).size !== given.length) {
    throw new AlmanacError('invalid_arguments', 'Invalid SQL, error: a column is named twice');
  }
  const filled: FilledCell[] = [];
  for (const column of table.columns) {
    if (given.includes(column)) continue;
    const value = defaultCell(column, nowNs);
    if (value !== undefined) filled.push({ column, value });
    else if (!mayLack(column)) throw noDefault(column);
  }
  return shapeOf(table, given, filled);
}

/** The rows of a metric are stored in its physical table. */
function shapeOf(table: Table, given: readonly Column[], filled: readonly FilledCell[]): InsertShape {
  const source = sourceOf(table);
  const added = source === undefined ? filled : [...filled, metricCell(source)];
  const columns = [...given, ...added.map(({ column }) => column)];
  const required = columns.map((column) => (column.nullable ? undefined : column));
  return {
    table: source?.physical ?? table,
    given,
    stored: source === undefined ? columns : columns.map((column) => storedColumn(source, column)),
    complete(row) {
      for (const { value } of added) row.push(value);
      for (let i = 0; i < columns.length; i++) {
        const column = required[i];
        if (column !== undefined && row[i] === null) {
          throw new AlmanacError('invalid_arguments', `column ${column.name} is not null but input has null`);
        }
        // A label without a value is equal to no label.
        if (source !== undefined && columns[i].kind === 'tag' && row[i] === '') row[i] = null;
      }
      return row;
    },
  };
}

function columnNamed(table: Table, name: string): Column {
  const column = table.columns.find((candidate) => candidate.name === name);
  if (column === undefined) {
    throw new AlmanacError('column_not_found', `Column not found in table, column: ${name}, table: ${table.name}`);
  }
  return column;
}

function noDefault(column: Column): AlmanacError {
  return new AlmanacError(
    'invalid_arguments',
    `No valid default value can be built automatically, column: ${column.name}`,
  );
}
