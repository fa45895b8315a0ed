import type { ColumnCache } from '../../columns/column-cache.js';
import type { FreshBatch, FreshPart } from '../../snapshot/fresh-part.js';
import { FreshGroup } from './fresh-group.js';

/** Rows from which batches become a group, and groups a larger one. */
export interface GroupSizes {
  readonly small: number;
  readonly large: number;
}

/** A query walks over fewer rows than a small group has; of small groups, it reads at most 16 besides the large ones. */
const SIZES: GroupSizes = { small: 1 << 13, large: 1 << 17 };

/** What a query reads of the first rows of a part. */
export interface GroupedRows {
  readonly groups: readonly FreshGroup[];
  /** Batches after the groups, and the number of rows in them. */
  readonly rest: readonly FreshBatch[];
  readonly restCount: number;
}

/** Divides the batches of a part into groups, which are sorted when a query reads them. */
export class FreshGroups {
  readonly #batches: readonly FreshBatch[];
  readonly #cache: ColumnCache;
  readonly #sizes: GroupSizes;
  #groups: FreshGroup[] = [];
  /** Number of large groups, which come first. */
  #largeCount = 0;
  /** Batches and rows in groups. */
  #end = 0;
  #rowCount = 0;

  /** @param batches to which others are appended */
  constructor(batches: readonly FreshBatch[], cache: ColumnCache, sizes = SIZES) {
    this.#batches = batches;
    this.#cache = cache;
    this.#sizes = sizes;
  }

  /** Returns the first `rowCount` rows. */
  first(rowCount: number): GroupedRows {
    this.#extend(rowCount);
    const groups: FreshGroup[] = [];
    let at = 0;
    let restCount = rowCount;
    // Queries of later snapshots may have formed groups that end after these rows.
    for (const group of this.#groups) {
      if (group.rowCount > restCount) break;
      groups.push(group);
      restCount -= group.rowCount;
      at += group.batches.length;
    }
    const first = at;
    for (let left = restCount; left > 0 && at < this.#batches.length; at++) left -= this.#batches[at].rows.rowCount;
    return { groups, rest: this.#batches.slice(first, at), restCount };
  }

  /** Releases what groups keep. */
  release(): void {
    for (const group of this.#groups.splice(0)) group.release();
  }

  /** Forms groups of batches that are among the first `rowCount` rows. */
  #extend(rowCount: number): void {
    while (rowCount - this.#rowCount >= this.#sizes.small) {
      const from = this.#end;
      let rows = 0;
      while (rows < this.#sizes.small) rows += this.#batches[this.#end++].rows.rowCount;
      this.#rowCount += rows;
      this.#groups.push(new FreshGroup(this.#batches.slice(from, this.#end), this.#cache));
      this.#joinSmall();
    }
  }

  /** Replaces the small groups by a large one if they have enough rows. */
  #joinSmall(): void {
    const small = this.#groups.slice(this.#largeCount);
    if (small.reduce((sum, group) => sum + group.rowCount, 0) < this.#sizes.large) return;
    for (const group of small) group.release();
    const batches = small.flatMap((group) => group.batches);
    this.#groups.splice(this.#largeCount, small.length, new FreshGroup(batches, this.#cache));
    this.#largeCount++;
  }
}

const known = new WeakMap<FreshPart, FreshGroups>();

/** Returns the groups of a part. @param batches those of the part */
export function groupsOfPart(part: FreshPart, batches: readonly FreshBatch[], cache: ColumnCache): FreshGroups {
  let groups = known.get(part);
  if (groups === undefined) {
    const created = new FreshGroups(batches, cache);
    known.set(part, created);
    part.onRelease(() => {
      known.delete(part);
      created.release();
    });
    groups = created;
  }
  return groups;
}
