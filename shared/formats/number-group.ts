import { TextWriter } from '#shared/bytes/text-writer';
import type { Cell } from '#shared/duckdb/chunk-reader';
import type { LongCells, NumberCells } from '#shared/duckdb/column-cells';
import { NUMBER_TEXTS } from '#shared/wasm/gen/number-texts';
import { WasmModule } from '#shared/wasm/wasm-module';

/** A column of numbers. */
export interface NumberColumn {
  /** What doubles are: integers, or written with a point. 64-bit integers have none. */
  readonly kind: 'integer' | 'float' | undefined;
  readonly cells: NumberCells | LongCells;
  /** Writes the few numbers that are not written together: infinities and integers that are not exact, for example. */
  readonly write: (out: TextWriter, cell: Cell) => void;
}

interface Exports {
  readonly write: (
    columns: number,
    columnCount: number,
    rowCount: number,
    nullText: number,
    nullBytes: number,
    rows: number,
    ends: number,
  ) => void;
}

const KINDS = { integer: 0, float: 1, long: 2 } as const;
/** Bytes of a column's description, and of a text or a null at most, with a comma. */
const COLUMN_BYTES = 12;
const TEXT_BYTES = 33;

const other = new TextWriter();
let loaded: WasmModule<Exports> | undefined;
/** What the module writes. */
let current: { readonly columns: readonly NumberColumn[]; readonly from: number } = { columns: [], from: 0 };

/** Columns of numbers next to each other, whose texts WebAssembly writes (shared/wasm/assembly/number-texts.ts). */
export class NumberGroup {
  readonly #columns: readonly NumberColumn[];
  readonly #nullText: string;
  #from = 0;
  /** Texts of the rows, without pauses, and where they end; `#ends[0]` is where the first begins. */
  #texts: Uint8Array = new Uint8Array(0);
  #ends: Int32Array = new Int32Array(1);

  constructor(columns: readonly NumberColumn[], nullText: string) {
    this.#columns = columns;
    this.#nullText = nullText;
  }

  /** Returns the memory that the texts of some rows take. */
  #bytesOf(rowCount: number): number {
    return this.#placesOf(0, rowCount).end;
  }

  #placesOf(from: number, rowCount: number) {
    const count = this.#columns.length;
    const values = from + aligned(count * COLUMN_BYTES);
    const present = values + count * rowCount * 8;
    const nullText = aligned(present + count * rowCount);
    const ends = nullText + aligned(this.#nullText.length);
    const texts = ends + 4 * (rowCount + 1);
    return {
      columns: from,
      values,
      present,
      nullText,
      ends,
      texts,
      end: aligned(texts + count * rowCount * TEXT_BYTES),
    };
  }

  /** Makes the texts of the rows `[from, to)` of groups, for `write`, until the next call. */
  static prepare(groups: readonly NumberGroup[], from: number, to: number): void {
    const module = (loaded ??= new WasmModule<Exports>(NUMBER_TEXTS, 'number-texts', { writeOther }));
    let at = module.freeFrom;
    module.reserve(groups.reduce((sum, group) => sum + group.#bytesOf(to - from), at));
    for (const group of groups) {
      group.#prepare(module, at, from, to);
      at += group.#bytesOf(to - from);
    }
  }

  #prepare(module: WasmModule<Exports>, at: number, from: number, to: number): void {
    const rowCount = to - from;
    const { columns, values, present, nullText, ends, texts } = this.#placesOf(at, rowCount);
    const { bytes, words, doubles } = module;
    for (const [i, { kind, cells }] of this.#columns.entries()) {
      const place = values + i * rowCount * 8;
      const presentPlace = cells.present === undefined ? 0 : present + i * rowCount;
      if ('words' in cells) words.set(cells.words.subarray(2 * from, 2 * to), place / 4);
      else doubles.set(cells.values.subarray(from, to), place / 8);
      if (cells.present !== undefined) bytes.set(cells.present.subarray(from, to), presentPlace);
      words.set([KINDS[kind ?? 'long'], place, presentPlace], (columns + i * COLUMN_BYTES) / 4);
    }
    const { written } = new TextEncoder().encodeInto(this.#nullText, bytes.subarray(nullText, ends));
    current = { columns: this.#columns, from };
    words[ends / 4] = texts;
    module.exports.write(columns, this.#columns.length, rowCount, nullText, written, texts, ends + 4);
    this.#from = from;
    this.#texts = bytes;
    this.#ends = words.subarray(ends / 4, ends / 4 + rowCount + 1);
  }

  /** Writes the numbers of a row with commas between them. */
  write(out: TextWriter, row: number): void {
    const at = row - this.#from;
    out.bytes(this.#texts, this.#ends[at], this.#ends[at + 1]);
  }
}

function writeOther(column: number, row: number, at: number): number {
  const { cells, write } = current.columns[column];
  if ('words' in cells || loaded === undefined) return 0;
  write(other, cells.values[current.from + row]);
  const text = other.take();
  loaded.bytes.set(text, at);
  return text.length;
}

function aligned(bytes: number): number {
  return (bytes + 15) & ~15;
}
