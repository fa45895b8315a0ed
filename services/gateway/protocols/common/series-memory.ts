/** What remembers things and can forget them. */
export interface Forgetful {
  clear(): void;
}

/** What the caches of all protocols and databases may take together. When it is used up, all of them are emptied. */
export class SeriesMemory {
  readonly limitBytes: number;
  usedBytes = 0;
  readonly #caches = new Set<Forgetful>();

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  add(cache: Forgetful): void {
    this.#caches.add(cache);
  }

  /** Forgets a cache, which must not be used any more. */
  remove(cache: Forgetful): void {
    cache.clear();
    this.#caches.delete(cache);
  }

  clear(): void {
    for (const cache of this.#caches) cache.clear();
  }
}
