import type { Column } from '#shared/contracts/gen/common';
import type { Cell } from '#shared/duckdb/chunk-reader';
import type { ColumnCells, NumberCells } from '#shared/duckdb/column-cells';

import type { TagOfSeries } from '../series/tag-column.js';
import type { FieldValues } from './field-values.js';
import type { NewestTimes } from './newest-times.js';
import type { QueryMemory } from './memory.js';
import { TooManyRows, type RowQuery } from './query.js';
import type { ResultRows, ResultUse } from './result/result.js';
import { orderedRows, type SortValue } from './result/ordered-rows.js';
import type { RowSpan } from './row-spans.js';
import type { Fields, WalkSink, RowWalk } from './row-walk.js';

/** Cells of a larger result are left to other threads, or to the engine, which makes its text in its own threads. */
export const COLLECTED_CELLS_MAX = 1 << 18;
/**
 * The same for results that need no sorting, which is done without a pause: where their text is made of arrays (4.6 million
 * cells took 340 ms, and 830 ms in the engine), and where rows are late, which the engine takes longer to merge.
 */
export const FAST_COLLECTED_CELLS_MAX = 1 << 23;
/** Returns the values of a tag in each region. */
export type TagsOf = (tag: Pick<Column, 'id'>) => Promise<readonly TagOfSeries[]>;

/** Rows for which there is memory at first. */
const FIRST_ROWS = 1024;
/** Memory of a row without fields and of a value. Arrays are doubled, and the old ones exist until they are copied. */
const ROW_BYTES = 2 * 16;
const VALUE_BYTES = 2 * 9;

/** Returns the memory of a collector for rows with some fields. */
export function collectorBytes(rowCount: number, fieldCount: number): number {
  return rowCount * (ROW_BYTES + fieldCount * VALUE_BYTES);
}

/** Values of a field of all collected rows. */
interface CollectedField {
  /** Column ID. */
  readonly id: number;
  values: Float64Array;
  /** 1 where a row has a value. */
  present: Uint8Array;
  /** Its values in the current row group or batch. */
  source: FieldValues | undefined;
}

/** Rows `[from, to)` of a result, and their series. */
interface SeriesOfRows {
  readonly from: number;
  readonly to: number;
  /** Numbers of the collected rows. */
  readonly rows: Uint32Array;
  /** Number of the series of each row; successive rows of a series have the same. */
  readonly numbers: Uint32Array;
  /** A row of each. */
  readonly firsts: readonly number[];
  /** Whether the collected rows follow each other, as they do unless they were sorted. */
  readonly areInOrder: boolean;
}

/** Copies the rows of a query out of row groups, so that these need not stay in memory. */
export class RowCollector implements WalkSink {
  readonly #query: RowQuery;
  readonly #memory: QueryMemory;
  readonly #newest: NewestTimes | undefined;
  readonly #rowsMax: number;
  /** Number of rows after which a query without an order has enough. */
  readonly #enough: number;
  readonly #fields: readonly CollectedField[];
  #capacity = 0;
  #count = 0;
  #times = new BigInt64Array(0);
  #sids = new Uint32Array(0);
  #regions = new Uint32Array(0);
  /** Rows of the current span that are copied. */
  #selected = new Uint32Array(0);

  /**
   * @param newest the only times of rows of each label, from which it removes labels; undefined: any
   * @param cellsMax cells of a larger result are not collected
   */
  constructor(query: RowQuery, memory: QueryMemory, newest: NewestTimes | undefined, cellsMax: number) {
    this.#newest = newest;
    this.#query = query;
    this.#memory = memory;
    this.#fields = query.fields.map(({ id }) => {
      return { id, values: new Float64Array(0), present: new Uint8Array(0), source: undefined };
    });
    this.#rowsMax = Math.floor(cellsMax / query.columns.length);
    this.#enough = query.order.length > 0 ? Infinity : query.offset + query.limit;
    this.#grow(Math.min(FIRST_ROWS, this.#rowsMax));
  }

  /** Number of rows so far. */
  get count(): number {
    return this.#count;
  }

  get isComplete(): boolean {
    return this.#count >= this.#enough;
  }

  begin(rowCount: number, fields: Fields): void {
    for (const field of this.#fields) field.source = fields.get(field.id);
    const selectedMax = Math.min(rowCount, this.#enough);
    if (this.#selected.length < selectedMax) this.#selected = new Uint32Array(selectedMax);
  }

  add({ from, to, cell }: RowSpan, mask: Uint8Array | undefined, _fields: Fields, walk: RowWalk): void {
    const count =
      this.#newest === undefined ? this.#select(from, to, mask) : this.#selectNewest({ from, to, cell }, mask, walk);
    if (count > 0) this.#copy(count, walk);
  }

  #select(from: number, to: number, mask: Uint8Array | undefined): number {
    const selected = this.#selected;
    const countMax = this.#enough - this.#count;
    let count = 0;
    for (let row = from; row < to && count < countMax; row++) if (mask?.[row] !== 0) selected[count++] = row;
    return count;
  }

  #selectNewest({ from, to, cell }: RowSpan, mask: Uint8Array | undefined, walk: RowWalk): number {
    const newest = this.#newest?.of(cell);
    if (newest === undefined) return 0;
    const countMax = this.#enough - this.#count;
    let count = 0;
    // The rows of a span are in the order of their times.
    for (let row = to - 1; row >= from && count < countMax; row--) {
      if (mask?.[row] === 0) continue;
      if (walk.timeOf(row) < newest) break;
      this.#selected[count++] = row;
      if (this.#query.newest?.isSingle !== true) continue;
      this.#newest?.remove(cell);
      break;
    }
    return count;
  }

  /** Copies the first `count` selected rows. */
  #copy(count: number, walk: RowWalk): void {
    const at = this.#count;
    const end = at + count;
    if (end > this.#rowsMax) {
      throw new TooManyRows(`the conditions select more than ${this.#rowsMax} rows, before LIMIT`);
    }
    if (end > this.#capacity) this.#grow(Math.min(Math.max(end, this.#capacity * 2), this.#rowsMax));
    this.#count = end;
    this.#sids.fill(walk.sid, at, end);
    this.#regions.fill(walk.region, at, end);
    const selected = this.#selected;
    const times = this.#times;
    for (let i = 0; i < count; i++) times[at + i] = walk.timeOf(selected[i]);
    for (const { source, values, present } of this.#fields) {
      if (source !== undefined) copyValues(source, selected, count, { values, present, at });
    }
  }

  /** Makes room for other rows. The result so far must not be used any more. */
  clear(): void {
    // Only values that there are get written.
    for (const { present } of this.#fields) present.fill(0, 0, this.#count);
    this.#count = 0;
  }

  async result(tagsOf: TagsOf, { isWide }: ResultUse): Promise<ResultRows> {
    const { columns } = this.#query;
    const readers: ((row: number) => Cell)[] = [];
    for (const [i, column] of columns.entries()) readers.push(await this.#reader(column, tagsOf, isWide(i)));
    const rows = this.#sorted(readers);
    let series: SeriesOfRows | undefined;
    return {
      count: rows.length,
      cells: (output, from, to) => Array.from(rows.subarray(from, to), readers[output]),
      arrays: (output, from, to) => {
        const some =
          series?.from === from && series.to === to ? series : this.#seriesOf(rows.subarray(from, to), from, to);
        series = some;
        return this.#arrays(columns[output], some, readers[output]);
      },
    };
  }

  /** Returns the rows of the result. @param readers of its columns */
  #sorted(readers: readonly ((row: number) => Cell)[]): Uint32Array {
    const { order, offset, limit, columns } = this.#query;
    const all = new Uint32Array(this.#count);
    for (let row = 0; row < all.length; row++) all[row] = row;
    if (order.length === 0) return all.subarray(offset, offset + limit);
    const sorted = orderedRows([...all], this.#query, ({ position }) => {
      const field = this.#fields.find(({ id }) => id === columns[position].id);
      if (field === undefined) return { value: readers[position] as (row: number) => SortValue };
      const { values, present } = field;
      return { value: (row) => (present[row] === 0 ? null : values[row]) };
    });
    return Uint32Array.from(sorted);
  }

  /** Numbers the series of rows of the result. */
  #seriesOf(rows: Uint32Array, from: number, to: number): SeriesOfRows {
    const numbers = new Uint32Array(rows.length);
    const firsts: number[] = [];
    let [sid, region] = [-1, -1];
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i];
      if (this.#sids[row] !== sid || this.#regions[row] !== region) {
        [sid, region] = [this.#sids[row], this.#regions[row]];
        firsts.push(row);
      }
      numbers[i] = firsts.length - 1;
    }
    return { from, to, rows, numbers, firsts, areInOrder: rows.every((row, i) => row === rows[0] + i) };
  }

  #arrays(
    { id, kind, type }: Column,
    { rows, numbers, firsts, areInOrder }: SeriesOfRows,
    read: (row: number) => Cell,
  ): ColumnCells {
    if (kind === 'tag') return { numbers, cells: firsts.map(read) };
    if (kind === 'time') return { words: wordsOf(this.#times, rows, areInOrder) };
    const field = this.#fields.find((it) => it.id === id);
    if (field === undefined || type === 'Boolean') return Array.from(rows, read);
    const shared = areInOrder ? wholeNumbers(field, rows[0], rows.length) : undefined;
    if (shared !== undefined) return shared;
    const values = new Float64Array(rows.length);
    const present = new Uint8Array(rows.length);
    for (let i = 0; i < rows.length; i++) {
      if (field.present[rows[i]] === 0) continue;
      values[i] = field.values[rows[i]];
      present[i] = 1;
    }
    return { values, present };
  }

  async #reader({ id, kind, type }: Column, tagsOf: TagsOf, isWide: boolean): Promise<(row: number) => Cell> {
    if (kind === 'time') return (row) => this.#times[row];
    if (kind === 'tag') {
      const tags = await tagsOf({ id });
      let sid = -1;
      let region = -1;
      let value: Cell = null;
      return (row) => {
        // Most rows follow one of the same series.
        if (this.#sids[row] === sid && this.#regions[row] === region) return value;
        sid = this.#sids[row];
        region = this.#regions[row];
        const number = tags[region].ofSeries(sid);
        return (value = number === -1 ? null : tags[region].values[number]);
      };
    }
    const field = this.#fields.find((it) => it.id === id);
    return (row) => {
      if (field === undefined || field.present[row] === 0) return null;
      const value = field.values[row];
      if (type === 'Boolean') return value === 1;
      return isWide ? BigInt(value) : value;
    };
  }

  #grow(capacity: number): void {
    const { length } = this.#fields;
    this.#memory.reserve(collectorBytes(capacity, length) - collectorBytes(this.#capacity, length));
    this.#capacity = capacity;
    this.#times = grown(this.#times, new BigInt64Array(capacity));
    this.#sids = grown(this.#sids, new Uint32Array(capacity));
    this.#regions = grown(this.#regions, new Uint32Array(capacity));
    for (const field of this.#fields) {
      field.values = grown(field.values, new Float64Array(capacity));
      field.present = grown(field.present, new Uint8Array(capacity));
    }
  }
}

/** Copies values of rows, and which of them there are. */
function copyValues(
  { base, values: from, valid }: FieldValues,
  rows: Uint32Array,
  count: number,
  { values, present, at }: { readonly values: Float64Array; readonly present: Uint8Array; readonly at: number },
): void {
  if (valid === undefined) {
    present.fill(1, at, at + count);
    for (let i = 0; i < count; i++) values[at + i] = base + from[rows[i]];
    return;
  }
  for (let i = 0; i < count; i++) {
    const row = rows[i];
    if (((valid[row >> 3] >> (row & 7)) & 1) === 0) continue;
    values[at + i] = base + from[row];
    present[at + i] = 1;
  }
}

/** Returns numbers that follow each other, in the memory of the field, until rows are added; undefined if some are null. */
function wholeNumbers({ values, present }: CollectedField, from: number, count: number): NumberCells | undefined {
  const some = present.subarray(from, from + count);
  return some.includes(0) ? undefined : { values: values.subarray(from, from + count), present: some };
}

/** Returns the halves of times. */
function wordsOf(times: BigInt64Array<ArrayBuffer>, rows: Uint32Array, areInOrder: boolean): Int32Array<ArrayBuffer> {
  const halves = new Int32Array(times.buffer);
  if (areInOrder && rows.length > 0) return halves.subarray(2 * rows[0], 2 * (rows[0] + rows.length));
  const words = new Int32Array(2 * rows.length);
  for (let i = 0; i < rows.length; i++) {
    words[2 * i] = halves[2 * rows[i]];
    words[2 * i + 1] = halves[2 * rows[i] + 1];
  }
  return words;
}

/** Returns the larger array, with the values of the old one. */
export function grown<T extends { set(values: T): void }>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
