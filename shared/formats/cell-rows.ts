import { TextWriter } from '#shared/bytes/text-writer';
import { wholeText } from '#shared/bytes/whole-text';
import type { Cell } from '#shared/duckdb/chunk-reader';
import {
  plainCells,
  type ColumnCells,
  type LongCells,
  type NumberCells,
  type SharedCells,
} from '#shared/duckdb/column-cells';
import { invariant } from '#shared/errors/invariant';
import { CELL_ROWS } from '#shared/wasm/gen/cell-rows';
import { WasmModule } from '#shared/wasm/wasm-module';

import type { Encoder } from './format.js';

/** Writes values that are not null. */
export interface CellWriter {
  readonly write: (out: TextWriter, cell: Cell) => void;
  /**
   * Set if numbers are written as `float64Text` or `bareText` writes them, which WebAssembly does for most. `write` gets the others,
   * such as NaN, and writes up to 32 bytes for each. It does not get integers of 64 bits in arrays.
   */
  readonly kind?: 'integer' | 'float';
}

/** What rows consist of, apart from their values, which commas separate. In ASCII. */
export interface RowShape {
  readonly between: string;
  readonly open: string;
  readonly close: string;
  readonly nullText: string;
}

/** A column of numbers. */
interface NumberColumn {
  readonly kind: 'integer' | 'float' | 'long';
  readonly cells: NumberCells | LongCells | readonly (number | null)[];
  readonly writer: CellWriter;
}

/** Columns next to each other whose texts are copied together: that of a row has the number `numbers[row]`, or `row`. */
interface TextColumn {
  readonly kind: 'text';
  readonly numbers: Uint32Array | undefined;
  readonly cells: readonly (readonly Cell[])[];
  readonly writers: readonly CellWriter[];
}

type RowColumn = NumberColumn | TextColumn;

/** Texts of a text column for some rows. */
interface Texts {
  /** Where each begins and ends; only those of the rows are set. */
  readonly bounds: Uint32Array;
  /** Size of the texts of all rows together. */
  bytes: number;
}

interface Exports {
  readonly writeRows: (columns: number, columnCount: number, rowCount: number, marks: number, start: number) => number;
}

const COMMA = 0x2c;
/** As the module numbers them. */
const KINDS = { text: 0, integer: 1, float: 2, long: 3 } as const;
const COLUMN_BYTES = 12;
/** A number and its comma take no more. */
const NUMBER_BYTES = 33;
const PADDING_BYTES = 16;
/** Cells whose text is made at once, but some rows at least, and size of texts from which no more rows are added. */
const CELLS_AT_ONCE = 1 << 15;
const ROWS_AT_ONCE_MIN = 16;
const TEXT_BYTES_AT_ONCE = 1 << 20;

/** Shared by all calls, which do not interrupt each other: the rows, texts of their cells, and those of single numbers. */
const out = new TextWriter();
const cellTexts = new TextWriter();
const other = new TextWriter();
let loaded: WasmModule<Exports> | undefined;
const NOTHING: { readonly columns: readonly RowColumn[]; readonly from: number } = { columns: [], from: 0 };
/** What the module writes. */
let current = NOTHING;

/** Returns the text of rows. @param writers of the columns */
export function encodeCellRows(
  cells: readonly ColumnCells[],
  rowCount: number,
  writers: readonly CellWriter[],
  shape: RowShape,
): Uint8Array {
  const columns = columnsOf(cells, rowCount, writers);
  const rowsAtOnce = Math.max(ROWS_AT_ONCE_MIN, Math.ceil(CELLS_AT_ONCE / Math.max(1, cells.length)));
  try {
    for (let from = 0; from < rowCount;) {
      const { text, to } = writeRows(columns, from, Math.min(from + rowsAtOnce, rowCount), shape);
      if (from === 0 && to === rowCount) return text.slice();
      if (from > 0) out.text(shape.between);
      out.bytes(text);
      from = to;
    }
    return out.take();
  } catch (error) {
    out.clear();
    cellTexts.clear();
    other.clear();
    throw error;
  } finally {
    current = NOTHING;
    if (loaded?.isLarge === true) loaded = undefined;
  }
}

function columnsOf(cells: readonly ColumnCells[], rowCount: number, writers: readonly CellWriter[]): RowColumn[] {
  const columns: RowColumn[] = [];
  for (let i = 0; i < cells.length;) {
    const column = cells[i];
    const numbers = numbersOf(column, rowCount, writers[i]);
    if (numbers !== undefined) {
      columns.push(numbers);
      i++;
      continue;
    }
    const shared = 'numbers' in column ? sharedFrom(cells, i, column) : [plainCells(column, rowCount)];
    columns.push({
      kind: 'text',
      numbers: 'numbers' in column ? column.numbers : undefined,
      cells: shared,
      writers: writers.slice(i, i + shared.length),
    });
    i += shared.length;
  }
  return columns;
}

/** Returns a column as numbers; undefined if it has something else. */
function numbersOf(column: ColumnCells, rowCount: number, writer: CellWriter): NumberColumn | undefined {
  // Formats that change 64-bit integers, such as times of `influxdb_v1`, take no arrays.
  if ('words' in column) return { kind: 'long', cells: column, writer };
  const { kind } = writer;
  if (kind === undefined || 'numbers' in column || 'bytes' in column) return undefined;
  if ('present' in column) return { kind, cells: column, writer };
  for (let row = 0; row < rowCount; row++) {
    const cell = column[row];
    if (cell !== null && typeof cell !== 'number') return undefined;
  }
  return { kind, cells: column as readonly (number | null)[], writer };
}

/** Returns the cells of columns that follow each other from a position on, and have the numbers of the first. */
function sharedFrom(cells: readonly ColumnCells[], from: number, { numbers }: SharedCells): (readonly Cell[])[] {
  const shared: (readonly Cell[])[] = [];
  for (let i = from; i < cells.length; i++) {
    const next = cells[i];
    if (!('numbers' in next) || next.numbers !== numbers) break;
    shared.push(next.cells);
  }
  return shared;
}

/** Returns the text, until the next call, of the rows `[from, to)`; these are fewer than up to `toMax` if they are long. */
function writeRows(
  columns: readonly RowColumn[],
  from: number,
  toMax: number,
  shape: RowShape,
): { readonly text: Uint8Array; readonly to: number } {
  const marks = new Uint32Array(8);
  for (const [i, mark] of [shape.between, shape.open, shape.close, shape.nullText].entries()) {
    marks[2 * i] = cellTexts.length;
    cellTexts.text(mark);
    marks[2 * i + 1] = cellTexts.length;
  }
  const markBytes = cellTexts.length;
  const { texts, to } = textsOf(columns, from, toMax, shape.nullText);
  const rowCount = to - from;
  const heap = cellTexts.take();

  const module = (loaded ??= new WasmModule<Exports>(CELL_ROWS, 'cell-rows', { writeOther }));
  const columnsAt = module.freeFrom;
  const marksAt = columnsAt + aligned(columns.length * COLUMN_BYTES);
  const heapAt = marksAt + aligned(marks.byteLength);
  const cellsAt = aligned(heapAt + heap.length + PADDING_BYTES);
  let [at, bytes] = [cellsAt, rowCount * markBytes + PADDING_BYTES];
  const places = columns.map((column, i) => {
    const cells = at;
    const third = cells + aligned(texts[i]?.bounds.byteLength ?? rowCount * 8);
    at = third + aligned(rowCount * (column.kind === 'text' ? 4 : 1));
    bytes += texts[i] === undefined ? rowCount * (NUMBER_BYTES + shape.nullText.length) : texts[i].bytes + rowCount;
    return { cells, third };
  });
  module.reserve(at + bytes);
  module.bytes.set(heap, heapAt);
  module.words.set(shifted(marks, heapAt), marksAt / 4);
  for (const [i, column] of columns.entries()) {
    const { cells, third } = places[i];
    const bounds = texts[i]?.bounds;
    if (bounds !== undefined) module.words.set(shifted(bounds, heapAt), cells / 4);
    const hasThird = copyCells(module, column, { from, to }, places[i]);
    module.words.set([KINDS[column.kind], cells, hasThird ? third : 0], (columnsAt + i * COLUMN_BYTES) / 4);
  }
  current = { columns, from };
  const end = module.exports.writeRows(columnsAt, columns.length, rowCount, marksAt, at);
  return { text: module.bytes.subarray(at, end), to };
}

/** Copies the numbers of rows to the module, or those of their texts. @returns whether there is something at `third` */
function copyCells(
  { bytes, words, doubles }: WasmModule<Exports>,
  column: RowColumn,
  { from, to }: { readonly from: number; readonly to: number },
  { cells, third }: { readonly cells: number; readonly third: number },
): boolean {
  if (column.kind === 'text') {
    if (column.numbers !== undefined) words.set(column.numbers.subarray(from, to), third / 4);
    return column.numbers !== undefined;
  }
  const numbers = column.cells;
  if (!('present' in numbers) && !('words' in numbers)) {
    for (let row = from; row < to; row++) {
      const value = numbers[row];
      bytes[third + row - from] = value === null ? 0 : 1;
      doubles[cells / 8 + row - from] = value ?? 0;
    }
    return true;
  }
  if ('words' in numbers) words.set(numbers.words.subarray(2 * from, 2 * to), cells / 4);
  else doubles.set(numbers.values.subarray(from, to), cells / 8);
  if (numbers.present !== undefined) bytes.set(numbers.present.subarray(from, to), third);
  return numbers.present !== undefined;
}

/**
 * Writes the texts of rows to `cellTexts`, each once, until these are long.
 *
 * @returns those of the columns that have some, and the end of the rows
 */
function textsOf(
  columns: readonly RowColumn[],
  from: number,
  toMax: number,
  nullText: string,
): { readonly texts: readonly (Texts | undefined)[]; readonly to: number } {
  const texts = columns.map((column): Texts | undefined => {
    if (column.kind !== 'text') return undefined;
    const count = column.numbers === undefined ? toMax - from : column.cells[0].length;
    return { bounds: new Uint32Array(2 * count), bytes: 0 };
  });
  let bytes = 0;
  for (let row = from; row < toMax; row++) {
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i];
      const found = texts[i];
      if (column.kind !== 'text' || found === undefined) continue;
      const cell = column.numbers === undefined ? row : column.numbers[row];
      const place = 2 * (column.numbers === undefined ? row - from : cell);
      const { bounds } = found;
      if (bounds[place + 1] === 0) {
        bounds[place] = cellTexts.length;
        writeCells(column, cell, nullText);
        bounds[place + 1] = cellTexts.length;
      }
      const length = bounds[place + 1] - bounds[place];
      found.bytes += length;
      bytes += length;
    }
    if (bytes > TEXT_BYTES_AT_ONCE) return { texts, to: row + 1 };
  }
  return { texts, to: toMax };
}

function writeCells({ cells, writers }: TextColumn, cell: number, nullText: string): void {
  for (let i = 0; i < cells.length; i++) {
    if (i > 0) cellTexts.byte(COMMA);
    const value = cells[i][cell];
    if (value === null) cellTexts.text(nullText);
    else writers[i].write(cellTexts, value);
  }
}

/** Adds to each number. */
function shifted(numbers: Uint32Array, by: number): Uint32Array {
  for (let i = 0; i < numbers.length; i++) numbers[i] += by;
  return numbers;
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / PADDING_BYTES) * PADDING_BYTES;
}

/** Writes a double for the module. @returns number of bytes */
function writeOther(column: number, row: number, at: number): number {
  const found = current.columns[column];
  invariant(loaded !== undefined && found.kind !== 'text' && !('words' in found.cells), 'the module writes a double');
  const place = current.from + row;
  found.writer.write(other, 'present' in found.cells ? found.cells.values[place] : found.cells[place]);
  const text = other.take();
  invariant(text.length < NUMBER_BYTES, 'a number has a short text');
  loaded.bytes.set(text, at);
  return text.length;
}

/** Returns what writes the text of an encoder. */
export function encodedBy(encoder: Encoder): CellWriter {
  return { write: (to, cell) => to.text(encoder(cell)) };
}

/** Writes integers. */
export const INTEGER_WRITER: CellWriter = {
  kind: 'integer',
  write(to, cell) {
    if (typeof cell === 'number' && Number.isSafeInteger(cell)) to.whole(cell);
    else if (typeof cell === 'bigint') to.bigint(cell);
    else to.text(bareText(cell));
  },
};

/** Writes numbers as `float64Text`. */
export const FLOAT_WRITER: CellWriter = { kind: 'float', write: (to, cell) => to.text(float64Text(cell as number)) };

/** Returns the text of an integer, a boolean, or a text as it stands. */
export function bareText(cell: Cell): string {
  return typeof cell === 'number' ? wholeText(cell) : (cell as bigint | boolean | string).toString();
}

/** Returns the shortest text that reads back equal, always with a point or an exponent. */
export function float64Text(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (Object.is(value, -0)) return '-0.0';
  return withPoint(String(value));
}

/** Returns the text of a number with a point or an exponent. */
export function withPoint(text: string): string {
  return text.includes('.') || text.includes('e') ? text : `${text}.0`;
}
