/** Databases whose series are remembered at the same time. */
const DATABASES_MAX = 1_024;

/** A cache that can be emptied at any time. */
export interface ClearableCache {
  clear(): void;
}

/** Memory that the caches of all protocols and databases share. When it is used up, all of them are emptied. */
export class CacheMemory {
  readonly limitBytes: number;
  usedBytes = 0;
  readonly #caches = new Set<ClearableCache>();

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  add(cache: ClearableCache): void {
    this.#caches.add(cache);
  }

  /** Empties and removes a cache, which must not be used afterwards. */
  remove(cache: ClearableCache): void {
    cache.clear();
    this.#caches.delete(cache);
  }

  clear(): void {
    for (const cache of this.#caches) cache.clear();
  }
}

/** One cache for each database, since what is known of a series holds for the tables of its database only. */
export class DatabaseCaches<C extends ClearableCache> {
  readonly #memory: CacheMemory;
  readonly #make: (memory: CacheMemory) => C;
  /** In the order in which they were made, which is the order in which they are dropped. */
  readonly #caches = new Map<string, C>();

  /** @param make makes a cache that adds itself to the memory. */
  constructor(memory: CacheMemory, make: (memory: CacheMemory) => C) {
    this.#memory = memory;
    this.#make = make;
  }

  of(database: string): C {
    const known = this.#caches.get(database);
    if (known !== undefined) return known;
    for (const [name, oldest] of this.#caches) {
      if (this.#caches.size < DATABASES_MAX) break;
      this.#memory.remove(oldest);
      this.#caches.delete(name);
    }
    const cache = this.#make(this.#memory);
    this.#caches.set(database, cache);
    return cache;
  }
}
