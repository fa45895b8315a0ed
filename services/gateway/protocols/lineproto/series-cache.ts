import { hash32 } from '#shared/bytes/hash64';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { SeriesEntry, type TableBuilder } from '#shared/rowbatch/builder';
import { seriesId, type Tag } from '#shared/rowbatch/series-key';

import type { SeriesMemory } from '../common/series-memory.js';
import { parseKey, type ParsedKey } from './key.js';

const CHUNK_BYTES_MIN = 4 * 1024;
const CHUNK_BYTES_MAX = 256 * 1024;
/** Objects of one known key, by heap snapshot: the key, its series entry, the id, a place in the map. */
const KEY_OVERHEAD_BYTES = 280;
const SLOT_OVERHEAD_BYTES = 400;
/** Longer keys are parsed anew each time. */
const KEY_BYTES_MAX = 8 * 1024;
const FIELD_BYTES_MAX = 255;
/** More keys of one hash do not come by chance: somebody makes them, and each would be compared with all others. */
const SAME_HASH_MAX = 8;

/** Bytes of many keys, one after the other. */
interface Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;
  used: number;
}

/** The raw bytes `measurement,tag=value` of a series, as a client writes them. */
export class KnownKey {
  readonly length: number;
  readonly entry: SeriesEntry;
  readonly table: KnownTable;
  /** Whether the cache has it. Others must not be guessed: that would keep them in memory, where nobody counts them. */
  readonly isKept: boolean;
  /** The key that came behind this one last time. */
  next: KnownKey | undefined = undefined;
  /** The next one with the same hash. */
  readonly sameHash: KnownKey | undefined;
  /** How many have its hash, from it on. */
  readonly sameHashCount: number;
  readonly #view: DataView;
  readonly #from: number;

  constructor(
    place: { readonly view: DataView; readonly from: number; readonly length: number },
    entry: SeriesEntry,
    table: KnownTable,
    isKept: boolean,
    sameHash: KnownKey | undefined,
  ) {
    this.#view = place.view;
    this.#from = place.from;
    this.length = place.length;
    this.entry = entry;
    this.table = table;
    this.isKept = isKept;
    this.sameHash = sameHash;
    this.sameHashCount = 1 + (sameHash?.sameHashCount ?? 0);
  }

  /**
   * Whether the bytes at `at` are this key; the caller has made sure that there are enough of them.
   *
   * Words of eight bytes are compared as doubles, which halves the time. Two that differ can only be equal as doubles
   * when they are 0 and -0, and -0 is no part of valid UTF-8.
   */
  equals(view: DataView, at: number): boolean {
    const known = this.#view;
    const from = this.#from;
    const { length } = this;
    let i = 0;
    for (; i + 8 <= length; i += 8) {
      if (view.getFloat64(at + i, true) !== known.getFloat64(from + i, true)) return false;
    }
    for (; i < length; i++) if (view.getUint8(at + i) !== known.getUint8(from + i)) return false;
    return true;
  }
}

/** A field name of a table, as a client writes it, with the `=` behind it. */
export class FieldSlot {
  readonly name: string;
  readonly length: number;
  /** The name that came behind this one in the line before. */
  next: FieldSlot | undefined = undefined;
  /** The builder that `field` belongs to. */
  owner: TableBuilder | undefined = undefined;
  field: FieldBuilder | undefined = undefined;
  readonly #view: DataView;

  /** @param raw own copy of the bytes. */
  constructor(name: string, raw: Uint8Array) {
    this.name = name;
    this.length = raw.length;
    this.#view = new DataView(raw.buffer, raw.byteOffset, raw.length);
  }

  /** Whether the bytes at `at` are this name and its `=`; the caller has made sure that there are enough of them. */
  equals(view: DataView, at: number): boolean {
    const known = this.#view;
    const { length } = this;
    let i = 0;
    for (; i + 4 <= length; i += 4) {
      if (view.getInt32(at + i, true) !== known.getInt32(i, true)) return false;
    }
    for (; i < length; i++) if (view.getUint8(at + i) !== known.getUint8(i)) return false;
    return true;
  }
}

/** What is known of a table's names. */
export class KnownTable {
  readonly name: string;
  /** The field that came first in the line before. */
  first: FieldSlot | undefined = undefined;
  /** Whether some name was seen as a tag and as a field, so that each line must be checked. */
  mayClash = false;
  readonly #tagNames = new Set<string>();
  /** By the raw bytes as Latin-1 text. */
  readonly #slots = new Map<string, FieldSlot>();
  readonly #fieldNames = new Set<string>();

  constructor(name: string) {
    this.name = name;
  }

  slot(raw: string): FieldSlot | undefined {
    return this.#slots.get(raw);
  }

  addSlot(raw: string, slot: FieldSlot): void {
    this.#slots.set(raw, slot);
    this.addFieldName(slot.name);
  }

  addFieldName(name: string): void {
    this.#fieldNames.add(name);
    if (this.#tagNames.has(name)) this.mayClash = true;
  }

  /** @returns how many names were new. */
  addTags(tags: readonly Tag[]): number {
    const before = this.#tagNames.size;
    for (const { name } of tags) {
      this.#tagNames.add(name);
      if (this.#fieldNames.has(name)) this.mayClash = true;
    }
    return this.#tagNames.size - before;
  }

  forgetBuilders(): void {
    for (const slot of this.#slots.values()) {
      slot.owner = undefined;
      slot.field = undefined;
    }
  }
}

/**
 * Keys and names that clients of one database sent before, so that tags are parsed once for each series and not once
 * for each line.
 */
export class SeriesCache {
  /** Key to start the next request with. */
  guess: KnownKey | undefined = undefined;
  /** Counts how often the cache was emptied. */
  epoch = 0;
  readonly #memory: SeriesMemory;
  #bytes = 0;
  #chunk: Chunk = newChunk(0);
  readonly #keys = new Map<number, KnownKey>();
  readonly #tables = new Map<string, KnownTable>();

  constructor(memory: SeriesMemory) {
    this.#memory = memory;
    memory.add(this);
  }

  /**
   * The key in `[from, to)`, if it is known.
   *
   * @param hash `hash32` of its bytes.
   */
  find(view: DataView, from: number, to: number, hash: number): KnownKey | undefined {
    const length = to - from;
    let known = this.#keys.get(hash | 0);
    while (known !== undefined && (known.length !== length || !known.equals(view, from))) known = known.sameHash;
    return known;
  }

  /** Remembers a key that `find` does not know; if it is not to be kept, it is only described. */
  add(bytes: Buffer, from: number, to: number, parsed: ParsedKey): KnownKey {
    this.#makeRoom(to - from);
    const length = to - from;
    const table = this.table(parsed.table);
    this.#take(table.addTags(parsed.tags) * SLOT_OVERHEAD_BYTES);
    const hash = hash32(bytes, from, to) | 0;
    const sameHash = this.#keys.get(hash);
    const hasRoom = (sameHash?.sameHashCount ?? 0) < SAME_HASH_MAX;
    const isKept = hasRoom && length <= KEY_BYTES_MAX && !parsed.isIrregular;
    const chunk = isKept ? this.#chunkFor(length) : newChunk(length);
    const place = { view: chunk.view, from: chunk.used, length };
    bytes.copy(chunk.bytes, chunk.used, from, to);
    chunk.used += length;
    const stored = chunk.bytes.subarray(place.from, place.from + length);
    // Tags are rarely asked for again: the key is a tenth of the size of the objects.
    const tags = (): readonly Tag[] => tagsOf(stored);
    const entry = new SeriesEntry(parsed.table, seriesId(parsed.tags), tags);
    const known = new KnownKey(place, entry, table, isKept, sameHash);
    if (isKept) {
      this.#keys.set(hash, known);
      this.#take(length + KEY_OVERHEAD_BYTES);
    }
    return known;
  }

  table(name: string): KnownTable {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = new KnownTable(name);
      this.#tables.set(name, table);
      this.#take(SLOT_OVERHEAD_BYTES);
    }
    return table;
  }

  /** Remembers a field name with its `=`; `undefined` if it is too long for that. */
  addSlot(table: KnownTable, name: string, raw: Buffer): FieldSlot | undefined {
    if (raw.length > FIELD_BYTES_MAX) return undefined;
    const slot = new FieldSlot(name, Uint8Array.from(raw));
    table.addSlot(raw.toString('latin1'), slot);
    this.#take(raw.length * 2 + SLOT_OVERHEAD_BYTES);
    return slot;
  }

  /** Lets go of the builders of a finished request. */
  forgetBuilders(tables: Iterable<string>): void {
    for (const name of tables) this.#tables.get(name)?.forgetBuilders();
  }

  clear(): void {
    this.#keys.clear();
    this.#tables.clear();
    this.#memory.usedBytes -= this.#bytes;
    this.#bytes = 0;
    this.#chunk = newChunk(0);
    this.guess = undefined;
    this.epoch++;
  }

  #makeRoom(length: number): void {
    const { usedBytes, limitBytes } = this.#memory;
    if (usedBytes + length + KEY_OVERHEAD_BYTES > limitBytes) this.#memory.clear();
  }

  #take(bytes: number): void {
    this.#bytes += bytes;
    this.#memory.usedBytes += bytes;
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

function tagsOf(stored: Buffer): readonly Tag[] {
  const parsed = parseKey(stored, 0, stored.length);
  return typeof parsed === 'string' ? [] : parsed.tags;
}
