import type { DuckDBConnection } from '#shared/duckdb/engine';
import { bytesSql, textAt } from '#shared/duckdb/text-bytes';

/** A tag of series `[from, to)` in a relation of the engine. */
export interface TagSource {
  readonly relation: string;
  readonly column: string;
  readonly from: number;
  readonly to: number;
}

/**
 * Passes the value of each series that has the tag to `add`. Reads by chunks and yields in between: there may be hundreds of
 * thousands of series.
 */
export async function eachTagText(
  connection: DuckDBConnection,
  { relation, column, from, to }: TagSource,
  add: (text: string, sid: number) => void,
): Promise<void> {
  const range = `sid >= ${from} AND sid < ${to}`;
  const result = await connection.run(
    `SELECT sid, ${bytesSql(column)} FROM ${relation} WHERE ${range} AND ${column} IS NOT NULL`,
  );
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    const values = chunk.getColumnVector(1);
    for (const [row, sid] of chunk.getColumnValues(0).entries()) add(textAt(values, row) ?? '', Number(sid));
  }
}
