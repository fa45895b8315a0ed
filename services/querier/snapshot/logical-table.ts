import type { Call } from '#shared/contracts/call';
import type { Column, Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { METRIC_NAME } from '#shared/schema/metric-table';

import type { BindRequest } from './binding.js';

/** Where the rows of a metric are. */
export interface MetricSource {
  readonly physical: Table;
  readonly metric: string;
  /** Column of the logical table -> that of the physical one which it is. */
  readonly columns: ReadonlyMap<string, string>;
}

/**
 * One metric of a physical metric table as a table of its own, with a column for each label of its series. It is made
 * from what series there are, and is in no catalog; its ids are those of the physical table.
 */
export interface LogicalTable extends Table {
  readonly source: MetricSource;
}

/** Finds metrics as tables. */
export interface LogicalTables {
  /** Undefined if no series has, or had, this name. @throws `database_not_found`. */
  find(database: string, name: string, call: Call): Promise<LogicalTable | undefined>;
  /** Names of all metrics of a database, ascending. @throws `database_not_found`. */
  names(database: string, call: Call): Promise<readonly string[]>;
  /** A metric whose name is the same but for the case of its letters. @throws `database_not_found`. */
  alike(database: string, name: string, call: Call): Promise<string | undefined>;
}

/** Undefined for a table that is stored by itself. */
export function sourceOf(table: Table): MetricSource | undefined {
  return (table as Partial<LogicalTable>).source;
}

/** Whether both have the same columns, in the same places. */
export function areSameTables(one: Table, other: Table): boolean {
  if (one.tableId !== other.tableId || one.schemaVersion !== other.schemaVersion) return false;
  if (sourceOf(one) === undefined && sourceOf(other) === undefined) return true;
  const isSame = (column: Column, i: number): boolean => column.name === other.columns.at(i)?.name;
  return one.name === other.name && one.columns.length === other.columns.length && one.columns.every(isSame);
}

/** What is asked of the physical table for a logical one. */
export function physicalRequest(request: BindRequest, source: MetricSource): BindRequest {
  const { physical, metric, columns } = source;
  const wanted = [...columns].filter(([name]) => request.columns?.has(name) ?? true).map(([, stored]) => stored);
  const tagValues = new Map<string, readonly string[]>([[METRIC_NAME, [metric]]]);
  for (const [name, values] of request.tagValues) tagValues.set(columns.get(name) ?? name, values);
  return { ...request, table: physical, columns: new Set([METRIC_NAME, ...wanted]), tagValues };
}

/** The rows of a logical table as a parenthesised SELECT. @param relation those of the physical one, as requested. */
export function logicalRelation(relation: string, request: BindRequest, source: MetricSource): string {
  const outputs = [...source.columns]
    .filter(([name]) => request.columns?.has(name) ?? true)
    .map(([name, stored]) => `${quoteName(stored)} AS ${quoteName(name)}`);
  const metric = `${quoteName(METRIC_NAME)} = ${quoteText(source.metric)}`;
  return `(SELECT ${outputs.join(', ')} FROM ${relation} AS p WHERE ${metric})`;
}
