import type { Column } from '#shared/contracts/gen/common';
import type { DuckDBConnection } from '#shared/duckdb/engine';
import { quoteText } from '#shared/duckdb/quote';
import { isScaledId } from '#shared/duckdb/scaled-columns';
import { firstRow, timeOf } from '#shared/duckdb/read';
import { dataType } from '#shared/schema/data-type';
import { METRIC_FIELD_ID, OP_FIELD_ID, SID_FIELD_ID } from '#shared/schema/segment-columns';

/** A range with both ends included. */
export interface Range<T> {
  readonly first: T;
  readonly last: T;
}

/** Contents of a segment or series file; ranges are undefined if it has no such values. */
export interface FileBounds {
  readonly rowCount: number;
  readonly sids: Range<number> | undefined;
  readonly metrics: Range<number> | undefined;
  /** In the unit of the time index. */
  readonly times: Range<bigint> | undefined;
  readonly hasMetrics: boolean;
  readonly hasOps: boolean;
  readonly hasScaled: boolean;
}

/**
 * Reads the columns of a Parquet file whose bounds the catalog stores: all rows, in little memory.
 *
 * @param time the time index; undefined for series files.
 */
export async function boundsOfFile(
  connection: DuckDBConnection,
  absolute: string,
  time?: Pick<Column, 'id' | 'type'>,
): Promise<FileBounds> {
  const ids = await fieldIdsOf(connection, absolute);
  const columns = [columnOf(SID_FIELD_ID, 'sid', 'UINTEGER'), columnOf(METRIC_FIELD_ID, 'metric', 'UINTEGER')];
  const ends = ['min(sid)', 'max(sid)', 'min(metric)', 'max(metric)'];
  if (time !== undefined) {
    columns.push(columnOf(time.id, 'time', dataType(time.type).duckdb));
    ends.push('min(time)', 'max(time)');
  }
  const [rowCount, sidFirst, sidLast, metricFirst, metricLast, timeFirst, timeLast] = await firstRow(
    connection,
    `SELECT count(*), ${ends.join(', ')}
     FROM read_parquet(${quoteText(absolute)}, schema = MAP {${columns.join(', ')}})`,
  );
  return {
    rowCount: Number(rowCount),
    sids: rangeOf(sidFirst, sidLast, Number),
    metrics: rangeOf(metricFirst, metricLast, Number),
    times: rangeOf(timeFirst, timeLast, timeOf),
    hasMetrics: ids.has(METRIC_FIELD_ID),
    hasOps: ids.has(OP_FIELD_ID),
    hasScaled: [...ids].some(isScaledId),
  };
}

async function fieldIdsOf(connection: DuckDBConnection, absolute: string): Promise<ReadonlySet<number>> {
  const found = await connection.run(`SELECT field_id FROM parquet_schema(${quoteText(absolute)})`);
  return new Set((await found.getRows()).map(([id]) => Number(id)));
}

/** Columns that the file lacks are null. */
function columnOf(id: number, name: string, type: string): string {
  return `${id}: {name: '${name}', type: '${type}', default_value: NULL}`;
}

function rangeOf<T>(first: unknown, last: unknown, valueOf: (value: unknown) => T): Range<T> | undefined {
  if (first === null || first === undefined) return undefined;
  return { first: valueOf(first), last: valueOf(last) };
}
