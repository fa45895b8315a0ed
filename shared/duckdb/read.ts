import type { DuckDBConnection } from '@duckdb/node-api';
import {
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampValue,
} from '@duckdb/node-api';
import { invariant } from '#shared/errors/invariant';

/** Returns the first row of a small result, as the engine's own values. */
export async function firstRow(connection: DuckDBConnection, sql: string): Promise<unknown[]> {
  const rows = await (await connection.run(sql)).getRows();
  invariant(rows.length > 0, 'a query for one row gave none');
  return rows[0];
}

/** Returns the integer in a timestamp value of any unit. */
export function timeOf(value: unknown): bigint {
  if (value instanceof DuckDBTimestampNanosecondsValue) return value.nanos;
  if (value instanceof DuckDBTimestampValue) return value.micros;
  if (value instanceof DuckDBTimestampMillisecondsValue) return value.millis;
  invariant(value instanceof DuckDBTimestampSecondsValue, 'not a timestamp');
  return value.seconds;
}
