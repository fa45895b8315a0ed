import { LRUCache } from 'lru-cache';

import type { RegionSource, Snapshot } from '../../snapshot/snapshots.js';

/** Largest share of the cache for one result. */
const ENTRY_SHARE = 0.25;
/** Longer keys are those of queries with long lists, which are rarely repeated. */
const KEY_CHARS_MAX = 4096;
/** Memory of an entry apart from its key and its texts. */
const ENTRY_BYTES = 500;
/** Memory of the mark of a region, or of a part of one. */
const MARK_BYTES = 250;

/** What a snapshot read of a region, by identity. It keeps nothing in memory. */
interface RegionMark {
  readonly manifest: WeakRef<object>;
  readonly series: WeakRef<object> | undefined;
  readonly seriesCount: number;
  readonly parts: readonly { readonly part: WeakRef<object>; readonly rowCount: number }[];
}

/** A query that ran before; `events` is undefined until its result is worth keeping. */
interface Entry<E> {
  readonly regions: readonly RegionMark[];
  readonly events: readonly E[] | undefined;
  readonly bytes: number;
}

/** The place of one query's result in the cache. */
export interface ResultPlace<E> {
  /** The result, if the tables are as they were. */
  readonly events: readonly E[] | undefined;
  /** Notes a part of the result. @param eventBytes its memory */
  add(event: E, eventBytes: number): void;
  /** Keeps the result, which is complete. */
  keep(): void;
}

/**
 * Results of queries, for as long as the rows of their tables are the same. A result is kept when its query runs for
 * the second time: most queries never do.
 */
export class ResultCache<E> {
  readonly #entries: LRUCache<string, Entry<E>>;
  readonly #entryBytesMax: number;

  /** @param limitBytes 0: nothing is kept. */
  constructor(limitBytes: number) {
    this.#entryBytesMax = limitBytes * ENTRY_SHARE;
    const maxSize = Math.max(1, limitBytes);
    this.#entries = new LRUCache({ maxSize, sizeCalculation: ({ bytes }) => bytes });
  }

  /**
   * Returns the place of a query's result; undefined if it is not kept.
   *
   * @param key everything that the result depends on, apart from the rows
   */
  placeOf(key: string, snapshot: Snapshot): ResultPlace<E> | undefined {
    if (key.length > KEY_CHARS_MAX || this.#entryBytesMax < ENTRY_BYTES) return undefined;
    const known = this.#entries.get(key);
    if (known?.events !== undefined && isCurrent(known.regions, snapshot)) {
      return { events: known.events, add: () => undefined, keep: () => undefined };
    }
    const emptyBytes = ENTRY_BYTES + 2 * key.length;
    let events: E[] | undefined = known === undefined ? undefined : [];
    let bytes = emptyBytes;
    return {
      events: undefined,
      add: (event, eventBytes) => {
        bytes += eventBytes;
        if (bytes > this.#entryBytesMax) events = undefined;
        events?.push(event);
      },
      keep: () => {
        const regions = events === undefined ? [] : marksOf(snapshot);
        const marks = regions.reduce((sum, { parts }) => sum + 1 + parts.length, 0);
        bytes += marks * MARK_BYTES;
        const isKept = events !== undefined && bytes <= this.#entryBytesMax;
        if (isKept) this.#entries.set(key, { regions, events, bytes });
        else this.#entries.set(key, { regions: [], events: undefined, bytes: emptyBytes });
      },
    };
  }
}

function marksOf({ sources }: Snapshot): RegionMark[] {
  return sources.flatMap(({ regions }) =>
    regions.map(({ view: { manifest, series, seriesCount, parts } }) => ({
      manifest: new WeakRef(manifest),
      series: series && new WeakRef(series),
      seriesCount,
      parts: parts.map(({ part, rowCount }) => ({ part: new WeakRef(part), rowCount })),
    })),
  );
}

/** Reports whether a snapshot reads the same rows as the one that was marked. */
function isCurrent(marks: readonly RegionMark[], { sources }: Snapshot): boolean {
  let count = 0;
  for (const { regions } of sources) {
    for (const { view } of regions) {
      const mark = marks.at(count++);
      if (mark === undefined || !isMarked(view, mark)) return false;
    }
  }
  return count === marks.length;
}

function isMarked({ manifest, series, seriesCount, parts }: RegionSource['view'], mark: RegionMark): boolean {
  if (mark.seriesCount !== seriesCount || mark.parts.length !== parts.length) return false;
  if (mark.manifest.deref() !== manifest || mark.series?.deref() !== series) return false;
  for (let i = 0; i < parts.length; i++) {
    const { part, rowCount } = mark.parts[i];
    if (parts[i].rowCount !== rowCount || parts[i].part !== part.deref()) return false;
  }
  return true;
}
