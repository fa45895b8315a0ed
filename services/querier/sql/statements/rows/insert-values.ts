import { checkCall } from '#shared/contracts/call';
import type { Column } from '#shared/contracts/gen/common';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { CellValue } from '#shared/write/cell-value';

import { converterOf, type CellConverter } from '../../syntax/cells.js';
import { defaultCell } from '../../syntax/defaults.js';
import { lexSql } from '../../syntax/lex.js';
import type { LiteralCell } from '../../syntax/literal-cell.js';
import type { QueryText } from '../../syntax/query-text.js';
import { queryRows } from '../../run/run-query.js';
import type { StatementContext } from '../../statement.js';
import { readTuples, type TupleSink, type ValueRange } from '../../syntax/tuples.js';

const ROWS_PER_BLOCK = 1024;
const EXPRESSIONS_PER_QUERY = 200;
const EXPRESSIONS_MAX = 20_000;

interface Expression {
  readonly row: CellValue[];
  readonly at: number;
  readonly sql: string;
}

/**
 * Reads all tuples. Literals are converted here; other expressions are computed by the engine, many at once.
 *
 * Nothing is stored before all tuples were read, so a statement with one bad value changes nothing.
 *
 * @param complete appends omitted columns and checks the row.
 * @returns blocks of rows.
 */
export async function rowsOfTuples(
  context: StatementContext,
  range: ValueRange,
  columns: readonly Column[],
  complete: (row: CellValue[]) => CellValue[],
): Promise<CellValue[][][]> {
  const sink = new RowSink(context, columns);
  readTuples(range, sink);
  const { rows, expressions } = sink;
  await evaluate(context, expressions, columns);
  const blocks: CellValue[][][] = [];
  for (let i = 0; i < rows.length; i += ROWS_PER_BLOCK) blocks.push(rows.slice(i, i + ROWS_PER_BLOCK).map(complete));
  return blocks;
}

/** Checks the grammar of all tuples, independent of the table. @throws `invalid_syntax`. */
export async function checkTuples({ deps, session, call }: StatementContext, range: ValueRange): Promise<void> {
  const expressions: string[] = [];
  readTuples(range, {
    literal: () => undefined,
    expression(sql) {
      expressions.push(sql);
      limitExpressions(expressions.length);
    },
    endOfTuple: () => undefined,
  });
  for (let from = 0; from < expressions.length; from += EXPRESSIONS_PER_QUERY) {
    checkCall(call);
    const query = queryOf(expressions.slice(from, from + EXPRESSIONS_PER_QUERY));
    await deps.connections.use((connection) => deps.planner.check(query, session.database, connection));
  }
}

class RowSink implements TupleSink {
  readonly rows: CellValue[][] = [];
  readonly expressions: Expression[] = [];
  readonly #context: StatementContext;
  readonly #columns: readonly Column[];
  readonly #converters: readonly CellConverter[];
  #row: CellValue[] = [];

  constructor(context: StatementContext, columns: readonly Column[]) {
    this.#context = context;
    this.#columns = columns;
    this.#converters = columns.map((column) => converterOf(column, context.session.zone));
  }

  literal(cell: LiteralCell): void {
    const row = this.#row;
    row.push(row.length < this.#columns.length ? this.#value(cell, row.length) : null);
  }

  expression(sql: string): void {
    const row = this.#row;
    this.expressions.push({ row, at: row.length, sql });
    limitExpressions(this.expressions.length);
    row.push(null);
  }

  endOfTuple(): void {
    const row = this.#row;
    if (row.length !== this.#columns.length) {
      throw new AlmanacError(
        'invalid_arguments',
        `Invalid SQL, error: column count mismatch, columns: ${this.#columns.length}, values: ${row.length}`,
      );
    }
    this.rows.push(row);
    this.#row = [];
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
    if (!column.nullable) {
      throw new AlmanacError(
        'invalid_arguments',
        `No valid default value can be built automatically, column: ${column.name}`,
      );
    }
    return null;
  }
}

function limitExpressions(count: number): void {
  if (count > EXPRESSIONS_MAX) {
    throw new AlmanacError(
      'invalid_arguments',
      `too many computed values in one INSERT, the limit is ${EXPRESSIONS_MAX}`,
    );
  }
}

/** `parse_json('..')` only states that a text is JSON, which its column checks anyway. */
const PARSE_JSON = /^parse_json\s*\(([\s\S]*)\)$/i;

async function evaluate(
  context: StatementContext,
  expressions: readonly Expression[],
  columns: readonly Column[],
): Promise<void> {
  for (let from = 0; from < expressions.length; from += EXPRESSIONS_PER_QUERY) {
    const part = expressions.slice(from, from + EXPRESSIONS_PER_QUERY);
    const result = await queryRows(context, queryOf(part.map(({ sql }) => sql)));
    for (const [i, { row, at }] of part.entries()) {
      const { type } = result.columns[i];
      if (at < columns.length) row[at] = converterOf(columns[at], context.session.zone).cell(result.rows[0][i], type);
    }
  }
}

function queryOf(expressions: readonly string[]): QueryText {
  const items = expressions.map((sql, i) => `(${PARSE_JSON.exec(sql)?.[1] ?? sql}) AS c${i}`);
  const tokens = lexSql(`SELECT ${items.join(', ')}`);
  return { tokens, from: 0, to: tokens.count };
}
