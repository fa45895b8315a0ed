import type { Call } from '#shared/contracts/call';
import type { Table } from '#shared/contracts/gen/common';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from '../../request-context.js';
import { tableIfExists } from '../loki/request.js';
import type { QueryDeps } from '../query-route.js';
import { allSqlRows, type SqlRow } from '../sql-rows.js';

/** Dependencies of the query API of Tempo. */
export interface TempoDeps extends QueryDeps {
  readonly catalog: Catalog;
}

/** A request: database and table that it reads, and what to run SQL with. */
export interface TempoRequest {
  readonly context: RequestContext;
  readonly database: string;
  readonly tableName: string;
  readonly call: Call;
}

/** Times of a request in microseconds. */
export interface TempoRange {
  readonly startUs: number | undefined;
  readonly endUs: number | undefined;
}

/** Table of spans, unless a header names another one. */
export const DEFAULT_SPANS_TABLE = 'opentelemetry_traces';
const TIME_S_MAX = 9_223_372_036;

/** Returns the table of spans; undefined before the first span is written. */
export function spansTable(
  { database, tableName, call }: TempoRequest,
  { catalog }: TempoDeps,
): Promise<Table | undefined> {
  return tableIfExists({ database, tableName, call }, catalog);
}

/** Runs a statement with a small result. */
export function tempoRows(sql: string, { database, call }: TempoRequest, { querier }: TempoDeps): Promise<SqlRow[]> {
  return allSqlRows(querier, { sql, database }, call);
}

/** Reads `start` and `end`, seconds since 1970; the end is included to its last microsecond. @throws `invalid_arguments`. */
export function tempoRange({ context }: TempoRequest): TempoRange {
  const start = numberParameter(context, 'start', TIME_S_MAX);
  const end = numberParameter(context, 'end', TIME_S_MAX);
  return {
    startUs: start === undefined ? undefined : start * 1_000_000,
    endUs: end === undefined ? undefined : end * 1_000_000 + 999_999,
  };
}

/** Reads a whole number; undefined if there is none. @throws `invalid_arguments`. */
export function numberParameter({ query }: RequestContext, name: string, max: number): number | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  const value = /^\d{1,12}$/.test(text) ? Number(text) : Infinity;
  if (value > max) {
    throw new AlmanacError('invalid_arguments', `parameter '${name}' must be a whole number of at most ${max}`);
  }
  return value;
}
