import type { Column, Table } from '#shared/contracts/gen/common';
import { castThrough } from '#shared/duckdb/cast-through';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { divisorId, divisorName, scaledId, scaledName } from '#shared/duckdb/scaled-columns';
import { timeLiteral } from '#shared/duckdb/time-literal';
import { invariant } from '#shared/errors/invariant';
import { isBytes } from '#shared/rowbatch/column';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { typesFrom } from '#shared/schema/former-types';
import {
  METRIC,
  METRIC_FIELD_ID,
  OP,
  SID,
  SID_FIELD_ID,
  TSID,
  TSID_FIELD_ID,
  withOps,
} from '#shared/schema/segment-columns';
import { fieldsOf, isAppendOnly, mergeModeOf, tagsOf, timeIndexOf } from '#shared/schema/table-schema';
import { isPut, mergeVersions } from '#shared/segments/versions-sql';
import type { TimeBand } from '../memtable/held-batch.js';

/**
 * Parquet settings of segments (docs/formats/segment.md). Without dictionaries the engine keeps NaN payloads and the
 * sign of zero, and V2 encodings keep integers small; with a limit of 1 there would still be a dictionary where all
 * values compare equal. Row groups are small because a query for one series decodes a whole one; each group costs such
 * a query 13 us for its statistics.
 */
const PARQUET = 'FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2, DICTIONARY_SIZE_LIMIT 0, ROW_GROUP_SIZE 20480';

/** The first level that compresses bit-packed deltas: 0.48 bytes a value, 0.53 at level 3, for 0.3 us a row. */
const LEVEL = 14;
/** Rows of metric tables have one value each, and arrive by the million a second. Level 3 saves 1 % for 0.02 us a row. */
const METRIC_LEVEL = 1;
/** Log lines of 200 bytes take 3 us a row instead of 63, and 63 bytes instead of 56. */
const TEXT_LEVEL = 3;

/** Signed integer types by bytes. */
const NARROW: Readonly<Record<number, string>> = { 1: 'TINYINT', 2: 'SMALLINT', 4: 'INTEGER' };

/**
 * Columns of the engine table for a generation: `metric` in a metric table, `sid`, `time`, and a column `f<id>` for
 * each field. Integers are as narrow as in memory: a quarter of the engine's memory for most metrics.
 *
 * @param widths bytes of the widest values of integer fields, by column id.
 */
export function generationColumns(table: Table, widths: ReadonlyMap<number, number>, hasMetrics: boolean): string {
  const fields = fieldsOf(table).map((column) => {
    const narrow = NARROW[widths.get(column.id) ?? 0];
    return `${fieldName(column)} ${narrow ?? dataType(column.type).duckdb}`;
  });
  const keys = [...(hasMetrics ? ['metric UINTEGER'] : []), 'sid UINTEGER'];
  return [...keys, `time ${dataType(timeIndexOf(table).type).duckdb}`, ...fields].join(', ');
}

/** Columns of the engine table for definitions of new series. */
export function seriesColumns(table: Table): string {
  const tags = tagsOf(table).map((column) => `f${column.id} ${dataType(column.type).duckdb}`);
  return ['sid UINTEGER', 'tsid UBIGINT', ...tags].join(', ');
}

/** Rows of a generation in the engine. */
export interface FlushSource {
  /** SQL of the engine's relation of staged rows. */
  readonly relation: string;
  /** SQL of a number that is greater for rows that arrived later. */
  readonly version: string;
  readonly table: Table;
  /** Types that fields have in the generation, by column id. */
  readonly types: ReadonlyMap<number, string>;
  /** Whether its series have metric numbers, by which rows are sorted first. */
  readonly hasMetrics: boolean;
  /** Where a row may have several versions; undefined: nowhere, and rows are sorted. */
  readonly late: TimeBand | undefined;
  readonly ops: Ops;
}

/**
 * Whether rows have operations, and whether those are written. Deletions are dropped once no older segment can contain
 * the deleted rows.
 */
export type Ops = 'none' | 'kept' | 'dropped';

/** SQL that writes the rows, each once, sorted by metric, series and time. */
export function copySegment(source: FlushSource, path: string): string {
  // Sorted before widening, so that the sort moves fewer bytes.
  const sorted = `(SELECT * FROM (${versionedRows(source)}) ORDER BY ${keysOf(source)})`;
  const level = source.hasMetrics ? METRIC_LEVEL : compressionLevel(source.table);
  const isSorted = source.late === undefined && source.ops === 'none';
  return copyRows(isSorted ? source.relation : sorted, { ...source, level }, path);
}

/** Returns the level of zstd for the segments of a table without metrics. */
export function compressionLevel(table: Table): number {
  return fieldsOf(table).some(({ type }) => isBytes(dataType(type).storage)) ? TEXT_LEVEL : LEVEL;
}

/** How rows are written to a segment. */
export interface SegmentCopyOptions {
  readonly table: Table;
  /** Types that fields of the rows have where they differ from the table's, by column id. */
  readonly types: ReadonlyMap<number, string>;
  readonly hasMetrics: boolean;
  readonly ops: Ops;
  readonly level: number;
  /** Fields of doubles of which rows have scaled numbers `s<id>`, or null, and divisors `d<id>`. */
  readonly scaled?: readonly Column[];
}

/** SQL that writes sorted rows (`metric` if present, `sid`, `time`, `f<id>`) to a segment's file. */
export function copyRows(
  rows: string,
  { table, types, hasMetrics, ops, level, scaled = [] }: SegmentCopyOptions,
  path: string,
): string {
  const fields = fieldsOf(ops === 'kept' ? withOps(table) : table);
  const columns = [
    ...(hasMetrics ? [`metric AS ${METRIC}`] : []),
    `sid AS ${SID}`,
    `time AS ${quoteName(timeIndexOf(table).name)}`,
    ...fields.map((column) => {
      const value = asStored(column, types.get(column.id) ?? column.type);
      const plain = scaled.includes(column) ? `CASE WHEN s${column.id} IS NULL THEN ${value} END` : value;
      return `${plain} AS ${quoteName(column.name)}`;
    }),
    ...scaled.flatMap(({ id, name }) => [
      `s${id} AS ${quoteName(scaledName(name))}`,
      `d${id} AS ${quoteName(divisorName(name))}`,
    ]),
  ];
  const ids = [
    ...(hasMetrics ? [`${METRIC}: ${METRIC_FIELD_ID}`] : []),
    `${SID}: ${SID_FIELD_ID}`,
    ...[timeIndexOf(table), ...fields].map(fieldId),
    ...scaled.flatMap(({ id, name }) => [
      fieldId({ id: scaledId(id), name: scaledName(name) }),
      fieldId({ id: divisorId(id), name: divisorName(name) }),
    ]),
  ];
  const target = `TO ${quoteText(path)} (${PARQUET}, COMPRESSION_LEVEL ${level}, FIELD_IDS {${ids.join(', ')}})`;
  return `COPY (SELECT ${columns.join(', ')} FROM ${rows}) ${target}`;
}

/**
 * Converts a field, which may be narrower in the rows, to its type in the table.
 * @param from its type in the rows.
 */
function asStored(column: Column, from: string): string {
  const types = typesFrom(column, from);
  invariant(types !== undefined, `column ${column.id} was never of type ${from}`);
  return castThrough(`${fieldName(column)}::${dataType(from).duckdb}`, types);
}

/**
 * SQL that writes new definitions in the relation's order, which is that of their numbers. A sort would take the memory
 * twice.
 */
export function copySeries(relation: string, table: Table, path: string): string {
  const tags = tagsOf(table);
  const columns = tags.map((column) => `${fieldName(column)} AS ${quoteName(column.name)}`);
  const ids = [`${SID}: ${SID_FIELD_ID}`, `${TSID}: ${TSID_FIELD_ID}`, ...tags.map(fieldId)];
  return (
    `COPY (SELECT ${[`sid AS ${SID}`, `tsid AS ${TSID}`, ...columns].join(', ')} FROM ${relation}) ` +
    `TO ${quoteText(path)} (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION V2, FIELD_IDS {${ids.join(', ')}})`
  );
}

/** SQL of the number of rows and the ends of series numbers, times and metric numbers, before versions are merged. */
export function segmentBounds({ relation, hasMetrics }: FlushSource): string {
  const metrics = hasMetrics ? 'min(metric), max(metric)' : '0, 0';
  return `SELECT count(*), min(sid), max(sid), min(time), max(time), ${metrics} FROM ${relation}`;
}

/** Key columns of a row, in file order. */
export function keysOf({ hasMetrics }: Pick<FlushSource, 'hasMetrics'>): string {
  return hasMetrics ? 'metric, sid, time' : 'sid, time';
}

/**
 * SQL of the rows, each key once. Versions are merged only in the late band: everywhere else keys are unique, and plain
 * rows cost a sixth.
 */
function versionedRows(source: FlushSource): string {
  const { relation, version, table, late } = source;
  const unit = timeUnitOf(table);
  const shape = rowsShape(source);
  if (late === undefined || isAppendOnly(table)) return shape.written(`SELECT ${shape.read} FROM ${relation}`);
  const band = `time BETWEEN ${timeLiteral(late.first, unit)} AND ${timeLiteral(late.last, unit)}`;
  const plain = `SELECT ${shape.read} FROM ${relation} WHERE NOT (${band})`;
  const banded = `SELECT ${shape.read}, ${version} AS version FROM ${relation} WHERE ${band}`;
  return shape.written(`${plain} UNION ALL ${shape.merged(banded)}`);
}

/** How the rows of a segment are read, merged and written. */
export interface RowsShape {
  /** Columns of rows, including the operation if rows have one. */
  readonly read: string;
  /**
   * Returns SQL of one row per key.
   * @param rows SELECT of `read` and `version`.
   */
  merged(rows: string): string;
  /** Returns SQL of what is written of rows that were read. */
  written(rows: string): string;
}

/** Returns how rows of a table are read, merged and written. */
export function rowsShape(source: Pick<FlushSource, 'table' | 'hasMetrics' | 'ops'>): RowsShape {
  const { table, ops } = source;
  const keys = keysOf(source);
  const fields = fieldsOf(table).map(fieldName);
  const op = ops === 'none' ? undefined : fieldName(OP);
  const columns = [keys, ...fields].join(', ');
  return {
    read: op === undefined ? columns : `${columns}, ${op}`,
    merged: (rows) => mergeVersions(rows, { keys, fields, mode: mergeModeOf(table), op }),
    written: (rows) => {
      return op === undefined || ops === 'kept' ? rows : `SELECT ${columns} FROM (${rows}) WHERE ${isPut(op)}`;
    },
  };
}

/** Unit of the table's time index; nanoseconds unless its type has one. */
export function timeUnitOf(table: Table): TimeUnit {
  return dataType(timeIndexOf(table).type).timeUnit ?? 'ns';
}

/** Name of a field's column in engine tables. */
export function fieldName(column: Column): string {
  return `f${column.id}`;
}

function fieldId(column: Pick<Column, 'id' | 'name'>): string {
  return `${quoteName(column.name)}: ${column.id}`;
}
