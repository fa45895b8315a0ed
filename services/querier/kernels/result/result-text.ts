import type { Cell } from '#shared/duckdb/chunk-reader';
import type { ColumnCells } from '#shared/duckdb/column-cells';
import { CSV_FORMATS } from '#shared/formats/csv';
import type { OutputColumn, ResultFormat } from '#shared/formats/format';
import { jsonFormat } from '#shared/formats/json';

import type { ResultRows, ResultUse } from './result.js';

/** What the text of a result is made with. */
export interface TextOutput {
  readonly format: ResultFormat;
  readonly columns: readonly OutputColumn[];
}

/** Text of successive rows. */
export interface RowsText {
  readonly text: string | Uint8Array;
  readonly rows: number;
}

/** Types whose cells are 64-bit integers. */
const WIDE = /^(?:U?Int64|Timestamp.*)$/;

/** Returns what the rows of a result are needed for. */
export function useOf({ format, columns }: TextOutput): ResultUse {
  return {
    isWide: (output) => WIDE.test(columns.at(output)?.type.name ?? ''),
    takesArrays: format.encodeColumns !== undefined,
  };
}

/** A format in which threads for scans write the text of rows. */
interface ThreadFormat {
  /** Loads it in a thread. */
  load(): Promise<ResultFormat>;
  /** Memory of what it loads there. */
  readonly bytes: number;
}

/** The package for Arrow takes 0.1 s to load, so that threads do that only when they write it. */
function arrowThread(compression: string): ThreadFormat {
  const load = async (): Promise<ResultFormat> => {
    const { arrowFormatWith } = await import('#shared/formats/arrow');
    const format = arrowFormatWith(compression);
    await format.load?.();
    return format;
  };
  return { load, bytes: 8 << 20 };
}

/** Formats in which threads for scans write the text of rows, by their first names. Others do not take arrays. */
export const THREAD_FORMATS: ReadonlyMap<string, ThreadFormat> = new Map([
  ...[jsonFormat, ...CSV_FORMATS].map(
    (format) => [format.names[0], { load: () => Promise.resolve(format), bytes: 0 }] as const,
  ),
  ...['', 'lz4', 'zstd'].map((it) => [it === '' ? 'arrow' : `arrow:${it}`, arrowThread(it)] as const),
]);

/** Returns the text of the rows `[from, to)`. */
export function textOfRows(rows: ResultRows, output: TextOutput, from: number, to: number): string | Uint8Array {
  return encoded(rows, output, from, to).text;
}

/** Text of rows, and the arrays that it is made of. */
interface EncodedRows {
  readonly text: string | Uint8Array;
  readonly arrays: readonly ColumnCells[];
}

function encoded(rows: ResultRows, { format, columns }: TextOutput, from: number, to: number): EncodedRows {
  if (format.encodeColumns !== undefined) {
    const arrays: ColumnCells[] = [];
    for (let i = 0; i < columns.length; i++) arrays.push(rows.arrays(i, from, to));
    return { text: format.encodeColumns(columns, arrays, to - from), arrays };
  }
  const cells: (readonly Cell[])[] = [];
  for (let i = 0; i < columns.length; i++) cells.push(rows.cells(i, from, to));
  return { text: format.encodeRows(columns, cells, to - from), arrays: [] };
}

/** Returns the length of all texts that rows share: other values are short. */
function sharedChars(columns: readonly ColumnCells[]): number {
  let chars = 0;
  for (const column of columns) {
    if (!('numbers' in column)) continue;
    const lengths = column.cells.map((cell) => (typeof cell === 'string' ? cell.length : 0));
    for (const number of column.numbers) chars += lengths[number];
  }
  return chars;
}

/** Cells whose text is made at once, in about 1 ms. */
export const BLOCK_CELLS = 8192;
/** Size of that text, about: cells may be long. */
const BLOCK_BYTES = 1 << 20;
/** Rows of the first block, and how many times as many rows as a block the next one has at most. */
const FIRST_ROWS = 64;
const MORE_ROWS = 8;

/** The text of a cell takes as long as this many numbers. */
export const TEXT_WORK = 30;

/** Makes the text of rows in blocks, whose number of rows depends on the size of those before. */
export class TextBlocks {
  readonly #output: TextOutput;
  readonly #rowsMax: number;
  #rowsAtOnce: number;

  /** @param cells of a block, at most */
  constructor(output: TextOutput, cells = BLOCK_CELLS) {
    this.#output = output;
    this.#rowsMax = Math.ceil(cells / output.columns.length);
    this.#rowsAtOnce = Math.min(FIRST_ROWS, this.#rowsMax);
  }

  /** Returns the text of the first `count` rows. */
  *of(rows: ResultRows, count: number): Generator<RowsText> {
    for (let from = 0, to = 0; from < count; from = to) {
      to = Math.min(from + this.#rowsAtOnce, count);
      const { text, arrays } = encoded(rows, this.#output, from, to);
      // A compressed text is shorter than what it is made of.
      const size = Math.max(text.length, sharedChars(arrays));
      const fitting = Math.floor((BLOCK_BYTES * (to - from)) / Math.max(1, size));
      this.#rowsAtOnce = Math.max(1, Math.min(fitting, MORE_ROWS * this.#rowsAtOnce, this.#rowsMax));
      yield { text, rows: to - from };
    }
  }
}
