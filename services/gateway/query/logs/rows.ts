import { quoteName } from '#shared/duckdb/quote';

import { stringifyJson } from '../../protocols/common/json.js';
import { allSqlRows, sqlRows, type SqlRow } from '../sql-rows.js';
import { logsWhere, type LogsDeps, type LogsRange, type LogsRequest, type LogsTable } from './request.js';

/** A search in one table. */
export interface TableSearch extends LogsRange {
  readonly isAscending: boolean;
  readonly limit: number;
}

/** A row with its time. */
export interface TimedRow {
  readonly timeNs: bigint;
  readonly json: string;
}

/** Returns the statement for the rows of a search: the time in nanoseconds, then the other columns. */
export function rowsSql(target: LogsTable, search: TableSearch): string {
  const [time, ...others] = target.columns.map(quoteName);
  const select = [`epoch_ns(${time})`, ...others].join(', ');
  const order = `${time} ${search.isAscending ? 'ASC' : 'DESC'}`;
  return `SELECT ${select} FROM ${quoteName(target.table.name)} WHERE ${logsWhere(target, search)} ORDER BY ${order} LIMIT ${search.limit}`;
}

/** Returns a row as a JSON object, without nulls. @param tableName a member for the table; undefined: none. */
export function rowJson(row: SqlRow, { columns }: LogsTable, tableName: string | undefined): TimedRow {
  const timeNs = BigInt(row[0] as number | bigint);
  const members = [`${JSON.stringify(columns[0])}:"${isoTimeText(timeNs)}"`];
  if (tableName !== undefined) members.unshift(`"_table":${JSON.stringify(tableName)}`);
  for (let i = 1; i < columns.length; i++) {
    if (row[i] !== null) members.push(`${JSON.stringify(columns[i])}:${stringifyJson(row[i])}`);
  }
  return { timeNs, json: `{${members.join(',')}}` };
}

/** Returns the rows of one table, block by block. */
export async function* tableRows(
  target: LogsTable,
  search: TableSearch,
  { request, deps }: { readonly request: LogsRequest; readonly deps: LogsDeps },
): AsyncGenerator<readonly TimedRow[], void, undefined> {
  const { database, call } = request;
  for await (const rows of sqlRows(deps.querier, { sql: rowsSql(target, search), database }, call)) {
    yield rows.map((row) => rowJson(row, target, undefined));
  }
}

/** Returns the rows of several tables in one order. */
export async function rowsOfTables(
  targets: readonly LogsTable[],
  search: TableSearch,
  { request, deps }: { readonly request: LogsRequest; readonly deps: LogsDeps },
): Promise<TimedRow[]> {
  const { database, call } = request;
  const all: TimedRow[] = [];
  for (const target of targets) {
    const rows = await allSqlRows(deps.querier, { sql: rowsSql(target, search), database }, call);
    for (const row of rows) all.push(rowJson(row, target, targets.length > 1 ? target.table.name : undefined));
  }
  const sign = search.isAscending ? 1n : -1n;
  all.sort((a, b) => Number(((a.timeNs > b.timeNs ? 1n : 0n) - (a.timeNs < b.timeNs ? 1n : 0n)) * sign));
  return all.slice(0, search.limit);
}

/** Returns a time as RFC 3339 with nanoseconds. */
export function isoTimeText(ns: bigint): string {
  const second = 1_000_000_000n;
  const below = ((ns % second) + second) % second;
  const date = new Date(Number((ns - below) / second) * 1_000).toISOString().slice(0, 19);
  return `${date}.${String(below).padStart(9, '0')}Z`;
}
