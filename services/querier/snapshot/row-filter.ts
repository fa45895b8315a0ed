import { timeCondition, timeLiteral } from '#shared/duckdb/time-literal';
import type { TimeUnit } from '#shared/schema/data-type';

import type { Band, TimeBounds } from '#shared/segments/bands';

/** Which rows of a region a query reads. */
export interface RowFilter {
  readonly bounds: TimeBounds;
  /** Undefined: all series. */
  readonly sids: readonly number[] | undefined;
  /** Metric numbers of all series that the query can want; undefined: any. */
  readonly metrics: readonly number[] | undefined;
}

/** Whether rows inside the late bands, or those outside, are meant; undefined: all. */
export interface BandFilter {
  readonly bands: readonly Band[];
  readonly side: 'inside' | 'outside';
}

/** Names of the key columns in a source, and what the source's times count. */
export interface KeyColumns {
  /** Absent where the source has no such column. */
  readonly metric?: string | undefined;
  readonly sid: string;
  readonly time: string;
  readonly unit: TimeUnit;
  /** Steps of `unit` in one step of the table's unit. */
  readonly factor: bigint;
}

/**
 * The filter as a SQL condition on a source's own columns, so that the engine can prune row groups by it.
 *
 * Series are named although a join would find them, because the engine pushes the join's keys down only if it happens
 * to build the join on the series' side.
 */
export function filterSql(
  { bounds, sids, metrics }: RowFilter,
  band: BandFilter | undefined,
  keys: KeyColumns,
): string {
  const { metric, sid, time, unit, factor } = keys;
  const scaled = { from: scale(bounds.from, factor), to: scale(bounds.to, factor) };
  const conditions = [timeCondition(time, unit, scaled)];
  if (metric !== undefined && metrics !== undefined && metrics.length > 0) conditions.push(isOneOf(metric, metrics));
  if (sids !== undefined) conditions.push(isOneOf(sid, sids));
  if (band !== undefined && band.bands.length > 0) {
    const inside = band.bands.map(({ first, last }) => {
      return `${time} BETWEEN ${timeLiteral(first * factor, unit)} AND ${timeLiteral(last * factor, unit)}`;
    });
    conditions.push(`${band.side === 'inside' ? '' : 'NOT '}(${inside.join(' OR ')})`);
  }
  return conditions.join(' AND ');
}

function isOneOf(column: string, numbers: readonly number[]): string {
  return numbers.length === 1 ? `${column} = ${numbers[0]}` : `${column} IN (${numbers.join(', ')})`;
}

function scale(time: bigint | undefined, factor: bigint): bigint | undefined {
  return time === undefined ? undefined : time * factor;
}
