/**
 * Series identity: a 64-bit ID of a tag set that every node computes alike.
 *
 * Hashed bytes, for each present tag in byte order of names: varint(length of name) name, one type byte,
 * varint(length of value) value. The value's text is canonical for its type. Null tags are omitted.
 */
import { hash64 } from '#shared/bytes/hash64';
import { writeVarint } from '#shared/bytes/varint';

/** One tag of a series; names and values are UTF-8. */
export interface Tag {
  readonly name: string;
  readonly value: Uint8Array;
}

/** Type bytes in the hashed bytes; part of the storage format. */
const STRING_BYTE = 1;
const TYPE_BYTES: Readonly<Record<string, number>> = {
  String: STRING_BYTE,
  Binary: 2,
  Json: 3,
  Boolean: 4,
  Int8: 5,
  Int16: 5,
  Int32: 5,
  Int64: 5,
  UInt8: 5,
  UInt16: 5,
  UInt32: 5,
  UInt64: 5,
  Float32: 6,
  Float64: 7,
  Date: 8,
};
const OTHER_TYPE_BYTE = 15;

const SCRATCH_BYTES = 16 * 1024;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
const halves = new Uint32Array(2);
/** Texts without these characters sort like their UTF-8 bytes. */
const FAR = /[\ud800-\uffff]/;

/**
 * The names of a tag set, and what is hashed of them. Series mostly have the same names as others before: to find these takes
 * less time than to sort and to encode them again.
 */
export class TagNames {
  readonly names: readonly string[];
  /** Positions of the tags in byte order of their names. */
  readonly order: readonly number[];
  /** The hashed bytes before each value, for tags of type String. */
  readonly heads: readonly Uint8Array[];
  /** Largest size of the hashed bytes, less the values. */
  readonly bytesMax: number;

  /** @param names unique; at most `KNOWN_NAMES_MAX`, because the object takes several times their memory. */
  constructor(names: readonly string[]) {
    this.names = names;
    this.order = orderOf(names);
    this.heads = names.map(headOf);
    this.bytesMax = this.heads.reduce((sum, { length }) => sum + length + VARINT_BYTES_MAX, 0);
  }
}

/** Larger sets of names are rare, and not kept. */
export const KNOWN_NAMES_MAX = 64;
/** Size in characters or bytes of all names of a set that is kept. */
export const KNOWN_CHARS_MAX = 4096;
/** As many sets of names are kept: ten megabytes of the largest ones. */
const KNOWN_SETS_MAX = 512;
/** After as many that were not kept, those before make room: to keep one takes several times longer than to do without. */
const MISSES_MAX = 16 * KNOWN_SETS_MAX;

/** What is known of sets of names, by a hash. */
export class KnownSets<V> {
  readonly #byHash = new Map<number, V>();
  #misses = 0;

  get(hash: number): V | undefined {
    return this.#byHash.get(hash);
  }

  /** Reports whether to keep a set that is missing. */
  hasRoom(): boolean {
    if (this.#byHash.size < KNOWN_SETS_MAX) return true;
    if (++this.#misses < MISSES_MAX) return false;
    this.#misses = 0;
    this.#byHash.clear();
    return true;
  }

  set(hash: number, value: V): void {
    this.#byHash.set(hash, value);
  }
}

const VARINT_BYTES_MAX = 5;
/** A varint and a type. */
const HEAD_BYTES_MAX = VARINT_BYTES_MAX + 1;

function headOf(name: string): Uint8Array {
  const head = new Uint8Array(HEAD_BYTES_MAX + Buffer.byteLength(name));
  return head.subarray(0, writeHead(Buffer.from(head.buffer), 0, name, STRING_BYTE));
}

/** Writes what is hashed before a value. @returns the position after it. */
function writeHead(bytes: Buffer, from: number, name: string, typeByte: number): number {
  let at = writeVarint(bytes, from, Buffer.byteLength(name));
  at += bytes.write(name, at);
  bytes[at++] = typeByte;
  return at;
}

const knownSets = new KnownSets<TagNames>();

/** Returns what is known of the names of tags; undefined if it is not kept. */
function knownNames(tags: readonly Tag[]): TagNames | undefined {
  if (tags.length > KNOWN_NAMES_MAX) return undefined;
  let hash = 0;
  let length = 0;
  for (const { name } of tags) {
    length += name.length;
    if (length > KNOWN_CHARS_MAX) return undefined;
    hash = (Math.imul(hash, 31) + name.length) | 0;
    for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0;
  }
  const known = knownSets.get(hash);
  if (known !== undefined && haveNames(tags, known.names)) return known;
  if (!knownSets.hasRoom()) return undefined;
  const fresh = new TagNames(tags.map(({ name }) => name));
  knownSets.set(hash, fresh);
  return fresh;
}

/** Returns whether tags have these names, in this order. */
export function haveNames(tags: readonly Tag[], names: readonly string[]): boolean {
  if (tags.length !== names.length) return false;
  for (let i = 0; i < names.length; i++) if (tags[i].name !== names[i]) return false;
  return true;
}

function orderOf(names: readonly string[]): number[] {
  return [...names.keys()].sort((a, b) => compareNames(names[a], names[b]));
}

/**
 * Computes the ID of a tag set.
 *
 * @param tags present tags in any order, names unique.
 * @param typeOf returns the native type of a tag's column; undefined: all are `String`, as for all protocols but SQL.
 */
export function seriesId(tags: readonly Tag[], typeOf?: (name: string) => string): bigint {
  const known = typeOf === undefined ? knownNames(tags) : undefined;
  let most = 0;
  for (const { name, value } of tags) most += 3 * name.length + value.length + HEAD_BYTES_MAX + VARINT_BYTES_MAX;
  const bytes = most <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(most);
  let at = 0;
  for (const position of known?.order ?? orderOf(tags.map(({ name }) => name))) {
    const { name, value } = tags[position];
    const typeByte = typeOf === undefined ? STRING_BYTE : (TYPE_BYTES[typeOf(name)] ?? OTHER_TYPE_BYTE);
    const head = known?.heads[position];
    at = head === undefined ? writeHead(bytes, at, name, typeByte) : copyBytes(bytes, at, head, 0, head.length);
    at = writeVarint(bytes, at, value.length);
    at = copyBytes(bytes, at, value, 0, value.length);
  }
  return hashOf(bytes, at);
}

/** Computes the ID of a set of tags of type String. @param ranges value `i` is `source[ranges[2 * i], ranges[2 * i + 1])`. */
export function seriesIdAt(
  { order, heads, bytesMax }: TagNames,
  source: Uint8Array,
  ranges: readonly number[],
): bigint {
  let most = bytesMax;
  for (const position of order) most += ranges[2 * position + 1] - ranges[2 * position];
  const bytes = most <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(most);
  let at = 0;
  for (const position of order) {
    const [from, to] = [ranges[2 * position], ranges[2 * position + 1]];
    at = copyBytes(bytes, at, heads[position], 0, heads[position].length);
    at = writeVarint(bytes, at, to - from);
    at = copyBytes(bytes, at, source, from, to);
  }
  return hashOf(bytes, at);
}

function hashOf(bytes: Uint8Array, length: number): bigint {
  hash64(bytes, 0, length, halves);
  return (BigInt(halves[1]) << 32n) | BigInt(halves[0]);
}

/** A loop copies fewer bytes faster than `set`. */
const SHORT_BYTES = 32;

/** Copies `source[from, to)` to `at`. @returns the position after it. */
function copyBytes(target: Uint8Array, at: number, source: Uint8Array, from: number, to: number): number {
  if (to - from > SHORT_BYTES) target.set(source.subarray(from, to), at);
  else for (let i = from; i < to; i++) target[at + i - from] = source[i];
  return at + to - from;
}

/** Compares names by the order of their UTF-8 bytes. */
export function compareNames(a: string, b: string): number {
  if (FAR.test(a) || FAR.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
