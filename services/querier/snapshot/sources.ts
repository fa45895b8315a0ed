import type { Column, Segment, Table } from '#shared/contracts/gen/common';
import { backfillExpression } from '#shared/duckdb/backfill';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { METRIC_FIELD_ID, OP, SID } from '#shared/schema/segment-columns';
import { timeIndexOf } from '#shared/schema/table-schema';
import { isPut } from '#shared/segments/versions-sql';

import type { EnginePartView } from './engine-rows.js';
import { filterSql, type BandFilter, type KeyColumns, type RowFilter } from './row-filter.js';
import type { FileColumns } from './segment-files.js';

/** A segment with the columns that its file has. */
export interface SegmentSource {
  readonly segment: Segment;
  readonly path: string;
  readonly columns: FileColumns;
}

/** What is read from every source of a region: `sid, time`, and a column `f<id>` for each field. */
export interface SourceShape {
  readonly table: Table;
  /** With operations where versions are merged. */
  readonly fields: readonly Column[];
  readonly unit: TimeUnit;
}

export interface SourceFilter {
  readonly rows: RowFilter;
  readonly band: BandFilter | undefined;
  /** Whether the rows are joined to their series. */
  readonly isJoined: boolean;
  /** Whether deletions are left out, where the source can have any. */
  readonly putsOnly: boolean;
}

/** Units in which Parquet gives times back: only nanoseconds stay as they are. */
const FILE_FACTORS: Readonly<Record<TimeUnit, { unit: TimeUnit; factor: bigint }>> = {
  s: { unit: 'us', factor: 1_000_000n },
  ms: { unit: 'us', factor: 1_000n },
  us: { unit: 'us', factor: 1n },
  ns: { unit: 'ns', factor: 1n },
};

/**
 * SELECTs over segments, one for all that have the same columns: a file that came before a column was added reads as
 * null there. Files are not bound by column ids (`schema` of read_parquet), because such a scan runs on one thread and
 * hides how many rows it has, so that joins are built on the wrong side: 438 ms instead of 99.
 *
 * @param extra another column of the result, for example a version.
 */
export function segmentSelects(
  segments: readonly SegmentSource[],
  shape: SourceShape,
  filter: SourceFilter,
  extra = '',
): string[] {
  const groups = new Map<string, SegmentSource[]>();
  for (const source of segments) {
    const names = [timeIndexOf(shape.table), ...shape.fields].map((column) => source.columns.get(column.id) ?? null);
    const key = JSON.stringify([source.columns.has(METRIC_FIELD_ID), source.columns.has(OP.id), ...names]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [source]);
    else group.push(source);
  }
  return [...groups.values()].flatMap((group) => {
    return parted(group, filter).map((sources) => groupSelect(sources, shape, filter, extra));
  });
}

/**
 * A query of all series reads each file by a SELECT of its own: a scan of several files has no statistics, without which
 * the join to the series is twice as dear (378 and 194 ms of CPU over nine files). Where nothing is joined, where few
 * series are read, and of many files, it is planning that decides (0.7 ms a SELECT).
 */
function parted(group: readonly SegmentSource[], { rows, isJoined }: SourceFilter): (readonly SegmentSource[])[] {
  if (!isJoined || rows.sids !== undefined || group.length > SINGLE_FILES_MAX) return [group];
  return group.map((source) => [source]);
}

const SINGLE_FILES_MAX = 32;

function groupSelect(group: readonly SegmentSource[], shape: SourceShape, filter: SourceFilter, extra: string): string {
  const { table, fields, unit } = shape;
  const [{ columns }] = group;
  const paths = group.map(({ path }) => quoteText(path)).join(', ');
  const time = quoteName(columns.get(timeIndexOf(table).id) ?? timeIndexOf(table).name);
  const metric = columns.get(METRIC_FIELD_ID);
  const keys: KeyColumns = { metric, sid: SID, time, ...FILE_FACTORS[unit] };
  const selected = [
    `${SID} AS sid`,
    `${restored(time, dataType(timeIndexOf(table).type).duckdb)} AS time`,
    ...fields.map((field) => `${fileColumn(field, columns)} AS ${internalName(field)}`),
  ];
  const op = columns.get(OP.id);
  const where = [
    filterSql(filter.rows, filter.band, keys),
    ...(filter.putsOnly && op !== undefined ? [isPut(op)] : []),
  ];
  return `SELECT ${selected.join(', ')}${extra} FROM read_parquet([${paths}]) WHERE ${where.join(' AND ')}`;
}

function fileColumn(field: Column, columns: FileColumns): string {
  const { duckdb } = dataType(field.type);
  const name = columns.get(field.id);
  return name === undefined ? backfillExpression(field, duckdb) : restored(quoteName(name), duckdb);
}

/** Parquet keeps seconds and milliseconds, but the engine reads them as microseconds. */
function restored(name: string, duckdb: string): string {
  return duckdb === 'TIMESTAMP_S' || duckdb === 'TIMESTAMP_MS' ? `${name}::${duckdb}` : name;
}

/** SELECT over the rows of a fresh part; null for fields that came after it. */
export function partSelect(
  { part, rowCount }: EnginePartView,
  shape: SourceShape,
  filter: SourceFilter,
  extra = '',
): string {
  const columns = shape.fields.map((field) => {
    const name = internalName(field);
    return part.fieldIds.has(field.id) ? name : `NULL::${dataType(field.type).duckdb} AS ${name}`;
  });
  const keys: KeyColumns = { sid: 'sid', time: 'time', unit: shape.unit, factor: 1n };
  // Later rows may be added while the query runs.
  const puts = filter.putsOnly && part.fieldIds.has(OP.id) ? ` AND ${isPut(internalName(OP))}` : '';
  const where = `rowid < ${rowCount} AND ${filterSql(filter.rows, filter.band, keys)}${puts}`;
  return `SELECT ${['sid', 'time', ...columns].join(', ')}${extra} FROM ${part.relation} WHERE ${where}`;
}

export function internalName(column: Column): string {
  return `f${column.id}`;
}
