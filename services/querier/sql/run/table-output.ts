import { quoteName, quoteText } from '#shared/duckdb/quote';
import type { Cell } from '#shared/duckdb/chunk-reader';

import type { Cursor } from '../syntax/cursor.js';
import { lexSql } from '../syntax/lex.js';
import { queryRows } from './run-query.js';
import type { StatementContext, StatementEvent, TableOutput } from '../statement.js';

/** LIKE or WHERE of a SHOW statement. */
export type ShowFilter = { readonly like: string } | { readonly where: string } | undefined;

/** Parses `LIKE 'pattern'` or `WHERE condition` up to the end of the statement. */
export function parseFilter(cursor: Cursor): ShowFilter {
  if (cursor.accept('LIKE')) {
    const like = cursor.text('pattern', true);
    cursor.expectEnd();
    return { like };
  }
  if (!cursor.accept('WHERE')) {
    cursor.expectEnd();
    return undefined;
  }
  if (cursor.done) throw cursor.unexpected('condition');
  const where = cursor.tokens.source.slice(cursor.tokens.start(cursor.at), cursor.tokens.end(cursor.to - 1));
  return { where };
}

/** Returns the events of a small result, filtered. @param filterColumns other column names that WHERE may use, by position. */
export async function* outputTable(
  context: StatementContext,
  output: TableOutput,
  filter?: ShowFilter,
  filterColumns: readonly string[] = [],
): AsyncIterable<StatementEvent> {
  yield { kind: 'schema', columns: output.columns };
  const kept = await filterRows(context, output, filter, filterColumns);
  const rows = kept.slice(0, context.limit);
  if (rows.length === 0) return;
  const columns = output.columns.map(({ name, type }) => ({
    name,
    type: { name: type, kind: KINDS[type] },
  }));
  const cells: Cell[][] = output.columns.map((_, i) => rows.map((row) => row[i]));
  yield { kind: 'text', text: context.format.encodeRows(columns, cells, rows.length), rows: rows.length };
}

const KINDS = { String: 'text', Int64: 'int', Float64: 'float64' } as const;

async function filterRows(
  context: StatementContext,
  output: TableOutput,
  filter: ShowFilter,
  filterColumns: readonly string[],
): Promise<TableOutput['rows']> {
  if (filter === undefined) return output.rows;
  const kept: TableOutput['rows'][] = [];
  for (let at = 0; at < output.rows.length; at += FILTERED_ROWS) {
    const rows = output.rows.slice(at, at + FILTERED_ROWS);
    kept.push(await filterBlock(context, { ...output, rows }, filter, filterColumns));
  }
  return kept.flat();
}

/** Rows that one filtering statement covers: its text has a limit. */
const FILTERED_ROWS = 1000;

async function filterBlock(
  context: StatementContext,
  output: TableOutput,
  filter: NonNullable<ShowFilter>,
  filterColumns: readonly string[],
): Promise<TableOutput['rows']> {
  const values = output.rows.map(
    (row, i) => `(${[i, ...row, ...filterColumns.map((_, k) => row[k])].map(valueSql).join(', ')})`,
  );
  const names = ['__row', ...output.columns.map((column) => column.name), ...filterColumns].map(quoteName);
  const condition =
    'like' in filter ? `${quoteName(output.columns[0].name)} LIKE ${quoteText(filter.like)}` : `(${filter.where})`;
  const sql = `SELECT "__row" FROM (VALUES ${values.join(', ')}) AS s(${names.join(', ')}) WHERE ${condition}`;
  const tokens = lexSql(sql);
  const kept = await queryRows(context, { tokens, from: 0, to: tokens.count });
  return kept.rows.map(([i]) => output.rows[Number(i)]);
}

function valueSql(value: string | number | null): string {
  return value === null ? 'NULL' : typeof value === 'number' ? String(value) : quoteText(value);
}
