import type { Column, Segment, Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { timeCondition, timeLiteral } from '#shared/duckdb/time-literal';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { SID_FIELD_ID } from '#shared/schema/segment-columns';
import { fieldsOf, isAppendOnly, mergeModeOf, tagsOf, timeIndexOf } from '#shared/schema/table-schema';

import { joinBands, overlaps, touches, type Band, type TimeBounds } from './bands.js';
import type { PartView, RegionView } from './fresh-rows.js';

/** What the SELECT over a region is made of. */
export interface BoundRegion {
  readonly view: RegionView;
  /** Segments that can have rows of the query. */
  readonly segments: readonly Segment[];
  /** The only series that the query can want; undefined: any. */
  readonly sids: readonly number[] | undefined;
}

export interface BindTarget {
  readonly table: Table;
  /** Names of the columns that are read; undefined: all. */
  readonly columns: ReadonlySet<string> | undefined;
  readonly bounds: TimeBounds;
  readonly absolute: (path: string) => string;
}

/** A parenthesised SELECT that gives the rows of all regions, each row once. */
export function bindTable(regions: readonly BoundRegion[], target: BindTarget): string {
  const shape = shapeOf(target);
  if (regions.length === 0) return `(SELECT ${shape.nothing} WHERE false)`;
  return `(${regions.map((region) => bindRegion(region, shape)).join(' UNION ALL ')})`;
}

interface Shape extends BindTarget {
  readonly unit: TimeUnit;
  readonly fields: readonly Column[];
  readonly tags: readonly Column[];
  /** Columns of the answer in the table's order. */
  readonly output: readonly Column[];
  /** The columns with no rows behind them. */
  readonly nothing: string;
  /** `sid, time, f1, f2 ..` */
  readonly internal: string;
}

function shapeOf(target: BindTarget): Shape {
  const { table, columns } = target;
  const isRead = (column: Column): boolean => columns?.has(column.name) ?? true;
  const wanted = table.columns.filter(isRead);
  // A query that reads no column (count(*)) still needs one.
  const output = wanted.length > 0 ? wanted : [timeIndexOf(table)];
  const fields = fieldsOf(table).filter(isRead);
  return {
    ...target,
    unit: dataType(timeIndexOf(table).type).timeUnit ?? 'ns',
    fields,
    tags: tagsOf(table).filter(isRead),
    output,
    nothing: output.map((column) => `NULL::${dataType(column.type).duckdb} AS ${quoteName(column.name)}`).join(', '),
    internal: ['sid', 'time', ...fields.map(internalName)].join(', '),
  };
}

function bindRegion(region: BoundRegion, shape: Shape): string {
  const { view } = region;
  const rows = regionRows(region, shape);
  if (rows === undefined) return `SELECT ${shape.nothing} WHERE false`;
  const output = shape.output.map((column) => `${sourceName(column)} AS ${quoteName(column.name)}`).join(', ');
  if (shape.tags.length === 0 || view.series === undefined) return `SELECT ${output} FROM (${rows}) AS r`;
  return `SELECT ${output} FROM (${rows}) AS r JOIN ${view.series.relation} AS s ON r.sid = s.sid`;
}

function sourceName(column: Column): string {
  if (column.kind === 'time') return 'r.time';
  return column.kind === 'tag' ? `s.${internalName(column)}` : `r.${internalName(column)}`;
}

/** The rows with the region's own numbers: plain where every key is unique, merged where it may not be. */
function regionRows({ view, segments, sids }: BoundRegion, shape: Shape): string | undefined {
  const { bounds, unit, table } = shape;
  if (sids?.length === 0) return undefined;
  const within = timeCondition('time', unit, bounds) + sidCondition(sids);
  const parts = view.parts.filter(({ part }) => part.times !== undefined && overlaps(part.times, bounds));
  const bands = isAppendOnly(table) ? [] : joinBands(lateBands(segments, parts), bounds);
  const notLate = bands.map((band) => ` AND NOT (${inBand(band, unit)})`).join('');
  const sources: string[] = [];
  if (segments.length > 0) {
    sources.push(`SELECT ${shape.internal} FROM ${parquet(segments, shape)} WHERE ${within}${notLate}`);
  }
  for (const { part, rowCount } of parts) {
    const columns = partColumns(part.fieldIds, shape);
    sources.push(`SELECT ${columns} FROM ${part.relation} WHERE rowid < ${rowCount} AND ${within}${notLate}`);
  }
  if (bands.length > 0) sources.push(mergedRows({ bands, segments, parts, within }, shape));
  return sources.length === 0 ? undefined : sources.join(' UNION ALL ');
}

/**
 * Condition for the series that a query wants. The engine would find them by the join, but only if it happens to build
 * the join on the series' side; named, they prune row groups for sure.
 */
function sidCondition(sids: readonly number[] | undefined): string {
  if (sids === undefined) return '';
  return sids.length === 1 ? ` AND sid = ${sids[0]}` : ` AND sid IN (${sids.join(', ')})`;
}

interface LateRows {
  readonly bands: readonly Band[];
  readonly segments: readonly Segment[];
  readonly parts: readonly PartView[];
  /** Condition on time and series of the whole query. */
  readonly within: string;
}

function lateBands(segments: readonly Segment[], parts: readonly PartView[]): Band[] {
  const bands: Band[] = [];
  for (const segment of segments) {
    if (segment.hasLate) bands.push({ first: segment.lateFirst, last: segment.lateLast });
  }
  for (const { part } of parts) if (part.late !== undefined) bands.push(part.late);
  return bands;
}

/**
 * The rows of the late bands, versions made one. A version's number is that of its source (segments in the order of
 * their sequences, then parts) and its place in it.
 */
function mergedRows({ bands, segments, parts, within }: LateRows, shape: Shape): string {
  const { unit, fields, table } = shape;
  const inBands = `(${bands.map((band) => inBand(band, unit)).join(' OR ')})`;
  const where = `${within} AND ${inBands}`;
  const isNear = (range: Band): boolean => bands.some((band) => touches(band, range));
  const sources: string[] = [];
  let rank = 0;
  for (const segment of segments) {
    rank++;
    if (!isNear({ first: segment.timeFirst, last: segment.timeLast })) continue;
    const version = `${rank}::BIGINT << 40 AS version`;
    sources.push(`SELECT ${shape.internal}, ${version} FROM ${parquet([segment], shape)} WHERE ${where}`);
  }
  for (const { part, rowCount } of parts) {
    rank++;
    if (part.times === undefined || !isNear(part.times)) continue;
    const columns = `${partColumns(part.fieldIds, shape)}, (${rank}::BIGINT << 40) + rowid AS version`;
    sources.push(`SELECT ${columns} FROM ${part.relation} WHERE rowid < ${rowCount} AND ${where}`);
  }
  const newest = mergeModeOf(table) === 'last_row' ? 'arg_max_null' : 'arg_max';
  const merged = fields.map((field) => `${newest}(${internalName(field)}, version) AS ${internalName(field)}`);
  return `SELECT ${['sid', 'time', ...merged].join(', ')} FROM (${sources.join(' UNION ALL ')}) GROUP BY sid, time`;
}

function parquet(segments: readonly Segment[], { absolute, table, fields }: Shape): string {
  const paths = segments.map((segment) => quoteText(absolute(segment.path))).join(', ');
  const time = timeIndexOf(table);
  // By column id, so that files of older schema versions read as null where they lack a column.
  const columns = [
    `${SID_FIELD_ID}: {name: 'sid', type: 'UINTEGER', default_value: NULL}`,
    `${time.id}: {name: 'time', type: '${dataType(time.type).duckdb}', default_value: NULL}`,
    ...fields.map(
      (field) =>
        `${field.id}: {name: '${internalName(field)}', type: '${dataType(field.type).duckdb}', default_value: NULL}`,
    ),
  ];
  return `read_parquet([${paths}], schema = MAP {${columns.join(', ')}})`;
}

/** `sid, time, f1 ..` of a part; null for fields that came after it. */
function partColumns(fieldIds: ReadonlySet<number>, { fields }: Shape): string {
  const columns = fields.map((field) => {
    const name = internalName(field);
    return fieldIds.has(field.id) ? name : `NULL::${dataType(field.type).duckdb} AS ${name}`;
  });
  return ['sid', 'time', ...columns].join(', ');
}

function inBand({ first, last }: Band, unit: TimeUnit): string {
  return `time BETWEEN ${timeLiteral(first, unit)} AND ${timeLiteral(last, unit)}`;
}

function internalName(column: Column): string {
  return `f${column.id}`;
}
