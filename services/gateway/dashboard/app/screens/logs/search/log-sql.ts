import { quotedName, quotedText } from '../../../data/quote.js';
import type { TimeRange } from '../../../time/range.js';
import { levelSql, operandOf, textSql, type LogTable } from './log-table.js';
import type { SearchNode } from './search.js';
import { searchSql } from './search-sql.js';

/** What lines a statement reads. */
export interface LineSelection {
  readonly table: LogTable;
  readonly search: SearchNode | undefined;
  readonly range: TimeRange;
}

/** Returns the statement for the lines of a search. */
export function linesSql(selection: LineSelection, isAscending: boolean, limit: number): string {
  const { table } = selection;
  const order = `${quotedName(table.timeColumn)} ${isAscending ? 'ASC' : 'DESC'}`;
  return `SELECT * FROM ${quotedName(table.name)}\nWHERE ${whereSql(selection)}\nORDER BY ${order}\nLIMIT ${limit}`;
}

/** Returns the statement that counts lines by interval and level: `bucket` from 0, `level`, `lines`. */
export function histogramSql(selection: LineSelection, intervalMs: number): string {
  const { table, range } = selection;
  const from = `${BigInt(Math.round(range.fromMs)) * 1_000_000n}`;
  const bucket = `(epoch_ns(${quotedName(table.timeColumn)}) - ${from}) // ${BigInt(intervalMs) * 1_000_000n}`;
  return `SELECT ${bucket} AS bucket, ${levelSql(table)} AS level, count(*) AS lines FROM ${quotedName(table.name)}\nWHERE ${whereSql(selection)}\nGROUP BY 1, 2 ORDER BY 1, 2`;
}

/** Returns the statement for the most frequent values of a field: `value`, `lines`. @param part of the values. */
export function facetSql(selection: LineSelection, field: string, part: string, limit: number): string {
  const operand = operandOf(field, selection.table);
  const value = operand === undefined ? levelSql(selection.table) : `coalesce(${textSql(operand)}, '')`;
  const matching = part === '' ? '' : ` AND contains(lower(${value}), ${quotedText(part.toLowerCase())})`;
  return `SELECT ${value} AS value, count(*) AS lines FROM ${quotedName(selection.table.name)}\nWHERE ${whereSql(selection)}${matching}\nGROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${limit}`;
}

/** Returns the statement for the time of the newest line of a table. */
export function newestSql({ name, timeColumn }: LogTable): string {
  return `SELECT max(${quotedName(timeColumn)}) AS newest FROM ${quotedName(name)}`;
}

function whereSql({ table, search, range }: LineSelection): string {
  const time = quotedName(table.timeColumn);
  const bounds = `${time} >= '${isoText(range.fromMs)}' AND ${time} < '${isoText(range.toMs)}'`;
  return search === undefined ? bounds : `${bounds}\n  AND ${searchSql(search, table)}`;
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}
