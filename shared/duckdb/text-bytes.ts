import { DuckDBBlobValue, DuckDBBlobVector, type DuckDBVector } from '@duckdb/node-api';

import { invariant } from '#shared/errors/invariant';

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

/** SQL of a text as `textAt` reads it. As a text it would lose a byte order mark at its beginning in the engine's client. */
export function bytesSql(text: string): string {
  return `encode(${text})`;
}

/** The text of a row, exactly as it is stored; undefined if it is null. */
export function textAt(vector: DuckDBVector, row: number): string | undefined {
  invariant(vector instanceof DuckDBBlobVector, 'texts are not selected as bytes');
  const bytes = vector.getItemBytes(row);
  return bytes === null ? undefined : DECODER.decode(bytes);
}

/** The same of a value of a row. */
export function textIn(value: unknown): string {
  invariant(value instanceof DuckDBBlobValue, 'texts are not selected as bytes');
  return DECODER.decode(value.bytes);
}
