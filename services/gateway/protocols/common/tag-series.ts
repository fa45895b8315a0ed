import { SeriesEntry } from '#shared/rowbatch/builder';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';

import type { CacheMemory, ClearableCache } from './cache-memory.js';
import { KEY_BYTES_MAX, SERIES_OVERHEAD_BYTES } from './metric-series.js';

/** Series of tables of logs, events and traces that clients sent before, by a text that stands for their tags. */
export class TagSeriesCache implements ClearableCache {
  readonly #memory: CacheMemory;
  readonly #tables = new Map<string, Map<string, SeriesEntry>>();
  #bytes = 0;

  constructor(memory: CacheMemory) {
    this.#memory = memory;
    memory.add(this);
  }

  find(table: string, key: string): SeriesEntry | undefined {
    return this.#tables.get(table)?.get(key);
  }

  /**
   * @param tags names unique, without empty values.
   * @param typeOf returns the native type of a tag; default: they are strings.
   */
  add(table: string, key: string, tags: readonly Tag[], typeOf?: (name: string) => string): SeriesEntry {
    const entry = new SeriesEntry(table, seriesId(tags, typeOf), tags);
    const bytes = 2 * key.length + tags.reduce((sum, { value }) => sum + value.length, 0) + SERIES_OVERHEAD_BYTES;
    if (bytes > KEY_BYTES_MAX) return entry;
    if (this.#memory.usedBytes + bytes > this.#memory.limitBytes) this.#memory.clear();
    let series = this.#tables.get(table);
    if (series === undefined) this.#tables.set(table, (series = new Map<string, SeriesEntry>()));
    series.set(key, entry);
    this.#bytes += bytes;
    this.#memory.usedBytes += bytes;
    return entry;
  }

  clear(): void {
    this.#tables.clear();
    this.#memory.usedBytes -= this.#bytes;
    this.#bytes = 0;
  }
}
