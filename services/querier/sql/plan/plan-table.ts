import type { Table } from '#shared/contracts/gen/common';
import { quoteName } from '#shared/duckdb/quote';
import { timeCondition } from '#shared/duckdb/time-literal';
import { UNIT_NS } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';
import { expiryNs } from '#shared/schema/ttl';
import { dataType } from '#shared/schema/data-type';
import type { TimeBounds } from '#shared/segments/bands';

import type { BindRequest, TextFilter } from '../../snapshot/binding.js';
import type { TextCondition, TimeConstant } from '../functions/function.js';
import { givenRelation } from '../system-tables/given-table.js';
import { ceilDivide, floorDivide, type RunValues } from '../syntax/literals.js';
import { logicalRelation, physicalRequest, sourceOf } from '../../snapshot/logical-table.js';

/** One end of the time range that a query needs of a table. */
export interface Bound {
  readonly end: 'from' | 'to';
  readonly value: TimeConstant;
  /** Whether the range includes the point itself. */
  readonly inclusive: boolean;
}

/** One occurrence of a table in a query, and what the query needs of it. */
export interface PlanTable {
  /** Represents the table in the SQL text until a snapshot provides the relation. */
  readonly marker: string;
  table: Table;
  /** Names of the columns that the query reads. */
  readonly columns: Set<string>;
  readsAll: boolean;
  readonly bounds: Bound[];
  readonly tagValues: Map<string, (run: RunValues) => string[]>;
  readonly texts: PlanText[];
  /** Number of rows that the query needs at most; undefined: all. */
  rowLimit?: (run: RunValues) => number;
}

/** A condition on the text of a column that every row of the result satisfies. */
export interface PlanText {
  readonly column: string;
  readonly condition: TextCondition;
  /** Whether the query no longer has the condition, so that the relation must apply it. */
  readonly isMoved: boolean;
}

/** What a run requests from the snapshot for a table, and what the query reads then. */
export interface TableBinding {
  /** Undefined if the snapshot is not needed. */
  readonly request: BindRequest | undefined;
  /** @param relation the snapshot's relation for the request. */
  relation(relation: string): string;
}

/** Rows of a table that a run reads; its other rows are as if they did not exist. */
export interface SourceRange {
  readonly database: string;
  readonly table: string;
  /** Ranges of the time index, at least one, in its unit and in order. A query of several of them reads the time index. */
  readonly times: readonly TimeBounds[];
}

/** Computes the request and the relation of a table for one run. @param range of one of the tables. */
export function bindingOf(plan: PlanTable, run: RunValues, range?: SourceRange): TableBinding {
  const given = givenRelation(plan.table, plan.rowLimit?.(run));
  if (given !== undefined) return { request: undefined, relation: () => given };
  const own = within(bindRequest(plan, run), range);
  const source = sourceOf(plan.table);
  const times = isOf(plan.table, range) ? range.times : [];
  const request = source === undefined ? own : physicalRequest(own, source);
  return {
    request,
    relation: (relation) => {
      return rowsWithin(source === undefined ? relation : logicalRelation(relation, own, source), plan.table, times);
    },
  };
}

/** Returns the rows of a relation that are in one of several ranges of time; requests apply a single one themselves. */
export function rowsWithin(relation: string, table: Table, times: readonly TimeBounds[]): string {
  if (times.length < 2) return relation;
  const { name, type } = timeIndexOf(table);
  const unit = dataType(type).timeUnit ?? 'ns';
  const conditions = times.map((bounds) => `(${timeCondition(quoteName(name), unit, bounds)})`);
  return `(SELECT * FROM ${relation} AS r WHERE ${conditions.join(' OR ')})`;
}

/** Requests apply their bounds to rows, so that the query need not. */
function within(request: BindRequest, range: SourceRange | undefined): BindRequest {
  if (!isOf(request.table, range)) return request;
  const { from, to } = hullOf(range.times);
  const timeFrom = least([request.timeFrom, from], (a, b) => a > b);
  return { ...request, timeFrom, timeTo: least([request.timeTo, to], (a, b) => a < b) };
}

/** Returns the range from the first to the last of several ranges. */
export function hullOf(times: readonly TimeBounds[]): TimeBounds {
  return { from: times[0].from, to: times.at(-1)?.to };
}

function isOf(table: Table, range: SourceRange | undefined): range is SourceRange {
  return range?.table === table.name && range.database === table.database;
}

function least(
  bounds: readonly (bigint | undefined)[],
  isFirst: (a: bigint, b: bigint) => boolean,
): bigint | undefined {
  return bounds.reduce((a, b) => (a === undefined || (b !== undefined && isFirst(b, a)) ? b : a));
}

function bindRequest(plan: PlanTable, run: RunValues): BindRequest {
  const unitNs = UNIT_NS[dataType(timeIndexOf(plan.table).type).timeUnit ?? 'ns'];
  const expiry = plan.table.ttl === '' ? undefined : expiryNs(plan.table, run.nowNs);
  let timeFrom = expiry === undefined ? undefined : ceilDivide(expiry, unitNs);
  let timeTo: bigint | undefined;
  for (const { end, value, inclusive } of plan.bounds) {
    const ns = value(run);
    if (end === 'from') {
      const from = inclusive ? ceilDivide(ns, unitNs) : floorDivide(ns, unitNs) + 1n;
      if (timeFrom === undefined || from > timeFrom) timeFrom = from;
    } else {
      const to = inclusive ? floorDivide(ns, unitNs) + 1n : ceilDivide(ns, unitNs);
      if (timeTo === undefined || to < timeTo) timeTo = to;
    }
  }
  const tagValues = new Map<string, readonly string[]>();
  for (const [column, values] of plan.tagValues) tagValues.set(column, values(run));
  const texts = plan.texts.map(({ column, condition, isMoved }): TextFilter => ({
    column,
    query: condition.query(run),
    sql: isMoved ? (text) => condition.sql(run, text) : undefined,
  }));
  const columns = plan.readsAll ? undefined : plan.columns;
  return { table: plan.table, columns, timeFrom, timeTo, tagValues, texts, after: undefined };
}
