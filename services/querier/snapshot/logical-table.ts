import type { Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { METRIC_NAME } from '#shared/schema/metric-table';

import type { BindRequest } from './binding.js';

/** Location of a metric's rows. */
export interface MetricSource {
  readonly physical: Table;
  readonly metric: string;
  /** Column names of the physical table by column name of the logical table. */
  readonly columns: ReadonlyMap<string, string>;
}

/**
 * One metric of a physical metric table as a table of its own, with a column for each label of its series. It is derived
 * from the existing series and is not in the catalog; its IDs are those of the physical table.
 */
export interface LogicalTable extends Table {
  readonly source: MetricSource;
}

/** Resolves metrics as tables. */
export interface LogicalTables {
  /** Returns undefined if no series has, or had, this metric name. @throws `database_not_found`. */
  find(database: string, name: string, call: Call): Promise<LogicalTable | undefined>;
  /** Returns the names of all metrics of a database, ascending. @throws `database_not_found`. */
  names(database: string, call: Call): Promise<readonly string[]>;
  /** Returns a metric name that differs from `name` only in letter case. @throws `database_not_found`. */
  alike(database: string, name: string, call: Call): Promise<string | undefined>;
}

/** Returns undefined for a table that is stored by itself. */
export function sourceOf(table: Table): MetricSource | undefined {
  return (table as Partial<LogicalTable>).source;
}

/** Reports whether both tables have the same columns in the same order. */
export function areSameTables(one: Table, other: Table): boolean {
  if (one.tableId !== other.tableId || one.schemaVersion !== other.schemaVersion) return false;
  if (sourceOf(one) === undefined && sourceOf(other) === undefined) return true;
  const isSame = (column: Column, i: number): boolean => column.name === other.columns.at(i)?.name;
  return one.name === other.name && one.columns.length === other.columns.length && one.columns.every(isSame);
}

/** Translates a request for a logical table to its physical table. */
export function physicalRequest(request: BindRequest, source: MetricSource): BindRequest {
  const { physical, metric, columns } = source;
  const selected = [...columns].filter(([name]) => request.columns?.has(name) ?? true).map(([, stored]) => stored);
  const tagValues = new Map<string, readonly string[]>([[METRIC_NAME, [metric]]]);
  for (const [name, values] of request.tagValues) tagValues.set(columns.get(name) ?? name, values);
  return { ...request, table: physical, columns: new Set([METRIC_NAME, ...selected]), tagValues };
}

/** Returns a parenthesised SELECT of a logical table's rows. @param relation rows of the physical table, as requested. */
export function logicalRelation(relation: string, request: BindRequest, source: MetricSource): string {
  const outputs = [...source.columns]
    .filter(([name]) => request.columns?.has(name) ?? true)
    .map(([name, stored]) => `${quoteName(stored)} AS ${quoteName(name)}`);
  const metric = `${quoteName(METRIC_NAME)} = ${quoteText(source.metric)}`;
  return `(SELECT ${outputs.join(', ')} FROM ${relation} AS p WHERE ${metric})`;
}
