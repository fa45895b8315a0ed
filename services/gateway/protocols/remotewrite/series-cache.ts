import { SeriesEntry } from '#shared/rowbatch/builder';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';

import type { SeriesMemory } from '../common/series-memory.js';
import { bytesOf, ByteStore, copied, hashBytes, KnownBytes, mixed, SEED, type Place } from '../common/known-bytes.js';
import { parseSeries, type LabelRules, type ParsedSeries } from './labels.js';
import { UsualLabels } from './usual-labels.js';
import { WireReader } from '#shared/protobuf/wire-reader';

/** Objects of one known series: key, series entry, id, a place in the map. */
const SERIES_OVERHEAD_BYTES = 300;
const SYMBOL_OVERHEAD_BYTES = 200;
/** Longer ones are parsed anew each time. */
const KEY_BYTES_MAX = 64 * 1024;
/** What more entries have the same hash is not kept: nobody shall make a search long. */
const SAME_HASH_MAX = 16;

/** The database and the physical metric table that labels name; undefined where they leave it to the request. */
export class Target {
  readonly database: string | undefined;
  readonly table: string | undefined;

  constructor(database: string | undefined, table: string | undefined) {
    this.database = database;
    this.table = table;
  }
}

/** A series by the bytes of its labels, as a sender of version 1 writes them. */
export class KnownSeries extends KnownBytes {
  readonly entry: SeriesEntry;
  readonly metric: string;
  readonly target: Target;
  /** The series that came behind this one last time. */
  next: KnownSeries | undefined = undefined;
  readonly sameHash: KnownSeries | undefined;

  constructor(place: Place, entry: SeriesEntry, metric: string, target: Target, sameHash: KnownSeries | undefined) {
    super(place.view, place.from, place.length);
    this.entry = entry;
    this.metric = metric;
    this.target = target;
    this.sameHash = sameHash;
  }

  /** The fields with the labels. */
  get labels(): Buffer {
    return bytesOf(this);
  }
}

/** A text of a symbol table of version 2; the same text is the same object. */
export class KnownSymbol extends KnownBytes {
  readonly hash: number;
  /** The symbol that was looked up behind this one last time. */
  next: KnownSymbol | undefined = undefined;
  readonly sameHash: KnownSymbol | undefined;

  constructor(place: Place, hash: number, sameHash: KnownSymbol | undefined) {
    super(place.view, place.from, place.length);
    this.hash = hash;
    this.sameHash = sameHash;
  }

  get bytes(): Buffer {
    return bytesOf(this);
  }
}

/** A series by its symbols, as a sender of version 2 names them. */
export class SymbolSeries {
  readonly symbols: readonly KnownSymbol[];
  readonly series: KnownSeries;
  next: SymbolSeries | undefined = undefined;
  readonly sameHash: SymbolSeries | undefined;
  /** The metadata that is known to be kept. */
  type = 0;
  help: KnownSymbol | undefined = undefined;
  unit: KnownSymbol | undefined = undefined;

  constructor(symbols: readonly KnownSymbol[], series: KnownSeries, sameHash: SymbolSeries | undefined) {
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

/** A text is the reason to refuse the series. */
type ParseLabels = (scanner: WireReader, from: number, to: number) => ParsedSeries | string;

/** What senders to one database and table sent before: a series is parsed when it comes for the first time. */
export class SeriesCache {
  /** What the next request is expected to begin with. */
  guess: KnownSeries | undefined = undefined;
  symbolGuess: SymbolSeries | undefined = undefined;
  firstSymbol: KnownSymbol | undefined = undefined;
  /** Counts how often the cache was emptied. */
  epoch = 0;
  /** All series that are kept, in the order in which they came; another array once they are forgotten. */
  numbered: KnownSeries[] = [];
  readonly #memory: SeriesMemory;
  readonly #parse: ParseLabels;
  #bytes = 0;
  #store = new ByteStore();
  readonly #series = new Map<number, KnownSeries>();
  readonly #symbols = new Map<number, KnownSymbol>();
  readonly #bySymbols = new Map<number, SymbolSeries>();
  readonly #targets = new Map<string, Target>();
  readonly #metadata = new Set<string>();

  constructor(memory: SeriesMemory, rules: LabelRules) {
    this.#memory = memory;
    const usual = new UsualLabels(rules);
    this.#parse = (scanner, from, to) => usual.parse(scanner, from, to) ?? parseSeries(scanner, from, to, rules);
    memory.add(this);
  }

  /**
   * The series whose labels are `[from, to)`; a text is the reason to refuse it.
   *
   * @param defaultTable where series go whose labels name no table; the same for all calls.
   */
  series(scanner: WireReader, from: number, to: number, defaultTable: string): KnownSeries | string {
    const length = to - from;
    const hash = hashBytes(scanner.view, from, to);
    let sameCount = 0;
    for (let known = this.#series.get(hash); known !== undefined; known = known.sameHash, sameCount++) {
      if (known.length === length && known.equals(scanner.view, from)) return known;
    }
    const parse = this.#parse;
    const parsed = parse(scanner, from, to);
    if (typeof parsed === 'string') return parsed;
    const isKept = length <= KEY_BYTES_MAX && sameCount < SAME_HASH_MAX;
    if (isKept) this.#makeRoom(length + SERIES_OVERHEAD_BYTES);
    const place = isKept ? this.#store.add(scanner.bytes, from, to) : copied(scanner.bytes, from, to);
    const target = this.#target(parsed.database, parsed.table);
    // Tags are rarely asked for again: the bytes are a tenth of the size of the objects.
    const tags = (): readonly Tag[] => tagsOf(place, parse);
    const entry = new SeriesEntry(target.table ?? defaultTable, seriesId(parsed.tags), tags);
    const known = new KnownSeries(place, entry, parsed.metric, target, this.#series.get(hash));
    if (isKept) {
      this.#series.set(hash, known);
      this.numbered.push(known);
      this.#take(length + SERIES_OVERHEAD_BYTES);
    }
    return known;
  }

  /** The one object for the text `[from, to)`. */
  symbol(scanner: WireReader, from: number, to: number): KnownSymbol {
    const length = to - from;
    const hash = hashBytes(scanner.view, from, to);
    let sameCount = 0;
    for (let known = this.#symbols.get(hash); known !== undefined; known = known.sameHash, sameCount++) {
      if (known.length === length && known.equals(scanner.view, from)) return known;
    }
    const isKept = length <= KEY_BYTES_MAX && sameCount < SAME_HASH_MAX;
    if (isKept) this.#makeRoom(length + SYMBOL_OVERHEAD_BYTES);
    const place = isKept ? this.#store.add(scanner.bytes, from, to) : copied(scanner.bytes, from, to);
    const symbol = new KnownSymbol(place, hash, this.#symbols.get(hash));
    if (isKept) {
      this.#symbols.set(hash, symbol);
      this.#take(length + SYMBOL_OVERHEAD_BYTES);
    }
    return symbol;
  }

  /** The series of these symbols, names and values in turn, if they came before. */
  findBySymbols(symbols: readonly KnownSymbol[], count: number): SymbolSeries | undefined {
    let known = this.#bySymbols.get(hashSymbols(symbols, count));
    while (known !== undefined && !known.hasSymbols(symbols, count)) known = known.sameHash;
    return known;
  }

  addBySymbols(symbols: readonly KnownSymbol[], series: KnownSeries): SymbolSeries {
    const bytes = SERIES_OVERHEAD_BYTES + 8 * symbols.length;
    const hash = hashSymbols(symbols, symbols.length);
    let sameCount = 0;
    for (let same = this.#bySymbols.get(hash); same !== undefined; same = same.sameHash) sameCount++;
    // Symbols that were too long to be kept come as other objects the next time.
    const isKept = series.length <= KEY_BYTES_MAX && sameCount < SAME_HASH_MAX;
    if (isKept) this.#makeRoom(bytes);
    const known = new SymbolSeries(symbols, series, this.#bySymbols.get(hash));
    if (isKept) {
      this.#bySymbols.set(hash, known);
      this.#take(bytes);
    }
    return known;
  }

  hasMetadata(key: string): boolean {
    return this.#metadata.has(key);
  }

  /** Remembers metadata that is kept. */
  addMetadata(key: string): void {
    if (this.#metadata.has(key)) return;
    const bytes = 2 * key.length + SYMBOL_OVERHEAD_BYTES;
    this.#makeRoom(bytes);
    this.#metadata.add(key);
    this.#take(bytes);
  }

  clear(): void {
    this.#series.clear();
    this.numbered = [];
    this.#symbols.clear();
    this.#bySymbols.clear();
    this.#targets.clear();
    this.#metadata.clear();
    this.#memory.usedBytes -= this.#bytes;
    this.#bytes = 0;
    this.#store = new ByteStore();
    this.guess = undefined;
    this.symbolGuess = undefined;
    this.firstSymbol = undefined;
    this.epoch++;
  }

  #target(database: string | undefined, table: string | undefined): Target {
    const key = `${database ?? ''}\n${table ?? ''}`;
    let target = this.#targets.get(key);
    if (target === undefined) {
      target = new Target(database, table);
      this.#targets.set(key, target);
      this.#take(2 * key.length + SYMBOL_OVERHEAD_BYTES);
    }
    return target;
  }

  /** Counts what others remember of its series; it is forgotten with them. */
  charge(bytes: number): void {
    this.#take(bytes);
  }

  #makeRoom(bytes: number): void {
    if (this.#memory.usedBytes + bytes > this.#memory.limitBytes) this.#memory.clear();
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    this.#memory.usedBytes += bytes;
  }
}

function tagsOf(place: Place, parse: ParseLabels): readonly Tag[] {
  const parsed = parse(new WireReader(bytesOf(place)), 0, place.length);
  return typeof parsed === 'string' ? [] : parsed.tags;
}

function hashSymbols(symbols: readonly KnownSymbol[], count: number): number {
  let hash = SEED ^ count;
  for (let i = 0; i < count; i++) {
    hash = mixed(hash ^ symbols[i].hash);
  }
  return hash;
}
