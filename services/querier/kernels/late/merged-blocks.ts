import { LRUCache } from 'lru-cache';

import type { ColumnCache } from '../../columns/column-cache.js';
import type { QueryColumns } from '../../columns/query-columns.js';
import type { FieldValues } from '../field-values.js';
import type { FreshPart } from '../../snapshot/fresh-part.js';
import { KeptFields } from '../fresh/kept-fields.js';
import type { MergedRows, SortedRows } from './late-rows.js';

/** Blocks that are remembered, each with about 2^17 rows. */
const BLOCKS_MAX = 4096;

interface Block {
  /** Names what its rows were merged of. */
  readonly sources: string;
  readonly fields: KeptFields;
}

/** Keeps the merged rows of blocks of late bands, for as long as queries read the same rows of segments and in memory. */
export class MergedBlocks {
  readonly #cache: ColumnCache;
  readonly #blocks: LRUCache<string, Block>;
  /** Places of blocks that have too many rows. */
  readonly #divided = new LRUCache<string, true>({ max: BLOCKS_MAX });
  /** Places of the blocks with rows of a part. */
  readonly #ofParts = new WeakMap<FreshPart, Set<string>>();

  constructor(cache: ColumnCache) {
    this.#cache = cache;
    this.#blocks = new LRUCache({ max: BLOCKS_MAX, dispose: ({ fields }) => fields.release() });
  }

  /** Reports whether `divide` was called for a place. */
  isDivided(place: string): boolean {
    return this.#divided.get(place) === true;
  }

  /** Notes that the block at a place has too many rows. */
  divide(place: string): void {
    this.#divided.set(place, true);
  }

  /**
   * Returns the rows of a block if they and the fields are in memory.
   *
   * @param place names the block
   * @param sources names what its rows are merged of
   */
  get(place: string, sources: string, fieldIds: readonly number[]): SortedRows | undefined {
    const block = this.#blocks.get(place);
    if (block?.sources !== sources) return undefined;
    const runs = this.#cache.keptRuns(block.fields.key);
    if (runs === undefined) return undefined;
    const fields = new Map<number, FieldValues>();
    for (const id of fieldIds) {
      if (block.fields.isEmpty(id)) continue;
      const values = block.fields.get(id);
      if (values === undefined) return undefined;
      fields.set(id, values);
    }
    return { runs, fields };
  }

  /**
   * Keeps the rows of a block and some fields.
   *
   * @param parts whose rows are among them, until one of them is released
   */
  set(
    { place, sources }: { readonly place: string; readonly sources: string },
    fieldIds: readonly number[],
    { runs, fields }: MergedRows,
    parts: readonly FreshPart[],
    columns: QueryColumns,
  ): void {
    let block = this.#blocks.get(place);
    if (block?.sources !== sources) {
      const created = { sources, fields: new KeptFields(this.#cache) };
      this.#blocks.set(place, created);
      for (const part of parts) this.#removeWith(part, place);
      block = created;
    }
    if (block.fields.isReleased) return;
    this.#cache.keepRuns(block.fields.key, runs);
    for (const id of fieldIds) block.fields.set(id, fields.get(id), columns);
  }

  /** Removes a block when a part is released. */
  #removeWith(part: FreshPart, place: string): void {
    const places = this.#ofParts.get(part);
    if (places !== undefined) {
      places.add(place);
      return;
    }
    const created = new Set([place]);
    this.#ofParts.set(part, created);
    part.onRelease(() => {
      this.#ofParts.delete(part);
      for (const one of created) this.#blocks.delete(one);
    });
  }
}
