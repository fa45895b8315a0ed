import type { Column, Segment, Table } from '#shared/contracts/gen/common';
import { backfillText } from '#shared/duckdb/backfill';
import { castThrough } from '#shared/duckdb/cast-through';
import { quoteText } from '#shared/duckdb/quote';
import { divisorId, scaledId, valueSql } from '#shared/duckdb/scaled-columns';
import { timeLiteral } from '#shared/duckdb/time-literal';
import { dataType } from '#shared/schema/data-type';
import { typeAt, typesFrom, typesOf, withTypes } from '#shared/schema/former-types';
import { METRIC_FIELD_ID, SID_FIELD_ID, withOps } from '#shared/schema/segment-columns';
import { fieldsOf, isAppendOnly, timeIndexOf } from '#shared/schema/table-schema';
import { joinBands, touches, type Band } from '#shared/segments/bands';

import { fieldName, keysOf, rowsShape, timeUnitOf, type Ops } from '../flush/segment-sql.js';
import type { SortedRun } from './runs.js';

/** Runs to be merged, and how their files are read. */
export interface MergeSource {
  readonly table: Table;
  /** Oldest first. */
  readonly runs: readonly SortedRun[];
  readonly hasMetrics: boolean;
  readonly ops: Ops;
  /** Returns the absolute path of a segment. */
  readonly absolute: (path: string) => string;
}

/** Series `[first, last]` in file order, and the number of their rows. */
export interface KeyRange {
  readonly first: SegmentKey;
  readonly last: SegmentKey;
  readonly rowCount: number;
}

/** A series, and its metric where segments are sorted by metric. */
export interface SegmentKey {
  readonly metric: number;
  readonly sid: number;
}

/**
 * SQL that cuts the series into ranges of at least `segmentRows` rows, except the last: (metric, sid) of the ends,
 * number of rows.
 */
export function keyRanges(source: MergeSource, segmentRows: number): string {
  const rows = `SELECT ${source.hasMetrics ? 'metric' : '0 AS metric'}, sid FROM ${filesOf(source, source.runs)}`;
  return (
    `WITH series AS (SELECT metric, sid, count(*) AS n FROM (${rows}) GROUP BY ALL), ` +
    `placed AS (SELECT *, (sum(n) OVER (ORDER BY metric, sid) - n) // ${segmentRows} AS part FROM series) ` +
    'SELECT first(metric ORDER BY metric, sid), first(sid ORDER BY metric, sid), ' +
    'last(metric ORDER BY metric, sid), last(sid ORDER BY metric, sid), sum(n) FROM placed GROUP BY part ORDER BY part'
  );
}

/**
 * SQL of the rows of a key range, each key once: `metric` if present, `sid`, `time`, `f<id>`.
 *
 * Versions are merged only where rows of a later run were late: everywhere else keys are unique.
 */
export function mergedRows(source: MergeSource, range: KeyRange): string {
  const { table, runs } = source;
  const shape = rowsShape(source);
  const inRange = rangeCondition(range, source.hasMetrics);
  const bands = lateBands(source);
  const near = runs.filter((run) => bands.some((band) => touches(band, { first: run.timeFirst, last: run.timeLast })));
  // A band covers everything that was flushed together: neither the run that has it nor another need have rows there.
  if (near.length === 0) return shape.written(`SELECT ${shape.read} FROM ${filesOf(source, runs)} WHERE ${inRange}`);
  const late = bandCondition(bands, table);
  const plain = `SELECT ${shape.read} FROM ${filesOf(source, runs)} WHERE ${inRange} AND NOT (${late})`;
  const versions = near.map((run, version) => {
    return `SELECT ${shape.read}, ${version} AS version FROM ${filesOf(source, [run])} WHERE ${inRange} AND (${late})`;
  });
  const merged = shape.merged(versions.join(' UNION ALL '));
  return shape.written(`${plain} UNION ALL ${merged}`);
}

/** SQL of the values of a key range, before versions are merged: `sid`, `f<id>` of the given fields. */
export function valuesOf(source: MergeSource, range: KeyRange, fields: readonly Column[]): string {
  const columns = ['sid', ...fields.map(fieldName)].join(', ');
  return `SELECT ${columns} FROM ${filesOf(source, source.runs)} WHERE ${rangeCondition(range, source.hasMetrics)}`;
}

/** SQL of a finished file's bounds: number of rows, ends of series numbers and times. */
export function boundsOf(source: MergeSource, file: string): string {
  const rows = readFiles(source, { paths: [file], rowCount: 0, hasScaled: false });
  return `SELECT count(*), min(sid), max(sid), min(time), max(time) FROM ${rows}`;
}

/** Returns where rows of a later run may be newer versions of rows of an earlier one. */
function lateBands({ table, runs }: MergeSource): Band[] {
  if (isAppendOnly(table)) return [];
  return joinBands(bandsOf(runs.slice(1).flatMap(({ segments }) => segments)), { from: undefined, to: undefined });
}

/** Returns the late bands of segments. */
export function bandsOf(segments: readonly Segment[]): Band[] {
  return segments.flatMap(({ hasLate, lateFirst, lateLast }) => {
    return hasLate ? [{ first: lateFirst, last: lateLast }] : [];
  });
}

function bandCondition(bands: readonly Band[], table: Table): string {
  const unit = timeUnitOf(table);
  return bands
    .map(({ first, last }) => `time BETWEEN ${timeLiteral(first, unit)} AND ${timeLiteral(last, unit)}`)
    .join(' OR ');
}

function rangeCondition({ first, last }: KeyRange, hasMetrics: boolean): string {
  if (!hasMetrics) return `sid BETWEEN ${first.sid} AND ${last.sid}`;
  return (
    `metric BETWEEN ${first.metric} AND ${last.metric} ` +
    `AND (metric > ${first.metric} OR sid >= ${first.sid}) AND (metric < ${last.metric} OR sid <= ${last.sid})`
  );
}

/** SQL that reads files by column ids, so that added, renamed and retyped columns are found, or null. */
function filesOf(source: MergeSource, runs: readonly SortedRun[]): string {
  const fields = storedFields(source);
  const groups = new Map<string, FileGroup & { readonly paths: string[]; rowCount: number }>();
  for (const { path, schemaVersion, rowCount, hasScaled = false } of runs.flatMap(({ segments }) => segments)) {
    const types = fields.map((field) => typeAt(field, schemaVersion));
    const key = [hasScaled, ...types].join();
    const group = groups.get(key) ?? { types, hasScaled, paths: [], rowCount: 0 };
    group.paths.push(source.absolute(path));
    group.rowCount += rowCount;
    groups.set(key, group);
  }
  const isPresent = (types: readonly string[]): boolean => types.every((type, i) => type === fields[i].type);
  const all = [...groups.values()];
  if (all.length === 1 && isPresent(all[0].types)) return readFiles(source, all[0]);
  return `(${all.map((group) => convertedFiles(source, group)).join(' UNION ALL ')})`;
}

/** Files that have the same columns, as far as that matters for reading them by column IDs. */
interface FileGroup extends MergeFiles {
  /** In the order of the fields. */
  readonly types: readonly string[];
}

interface MergeFiles {
  readonly paths: readonly string[];
  readonly rowCount: number;
  /** Whether the files may have scaled columns. */
  readonly hasScaled: boolean;
}

/** SQL that reads files in which fields have former types. */
function convertedFiles(source: MergeSource, group: FileGroup): string {
  const { types } = group;
  const fields = storedFields(source);
  const typeOf = new Map(fields.map(({ id }, i) => [id, types[i]]));
  const columns = fields.map((field, i) => {
    const name = fieldName(field);
    return `${castThrough(name, typesFrom(field, types[i]) ?? [])} AS ${name}`;
  });
  const files = readFiles({ ...source, table: withTypes(source.table, typeOf) }, group);
  return `SELECT ${[keysOf(source), ...columns].join(', ')} FROM ${files}`;
}

function storedFields({ table, ops }: MergeSource): Column[] {
  return fieldsOf(ops === 'none' ? table : withOps(table));
}

function readFiles(source: MergeSource, { paths, rowCount, hasScaled }: MergeFiles): string {
  const { table, hasMetrics } = source;
  const time = timeIndexOf(table);
  const doubles = hasScaled ? fieldsOf(table).filter(({ type }) => type === 'Float64') : [];
  const columns = [
    ...(hasMetrics ? [columnOf(METRIC_FIELD_ID, 'metric', 'UINTEGER')] : []),
    columnOf(SID_FIELD_ID, 'sid', 'UINTEGER'),
    columnOf(time.id, 'time', dataType(time.type).duckdb),
    ...storedFields(source).map((field) => {
      // Only files of the first type may lack the column, and a backfill value is of that type.
      const missing = field.type === typesOf(field)[0] ? backfillText(field) : undefined;
      return columnOf(field.id, fieldName(field), dataType(field.type).duckdb, missing);
    }),
    ...doubles.flatMap(({ id }) => [
      columnOf(scaledId(id), `s${id}`, 'DOUBLE'),
      columnOf(divisorId(id), `d${id}`, 'DOUBLE'),
    ]),
  ];
  // The engine does not know the number of rows that it reads by column IDs, and would build joins on the wrong side.
  const options = `schema = MAP {${columns.join(', ')}}, explicit_cardinality = ${rowCount}`;
  const files = `read_parquet([${paths.map(quoteText).join(', ')}], ${options})`;
  if (doubles.length === 0) return files;
  const values = doubles.map(({ id }) => {
    return `${valueSql({ plain: `f${id}`, scaled: { name: `s${id}`, divisor: `d${id}` } })} AS f${id}`;
  });
  const extra = doubles.map(({ id }) => `s${id}, d${id}`).join(', ');
  return `(SELECT * EXCLUDE (${extra}) REPLACE (${values.join(', ')}) FROM ${files})`;
}

function columnOf(id: number, name: string, type: string, missing?: string): string {
  const value = missing === undefined ? 'NULL' : quoteText(missing);
  return `${id}: {name: '${name}', type: '${type}', default_value: ${value}}`;
}
