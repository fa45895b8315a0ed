import { WireReader } from '#shared/protobuf/wire-reader';

import type { CacheMemory } from '../common/cache-memory.js';
import {
  bytesOfRange,
  copyRange,
  hashBytes,
  KnownBytes,
  mixWord,
  SEED,
  type ByteRange,
} from '../common/known-bytes.js';
import type { LabelRules } from '../common/metric-labels.js';
import {
  ENTRY_OVERHEAD_BYTES,
  KEY_BYTES_MAX,
  MetricSeriesCache,
  SAME_HASH_MAX,
  SERIES_OVERHEAD_BYTES,
  type ByteSource,
  type KnownSeries,
} from '../common/metric-series.js';
import { parseSeries } from './labels.js';
import { UsualLabels } from './usual-labels.js';

/** A text of a symbol table of version 2; the same text is the same object. */
export class KnownSymbol extends KnownBytes {
  readonly hash: number;
  /** The symbol that was looked up after this one in an earlier request. */
  next: KnownSymbol | undefined = undefined;
  readonly sameHash: KnownSymbol | undefined;

  constructor(text: ByteRange, hash: number, sameHash: KnownSymbol | undefined) {
    super(text.view, text.from, text.length);
    this.hash = hash;
    this.sameHash = sameHash;
  }

  get bytes(): Buffer {
    return bytesOfRange(this);
  }
}

/** A series by its symbols, as a sender of version 2 names them. */
export class SeriesOfSymbols {
  readonly symbols: readonly KnownSymbol[];
  readonly series: KnownSeries;
  next: SeriesOfSymbols | undefined = undefined;
  readonly sameHash: SeriesOfSymbols | undefined;
  /** Metadata that is known to be stored. */
  type = 0;
  help: KnownSymbol | undefined = undefined;
  unit: KnownSymbol | undefined = undefined;

  constructor(symbols: readonly KnownSymbol[], series: KnownSeries, sameHash: SeriesOfSymbols | undefined) {
    this.symbols = symbols;
    this.series = series;
    this.sameHash = sameHash;
  }

  /** Whether these are the first `count` of `symbols`. */
  hasSymbols(symbols: readonly KnownSymbol[], count: number): boolean {
    const own = this.symbols;
    if (own.length !== count) return false;
    for (let i = 0; i < count; i++) if (own[i] !== symbols[i]) return false;
    return true;
  }
}

/** Series that remote write senders sent before: by their labels (version 1) and by their symbols (version 2). */
export class RemoteWriteCache extends MetricSeriesCache {
  /** What the next request of version 2 is expected to begin with. */
  symbolGuess: SeriesOfSymbols | undefined = undefined;
  firstSymbol: KnownSymbol | undefined = undefined;
  readonly #symbols = new Map<number, KnownSymbol>();
  readonly #bySymbols = new Map<number, SeriesOfSymbols>();

  constructor(memory: CacheMemory, rules: LabelRules) {
    const usual = new UsualLabels(rules);
    super(memory, (source, from, to) => {
      const reader = source instanceof WireReader ? source : new WireReader(source.bytes);
      return usual.parse(reader, from, to) ?? parseSeries(reader, from, to, rules);
    });
  }

  /** Returns the one object for the text `[from, to)`. */
  symbol({ bytes, view }: ByteSource, from: number, to: number): KnownSymbol {
    const length = to - from;
    const hash = hashBytes(view, from, to);
    let sameCount = 0;
    for (let known = this.#symbols.get(hash); known !== undefined; known = known.sameHash, sameCount++) {
      if (known.length === length && known.equals(view, from)) return known;
    }
    const isKept = length <= KEY_BYTES_MAX && sameCount < SAME_HASH_MAX;
    if (isKept) this.makeRoom(length + ENTRY_OVERHEAD_BYTES);
    const text = isKept ? this.store.add(bytes, from, to) : copyRange(bytes, from, to);
    const symbol = new KnownSymbol(text, hash, this.#symbols.get(hash));
    if (isKept) {
      this.#symbols.set(hash, symbol);
      this.reserve(length + ENTRY_OVERHEAD_BYTES);
    }
    return symbol;
  }

  /** Returns the series of the first `count` symbols, names and values alternating, if it came before. */
  findBySymbols(symbols: readonly KnownSymbol[], count: number): SeriesOfSymbols | undefined {
    let known = this.#bySymbols.get(hashSymbols(symbols, count));
    while (known !== undefined && !known.hasSymbols(symbols, count)) known = known.sameHash;
    return known;
  }

  addBySymbols(symbols: readonly KnownSymbol[], series: KnownSeries): SeriesOfSymbols {
    const bytes = SERIES_OVERHEAD_BYTES + 8 * symbols.length;
    const hash = hashSymbols(symbols, symbols.length);
    let sameCount = 0;
    for (let same = this.#bySymbols.get(hash); same !== undefined; same = same.sameHash) sameCount++;
    // Symbols that were too long to be kept are other objects the next time.
    const isKept = series.length <= KEY_BYTES_MAX && sameCount < SAME_HASH_MAX;
    if (isKept) this.makeRoom(bytes);
    const known = new SeriesOfSymbols(symbols, series, this.#bySymbols.get(hash));
    if (isKept) {
      this.#bySymbols.set(hash, known);
      this.reserve(bytes);
    }
    return known;
  }

  override clear(): void {
    super.clear();
    this.#symbols.clear();
    this.#bySymbols.clear();
    this.symbolGuess = undefined;
    this.firstSymbol = undefined;
  }
}

function hashSymbols(symbols: readonly KnownSymbol[], count: number): number {
  let hash = SEED ^ count;
  for (let i = 0; i < count; i++) {
    hash = mixWord(hash ^ symbols[i].hash);
  }
  return hash;
}
