import type { ColumnCache } from '../../columns/column-cache.js';
import type { ColumnValues } from '../../columns/decode-chunk.js';
import type { QueryColumns } from '../../columns/query-columns.js';
import type { FieldValues } from '../field-values.js';

/** Values of a field that can be kept. */
export interface KeptValues extends FieldValues {
  readonly values: ColumnValues['values'];
}

let nextKey = 1;

/** Fields of some rows that are kept in the memory for columns, where they compete with those of segments. */
export class KeptFields {
  /** Key of these rows in the cache, which no path has. */
  readonly key = `\0${nextKey++}`;
  readonly #cache: ColumnCache;
  /** Greatest absolute values by column ID. */
  readonly #magnitudes = new Map<number, number>();
  readonly #empty = new Set<number>();
  #isReleased = false;

  constructor(cache: ColumnCache) {
    this.#cache = cache;
  }

  /** Whether nothing is kept any more. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Reports whether all rows of a field are known to be null. */
  isEmpty(id: number): boolean {
    return this.#empty.has(id);
  }

  /** Returns the values of a field if they are in memory. */
  get(id: number): FieldValues | undefined {
    const magnitude = this.#magnitudes.get(id);
    if (magnitude === undefined) return undefined;
    const kept = this.#cache.kept(`${this.key} ${id}`);
    // The base of doubles is -0, because 0 plus -0 is 0; it may be that of integers, too.
    return (
      kept && { values: kept.values, base: kept.base === 0n ? -0 : Number(kept.base), valid: kept.valid, magnitude }
    );
  }

  /** Keeps the values of a field, unless the query keeps too many. @param values undefined: all rows are null */
  set(id: number, values: KeptValues | undefined, columns: QueryColumns): void {
    if (this.#isReleased) return;
    if (values === undefined) {
      this.#empty.add(id);
      return;
    }
    this.#magnitudes.set(id, values.magnitude);
    columns.keep(`${this.key} ${id}`, { values: values.values, base: BigInt(values.base), valid: values.valid });
  }

  /** Removes all that is kept. */
  release(): void {
    this.#isReleased = true;
    this.#cache.remove(this.key);
    for (const id of this.#magnitudes.keys()) this.#cache.remove(`${this.key} ${id}`);
  }
}
