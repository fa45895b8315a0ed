import type { Column } from '#shared/contracts/gen/common';
import type { Cell } from '#shared/duckdb/chunk-reader';

import type { TableSource } from '../snapshot/snapshots.js';
import type { TagColumn } from '../series/tag-column.js';
import type { FieldValues } from './field-values.js';
import type { NewestTimes } from './newest-times.js';
import type { QueryMemory } from './memory.js';
import { NotForKernels, type RowQuery } from './query.js';
import { ordered, type ResultRows, type SortValue } from './result.js';
import type { RowSpan } from './row-spans.js';
import type { Fields, WalkSink, RowWalk } from './row-walk.js';
import { columnsOf } from './series-groups.js';

/**
 * Cells of a larger result are left to the engine, which makes their text in its own threads: 128 ms instead of 186 for 950,000
 * cells.
 */
const CELLS_MAX = 1 << 18;
/** Where rows are late, the engine takes longer to merge them: 2.1 s of CPU time instead of 0.6 for 2.7 million cells. */
const LATE_CELLS_MAX = 1 << 23;
/** Rows for which there is memory at first. */
const FIRST_ROWS = 1024;
/** Memory of a row without fields and of a value. Arrays are doubled, and the old ones exist until they are copied. */
const ROW_BYTES = 2 * 16;
const VALUE_BYTES = 2 * 9;

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

  /**
   * @param newest the only times of rows of each label, from which it removes labels; undefined: any
   * @param hasLate whether rows may have several versions
   */
  constructor(query: RowQuery, memory: QueryMemory, newest: NewestTimes | undefined, hasLate: boolean) {
    this.#newest = newest;
    this.#query = query;
    this.#memory = memory;
    this.#fields = query.fields.map(({ id }) => {
      return { id, values: new Float64Array(0), present: new Uint8Array(0), source: undefined };
    });
    // Rows are sorted without a pause.
    const cellsMax = hasLate && query.order.length === 0 ? LATE_CELLS_MAX : CELLS_MAX;
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

  begin(_rowCount: number, fields: Fields): void {
    for (const field of this.#fields) field.source = fields.get(field.id);
  }

  add({ from, to, cell }: RowSpan, mask: Uint8Array | undefined, _fields: Fields, walk: RowWalk): void {
    if (this.#newest !== undefined) {
      this.#addNewest({ from, to, cell }, mask, walk);
      return;
    }
    for (let row = from; row < to && this.#count < this.#enough; row++) {
      if (mask?.[row] !== 0) this.#copy(row, walk.timeOf(row), walk);
    }
  }

  #addNewest({ from, to, cell }: RowSpan, mask: Uint8Array | undefined, walk: RowWalk): void {
    const newest = this.#newest?.of(cell);
    if (newest === undefined) return;
    // The rows of a span are in the order of their times.
    for (let row = to - 1; row >= from && this.#count < this.#enough; row--) {
      if (mask?.[row] === 0) continue;
      if (walk.timeOf(row) < newest) return;
      this.#copy(row, newest, walk);
      if (this.#query.newest?.isSingle !== true) continue;
      this.#newest?.remove(cell);
      return;
    }
  }

  #copy(row: number, time: bigint, { sid, region }: RowWalk): void {
    if (this.#count === this.#rowsMax) {
      throw new NotForKernels(`the conditions select more than ${this.#rowsMax} rows, before LIMIT`);
    }
    if (this.#count === this.#capacity) this.#grow(Math.min(this.#capacity * 2, this.#rowsMax));
    const at = this.#count++;
    this.#times[at] = time;
    this.#sids[at] = sid;
    this.#regions[at] = region;
    for (const { source, values, present } of this.#fields) {
      if (source === undefined) continue;
      const { valid } = source;
      if (valid !== undefined && ((valid[row >> 3] >> (row & 7)) & 1) === 0) continue;
      values[at] = source.base + source.values[row];
      present[at] = 1;
    }
  }

  /** Returns the result. @param isWide whether a column has cells of big integers. */
  async result(source: TableSource, isWide: (column: number) => boolean): Promise<ResultRows> {
    const { columns } = this.#query;
    const readers: ((row: number) => Cell)[] = [];
    for (const [i, column] of columns.entries()) readers.push(await this.#reader(column, source, isWide(i)));
    const all = Array.from({ length: this.#count }, (_, row) => row);
    const rows = ordered(all, this.#query, ({ position }) => readers[position] as (row: number) => SortValue);
    return { count: rows.length, cells: (output, from, to) => rows.slice(from, to).map(readers[output]) };
  }

  async #reader({ id, kind, type }: Column, { regions }: TableSource, isWide: boolean): Promise<(row: number) => Cell> {
    if (kind === 'time') return (row) => this.#times[row];
    if (kind === 'tag') {
      const tags: TagColumn[] = [];
      for (const region of regions) tags.push(...(await columnsOf(region, [{ id }])));
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
    this.#memory.reserve((capacity - this.#capacity) * (ROW_BYTES + this.#fields.length * VALUE_BYTES));
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

/** Returns the larger array, with the values of the old one. */
export function grown<T extends { set(values: T): void }>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
