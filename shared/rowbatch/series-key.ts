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
const TYPE_BYTES: Readonly<Record<string, number>> = {
  String: 1,
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
 * Computes the ID of a tag set.
 *
 * @param tags present tags in any order, names unique.
 * @param typeOf returns the native type of a tag's column; `String` for all protocols but SQL.
 */
export function seriesId(tags: readonly Tag[], typeOf: (name: string) => string = () => 'String'): bigint {
  const sorted = isSorted(tags) ? tags : tags.toSorted((a, b) => compareNames(a.name, b.name));
  let most = 0;
  for (const { name, value } of sorted) most += 3 * name.length + value.length + OVERHEAD_BYTES_MAX;
  const bytes = most <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(most);
  let at = 0;
  for (const { name, value } of sorted) {
    at = writeVarint(bytes, at, Buffer.byteLength(name));
    at += bytes.write(name, at);
    bytes[at++] = TYPE_BYTES[typeOf(name)] ?? OTHER_TYPE_BYTE;
    at = writeVarint(bytes, at, value.length);
    bytes.set(value, at);
    at += value.length;
  }
  hash64(bytes, 0, at, halves);
  return (BigInt(halves[1]) << 32n) | BigInt(halves[0]);
}

/** Two lengths and a type. */
const OVERHEAD_BYTES_MAX = 11;

/** Returns whether the names are certainly in byte order, as those of most senders are. */
function isSorted(tags: readonly Tag[]): boolean {
  for (let i = 0; i < tags.length; i++) {
    if (FAR.test(tags[i].name) || (i > 0 && tags[i - 1].name >= tags[i].name)) return false;
  }
  return true;
}

/** Compares names by the order of their UTF-8 bytes. */
export function compareNames(a: string, b: string): number {
  if (FAR.test(a) || FAR.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
