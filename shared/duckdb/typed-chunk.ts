import duckdb from '@duckdb/node-bindings';
import type { DuckDBDataChunk } from '@duckdb/node-api';

/** Copies a column of type DOUBLE to `target`, starting at index `at`, bit by bit. */
export function copyDoubles(chunk: DuckDBDataChunk, column: number, target: Float64Array, at: number): void {
  const { rowCount } = chunk;
  const bytes = duckdb.vector_get_data(duckdb.data_chunk_get_vector(chunk.chunk, column), rowCount * 8);
  new Uint8Array(target.buffer, target.byteOffset + at * 8, rowCount * 8).set(bytes);
}

/** Copies a column of type INTEGER or UINTEGER to `target`, starting at index `at`. */
export function copyIntegers(chunk: DuckDBDataChunk, column: number, target: Int32Array, at: number): void {
  const { rowCount } = chunk;
  const bytes = duckdb.vector_get_data(duckdb.data_chunk_get_vector(chunk.chunk, column), rowCount * 4);
  new Uint8Array(target.buffer, target.byteOffset + at * 4, rowCount * 4).set(bytes);
}

/** Sets `target` to 1 where a column is null, starting at index `at`. @returns whether there is any null. */
export function markNulls(chunk: DuckDBDataChunk, column: number, target: Uint8Array, at: number): boolean {
  const { rowCount } = chunk;
  const words = Math.ceil(rowCount / 64);
  // The engine has no mask if all values are valid.
  const mask: Uint8Array | null = duckdb.vector_get_validity(
    duckdb.data_chunk_get_vector(chunk.chunk, column),
    words * 8,
  );
  if (mask === null) return false;
  let isAny = false;
  for (let row = 0; row < rowCount; row++) {
    if ((mask[row >> 3] & (1 << (row & 7))) !== 0) continue;
    target[at + row] = 1;
    isAny = true;
  }
  return isAny;
}
