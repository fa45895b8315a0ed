import type { Labels } from './labels.js';

/** Estimated memory of a cached series, of each label, and of each character of a long value. Includes cached keys and JSON. */
const SERIES_BYTES = 500;
const LABEL_BYTES = 96;
const CHARACTER_BYTES = 4;

/** Labels by series number. */
type LabelsBySeries = Map<number, Labels>;

/** Cache of the labels made for queries, shared by all tables. It is cleared as a whole when it reaches its limit. */
export class LabelsCache {
  readonly #limitBytes: number;
  #usedBytes = 0;
  /** By owner, then by key. Weak, so that the cache keeps no index alive. */
  #entries = new WeakMap<object, Map<string, LabelsBySeries>>();

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Returns a function that makes the labels of a series with `make` and caches them under `owner` and `key`. */
  cached(owner: object, key: string, make: (sid: number) => Labels): (sid: number) => Labels {
    let entries = this.#entries;
    let cached = this.#of(owner, key);
    return (sid) => {
      if (entries !== this.#entries) {
        entries = this.#entries;
        cached = this.#of(owner, key);
      }
      let labels = cached.get(sid);
      if (labels === undefined) {
        labels = make(sid);
        const bytes = bytesOf(labels);
        if (this.#usedBytes + bytes > this.#limitBytes) this.#clear();
        else cached.set(sid, labels);
        this.#usedBytes += bytes;
      }
      return labels;
    };
  }

  #clear(): void {
    this.#entries = new WeakMap();
    this.#usedBytes = 0;
  }

  #of(owner: object, key: string): LabelsBySeries {
    const byKey = this.#entries.get(owner) ?? new Map<string, LabelsBySeries>();
    this.#entries.set(owner, byKey);
    const labels = byKey.get(key) ?? new Map<number, Labels>();
    byKey.set(key, labels);
    return labels;
  }
}

function bytesOf({ values }: Labels): number {
  let bytes = SERIES_BYTES;
  for (const { length } of values) bytes += Math.max(LABEL_BYTES, CHARACTER_BYTES * length);
  return bytes;
}
