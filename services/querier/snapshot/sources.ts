import type { Column, Segment, Table } from '#shared/contracts/gen/common';
import { backfillExpression } from '#shared/duckdb/backfill';
import { castThrough } from '#shared/duckdb/cast-through';
import { FILE_COLUMNS_ONLY } from '#shared/duckdb/file-columns';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { scaledId, storedField, valueSql } from '#shared/duckdb/scaled-columns';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { typeAt, typesFrom } from '#shared/schema/former-types';
import { METRIC_FIELD_ID, OP, SID } from '#shared/schema/segment-columns';
import { PHYSICAL_METRIC_TABLE } from '#shared/schema/metric-table';
import { timeIndexOf } from '#shared/schema/table-schema';
import { isPut } from '#shared/segments/versions-sql';

import type { EnginePartView } from './engine-rows.js';
import { filterSql, type BandFilter, type KeyColumns, type RowFilter } from './row-filter.js';
import { NewerSchema, type TextFilter } from './binding.js';
import type { FileColumns } from './segment-files.js';
import type { MatchingRows } from './term-search.js';

/** A segment with the columns of its file. */
export interface BoundSegment {
  readonly segment: Segment;
  readonly path: string;
  /** By which caches know the file (`SegmentFiles.nameOf`). */
  readonly name: string;
  readonly columns: FileColumns;
  /** Rows that the query reads of it. */
  readonly selection: MatchingRows;
}

/** A segment, and the condition on the numbers of the rows that one SELECT reads of it; undefined: all. */
interface ReadSegment extends BoundSegment {
  readonly rows: string | undefined;
}

/** Columns that are read from every source of a region: `sid, time`, and `f<id>` for each field. */
export interface SourceShape {
  readonly table: Table;
  /** Fields of the query, plus the operation column where versions are merged. */
  readonly fields: readonly Column[];
  readonly unit: TimeUnit;
}

/** Selects the rows of a source. */
export interface SourceFilter {
  readonly rows: RowFilter;
  readonly band: BandFilter | undefined;
  /** Whether the rows are joined to their series. */
  readonly isJoined: boolean;
  /** Whether deletions are filtered out. */
  readonly putsOnly: boolean;
  /** Conditions on texts that the rows must satisfy. */
  readonly texts: readonly TextFilter[];
  /** Returns SQL of the version of each row of segments that one SELECT reads; undefined: versions are not merged. */
  readonly versionOf?: (segments: readonly BoundSegment[]) => string;
}

/** Unit in which the engine reads times from Parquet: it converts all but nanoseconds to microseconds. */
const FILE_FACTORS: Readonly<Record<TimeUnit, { unit: TimeUnit; factor: bigint }>> = {
  s: { unit: 'us', factor: 1_000_000n },
  ms: { unit: 'us', factor: 1_000n },
  us: { unit: 'us', factor: 1n },
  ns: { unit: 'ns', factor: 1n },
};

/**
 * Returns SELECTs over segments, one for all segments with the same columns: a file older than a column reads as null there.
 * Files are not bound by column IDs (`schema` of read_parquet), because such a scan runs on one thread and hides its row
 * count, so that joins are built on the wrong side: 438 ms instead of 99 ms.
 */
export function segmentSelects(segments: readonly BoundSegment[], shape: SourceShape, filter: SourceFilter): string[] {
  const groups = new Map<string, ReadSegment[]>();
  for (const source of segments.flatMap(readsOf)) {
    const { schemaVersion } = source.segment;
    const columns = [timeIndexOf(shape.table), ...shape.fields];
    const ids = columns.flatMap(({ id }) => [id, scaledId(id)]);
    const names = ids.map((id) => source.columns.get(id) ?? null);
    const types = shape.fields.map((field) => typeAt(field, schemaVersion));
    // Row numbers are those of one file.
    const own = source.rows === undefined ? '' : `${source.path} ${source.rows}`;
    const kinds = [source.columns.has(METRIC_FIELD_ID), source.columns.has(OP.id), own];
    const key = JSON.stringify([...kinds, ...names, ...types]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [source]);
    else group.push(source);
  }
  return [...groups.values()].flatMap((group) => {
    return groupsOf(group, filter).map((sources) => groupSelect(sources, shape, filter));
  });
}

function readsOf(source: BoundSegment): ReadSegment[] {
  return (source.selection.conditions ?? [undefined]).map((rows) => ({ ...source, rows }));
}

/** @throws `NewerSchema` when rows were written under a schema that is not known yet. */
export function checkSchemas(
  segments: readonly BoundSegment[],
  parts: readonly EnginePartView[],
  shape: Pick<SourceShape, 'table' | 'fields'>,
): void {
  const isUnknown = (field: Column, type: string | undefined): boolean =>
    type !== undefined && typesFrom(field, type) === undefined;
  if (
    segments.some(({ segment }) => mayHaveNewTypes(shape, segment.schemaVersion)) ||
    parts.some(({ part }) => shape.fields.some((field) => isUnknown(field, part.types.get(field.id))))
  ) {
    throw new NewerSchema(shape.table);
  }
}

/** Fields of metric tables never change their types. */
function mayHaveNewTypes({ table, fields }: Pick<SourceShape, 'table' | 'fields'>, schemaVersion: number): boolean {
  return fields.length > 0 && schemaVersion > table.schemaVersion && table.options[PHYSICAL_METRIC_TABLE] !== 'true';
}

/**
 * Splits segments into one SELECT each for a query of all series: a scan of several files has no statistics, and without
 * them the join to the series takes twice the CPU time (378 instead of 194 ms over nine files). Without a join, for few
 * series or rows, and for many files, the planning time of a SELECT (0.7 ms) matters more. Where versions of many rows are
 * merged, each file has a SELECT too, in which the version is a constant.
 */
function groupsOf(
  group: readonly ReadSegment[],
  { rows, isJoined, versionOf }: SourceFilter,
): (readonly ReadSegment[])[] {
  const singles = group.map((source) => [source]);
  if (versionOf !== undefined && group.some(({ columns }) => hidesIndex(columns))) return singles;
  const canBeOne = !isJoined || rows.sids !== undefined || group.length > SINGLE_FILES_MAX;
  return rowCountOf(group) <= FEW_ROWS || (canBeOne && versionOf === undefined) ? [group] : singles;
}

function rowCountOf(group: readonly ReadSegment[]): number {
  return group.reduce((sum, { segment }) => sum + segment.rowCount, 0);
}

/** The engine's number of a file among those of a scan, in a column that is not in the file. */
export const FILE_INDEX = 'file_index';

function hidesIndex(columns: FileColumns): boolean {
  for (const name of columns.values()) if (name.toLowerCase() === FILE_INDEX) return true;
  return false;
}

const SINGLE_FILES_MAX = 32;
/** To read this many rows takes as long as to plan some SELECTs. */
const FEW_ROWS = 100_000;

function groupSelect(group: readonly ReadSegment[], shape: SourceShape, filter: SourceFilter): string {
  const { table, fields, unit } = shape;
  const [{ columns, segment, selection, rows: numbered }] = group;
  const paths = group.map(({ path }) => quoteText(path)).join(', ');
  const time = quoteName(columns.get(timeIndexOf(table).id) ?? timeIndexOf(table).name);
  const metric = columns.get(METRIC_FIELD_ID);
  const keys: KeyColumns = { metric, sid: SID, time, ...FILE_FACTORS[unit] };
  const selected = [
    `${SID} AS sid`,
    `${restored(time, dataType(timeIndexOf(table).type).duckdb)} AS time`,
    ...fields.map((field) => `${fileColumn(field, columns, segment)} AS ${internalName(field)}`),
  ];
  const op = columns.get(OP.id);
  const where = [
    filterSql(filter.rows, filter.band, keys),
    ...(filter.putsOnly && op !== undefined ? [isPut(op)] : []),
    ...(numbered === undefined ? [] : [numbered]),
  ];
  const options = [
    FILE_COLUMNS_ONLY,
    ...(numbered === undefined ? [] : ['file_row_number = true']),
    // The engine would take the first file for a typical one, and build joins on the wrong side.
    ...(group.length === 1 ? [] : [`explicit_cardinality = ${rowCountOf(group)}`]),
  ];
  const files = `read_parquet([${paths}], ${options.join(', ')})`;
  if (filter.versionOf !== undefined) selected.push(`${filter.versionOf(group)} AS version`);
  const rows = `SELECT ${selected.join(', ')} FROM ${files} WHERE ${where.join(' AND ')}`;
  const open = filter.texts.filter((text) => !selection.exact.has(text));
  return matchingRows(rows, shape, open);
}

/** Adds conditions on texts to a SELECT of rows. */
export function matchingRows(rows: string, { table }: SourceShape, texts: readonly TextFilter[]): string {
  const conditions = texts.flatMap(({ column, sql }) => {
    const field = table.columns.find(({ name }) => name === column);
    return field === undefined || sql === undefined ? [] : [`(${sql(internalName(field))})`];
  });
  return conditions.length === 0 ? rows : `SELECT * FROM (${rows}) WHERE ${conditions.join(' AND ')}`;
}

function fileColumn(field: Column, columns: FileColumns, { schemaVersion }: Segment): string {
  const stored = storedField(columns, field.id);
  if (stored === undefined) return backfillExpression(field);
  const type = typeAt(field, schemaVersion);
  return castThrough(restored(valueSql(stored), dataType(type).duckdb), typesFrom(field, type) ?? []);
}

/** Casts times of columns in seconds and milliseconds, which the engine reads from Parquet as microseconds. */
function restored(name: string, duckdb: string): string {
  return duckdb === 'TIMESTAMP_S' || duckdb === 'TIMESTAMP_MS' ? `${name}::${duckdb}` : name;
}

/**
 * Returns a SELECT over the rows of a fresh part; fields newer than the part are null.
 *
 * @throws `NewerSchema` for a part that grew into the time range after `checkSchemas`, with a type that is not known yet.
 */
export function partSelect(
  { part, rowCount, skipCount = 0 }: EnginePartView,
  shape: SourceShape,
  filter: SourceFilter,
  extra = '',
): string {
  const columns = shape.fields.map((field) => {
    const name = internalName(field);
    const type = part.types.get(field.id);
    if (type === undefined) return `NULL::${dataType(field.type).duckdb} AS ${name}`;
    const types = typesFrom(field, type);
    if (types === undefined) throw new NewerSchema(shape.table);
    return `${castThrough(name, types)} AS ${name}`;
  });
  const keys: KeyColumns = { sid: 'sid', time: 'time', unit: shape.unit, factor: 1n };
  // Other reads may append rows while the query runs.
  const puts = filter.putsOnly && part.fieldIds.has(OP.id) ? ` AND ${isPut(internalName(OP))}` : '';
  const skipped = skipCount > 0 ? `rowid >= ${skipCount} AND ` : '';
  const where = `${skipped}rowid < ${rowCount} AND ${filterSql(filter.rows, filter.band, keys)}${puts}`;
  const rows = `SELECT ${['sid', 'time', ...columns].join(', ')}${extra} FROM ${part.relation} WHERE ${where}`;
  return matchingRows(rows, shape, filter.texts);
}

/** Name of a tag or field column in the tables and SELECTs of the query instance. */
export function internalName(column: Column): string {
  return `f${column.id}`;
}
