import { DuckDBTypeId, type DuckDBDataChunk } from '@duckdb/node-api';

import { ARRAYS, numbersIn, readCells } from './chunk-reader.js';
import type { ColumnCells } from './column-cells.js';
import { columnTexts } from './text-bytes.js';
import { markNulls } from './typed-chunk.js';

/** As `readCells`, in arrays where these take less time. */
export function readArrays(chunk: DuckDBDataChunk, columnIndex: number): ColumnCells {
  const { rowCount } = chunk;
  const { typeId } = chunk.getColumnVector(columnIndex).type;
  const array = ARRAYS[typeId];
  if (typeId !== DuckDBTypeId.VARCHAR && array === undefined) return readCells(chunk, columnIndex);
  const nulls = new Uint8Array(rowCount);
  const present = markNulls(chunk, columnIndex, nulls, 0) ? nulls.map((isNull) => 1 - isNull) : undefined;
  if (array === undefined) return { ...columnTexts(chunk, columnIndex, rowCount, present), present };
  const numbers = numbersIn(chunk, columnIndex, array);
  if (numbers instanceof BigUint64Array) return readCells(chunk, columnIndex);
  if (numbers instanceof BigInt64Array) return { words: new Int32Array(numbers.buffer), present };
  return { values: Float64Array.from(numbers), present: present ?? nulls.fill(1) };
}
