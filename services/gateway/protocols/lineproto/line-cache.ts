import { hash32 } from '#shared/bytes/hash64';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { SeriesEntry, type TableBuilder } from '#shared/rowbatch/builder';
import type { Tag } from '#shared/rowbatch/series-key';

import type { CacheMemory } from '../common/cache-memory.js';
import { bytesOfRange, ByteStore, copyRange, type ByteRange } from '../common/known-bytes.js';
import { keyTags, type ParsedKey } from './key.js';

/** Heap bytes of one known key, by heap snapshot: key, series entry, ID and map entry. */
const KEY_OVERHEAD_BYTES = 296;
const SLOT_OVERHEAD_BYTES = 400;
/** Heap bytes of an array of names that series share, and of each name. */
const NAMES_BYTES = 100;
const NAME_BYTES = 40;
/** Longer keys are parsed again each time. */
const KEY_BYTES_MAX = 8 * 1024;
const FIELD_BYTES_MAX = 255;
/** Further keys with the same hash are not kept, so that no client can make a search long. */
const SAME_HASH_MAX = 8;

/** A series by its raw key: the bytes `measurement,tag=value` as a client writes them. */
export class KnownKey {
  readonly length: number;
  readonly entry: SeriesEntry;
  readonly table: KnownTable;
  /** Whether the cache holds the key. Others must not be guesses, which would keep them in memory that is not counted. */
  readonly isKept: boolean;
  /** The key that followed this one in an earlier request. */
  next: KnownKey | undefined = undefined;
  /** The next one with the same hash. */
  readonly sameHash: KnownKey | undefined;
  /** Number of keys with the same hash, from this one on. */
  readonly sameHashCount: number;
  readonly #view: DataView;
  readonly #from: number;

  constructor(key: ByteRange, entry: SeriesEntry, table: KnownTable, isKept: boolean, sameHash: KnownKey | undefined) {
    this.#view = key.view;
    this.#from = key.from;
    this.length = key.length;
    this.entry = entry;
    this.table = table;
    this.isKept = isKept;
    this.sameHash = sameHash;
    this.sameHashCount = 1 + (sameHash?.sameHashCount ?? 0);
  }

  /**
   * Whether the bytes at `at` are this key; the caller has checked that there are enough of them.
   *
   * Words of eight bytes are compared as doubles, which halves the time. Two that differ can only be equal as doubles
   * if they are 0 and -0, and the bytes of -0 are not valid UTF-8.
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

/** A field name of a table as a client writes it, followed by `=`. */
export class FieldSlot {
  readonly name: string;
  readonly length: number;
  /** The name that followed this one in the previous line. */
  next: FieldSlot | undefined = undefined;
  /** The builder that `field` belongs to. */
  owner: TableBuilder | undefined = undefined;
  field: FieldBuilder | undefined = undefined;
  readonly #view: DataView;

  /** @param raw bytes that nothing else changes. */
  constructor(name: string, raw: Uint8Array) {
    this.name = name;
    this.length = raw.length;
    this.#view = new DataView(raw.buffer, raw.byteOffset, raw.length);
  }

  /** Whether the bytes at `at` are this name and its `=`; the caller has checked that there are enough of them. */
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

/** The names of the tags and fields of a table. */
export class KnownTable {
  readonly name: string;
  /** The first field of the previous line. */
  first: FieldSlot | undefined = undefined;
  /** Whether a name was both a tag and a field, so that each line must be checked. */
  mayClash = false;
  readonly #tagNames = new Set<string>();
  /** The arrays of names that series share. */
  readonly #nameSets = new Set<readonly string[]>();
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

  /** Adds the names of a series. @returns the bytes that they take. */
  addTags({ names, areNamesShared }: ParsedKey): number {
    if (this.#nameSets.has(names)) return 0;
    const before = this.#tagNames.size;
    for (const name of names) {
      this.#tagNames.add(name);
      if (this.#fieldNames.has(name)) this.mayClash = true;
    }
    const bytes = (this.#tagNames.size - before) * SLOT_OVERHEAD_BYTES;
    if (!areNamesShared) return bytes;
    this.#nameSets.add(names);
    return bytes + NAMES_BYTES + names.reduce((sum, { length }) => sum + NAME_BYTES + 2 * length, 0);
  }

  forgetBuilders(): void {
    for (const slot of this.#slots.values()) {
      slot.owner = undefined;
      slot.field = undefined;
    }
  }
}

/**
 * Keys and names that clients of one database sent before, so that tags are parsed once per series instead of once
 * per line.
 */
export class LineCache {
  /** The key that the next request is expected to begin with. */
  guess: KnownKey | undefined = undefined;
  /** Increases each time the cache is emptied. */
  epoch = 0;
  readonly #memory: CacheMemory;
  #bytes = 0;
  #store = new ByteStore();
  readonly #keys = new Map<number, KnownKey>();
  readonly #tables = new Map<string, KnownTable>();

  constructor(memory: CacheMemory) {
    this.#memory = memory;
    memory.add(this);
  }

  /**
   * Returns the key in `[from, to)`, if it is known.
   *
   * @param hash `hash32` of its bytes.
   */
  find(view: DataView, from: number, to: number, hash: number): KnownKey | undefined {
    const length = to - from;
    let known = this.#keys.get(hash | 0);
    while (known !== undefined && (known.length !== length || !known.equals(view, from))) known = known.sameHash;
    return known;
  }

  /** Adds a key that `find` does not find; one that cannot be kept is returned as well. */
  add(bytes: Buffer, from: number, to: number, parsed: ParsedKey): KnownKey {
    this.#makeRoom(to - from);
    const length = to - from;
    const table = this.table(parsed.table);
    this.#reserve(table.addTags(parsed));
    const hash = hash32(bytes, from, to) | 0;
    const sameHash = this.#keys.get(hash);
    const hasRoom = (sameHash?.sameHashCount ?? 0) < SAME_HASH_MAX;
    const isKept = hasRoom && length <= KEY_BYTES_MAX && !parsed.isIrregular;
    const key = isKept ? this.#store.add(bytes, from, to) : copyRange(bytes, from, to);
    // Tags are rarely needed again, and the key takes a tenth of the memory of the objects.
    const tags = (): readonly Tag[] => keyTags(bytesOfRange(key));
    const entry = new SeriesEntry(parsed.table, parsed.id, tags, parsed.areNamesShared ? parsed.names : undefined);
    const known = new KnownKey(key, entry, table, isKept, sameHash);
    if (isKept) {
      this.#keys.set(hash, known);
      this.#reserve(length + KEY_OVERHEAD_BYTES);
    }
    return known;
  }

  table(name: string): KnownTable {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = new KnownTable(name);
      this.#tables.set(name, table);
      this.#reserve(SLOT_OVERHEAD_BYTES);
    }
    return table;
  }

  /** Adds a field name with its `=`; returns undefined if it is too long to be kept. */
  addSlot(table: KnownTable, name: string, raw: Buffer): FieldSlot | undefined {
    if (raw.length > FIELD_BYTES_MAX) return undefined;
    const slot = new FieldSlot(name, Uint8Array.from(raw));
    table.addSlot(raw.toString('latin1'), slot);
    this.#reserve(raw.length * 2 + SLOT_OVERHEAD_BYTES);
    return slot;
  }

  /** Drops references to the builders of a finished request. */
  forgetBuilders(tables: Iterable<string>): void {
    for (const name of tables) this.#tables.get(name)?.forgetBuilders();
  }

  clear(): void {
    this.#keys.clear();
    this.#tables.clear();
    this.#memory.usedBytes -= this.#bytes;
    this.#bytes = 0;
    this.#store = new ByteStore();
    this.guess = undefined;
    this.epoch++;
  }

  #makeRoom(length: number): void {
    const { usedBytes, limitBytes } = this.#memory;
    if (usedBytes + length + KEY_OVERHEAD_BYTES > limitBytes) this.#memory.clear();
  }

  #reserve(bytes: number): void {
    this.#bytes += bytes;
    this.#memory.usedBytes += bytes;
  }
}
