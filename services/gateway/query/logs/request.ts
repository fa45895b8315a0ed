import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import { quoteName } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';

import { logTableOf, timeSql } from '../../logql/source/log-table.js';
import { databaseOfQuery } from '../../protocols/common/database.js';
import type { RequestContext } from '../../request-context.js';
import { parseLokiDuration, parseLokiTime } from '../loki/times.js';
import type { PromForm } from '../prom-form.js';
import type { QueryDeps } from '../query-route.js';
import { wordSearchSql, whereSql } from './condition.js';

/** Dependencies of `/v1/logs`. */
export interface LogsDeps extends QueryDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
}

/** Tables that are read if the request names none. */
const LOG_TABLES = ['loki_logs', 'opentelemetry_logs', 'splunk_logs'];
const TABLES_MAX = 20;
const CONDITIONS_MAX = 50;
const DEFAULT_RANGE_NS = 3_600_000_000_000n;
const TIME_NS_MAX = 2n ** 63n - 1n;

/** A table of a request, and its conditions except for the time. */
export interface LogsTable {
  readonly table: Table;
  readonly timeColumn: string;
  readonly conditions: readonly string[];
  readonly columns: readonly string[];
}

/** What all paths below `/v1/logs` read from a request. */
export interface LogsRequest {
  readonly form: PromForm;
  readonly database: string;
  readonly call: Call;
  readonly context: RequestContext;
}

/** Reads the database. */
export function logsRequest(context: RequestContext, form: PromForm, call: Call): LogsRequest {
  return { context, form, call, database: databaseOfQuery(context, form.value('db')) };
}

/** Returns the tables with their conditions; none before the first line. @throws `table_not_found`, `invalid_arguments`. */
export async function logsTables(request: LogsRequest, { catalog }: LogsDeps): Promise<LogsTable[]> {
  const { form, database, call } = request;
  const names = form.values('table').filter((name) => name !== '');
  if (names.length > TABLES_MAX) throw invalid(`more than ${TABLES_MAX} parameters "table"`);
  if (names.length > 0) {
    const tables = await Promise.all(names.map((name) => catalog.table(database, name, call)));
    return tables.map((table) => described(table, form));
  }
  const all = await catalog.tables(database, call);
  const found = all.filter(({ name }) => LOG_TABLES.includes(name)).map(({ name }) => name);
  const tables = await Promise.all(found.map((name) => catalog.table(database, name, call)));
  return tables.map((table) => described(table, form));
}

function described(table: Table, form: PromForm): LogsTable {
  const wheres = form.values('where').filter((text) => text !== '');
  if (wheres.length > CONDITIONS_MAX) throw invalid(`more than ${CONDITIONS_MAX} parameters "where"`);
  const searches = form.values('search').flatMap((text) => wordSearchSql(text, table));
  const named = form
    .value('columns')
    .split(',')
    .filter((name) => name !== '');
  const unknown = named.find((name) => !table.columns.some((column) => column.name === name));
  if (unknown !== undefined) {
    throw new AlmanacError('column_not_found', `table "${table.name}" has no column "${unknown.slice(0, 100)}"`);
  }
  const { timeColumn } = logTableOf(table);
  const columns = named.length > 0 ? named : table.columns.map(({ name }) => name);
  return {
    table,
    timeColumn,
    conditions: [...wheres.map((text) => whereSql(text, table)), ...searches],
    columns: [timeColumn, ...columns.filter((name) => name !== timeColumn)],
  };
}

/** A time range; its end is excluded. */
export interface LogsRange {
  readonly fromNs: bigint;
  readonly toNs: bigint;
}

/** Reads `start`, `end` and `last`; the default is the last hour, including lines of the future if there is no end. */
export function logsRange(form: PromForm, nowNs: bigint): LogsRange {
  const [start, end, last] = ['start', 'end', 'last'].map((name) => form.value(name));
  if (start !== '' && last !== '') throw invalid('use either "start" or "last"');
  const toNs = end === '' ? TIME_NS_MAX : parseLokiTime(end);
  const lastNs = last === '' ? DEFAULT_RANGE_NS : parseLokiDuration(last);
  const fromNs = start === '' ? (end === '' ? nowNs : toNs) - lastNs : parseLokiTime(start);
  if (fromNs > toNs) throw invalid('the end must not be before the start');
  return { fromNs, toNs };
}

/** Returns the condition of a table and a range as SQL. */
export function logsWhere({ timeColumn, conditions }: LogsTable, { fromNs, toNs }: LogsRange): string {
  const time = quoteName(timeColumn);
  const upper = toNs >= TIME_NS_MAX ? [] : [`${time} < ${timeSql(toNs)}`];
  return [`${time} >= ${timeSql(fromNs)}`, ...upper, ...conditions].join(' AND ');
}

/** Returns a whole number of at most `max`. @throws `invalid_arguments`. */
export function boundedParameter(
  form: PromForm,
  name: string,
  { fallback, max }: { fallback: number; max: number },
): number {
  const text = form.value(name);
  if (text === '') return fallback;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Infinity;
  if (value > max) throw invalid(`parameter "${name}" must be a whole number of at most ${max}`);
  return value;
}

/** Returns one of the values that a parameter may have, the first if it is absent. @throws `invalid_arguments`. */
export function chosenParameter<T extends string>(form: PromForm, name: string, values: readonly T[]): T {
  const text = form.value(name).toLowerCase();
  if (text === '') return values[0];
  const value = values.find((it) => it === text);
  if (value === undefined) throw invalid(`parameter "${name}" must be one of ${values.join(', ')}`);
  return value;
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
