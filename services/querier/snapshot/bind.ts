import type { Column, Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { dataType } from '#shared/schema/data-type';
import { OP } from '#shared/schema/segment-columns';
import { fieldsOf, isAppendOnly, mergeModeOf, tagsOf, timeIndexOf } from '#shared/schema/table-schema';

import { intersection, joinBands, overlaps, touches, type Band, type TimeBounds } from '#shared/segments/bands';
import { isPut, mergeVersions } from '#shared/segments/versions-sql';
import type { SegmentRead, TableRead, TextFilter } from './binding.js';
import type { EnginePartView, EngineView } from './engine-rows.js';
import type { FreshPart } from './fresh-part.js';
import type { RowFilter } from './row-filter.js';
import type { NamedSeries } from './series-table.js';
import {
  checkSchemas,
  FILE_INDEX,
  internalName,
  matchingRows,
  partSelect,
  segmentSelects,
  type BoundSegment,
  type SourceShape,
} from './sources.js';
import { ALL_ROWS } from './term-search.js';

/** Rows that take as long to read as a segment's file takes to open. */
const OPEN_ROWS = 4_000;

/** Input of the SELECT over one region. */
export interface BoundRegion {
  readonly view: EngineView;
  /** Segments that may have rows of the query, in the order of their sequences. */
  readonly segments: readonly BoundSegment[];
  /** The only series that the query can match; undefined: any. */
  readonly named: NamedSeries | undefined;
  /** The only metrics that the query can match; undefined: any. */
  readonly metrics: readonly number[] | undefined;
}

/** What a query reads of a table. */
export interface BindTarget {
  readonly table: Table;
  /** Names of the columns that are read; undefined: all. */
  readonly columns: ReadonlySet<string> | undefined;
  readonly bounds: TimeBounds;
  readonly texts: readonly TextFilter[];
  /** Whether every version of a row is returned, and deletions too. */
  readonly everyVersion?: boolean | undefined;
}

/** Segments and fresh rows that are read, for EXPLAIN. Segments are in the order of the regions. */
export type ReadRows = Pick<TableRead, 'segments' | 'freshRows' | 'mergedFreshRows'>;

/** Lists the segments and fresh rows that a query reads, and which of them are merged by version. */
export function readRows(regions: readonly BoundRegion[], { table, bounds }: BindTarget): ReadRows {
  const read = { segments: [] as SegmentRead[], freshRows: 0, mergedFreshRows: 0 };
  for (const { view, segments, named } of regions) {
    if (named?.sids.length === 0) continue;
    const parts = partsWithin(view, bounds);
    const isNear = nearOf(bandsOf(segments, parts, table, bounds));
    for (const { segment, selection } of segments) {
      const isMerged = isNear({ first: segment.timeFirst, last: segment.timeLast });
      if (selection.rowCount === 0 && !isMerged) continue;
      read.segments.push({ segment, isMerged, selectedRows: selection.rowCount });
    }
    for (const { part, rowCount } of parts) {
      read.freshRows += rowCount;
      if (part.times !== undefined && isNear(part.times)) read.mergedFreshRows += rowCount;
    }
  }
  return read;
}

/** Returns the parts of unflushed rows that a query reads of a region. */
export function partsRead({ view, named }: BoundRegion, { bounds }: BindTarget): EnginePartView[] {
  return named?.sids.length === 0 ? [] : partsWithin(view, bounds);
}

/** Returns the time ranges in which a query can find several versions of a row of a region, ascending. */
export function lateBandsOf({ view, segments }: BoundRegion, { table, bounds }: BindTarget): Band[] {
  return bandsOf(segments, partsWithin(view, bounds), table, bounds);
}

/** @throws `NewerSchema` when the rows of a query were written under a schema that is not known yet. */
export function checkTarget({ view, segments }: BoundRegion, { table, columns, bounds }: BindTarget): void {
  const fields = fieldsOf(table).filter(({ name }) => columns?.has(name) ?? true);
  checkSchemas(segments, partsWithin(view, bounds), { table, fields });
}

/** Returns a parenthesised SELECT of the rows of all regions, each row once, after `checkTarget` of each. */
export function bindTable(regions: readonly BoundRegion[], target: BindTarget): string {
  const shape = shapeOf(target);
  // Planning each SELECT takes time, even if it is empty.
  const selects = regions.flatMap((region) => bindRegion(region, shape) ?? []);
  return selects.length === 0 ? `(SELECT ${shape.nothing} WHERE false)` : `(${selects.join(' UNION ALL ')})`;
}

interface RegionShape extends BindTarget, SourceShape {
  readonly tags: readonly Column[];
  /** Columns of the result in the table's order. */
  readonly output: readonly Column[];
  /** SELECT list of an empty result. */
  readonly nothing: string;
}

function shapeOf(target: BindTarget): RegionShape {
  const { table, columns } = target;
  const isRead = (column: Column): boolean => columns?.has(column.name) ?? true;
  const selected = table.columns.filter(isRead);
  // A query that reads no column (count(*)) still needs one.
  const output = selected.length > 0 ? selected : [timeIndexOf(table)];
  return {
    ...target,
    unit: dataType(timeIndexOf(table).type).timeUnit ?? 'ns',
    fields: fieldsOf(table).filter(isRead),
    tags: tagsOf(table).filter(isRead),
    output,
    nothing: output.map((column) => `NULL::${dataType(column.type).duckdb} AS ${quoteName(column.name)}`).join(', '),
  };
}

/** Returns undefined if the region cannot have rows of the query. */
function bindRegion(region: BoundRegion, shape: RegionShape): string | undefined {
  const { view, named } = region;
  if (named?.sids.length === 0) return undefined;
  const known = named === undefined || named.sids.length > CASES_MAX ? NO_VALUES : knownTags(named);
  // Planning and running the join would take a third of the time of a query for few series.
  const isJoined = view.series !== undefined && !shape.tags.every(({ id }) => known.has(id));
  const rows = regionRows(region, shape, isJoined);
  if (rows === undefined) return undefined;
  const output = shape.output.map((column) => `${sourceName(column, known)} AS ${quoteName(column.name)}`).join(', ');
  if (!isJoined || view.series === undefined) return `SELECT ${output} FROM (${rows}) AS r`;
  return `SELECT ${output} FROM (${rows}) AS r JOIN ${view.series.relation} AS s ON r.sid = s.sid`;
}

/** Number of series up to which tag values are constants in the SQL. */
const CASES_MAX = 16;
const NO_VALUES: ReadonlyMap<number, string> = new Map();

/** Returns the SQL of the value by tag column ID, for the tags whose values are known for each series. */
function knownTags({ sids, values }: NamedSeries): ReadonlyMap<number, string> {
  return new Map(Array.from(values, ([tagId, ofSeries]) => [tagId, valueSql(sids, ofSeries)]));
}

function valueSql(sids: readonly number[], values: readonly string[]): string {
  if (values.every((value) => value === values[0])) return `${quoteText(values[0])}::VARCHAR`;
  const cases = sids.map((sid, i) => `WHEN ${sid} THEN ${quoteText(values[i])}`);
  return `CASE r.sid ${cases.join(' ')} END`;
}

function sourceName(column: Column, known: ReadonlyMap<number, string>): string {
  const sql = known.get(column.id);
  if (sql !== undefined) return sql;
  if (column.kind === 'time') return 'r.time';
  return column.kind === 'tag' ? `s.${internalName(column)}` : `r.${internalName(column)}`;
}

/** Returns SELECTs of a region's rows: unmerged where keys are unique, merged where a key may have several versions. */
function regionRows(
  { view, segments, named, metrics }: BoundRegion,
  shape: RegionShape,
  isJoined: boolean,
): string | undefined {
  const sids = named?.sids;
  const { bounds, table } = shape;
  const rows: RowFilter = { bounds, sids, metrics };
  const parts = partsWithin(view, bounds);
  const bands = shape.everyVersion === true ? [] : bandsOf(segments, parts, table, bounds);
  const putsOnly = shape.everyVersion !== true;
  const plain = { rows, band: { bands, side: 'outside' } as const, isJoined, putsOnly, texts: shape.texts };
  const selects = [
    ...segmentSelects(segments, shape, plain),
    ...parts.map((part) => partSelect(part, shape, plain)),
    ...(bands.length > 0 ? mergedRows({ bands, segments, parts, rows }, shape) : []),
  ];
  return selects.length === 0 ? undefined : selects.join(' UNION ALL ');
}

/** Returns how many rows have the segments, each at least `OPEN_ROWS`, and unflushed parts of a region that overlap a time range. */
export function overlappingRows(view: EngineView, bounds: TimeBounds): number {
  const ofSegments = view.manifest.segments
    .filter(({ timeFirst, timeLast }) => overlaps({ first: timeFirst, last: timeLast }, bounds))
    .map(({ rowCount }) => Math.max(rowCount, OPEN_ROWS));
  const ofParts = partsWithin(view, bounds).map(({ rowCount }) => rowCount);
  return [...ofSegments, ...ofParts].reduce((sum, count) => sum + count, 0);
}

function partsWithin({ parts }: EngineView, bounds: TimeBounds): EnginePartView[] {
  return parts.filter(({ part }) => part.times !== undefined && overlaps(part.times, bounds));
}

/** Returns the time ranges in which a row may have several versions. */
function bandsOf(
  segments: readonly BoundSegment[],
  parts: readonly EnginePartView[],
  table: Table,
  bounds: TimeBounds,
): Band[] {
  return isAppendOnly(table) ? [] : joinBands(lateBands(segments, parts), bounds);
}

function nearOf(bands: readonly Band[]): (range: Band) => boolean {
  return (range) => bands.some((band) => touches(band, range));
}

interface LateRows {
  readonly bands: readonly Band[];
  readonly segments: readonly BoundSegment[];
  readonly parts: readonly EnginePartView[];
  readonly rows: RowFilter;
}

function lateBands(segments: readonly BoundSegment[], parts: readonly EnginePartView[]): Band[] {
  const bands: Band[] = [];
  for (const { segment } of segments) {
    if (segment.hasLate) bands.push({ first: segment.lateFirst, last: segment.lateLast });
  }
  for (const { part } of parts) {
    if (part.late !== undefined) bands.push(part.late);
    if (part.lateToOthers !== undefined) bands.push(...commonTimes(part, segments, parts));
  }
  return bands;
}

/** Returns the times of late rows of a part that others have too. */
function commonTimes(part: FreshPart, segments: readonly BoundSegment[], parts: readonly EnginePartView[]): Band[] {
  const common: (Band | undefined)[] = [];
  for (const { segment } of segments) {
    common.push(intersection(part.lateToOthers, { first: segment.timeFirst, last: segment.timeLast }));
  }
  for (const { part: other } of parts) {
    if (other !== part && other.times !== undefined) common.push(intersection(part.lateToOthers, other.times));
  }
  return common.filter((band) => band !== undefined);
}

/**
 * Returns SELECTs of the rows in the late bands, one version per key. The version number orders first by source (segments
 * in the order of their sequences, then parts) and then by position in the source.
 */
function mergedRows({ bands, segments, parts, rows }: LateRows, shape: RegionShape): string[] {
  // A newer version of a row may not satisfy a condition on texts that an older one does.
  const filter = { rows, band: { bands, side: 'inside' } as const, isJoined: false, putsOnly: false, texts: [] };
  const ranks = new Map(segments.map(({ segment }, i) => [segment, i + 1]));
  const versionOf = (group: readonly BoundSegment[]): string => {
    const [rank, ...others] = group.map(({ segment }) => ranks.get(segment));
    if (others.length === 0) return `${rank}::BIGINT << 40`;
    return `[${[rank, ...others].join(', ')}][${FILE_INDEX}::BIGINT + 1]::BIGINT << 40`;
  };
  const hasOps =
    segments.some(({ columns }) => columns.has(OP.id)) || parts.some(({ part }) => part.fieldIds.has(OP.id));
  const sourced = hasOps ? { ...shape, fields: [...shape.fields, OP] } : shape;
  const isNear = nearOf(bands);
  const near = segments.filter(({ segment: { timeFirst, timeLast } }) => isNear({ first: timeFirst, last: timeLast }));
  const whole = near.map((source) => ({ ...source, selection: ALL_ROWS }));
  const selects = segmentSelects(whole, sourced, { ...filter, versionOf });
  let rank = segments.length;
  for (const view of parts) {
    rank++;
    if (view.part.times === undefined || !isNear(view.part.times)) continue;
    selects.push(partSelect(view, sourced, filter, `, (${rank}::BIGINT << 40) + rowid AS version`));
  }
  // The band covers a whole flush, so the segment that reports it may have no rows in it.
  if (selects.length === 0) return [];
  const fields = shape.fields.map(internalName);
  const op = hasOps ? internalName(OP) : undefined;
  const merged = mergeVersions(selects.join(' UNION ALL '), {
    keys: 'sid, time',
    fields,
    mode: mergeModeOf(shape.table),
    op,
  });
  const puts =
    op === undefined ? merged : `SELECT ${['sid', 'time', ...fields].join(', ')} FROM (${merged}) WHERE ${isPut(op)}`;
  return [matchingRows(puts, shape, shape.texts)];
}
