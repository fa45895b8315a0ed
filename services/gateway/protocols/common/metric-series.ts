import { SeriesEntry } from '#shared/rowbatch/builder';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';

import type { CacheMemory } from './cache-memory.js';
import { bytesOfRange, ByteStore, copyRange, hashBytes, KnownBytes, type ByteRange } from './known-bytes.js';
import type { ParsedSeries } from './metric-labels.js';

/** Heap bytes of one known series: key, series entry, ID, map entry and number. */
export const SERIES_OVERHEAD_BYTES = 320;
/** Heap bytes of a smaller entry of a cache. */
export const ENTRY_OVERHEAD_BYTES = 200;
/** Longer keys are parsed again each time. */
export const KEY_BYTES_MAX = 64 * 1024;
/** Further entries with the same hash are not kept, so that no client can make a search long. */
export const SAME_HASH_MAX = 16;

/** Database and physical metric table that labels name; undefined where the request decides. */
export class MetricTarget {
  readonly database: string | undefined;
  readonly table: string | undefined;

  constructor(database: string | undefined, table: string | undefined) {
    this.database = database;
    this.table = table;
  }
}

/** A metric series by its key: the bytes of its labels, in the encoding of one protocol. */
export class KnownSeries extends KnownBytes {
  readonly entry: SeriesEntry;
  readonly metric: string;
  readonly target: MetricTarget;
  /** The series that followed this one in an earlier request. */
  next: KnownSeries | undefined = undefined;
  readonly sameHash: KnownSeries | undefined;

  constructor(
    key: ByteRange,
    entry: SeriesEntry,
    metric: string,
    target: MetricTarget,
    sameHash: KnownSeries | undefined,
  ) {
    super(key.view, key.from, key.length);
    this.entry = entry;
    this.metric = metric;
    this.target = target;
    this.sameHash = sameHash;
  }

  /** The bytes of the key. */
  get labels(): Buffer {
    return bytesOfRange(this);
  }
}

/** Series by number, in order of arrival. */
export class NumberedSeries {
  readonly all: KnownSeries[] = [];
  /** `entry` of each. */
  readonly entries: SeriesEntry[] = [];
  /** Target of all of them; undefined if they have several. */
  target: MetricTarget | undefined = undefined;

  add(series: KnownSeries): void {
    if (this.all.length === 0) this.target = series.target;
    else if (this.target !== series.target) this.target = undefined;
    this.all.push(series);
    this.entries.push(series.entry);
  }
}

/** Bytes with their `DataView`, such as a `WireReader`. */
export interface ByteSource {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** Parses the labels in `[from, to)`; a text is the reason to reject the series. */
export type ParseLabels = (source: ByteSource, from: number, to: number) => ParsedSeries | string;

/** Metric series that clients of one database and table sent before, so that labels are parsed once per series. */
export class MetricSeriesCache {
  /** The series that the next request is expected to begin with. */
  guess: KnownSeries | undefined = undefined;
  /** Increases each time the cache is emptied: references to its entries must be dropped then. */
  epoch = 0;
  /** All series that are kept; replaced by another object when the cache is emptied. */
  numbered = new NumberedSeries();
  protected store = new ByteStore();
  readonly #memory: CacheMemory;
  readonly #parse: ParseLabels;
  #bytes = 0;
  readonly #series = new Map<number, KnownSeries>();
  readonly #targets = new Map<string, MetricTarget>();
  readonly #metadata = new Set<string>();

  constructor(memory: CacheMemory, parse: ParseLabels) {
    this.#memory = memory;
    this.#parse = parse;
    memory.add(this);
  }

  /**
   * Returns the series whose labels are `[from, to)`; a text is the reason to reject it.
   *
   * @param defaultTable table of series whose labels name none; the same for all calls.
   * @param parse used instead of that of the cache; the key must determine it.
   */
  series(
    source: ByteSource,
    from: number,
    to: number,
    defaultTable: string,
    parse = this.#parse,
  ): KnownSeries | string {
    const { bytes, view } = source;
    const length = to - from;
    const hash = hashBytes(view, from, to);
    let sameCount = 0;
    for (let known = this.#series.get(hash); known !== undefined; known = known.sameHash, sameCount++) {
      if (known.length === length && known.equals(view, from)) return known;
    }
    const parsed = parse(source, from, to);
    if (typeof parsed === 'string') return parsed;
    const isKept = length <= KEY_BYTES_MAX && sameCount < SAME_HASH_MAX;
    if (isKept) this.makeRoom(length + SERIES_OVERHEAD_BYTES);
    const key = isKept ? this.store.add(bytes, from, to) : copyRange(bytes, from, to);
    const target = this.#target(parsed.database, parsed.table);
    // Tags are rarely needed again, and their bytes take a tenth of the memory of the objects.
    const tags = (): readonly Tag[] => tagsOf(key, parse);
    const entry = new SeriesEntry(target.table ?? defaultTable, seriesId(parsed.tags), tags);
    const known = new KnownSeries(key, entry, parsed.metric, target, this.#series.get(hash));
    if (isKept) {
      this.#series.set(hash, known);
      this.numbered.add(known);
      this.reserve(length + SERIES_OVERHEAD_BYTES);
    }
    return known;
  }

  /** Whether the metadata is known to be stored. */
  hasMetadata(key: string): boolean {
    return this.#metadata.has(key);
  }

  /** Remembers that metadata is stored. */
  addMetadata(key: string): void {
    if (this.#metadata.has(key)) return;
    const bytes = 2 * key.length + ENTRY_OVERHEAD_BYTES;
    this.makeRoom(bytes);
    this.#metadata.add(key);
    this.reserve(bytes);
  }

  clear(): void {
    this.#series.clear();
    this.numbered = new NumberedSeries();
    this.#targets.clear();
    this.#metadata.clear();
    this.#memory.usedBytes -= this.#bytes;
    this.#bytes = 0;
    this.store = new ByteStore();
    this.guess = undefined;
    this.epoch++;
  }

  /** Counts memory that is held for its series, here or elsewhere, until the cache is emptied. */
  reserve(bytes: number): void {
    this.#bytes += bytes;
    this.#memory.usedBytes += bytes;
  }

  /** Empties all caches if there is no room for as many bytes. */
  protected makeRoom(bytes: number): void {
    if (this.#memory.usedBytes + bytes > this.#memory.limitBytes) this.#memory.clear();
  }

  #target(database: string | undefined, table: string | undefined): MetricTarget {
    const key = `${database ?? ''}\n${table ?? ''}`;
    let target = this.#targets.get(key);
    if (target === undefined) {
      target = new MetricTarget(database, table);
      this.#targets.set(key, target);
      this.reserve(2 * key.length + ENTRY_OVERHEAD_BYTES);
    }
    return target;
  }
}

function tagsOf(key: ByteRange, parse: ParseLabels): readonly Tag[] {
  const { view, from, length } = key;
  const own = new DataView(view.buffer, view.byteOffset + from, length);
  const parsed = parse({ bytes: bytesOfRange(key), view: own }, 0, length);
  return typeof parsed === 'string' ? [] : parsed.tags;
}
