import type { Forgetful, SeriesMemory } from './series-memory.js';

/** Databases whose keys are remembered at the same time. */
const DATABASES_MAX = 1_024;

/** A cache for each database: what is known of a series holds for its own tables only. */
export class SeriesCaches<C extends Forgetful> {
  readonly #memory: SeriesMemory;
  readonly #make: (memory: SeriesMemory) => C;
  /** First made, first dropped. */
  readonly #caches = new Map<string, C>();

  /** @param make makes a cache, which adds itself to the memory. */
  constructor(memory: SeriesMemory, make: (memory: SeriesMemory) => C) {
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
