import type { SeriesFile, Table } from '#shared/contracts/gen/common';
import type { ScanPart } from '#shared/contracts/gen/ingester';

import { IndexesFull, IndexMemory, type IndexMemoryLimits } from './memory/index-memory.js';
import { SeriesIndex, type SeriesIndexDeps } from './series-index.js';

/** Collaborators of a `SharedIndexes`. */
export interface SharedIndexesDeps extends SeriesIndexDeps {
  readonly memory: IndexMemoryLimits;
}

/** Reads the series of a region, and can do without them between two queries. */
export interface IndexReader {
  /** Returns when the last query began, as monotonic milliseconds. */
  lastReadMs(): number;
  /** Reports whether no query reads the series. */
  isIdle(): boolean;
  /** Discards the series, and closes the index. The next read makes it again. */
  discard(): void;
}

/** An index that readers share. */
interface SharedEntry {
  readonly index: SeriesIndex;
  users: number;
}

/** Regions of which is known how much memory they need. Without the oldest one, a query finds it out again. */
const REFUSED_MAX = 1024;

/**
 * The indexes of all regions. Readers of a region, SQL and PromQL, share one if the same owner numbered its series: after a
 * restart of the owner, or another grant, the numbers of series that are in no file can differ.
 *
 * Their memory is limited. If it does not suffice, indexes that no query reads are discarded, those of the tables that were
 * not read for the longest time first; then `IndexesFull` is thrown.
 */
export class SharedIndexes {
  readonly #deps: SharedIndexesDeps;
  readonly #registry: Registry;

  constructor(deps: SharedIndexesDeps) {
    this.#deps = deps;
    const memory = new IndexMemory(deps.memory, deps.clock);
    this.#registry = { memory, used: new Map(), entries: new Map(), refused: new Map() };
    memory.onShortage((bytes) => {
      for (const { readers } of idleIndexes(this.#registry)) {
        if (memory.freeBytes >= bytes) return;
        for (const reader of readers) reader.discard();
      }
    });
  }

  /** Memory of all indexes in bytes, about. */
  get bytes(): number {
    return this.#registry.memory.usedBytes;
  }

  /** Part of it that decoded samples cannot have. */
  get borrowedBytes(): number {
    return this.#registry.memory.borrowedBytes;
  }

  /** Number of series in all indexes. */
  get seriesCount(): number {
    let count = 0;
    for (const index of this.#registry.used.keys()) count += index.count;
    return count;
  }

  /** Returns an index of a region, which is shared after `SharedIndex.share`. The caller closes it. */
  open(regionId: number, table: Table): SharedIndex {
    const create = (): SeriesIndex => new SeriesIndex(table, this.#deps, this.#registry.memory.open());
    return new SharedIndex(regionId, create, this.#registry);
  }
}

/** What the indexes of all regions have in common. */
interface Registry {
  readonly memory: IndexMemory;
  /** All indexes that have readers, with them. */
  readonly used: Map<SeriesIndex, Set<SharedIndex>>;
  readonly entries: Map<string, SharedEntry>;
  /** Memory that the index of a region needs at least, by the ID of regions whose indexes got less. */
  readonly refused: Map<number, number>;
}

/** An index that can be discarded. */
interface IdleIndex {
  readonly index: SeriesIndex;
  readonly readers: readonly IndexReader[];
  readonly lastReadMs: number;
}

/** Returns the indexes that no query reads, those that were not read for the longest time first. */
function idleIndexes({ used }: Registry): IdleIndex[] {
  const idle: IdleIndex[] = [];
  for (const [index, shared] of used) {
    const readers = [...shared].flatMap(({ reader }) => (reader?.isIdle() === true ? [reader] : []));
    if (readers.length < shared.size) continue;
    idle.push({ index, readers, lastReadMs: Math.max(...readers.map((reader) => reader.lastReadMs())) });
  }
  return idle.sort((a, b) => a.lastReadMs - b.lastReadMs);
}

/** One reader's hold of an index. */
export class SharedIndex {
  #reader: IndexReader | undefined;
  readonly #regionId: number;
  readonly #registry: Registry;
  readonly #create: () => SeriesIndex;
  #index: SeriesIndex;
  /** Key of the index that is shared, and its entry, which may have been replaced by that of a newer index. */
  #key: string | undefined;
  #entry: SharedEntry | undefined;
  #isUsed = false;
  #isClosed = false;

  constructor(regionId: number, create: () => SeriesIndex, registry: Registry) {
    this.#regionId = regionId;
    this.#create = create;
    this.#index = create();
    this.#registry = registry;
  }

  get index(): SeriesIndex {
    return this.#index;
  }

  /** Who can discard the index; undefined: it is kept while it is open. */
  get reader(): IndexReader | undefined {
    return this.#reader;
  }

  /** Sets who can discard the index. */
  readBy(reader: IndexReader): void {
    this.#reader = reader;
  }

  /** Reports whether there may be memory for an index of the region, of which one did not get enough. */
  get hasRoom(): boolean {
    const neededBytes = this.#registry.refused.get(this.#regionId) ?? 0;
    let left = neededBytes - this.#registry.memory.freeBytes - this.#index.bytes;
    if (left <= 0) return true;
    for (const { index } of idleIndexes(this.#registry)) if (index !== this.#index) left -= index.bytes;
    return left <= 0;
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
    this.#hold();
  }

  /** As `SeriesIndex.load`. */
  async load(files: readonly SeriesFile[]): Promise<void> {
    const end = files.reduce((most, { sidLast }) => Math.max(most, sidLast + 1), 0);
    await this.#extended(end, (index) => index.load(files));
  }

  /** As `SeriesIndex.append`. */
  async append(part: ScanPart): Promise<void> {
    await this.#extended(part.seriesTo, (index) => index.append(part));
  }

  /** Ends the use; queries in progress may read on. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { entries, used } = this.#registry;
    const holders = used.get(this.#index);
    holders?.delete(this);
    if (this.#entry !== undefined && --this.#entry.users > 0) return;
    if (this.#key !== undefined && entries.get(this.#key) === this.#entry) entries.delete(this.#key);
    used.delete(this.#index);
    this.#index.close();
  }

  /** As `close`, for a reader that remains: the memory of the index can be freed. */
  abandon(): void {
    this.close();
    this.#index = this.#create();
  }

  /** Adds the series below `end`. @throws `IndexesFull`, without an attempt if one before failed and there is not more room. */
  async #extended(end: number, change: (index: SeriesIndex) => Promise<void>): Promise<void> {
    const index = this.#index;
    const { refused } = this.#registry;
    this.#isUsed = true;
    this.#hold();
    if (end > index.count && !this.hasRoom) throw new IndexesFull(index.table.name);
    try {
      await change(index);
      refused.delete(this.#regionId);
    } catch (error) {
      if (error instanceof IndexesFull) this.#noteRefusal(index);
      throw error;
    }
  }

  #noteRefusal({ bytes }: SeriesIndex): void {
    const { refused, memory } = this.#registry;
    refused.delete(this.#regionId);
    // More than there was, or every query would try it again.
    refused.set(this.#regionId, bytes + Math.max(memory.freeBytes, 0) + 1);
    for (const oldest of refused.keys()) {
      if (refused.size <= REFUSED_MAX) break;
      refused.delete(oldest);
    }
  }

  /** Keeps the index while the reader is not idle. */
  #hold(): void {
    if (this.#isClosed) return;
    const { used } = this.#registry;
    const holders = used.get(this.#index);
    if (holders === undefined) used.set(this.#index, new Set([this]));
    else holders.add(this);
  }
}
