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
  return firstRowsText(rows, output, { from, to, charsMax: Infinity }).text;
}

/** Rows `[from, to)`: the first of them are taken, with texts of at most `charsMax` characters in all, unless it is one row. */
interface RowsWanted {
  readonly from: number;
  readonly to: number;
  readonly charsMax: number;
}

function firstRowsText(rows: ResultRows, { format, columns }: TextOutput, wanted: RowsWanted): RowsText {
  if (format.encodeColumns !== undefined) {
    const { read, count } = firstRows((to) => columns.map((_, i) => rows.arrays(i, wanted.from, to)), wanted);
    return { text: format.encodeColumns(columns, read, count), rows: count };
  }
  const { read, count } = firstRows((to) => columns.map((_, i) => rows.cells(i, wanted.from, to)), wanted);
  return { text: format.encodeRows(columns, read, count), rows: count };
}

/** Reads rows, and fewer of them if their texts are too long. */
function firstRows<C extends ColumnCells>(
  readTo: (to: number) => readonly C[],
  { from, to, charsMax }: RowsWanted,
): { readonly read: readonly C[]; readonly count: number } {
  const read = readTo(to);
  const count = rowsWithin(read, to - from, charsMax);
  return count === to - from ? { read, count } : { read: readTo(from + count), count };
}

/** Returns how many of the first rows have texts of at most `charsMax` characters; at least one. Other values are short. */
function rowsWithin(columns: readonly ColumnCells[], rowCount: number, charsMax: number): number {
  if (charsMax === Infinity) return rowCount;
  const texts: { readonly lengths: readonly number[]; readonly numbers: Uint32Array | undefined }[] = [];
  let longest = 0;
  for (const column of columns) {
    const cells: readonly Cell[] = 'numbers' in column ? column.cells : Array.isArray(column) ? column : [];
    if (!cells.some((cell) => typeof cell === 'string')) continue;
    const lengths = cells.map((cell) => (typeof cell === 'string' ? cell.length : 0));
    texts.push({ lengths, numbers: 'numbers' in column ? column.numbers : undefined });
    longest += lengths.reduce((a, b) => Math.max(a, b), 0);
  }
  if (longest * rowCount <= charsMax) return rowCount;
  let chars = 0;
  for (let row = 0; row < rowCount; row++) {
    for (const { lengths, numbers } of texts) chars += lengths[numbers === undefined ? row : numbers[row]];
    if (chars > charsMax) return Math.max(1, row);
  }
  return rowCount;
}

/** Cells whose text is made at once, in about 1 ms. */
export const BLOCK_CELLS = 8192;
/** Size of that text, about: cells may be long. */
const BLOCK_BYTES = 1 << 20;
/** Characters of texts that a block is made of, at most, unless it is one row. */
const BLOCK_CHARS_MAX = 2 * BLOCK_BYTES;
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
    for (let from = 0; from < count;) {
      const to = Math.min(from + this.#rowsAtOnce, count);
      const block = firstRowsText(rows, this.#output, { from, to, charsMax: BLOCK_CHARS_MAX });
      const fitting = Math.floor((BLOCK_BYTES * block.rows) / Math.max(1, block.text.length));
      if (block.rows < to - from) this.#rowsAtOnce = block.rows;
      this.#rowsAtOnce = Math.max(1, Math.min(fitting, MORE_ROWS * this.#rowsAtOnce, this.#rowsMax));
      from += block.rows;
      yield block;
    }
  }
}
