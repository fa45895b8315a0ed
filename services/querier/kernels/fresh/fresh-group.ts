import type { Slices } from '#shared/clock/slices';
import { around, type Band } from '#shared/segments/bands';

import type { ColumnCache } from '../../columns/column-cache.js';
import { sortedRuns, type Runs } from '../../columns/runs.js';
import type { QueryColumns } from '../../columns/query-columns.js';
import type { FreshBatch } from '../../snapshot/fresh-part.js';
import type { FieldValues } from '../field-values.js';
import { KeptFields } from './kept-fields.js';
import { gathered } from './gathered-values.js';
import { NotForKernels } from '../query.js';
import { LENGTH_EXACT } from './row-times.js';
import { sortedRows } from './sorted-rows.js';

/** The rows of a group sorted by series and time. Rows that are equal in both stay in the order of their sequences. */
export interface SortedGroup {
  readonly runs: Runs;
  /** Number of each row before they were sorted. */
  readonly order: Uint32Array;
}

/** Memory of a row while it is sorted, and of a value. */
const ROW_BYTES = 40;
const VALUE_BYTES = 16;

/**
 * Successive batches of unflushed rows, which kernels read as a row group. The order and columns are made when a query needs
 * them, and kept in the memory for columns.
 */
export class FreshGroup {
  readonly batches: readonly FreshBatch[];
  readonly rowCount: number;
  /** A range that has all times. */
  readonly times: Band;
  readonly #cache: ColumnCache;
  readonly #fields: KeptFields;
  #sorting: Promise<SortedGroup> | undefined;

  /** @param batches one at least */
  constructor(batches: readonly FreshBatch[], cache: ColumnCache) {
    this.batches = batches;
    this.#cache = cache;
    this.#fields = new KeptFields(cache);
    this.rowCount = batches.reduce((sum, { rows }) => sum + rows.rowCount, 0);
    this.times = around(batches.map(({ times }) => times)) ?? batches[0].times;
  }

  /** Returns the memory that the order and columns take while they are made; 0 if they are kept. */
  bytesToMake(fieldIds: readonly number[]): number {
    const isSorted = this.#kept() !== undefined;
    let bytesPerRow = isSorted ? 0 : ROW_BYTES;
    for (const id of fieldIds) {
      if (!this.#fields.isEmpty(id) && this.#fields.get(id) === undefined) bytesPerRow += VALUE_BYTES;
    }
    return this.rowCount * bytesPerRow;
  }

  /** Identifies its rows. */
  get key(): string {
    return this.#fields.key;
  }

  /**
   * Returns the runs and the order.
   *
   * @param slices of no query: other queries wait for the same result
   * @throws `NotForKernels` if times are far apart.
   */
  sorted(slices: () => Slices): SortedGroup | Promise<SortedGroup> {
    const kept = this.#kept();
    if (kept !== undefined) return kept;
    this.#sorting ??= this.#sort(slices()).finally(() => (this.#sorting = undefined));
    return this.#sorting;
  }

  /**
   * Returns a column in the order; undefined if it has no values.
   *
   * @param columns keeps it; undefined: it is not kept
   * @throws `NotForKernels` for large integers.
   */
  field(id: number, order: Uint32Array, columns: QueryColumns | undefined): FieldValues | undefined {
    if (this.#fields.isEmpty(id)) return undefined;
    const known = this.#fields.get(id);
    if (known !== undefined) return known;
    const parts = this.batches.map(({ rows }) => {
      return { column: rows.columns.find(({ columnId }) => columnId === id), rowCount: rows.rowCount };
    });
    const values = parts.every(({ column }) => column === undefined) ? undefined : gathered(parts, order);
    if (columns !== undefined) this.#fields.set(id, values, columns);
    return values;
  }

  /** Releases what it keeps. */
  release(): void {
    this.#fields.release();
  }

  #kept(): SortedGroup | undefined {
    const runs = this.#cache.keptRuns(this.key);
    const order = this.#cache.kept(this.key)?.values;
    return runs !== undefined && order instanceof Uint32Array ? { runs, order } : undefined;
  }

  async #sort(slices: Slices): Promise<SortedGroup> {
    const { first, last } = this.times;
    if (last - first > LENGTH_EXACT) throw new NotForKernels('unflushed rows are far apart');
    const sids = new Uint32Array(this.rowCount);
    const times = new Float64Array(this.rowCount);
    let at = 0;
    for (const { sids: own, rows } of this.batches) {
      sids.set(own, at);
      copyTimes(rows.times, first, times, at);
      at += rows.rowCount;
      if (slices.isOver(rows.rowCount)) await slices.yield();
    }
    const order = await sortedRows(sids, times, slices);
    const runs = sortedRuns({ order, sids, times }, first);
    if (!this.#fields.isReleased) {
      this.#cache.keepRuns(this.key, runs);
      this.#cache.keep(this.key, { values: order, base: 0n, valid: undefined });
    }
    return { runs, order };
  }
}

/** Writes times relative to `base`, which are read as pairs of words: as big integers, each would be an object. */
function copyTimes(times: BigInt64Array, base: bigint, target: Float64Array, at: number): void {
  const low = new Uint32Array(times.buffer, times.byteOffset, 2 * times.length);
  const high = new Int32Array(times.buffer, times.byteOffset, 2 * times.length);
  const [baseLow, baseHigh] = [Number(BigInt.asUintN(32, base)), Number(base >> 32n)];
  for (let row = 0; row < times.length; row++) {
    target[at + row] = (high[2 * row + 1] - baseHigh) * 2 ** 32 + (low[2 * row] - baseLow);
  }
}
