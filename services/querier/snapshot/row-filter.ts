import { timeCondition, timeLiteral } from '#shared/duckdb/time-literal';
import type { TimeUnit } from '#shared/schema/data-type';

import type { Band, TimeBounds } from '#shared/segments/bands';

/** Selects the rows of a region that a query reads. */
export interface RowFilter {
  readonly bounds: TimeBounds;
  /** Series numbers; undefined: all. */
  readonly sids: readonly number[] | undefined;
  /** Metric numbers of all series that the query can match; undefined: any. */
  readonly metrics: readonly number[] | undefined;
}

/** Selects the rows inside or outside the late bands. */
export interface BandFilter {
  readonly bands: readonly Band[];
  readonly side: 'inside' | 'outside';
}

/** Names of the key columns of a source, and the unit of its times. */
export interface KeyColumns {
  /** Absent where the source has no such column. */
  readonly metric?: string | undefined;
  readonly sid: string;
  readonly time: string;
  readonly unit: TimeUnit;
  /** Number of `unit` steps in one step of the table's unit. */
  readonly factor: bigint;
}

/**
 * Returns the filter as an SQL condition on a source's own columns, so that the engine can prune row groups.
 *
 * The series are listed although the join would select them too, because the engine pushes the join's keys down only if it
 * happens to build the join on the series' side.
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
