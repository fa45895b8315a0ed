import type { SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';

import { SeriesIndex, type SeriesIndexDeps } from './series-index.js';

/** The memory of the indexes is counted again after this time: there may be thousands of labels. */
const COUNTED_MS = 1_000;

/** An index that readers share. */
interface SharedEntry {
  readonly index: SeriesIndex;
  users: number;
}

/**
 * The indexes of all regions. Readers of a region, SQL and PromQL, share one if the same owner numbered its series: after a
 * restart of the owner, or another grant, the numbers of series that are in no file can differ.
 */
export class SharedIndexes {
  readonly #deps: SeriesIndexDeps;
  readonly #entries = new Map<string, SharedEntry>();
  readonly #used = new Set<SeriesIndex>();
  #bytes = 0;
  #countedMs = -Infinity;

  constructor(deps: SeriesIndexDeps) {
    this.#deps = deps;
  }

  /** Memory of all indexes in bytes, about, some time ago. */
  get bytes(): number {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#countedMs < COUNTED_MS) return this.#bytes;
    this.#countedMs = nowMs;
    this.#bytes = 0;
    for (const index of this.#used) this.#bytes += index.bytes;
    return this.#bytes;
  }

  /** Number of series in all indexes. */
  get seriesCount(): number {
    let count = 0;
    for (const index of this.#used) count += index.count;
    return count;
  }

  /** Returns an index of a region, which is shared after `SharedIndex.share`. The caller closes it. */
  open(regionId: number, table: Table): SharedIndex {
    return new SharedIndex(regionId, new SeriesIndex(table, this.#deps), {
      used: this.#used,
      entries: this.#entries,
    });
  }
}

/** What the indexes of all regions have in common. */
interface Registry {
  /** All indexes that have readers and series. */
  readonly used: Set<SeriesIndex>;
  readonly entries: Map<string, SharedEntry>;
}

/** One reader's hold of an index. */
export class SharedIndex {
  readonly #regionId: number;
  readonly #registry: Registry;
  #index: SeriesIndex;
  /** Key of the index that is shared, and its entry, which may have been replaced by that of a newer index. */
  #key: string | undefined;
  #entry: SharedEntry | undefined;
  #isUsed = false;
  #isClosed = false;

  constructor(regionId: number, index: SeriesIndex, registry: Registry) {
    this.#regionId = regionId;
    this.#index = index;
    this.#registry = registry;
  }

  get index(): SeriesIndex {
    return this.#index;
  }

  /** Reports whether the index is right for the schema. If it is not, no other reader begins to use it. */
  fits(table: Table): boolean {
    if (this.#index.fits(table)) return true;
    if (this.#key !== undefined && this.#registry.entries.get(this.#key)?.index === this.#index) {
      this.#registry.entries.delete(this.#key);
    }
    return false;
  }

  /** Shares the index with others whose series have the same numbers. @param owner identifies who numbered the series */
  share(owner: string): void {
    if (this.#key !== undefined || this.#isClosed) return;
    const { entries } = this.#registry;
    const key = `${this.#regionId} ${owner}`;
    let entry = entries.get(key);
    if (entry === undefined) entries.set(key, (entry = { index: this.#index, users: 1 }));
    else {
      // Queries in progress know the numbers of values of this index.
      if (this.#isUsed || !entry.index.fits(this.#index.table)) return;
      entry.users++;
      this.#index = entry.index;
    }
    this.#entry = entry;
    this.#key = key;
  }

  /** As `SeriesIndex.load`. */
  load(files: readonly SeriesFile[]): Promise<void> {
    this.#use();
    return this.#index.load(files);
  }

  /** As `SeriesIndex.append`. */
  append(part: ScanPart): Promise<void> {
    this.#use();
    return this.#index.append(part);
  }

  /** Ends the use; queries in progress may read on. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { entries, used } = this.#registry;
    if (this.#entry === undefined) {
      used.delete(this.#index);
      return;
    }
    if (--this.#entry.users > 0) return;
    if (this.#key !== undefined && entries.get(this.#key) === this.#entry) entries.delete(this.#key);
    used.delete(this.#index);
  }

  #use(): void {
    this.#isUsed = true;
    if (!this.#isClosed) this.#registry.used.add(this.#index);
  }
}
