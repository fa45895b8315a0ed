import type { Table } from '#shared/contracts/gen/common';
import { backfillExpression } from '#shared/duckdb/backfill';
import { FILE_COLUMNS_ONLY } from '#shared/duckdb/file-columns';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { storedField, valueSql } from '#shared/duckdb/scaled-columns';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { METRIC_FIELD_ID, OP, SID } from '#shared/schema/segment-columns';
import { timeIndexOf } from '#shared/schema/table-schema';

import type { FileColumns } from '../snapshot/segment-files.js';
import type { SampleColumns } from './sample-slice.js';

/** Range of times in milliseconds that includes both ends. */
export interface MillisRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Range of series numbers that includes both ends. */
export interface SidRange {
  readonly first: number;
  readonly last: number;
}

/** Selects rows of segment files. */
export interface RowSelection {
  readonly paths: readonly string[];
  /** Series, ascending, or a range of them; undefined: all series of the metrics. */
  readonly sids: readonly number[] | SidRange | undefined;
  /** Metric numbers, ascending; undefined for files without them. */
  readonly metrics: readonly number[] | undefined;
  /** Times; undefined: all. */
  readonly range: MillisRange | undefined;
}

/**
 * A query that reads samples from segments: file number, series number, milliseconds, value, and further columns that the
 * files have. Rows arrive file by file, in the order of each file.
 */
export interface SegmentQuery {
  /** Position of the start time column; undefined if the files have none. */
  readonly startAt: number | undefined;
  /** Position of the histogram column; undefined if the files have none. */
  readonly histogramAt: number | undefined;
  /** Position of the operation column, 0 for rows without one; undefined if the files have none. */
  readonly opAt: number | undefined;
  sql(selection: RowSelection): string;
}

const RANGES_MAX = 16;

/**
 * Builds the query for files that have the same columns.
 *
 * @param names columns of the files
 * @param isEarly whether times may be before 1970
 */
export function segmentQuery(table: Table, names: FileColumns, columns: SampleColumns, isEarly: boolean): SegmentQuery {
  const time = timeIndexOf(table);
  const timeSql = millisSql(quoteName(names.get(time.id) ?? time.name), dataType(time.type).timeUnit ?? 'ns', isEarly);
  const nameOf = (id: number | undefined): string | undefined => (id === undefined ? undefined : names.get(id));
  const value = storedField(names, columns.value);
  const start = nameOf(columns.start);
  const histogram = nameOf(columns.histogram);
  const column = table.columns.find(({ id }) => id === columns.value);
  const missing = column === undefined ? 'NULL::DOUBLE' : `${backfillExpression(column)}::DOUBLE`;
  const selected = [
    'file_index::INTEGER',
    `${SID}::INTEGER`,
    `${timeSql}::DOUBLE AS t`,
    // All numeric types read as the same number. A column that became text after planning may have other values.
    value === undefined ? missing : `TRY_CAST(${valueSql(value)} AS DOUBLE)`,
  ];
  const startAt = start === undefined ? undefined : selected.push(`coalesce(${quoteName(start)}::DOUBLE, 0)`) - 1;
  const histogramAt = histogram === undefined ? undefined : selected.push(quoteName(histogram)) - 1;
  const op = names.get(OP.id);
  const opAt = op === undefined ? undefined : selected.push(`coalesce(${quoteName(op)}, 0)::INTEGER`) - 1;
  const metric = names.get(METRIC_FIELD_ID);
  return {
    startAt,
    histogramAt,
    opAt,
    sql: ({ paths, metrics, sids, range }) => {
      const where = [
        ...(metric === undefined || metrics === undefined ? [] : [isOneOfSql(metric, metrics)]),
        ...(sids === undefined ? [] : [sidCondition(sids)]),
        ...(range === undefined ? [] : timeConditions(range)),
      ];
      const files = paths.map((path) => quoteText(path)).join(', ');
      const rows = `SELECT ${selected.join(', ')} FROM read_parquet([${files}], ${FILE_COLUMNS_ONLY})`;
      return where.length === 0 ? rows : `${rows} WHERE ${where.join(' AND ')}`;
    },
  };
}

function sidCondition(sids: readonly number[] | SidRange): string {
  return 'first' in sids ? `${SID} BETWEEN ${sids.first} AND ${sids.last}` : isOneOfSql(SID, sids);
}

/** Returns the SQL of a time in milliseconds, rounded down. The engine reads times as microseconds or nanoseconds. */
function millisSql(name: string, unit: TimeUnit, isEarly: boolean): string {
  const [time, divisor] = unit === 'ns' ? [`epoch_ns(${name})`, 1_000_000] : [`epoch_us(${name})`, 1000];
  const whole = `${time} // ${divisor}`;
  // The engine's division rounds towards zero. The correction costs a second division, so it is only made if needed.
  return isEarly ? `(${whole} - (${time} % ${divisor} < 0)::BIGINT)` : `(${whole})`;
}

function timeConditions({ fromMs, toMs }: MillisRange): string[] {
  return [
    ...(fromMs > Number.MIN_SAFE_INTEGER ? [`t >= ${fromMs}`] : []),
    ...(toMs < Number.MAX_SAFE_INTEGER ? [`t <= ${toMs}`] : []),
  ];
}

/** Returns a condition that a column has one of the ascending numbers, with ranges for runs where that is shorter. */
export function isOneOfSql(column: string, numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  if (ranges.length > RANGES_MAX) {
    // The engine prunes row groups by this range.
    const ends = `${column} BETWEEN ${numbers[0]} AND ${numbers[numbers.length - 1]}`;
    return `${ends} AND ${column} IN (${numbers.join(', ')})`;
  }
  const texts = ranges.map(([from, to]) =>
    from === to ? `${column} = ${from}` : `${column} BETWEEN ${from} AND ${to}`,
  );
  return `(${texts.join(' OR ')})`;
}
