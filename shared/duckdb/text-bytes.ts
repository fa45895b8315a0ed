import { DuckDBBlobValue, DuckDBBlobVector, type DuckDBVector } from '@duckdb/node-api';

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

/** Reads the text of one value. */
export function textIn(value: unknown): string {
  invariant(value instanceof DuckDBBlobValue, 'texts are not selected as bytes');
  return DECODER.decode(value.bytes);
}
