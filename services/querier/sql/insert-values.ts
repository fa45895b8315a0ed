import type { Column } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { CellValue } from '#shared/write/cell-value';

import { converterOf, type CellConverter } from './cells.js';
import type { Cursor } from './cursor.js';
import { defaultCell } from './defaults.js';
import { lex } from './lex.js';
import { readLiteralCell, type LiteralCell } from './literal-cell.js';
import { queryRows } from './run-query.js';
import type { StatementContext } from './statements/statement.js';

const ROWS_PER_BLOCK = 1024;
const EXPRESSIONS_PER_QUERY = 200;
const EXPRESSIONS_MAX = 20_000;

/** The tuples of VALUES: from a position to the end of the statement. */
export interface ValueRange {
  readonly cursor: Cursor;
  readonly from: number;
}

interface Expression {
  readonly row: CellValue[];
  readonly at: number;
  readonly sql: string;
}

/**
 * Reads all tuples. Literals are converted here; other expressions are computed by the engine, many at once.
 *
 * Nothing is stored before all were read, so a statement with one bad value leaves nothing behind.
 *
 * @param complete appends what the statement leaves out, and checks the row.
 * @returns blocks of rows.
 */
export async function readTuples(
  context: StatementContext,
  range: ValueRange,
  columns: readonly Column[],
  complete: (row: CellValue[]) => CellValue[],
): Promise<CellValue[][][]> {
  const reader = new TupleReader(context, range, columns);
  const rows = reader.read();
  await evaluate(context, reader.expressions, columns);
  const blocks: CellValue[][][] = [];
  for (let i = 0; i < rows.length; i += ROWS_PER_BLOCK) blocks.push(rows.slice(i, i + ROWS_PER_BLOCK).map(complete));
  return blocks;
}

class TupleReader {
  readonly expressions: Expression[] = [];
  readonly #context: StatementContext;
  readonly #cursor: Cursor;
  readonly #columns: readonly Column[];
  readonly #converters: readonly CellConverter[];

  constructor(context: StatementContext, { cursor, from }: ValueRange, columns: readonly Column[]) {
    this.#context = context;
    this.#cursor = cursor;
    cursor.at = from;
    this.#columns = columns;
    this.#converters = columns.map((column) => converterOf(column, context.session.zone));
  }

  read(): CellValue[][] {
    const cursor = this.#cursor;
    const rows: CellValue[][] = [];
    do {
      if (cursor.done && rows.length > 0) break; // a trailing comma
      cursor.expectSymbol('(');
      rows.push(this.#tuple());
    } while (cursor.acceptSymbol(','));
    cursor.expectEnd();
    return rows;
  }

  #tuple(): CellValue[] {
    const cursor = this.#cursor;
    const row: CellValue[] = [];
    while (!cursor.acceptSymbol(')')) {
      this.#cell(row);
      if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
    }
    if (row.length !== this.#columns.length) {
      throw new AlmanacError(
        'invalid_arguments',
        `Invalid SQL, error: column count mismatch, columns: ${this.#columns.length}, values: ${row.length}`,
      );
    }
    return row;
  }

  #cell(row: CellValue[]): void {
    const cursor = this.#cursor;
    const start = cursor.at;
    const cell = readLiteralCell(cursor);
    if (cell !== undefined && (cursor.seesSymbol(',') || cursor.seesSymbol(')'))) {
      row.push(row.length < this.#columns.length ? this.#value(cell, row.length) : null);
      return;
    }
    cursor.at = start;
    const { from, to } = cursor.skipExpression();
    if (from === to) throw cursor.unexpected('a value');
    const { tokens } = cursor;
    this.expressions.push({ row, at: row.length, sql: tokens.source.slice(tokens.start(from), tokens.end(to - 1)) });
    if (this.expressions.length > EXPRESSIONS_MAX)
      throw new AlmanacError(
        'invalid_arguments',
        `too many computed values in one INSERT, the limit is ${EXPRESSIONS_MAX}`,
      );
    row.push(null);
  }

  #value(cell: LiteralCell, i: number): CellValue {
    const converter = this.#converters[i];
    switch (cell.kind) {
      case 'literal':
        return converter.literal(cell.literal, cell.isNegative);
      case 'bool':
        return converter.bool(cell.value);
      case 'now':
        return converter.time(this.#context.nowNs);
      case 'default':
        return this.#default(i);
      default:
        return null;
    }
  }

  #default(i: number): CellValue {
    const column = this.#columns[i];
    const value = defaultCell(column, this.#context.nowNs);
    if (value !== undefined) return value;
    if (!column.nullable)
      throw new AlmanacError(
        'invalid_arguments',
        `No valid default value can be built automatically, column: ${column.name}`,
      );
    return null;
  }
}

/** `parse_json('..')` only says that a text is JSON, which its column checks anyway. */
const PARSE_JSON = /^parse_json\s*\(([\s\S]*)\)$/i;

async function evaluate(
  context: StatementContext,
  expressions: readonly Expression[],
  columns: readonly Column[],
): Promise<void> {
  for (let from = 0; from < expressions.length; from += EXPRESSIONS_PER_QUERY) {
    const part = expressions.slice(from, from + EXPRESSIONS_PER_QUERY);
    const tokens = lex(
      `SELECT ${part.map(({ sql }, i) => `(${PARSE_JSON.exec(sql)?.[1] ?? sql}) AS c${i}`).join(', ')}`,
    );
    const result = await queryRows(context, { tokens, from: 0, to: tokens.count });
    for (const [i, { row, at }] of part.entries()) {
      const { type } = result.columns[i];
      if (at < columns.length) row[at] = converterOf(columns[at], context.session.zone).cell(result.rows[0][i], type);
    }
  }
}
