import { SeriesCache, SeriesMemory } from './series-cache.js';

/** Databases whose keys are remembered at the same time. */
const DATABASES_MAX = 1_024;

/** A cache of keys for each database: what is known of a series holds for its own tables only. */
export class SeriesCaches {
  readonly #memory: SeriesMemory;
  /** First made, first dropped. */
  readonly #caches = new Map<string, SeriesCache>();

  /** @param limitBytes for all databases together. */
  constructor(limitBytes: number) {
    this.#memory = new SeriesMemory(limitBytes);
  }

  of(database: string): SeriesCache {
    const known = this.#caches.get(database);
    if (known !== undefined) return known;
    for (const [name, oldest] of this.#caches) {
      if (this.#caches.size < DATABASES_MAX) break;
      this.#memory.remove(oldest);
      this.#caches.delete(name);
    }
    const cache = new SeriesCache(this.#memory);
    this.#caches.set(database, cache);
    return cache;
  }
}
