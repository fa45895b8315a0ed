import { SeriesEntry } from '#shared/rowbatch/builder';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';
import { systemRandom } from '#shared/clock/random';

import type { SeriesMemory } from '../common/series-memory.js';
import { parseSeries, type LabelRules } from './labels.js';
import { WireScanner } from './wire.js';

const CHUNK_BYTES_MIN = 4 * 1024;
const CHUNK_BYTES_MAX = 256 * 1024;
/** Objects of one known series: key, series entry, id, a place in the map. */
const SERIES_OVERHEAD_BYTES = 300;
const SYMBOL_OVERHEAD_BYTES = 200;
/** Longer ones are parsed anew each time. */
const KEY_BYTES_MAX = 64 * 1024;
/** What more entries have the same hash is not kept: nobody shall make a search long. */
const SAME_HASH_MAX = 16;

/**
 * Entries with the same hash have to be searched one by one: nobody shall know which those are. A seed alone would not
 * do, as the topmost bit of a word passes every multiplication by an odd number; the second factor, behind a shift,
 * spreads it in a way that is not known.
 */
const [SEED, FACTOR, SECOND_FACTOR] = secretWords();

function secretWords(): [number, number, number] {
  const bytes = Buffer.from(systemRandom.bytes(12));
  // Only multiplications by odd numbers lose nothing.
  return [bytes.readInt32LE(0), bytes.readInt32LE(4) | 1, bytes.readInt32LE(8) | 1];
}

/** The database and the physical metric table that labels name; undefined where they leave it to the request. */
export class Target {
  readonly database: string | undefined;
  readonly table: string | undefined;

  constructor(database: string | undefined, table: string | undefined) {
    this.database = database;
    this.table = table;
  }
}

/** Bytes that are compared with others. */
class KnownBytes {
  readonly length: number;
  readonly view: DataView;
  readonly from: number;

  constructor(view: DataView, from: number, length: number) {
    this.view = view;
    this.from = from;
    this.length = length;
  }

  /**
   * Whether the bytes at `at` are the same; the caller has made sure that there are enough of them.
   *
   * Words of eight bytes are compared as doubles, which halves the time. Among doubles only 0 and -0 are equal and have
   * other bits, so words of zeros are looked at again; and so are words that are no number, which equal nothing.
   */
  equals(view: DataView, at: number): boolean {
    const known = this.view;
    const { from, length } = this;
    let i = 0;
    for (; i + 8 <= length; i += 8) {
      const word = view.getFloat64(at + i, true);
      if (word !== known.getFloat64(from + i, true)) {
        if (!Number.isNaN(word) || !areSameBits(view, at + i, known, from + i)) return false;
      }
      if (word === 0 && view.getUint8(at + i + 7) !== known.getUint8(from + i + 7)) return false;
    }
    for (; i < length; i++) if (view.getUint8(at + i) !== known.getUint8(from + i)) return false;
    return true;
  }
}

/** Whether the eight bytes at the two places are the same. */
function areSameBits(a: DataView, atA: number, b: DataView, atB: number): boolean {
  return a.getInt32(atA) === b.getInt32(atB) && a.getInt32(atA + 4) === b.getInt32(atB + 4);
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

interface Place {
  readonly view: DataView;
  readonly from: number;
  readonly length: number;
}

interface Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;
  used: number;
}

/** What senders to one database and table sent before: a series is parsed when it comes for the first time. */
export class SeriesCache {
  /** What the next request is expected to begin with. */
  guess: KnownSeries | undefined = undefined;
  symbolGuess: SymbolSeries | undefined = undefined;
  firstSymbol: KnownSymbol | undefined = undefined;
  /** Counts how often the cache was emptied. */
  epoch = 0;
  readonly #memory: SeriesMemory;
  readonly #rules: LabelRules;
  #bytes = 0;
  #chunk: Chunk = newChunk(0);
  readonly #series = new Map<number, KnownSeries>();
  readonly #symbols = new Map<number, KnownSymbol>();
  readonly #bySymbols = new Map<number, SymbolSeries>();
  readonly #targets = new Map<string, Target>();
  readonly #metadata = new Set<string>();

  constructor(memory: SeriesMemory, rules: LabelRules) {
    this.#memory = memory;
    this.#rules = rules;
    memory.add(this);
  }

  /**
   * The series whose labels are `[from, to)`; a text is the reason to refuse it.
   *
   * @param defaultTable where series go whose labels name no table; the same for all calls.
   */
  series(scanner: WireScanner, from: number, to: number, defaultTable: string): KnownSeries | string {
    const length = to - from;
    const hash = hashBytes(scanner.view, from, to);
    let sameCount = 0;
    for (let known = this.#series.get(hash); known !== undefined; known = known.sameHash, sameCount++) {
      if (known.length === length && known.equals(scanner.view, from)) return known;
    }
    const parsed = parseSeries(scanner, from, to, this.#rules);
    if (typeof parsed === 'string') return parsed;
    const isKept = length <= KEY_BYTES_MAX && sameCount < SAME_HASH_MAX;
    if (isKept) this.#makeRoom(length + SERIES_OVERHEAD_BYTES);
    const place = this.#place(scanner.bytes.subarray(from, to), isKept);
    const target = this.#target(parsed.database, parsed.table);
    // Tags are rarely asked for again: the bytes are a tenth of the size of the objects.
    const tags = (): readonly Tag[] => tagsOf(place, this.#rules);
    const entry = new SeriesEntry(target.table ?? defaultTable, seriesId(parsed.tags), tags);
    const known = new KnownSeries(place, entry, parsed.metric, target, this.#series.get(hash));
    if (isKept) {
      this.#series.set(hash, known);
      this.#take(length + SERIES_OVERHEAD_BYTES);
    }
    return known;
  }

  /** The one object for the text `[from, to)`. */
  symbol(scanner: WireScanner, from: number, to: number): KnownSymbol {
    const length = to - from;
    const hash = hashBytes(scanner.view, from, to);
    let sameCount = 0;
    for (let known = this.#symbols.get(hash); known !== undefined; known = known.sameHash, sameCount++) {
      if (known.length === length && known.equals(scanner.view, from)) return known;
    }
    const isKept = length <= KEY_BYTES_MAX && sameCount < SAME_HASH_MAX;
    if (isKept) this.#makeRoom(length + SYMBOL_OVERHEAD_BYTES);
    const place = this.#place(scanner.bytes.subarray(from, to), isKept);
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
    this.#symbols.clear();
    this.#bySymbols.clear();
    this.#targets.clear();
    this.#metadata.clear();
    this.#memory.usedBytes -= this.#bytes;
    this.#bytes = 0;
    this.#chunk = newChunk(0);
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

  #makeRoom(bytes: number): void {
    if (this.#memory.usedBytes + bytes > this.#memory.limitBytes) this.#memory.clear();
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    this.#memory.usedBytes += bytes;
  }

  /** A copy of the bytes. */
  #place(source: Buffer, isKept: boolean): Place {
    const { length } = source;
    const chunk = isKept ? this.#chunkFor(length) : newChunk(length);
    const from = chunk.used;
    source.copy(chunk.bytes, from);
    chunk.used += length;
    return { view: chunk.view, from, length };
  }

  #chunkFor(length: number): Chunk {
    // Entries that are in use keep their own chunk alive.
    const size = this.#chunk.bytes.length;
    if (this.#chunk.used + length > size) {
      this.#chunk = newChunk(Math.max(length, CHUNK_BYTES_MIN, Math.min(CHUNK_BYTES_MAX, size * 2)));
    }
    return this.#chunk;
  }
}

function newChunk(length: number): Chunk {
  const bytes = Buffer.allocUnsafeSlow(length);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length), used: 0 };
}

function bytesOf({ view, from, length }: Place): Buffer {
  return Buffer.from(view.buffer as ArrayBuffer, view.byteOffset + from, length);
}

function tagsOf(place: Place, rules: LabelRules): readonly Tag[] {
  const parsed = parseSeries(new WireScanner(bytesOf(place)), 0, place.length, rules);
  return typeof parsed === 'string' ? [] : parsed.tags;
}

function hashBytes(view: DataView, from: number, to: number): number {
  // Two hashes of every second word each: a processor works on both at the same time.
  let hash = SEED;
  let other = SEED;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    hash = mixed(hash ^ view.getInt32(at, true));
    other = mixed(other ^ view.getInt32(at + 4, true));
  }
  hash = mixed(hash ^ (to - from)) ^ other;
  for (; at < to; at++) hash = Math.imul(hash ^ view.getUint8(at), FACTOR);
  return hash ^ (hash >>> 13);
}

function hashSymbols(symbols: readonly KnownSymbol[], count: number): number {
  let hash = SEED ^ count;
  for (let i = 0; i < count; i++) {
    hash = mixed(hash ^ symbols[i].hash);
  }
  return hash;
}

function mixed(word: number): number {
  const product = Math.imul(word, FACTOR);
  return Math.imul(product ^ (product >>> 16), SECOND_FACTOR);
}
