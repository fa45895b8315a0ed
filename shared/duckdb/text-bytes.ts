import { DuckDBBlobVector, type DuckDBDataChunk, type DuckDBVector } from '@duckdb/node-api';
import duckdb from '@duckdb/node-bindings';

import { invariant } from '#shared/errors/invariant';

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

/** Returns SQL that selects a text for `textAt`, as bytes: the engine's client drops a leading byte order mark from text. */
export function bytesSql(text: string): string {
  return `encode(${text})`;
}

/** Reads the text of a row exactly as stored; undefined if it is null. */
export function textAt(vector: DuckDBVector, row: number): string | undefined {
  invariant(vector instanceof DuckDBBlobVector, 'texts are not selected as bytes');
  const bytes = vector.getItemBytes(row);
  return bytes === null ? undefined : DECODER.decode(bytes);
}

/** Bytes of the engine's entry for a text: its length, then the text itself or four bytes of it and a pointer to all. */
const ENTRY_BYTES = 16;
const INLINE_MAX = 12;
const POINTER_AT = 8;

/**
 * Copies the texts of a column without nulls, one after the other. The engine stores the texts of a chunk one after the other, too, so
 * thousands of them are copied at once: 50 ns a text instead of 900 ns.
 */
export function joinedTexts(chunk: DuckDBDataChunk, column: number, rowCount: number): Uint8Array {
  const entries = duckdb.vector_get_data(duckdb.data_chunk_get_vector(chunk.chunk, column), rowCount * ENTRY_BYTES);
  const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength);
  const parts: Uint8Array[] = [];
  let row = 0;
  while (row < rowCount) {
    const at = row * ENTRY_BYTES;
    const length = view.getUint32(at, true);
    row++;
    if (length <= INLINE_MAX) {
      parts.push(entries.subarray(at + 4, at + 4 + length));
      continue;
    }
    let bytes = length;
    const pointer = view.getBigUint64(at + POINTER_AT, true);
    for (; row < rowCount; row++) {
      const next = view.getUint32(row * ENTRY_BYTES, true);
      const isAdjacent = view.getBigUint64(row * ENTRY_BYTES + POINTER_AT, true) === pointer + BigInt(bytes);
      if (next <= INLINE_MAX || !isAdjacent) break;
      bytes += next;
    }
    parts.push(
      duckdb.get_data_from_pointer(entries.buffer as ArrayBuffer, entries.byteOffset + at + POINTER_AT, bytes),
    );
  }
  return Buffer.concat(parts);
}
