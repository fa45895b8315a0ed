import type { Cell } from './chunk-reader.js';

/** Numbers of a column: the cell of row `i` is `values[i]`, null where `present[i]` is 0 (and `values[i]`, too). */
export interface NumberCells {
  readonly values: Float64Array;
  readonly present: Uint8Array;
}

/** Integers of 64 bits: the cell of row `i` has the low half `words[2 * i]` and the high half `words[2 * i + 1]`. */
export interface LongCells {
  readonly words: Int32Array<ArrayBuffer>;
  /** 0 where a cell is null, whose halves are 0; undefined: none is. */
  readonly present?: Uint8Array | undefined;
}

/** Texts: the cell of row `i` is the UTF-8 `bytes[offsets[i] .. offsets[i + 1])`. */
export interface TextCells {
  readonly bytes: Uint8Array;
  readonly offsets: Int32Array;
  /** 0 where a cell is null; undefined: none is. */
  readonly present: Uint8Array | undefined;
}

/** Cells of which rows share some: that of row `i` is `cells[numbers[i]]`. Columns next to each other may have the same numbers. */
export interface SharedCells {
  readonly numbers: Uint32Array;
  readonly cells: readonly Cell[];
}

/** The cells of a column for some rows: each one, or in arrays, of which results are made faster. */
export type ColumnCells = readonly Cell[] | NumberCells | LongCells | TextCells | SharedCells;

/** Returns a column as one cell after the other. */
export function plainCells(column: ColumnCells, rowCount: number): readonly Cell[] {
  if ('words' in column) {
    const { present } = column;
    return Array.from(longsOf(column, rowCount), (value, i) => (present?.[i] === 0 ? null : value));
  }
  if ('bytes' in column) {
    const { bytes, offsets, present } = column;
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    return Array.from({ length: rowCount }, (_, i) => {
      return present?.[i] === 0 ? null : all.toString('utf8', offsets[i], offsets[i + 1]);
    });
  }
  if ('numbers' in column) return Array.from(column.numbers.subarray(0, rowCount), (number) => column.cells[number]);
  if ('present' in column) {
    return Array.from(column.values.subarray(0, rowCount), (value, i) => (column.present[i] === 0 ? null : value));
  }
  return column;
}

/** Returns integers in one array, which shares the memory of their halves. */
export function longsOf({ words }: LongCells, rowCount: number): BigInt64Array<ArrayBuffer> {
  return new BigInt64Array(words.buffer, words.byteOffset, rowCount);
}
