import type { Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { dataType, type TimeUnit } from '#shared/schema/data-type';
import { SID } from '#shared/schema/segment-columns';
import { timeIndexOf } from '#shared/schema/table-schema';

import type { FileColumns } from '../snapshot/segment-files.js';
import type { SampleColumns } from './piece.js';

/** Milliseconds, both ends included. */
export interface MillisRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** How samples are read from a segment: number of the series, milliseconds, value, and what else the file has. */
export interface SegmentQuery {
  /** Position of the column of starts; undefined if the file has none. */
  readonly startAt: number | undefined;
  /** Position of the column of histograms; undefined if the file has none. */
  readonly histogramAt: number | undefined;
  sql(path: string, sids: readonly number[], range: MillisRange): string;
}

const RANGES_MAX = 16;

/** @param names columns that the file has. */
export function segmentQuery(table: Table, names: FileColumns, columns: SampleColumns): SegmentQuery {
  const time = timeIndexOf(table);
  const timeSql = millisSql(quoteName(names.get(time.id) ?? time.name), dataType(time.type).timeUnit ?? 'ns');
  const nameOf = (id: number | undefined): string | undefined => (id === undefined ? undefined : names.get(id));
  const value = nameOf(columns.value);
  const start = nameOf(columns.start);
  const histogram = nameOf(columns.histogram);
  const selected = [
    `${SID}::INTEGER`,
    `${timeSql}::DOUBLE AS t`,
    value === undefined ? 'NULL::DOUBLE' : `${quoteName(value)}::DOUBLE`,
  ];
  const startAt = start === undefined ? undefined : selected.push(`coalesce(${quoteName(start)}::DOUBLE, 0)`) - 1;
  const histogramAt = histogram === undefined ? undefined : selected.push(quoteName(histogram)) - 1;
  return {
    startAt,
    histogramAt,
    sql: (path, sids, range) => {
      const where = [`(${sidCondition(sids)})`, ...timeConditions(range)].join(' AND ');
      return `SELECT ${selected.join(', ')} FROM read_parquet(${quoteText(path)}) WHERE ${where}`;
    },
  };
}

/** Times come back from Parquet as microseconds or nanoseconds. */
function millisSql(name: string, unit: TimeUnit): string {
  return unit === 'ns' ? `(epoch_ns(${name}) // 1000000)` : `(epoch_us(${name}) // 1000)`;
}

function timeConditions({ fromMs, toMs }: MillisRange): string[] {
  return [
    ...(fromMs > Number.MIN_SAFE_INTEGER ? [`t >= ${fromMs}`] : []),
    ...(toMs < Number.MAX_SAFE_INTEGER ? [`t <= ${toMs}`] : []),
  ];
}

/** A condition that names series; runs of numbers are ranges where that is shorter. @param sids ascending. */
export function sidCondition(sids: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const sid of sids) {
    const last = ranges.at(-1);
    if (last?.[1] === sid - 1) last[1] = sid;
    else ranges.push([sid, sid]);
  }
  if (ranges.length > RANGES_MAX) {
    // The engine prunes row groups by the ends.
    return `${SID} BETWEEN ${sids[0]} AND ${sids[sids.length - 1]} AND ${SID} IN (${sids.join(', ')})`;
  }
  return ranges
    .map(([from, to]) => (from === to ? `${SID} = ${from}` : `${SID} BETWEEN ${from} AND ${to}`))
    .join(' OR ');
}
