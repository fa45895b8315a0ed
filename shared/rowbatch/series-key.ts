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

/** Returns whether tags have these names, in this order. */
export function haveNames(tags: readonly Tag[], names: readonly string[]): boolean {
  if (tags.length !== names.length) return false;
  for (let i = 0; i < names.length; i++) if (tags[i].name !== names[i]) return false;
  return true;
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

/** The names of the tags of a series, and what its ID has of them. */
export class TagNames {
  readonly names: readonly string[];
  /** Positions of the tags in byte order of their names. */
  readonly order: readonly number[];
  /** The hashed bytes before each value, for tags of type String. */
  readonly heads: readonly Uint8Array[];
  /** Size of the hashed bytes, less the values. */
  readonly bytesMax: number;

  /** @param names unique. */
  constructor(names: readonly string[]) {
    this.names = names;
    this.order = [...names.keys()].sort((a, b) => compareNames(names[a], names[b]));
    this.heads = names.map(headOf);
    this.bytesMax = this.heads.reduce((sum, { length }) => sum + length + VARINT_BYTES_MAX, 0);
  }
}

const VARINT_BYTES_MAX = 5;

function headOf(name: string): Uint8Array {
  const text = Buffer.from(name);
  const head = new Uint8Array(VARINT_BYTES_MAX + text.length + 1);
  const at = writeVarint(head, 0, text.length);
  head.set(text, at);
  head[at + text.length] = STRING_BYTE;
  return head.subarray(0, at + text.length + 1);
}

/** Those of the last series: successive ones mostly have the same. */
let lastNames = new TagNames([]);

/**
 * Computes the ID of a tag set.
 *
 * @param tags present tags in any order, names unique.
 * @param typeOf returns the native type of a tag's column; undefined: all are `String`, as for all protocols but SQL.
 */
export function seriesId(tags: readonly Tag[], typeOf?: (name: string) => string): bigint {
  if (!haveNames(tags, lastNames.names)) lastNames = new TagNames(tags.map(({ name }) => name));
  const { order, heads, bytesMax } = lastNames;
  let most = bytesMax;
  for (const { value } of tags) most += value.length;
  const bytes = most <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(most);
  let at = 0;
  for (const position of order) {
    const { name, value } = tags[position];
    at = copyBytes(bytes, at, heads[position], 0, heads[position].length);
    if (typeOf !== undefined) bytes[at - 1] = TYPE_BYTES[typeOf(name)] ?? OTHER_TYPE_BYTE;
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

/** Longer texts take less time by `set`, which takes as long for any short one. */
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
