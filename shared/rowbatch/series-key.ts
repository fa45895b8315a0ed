/**
 * Series identity: a tag set becomes a 64-bit id that every node computes alike.
 *
 * Hashed bytes, for each present tag in byte order of names: varint(length of name) name, one type byte,
 * varint(length of value) value. The value's text is canonical for its type. A tag that is null is not there.
 */
import { hash64 } from '#shared/bytes/hash64';
import { varintLength, writeVarint } from '#shared/bytes/varint';

/** One tag of a series; names and values are UTF-8. */
export interface Tag {
  readonly name: string;
  readonly value: Uint8Array;
}

/** Type bytes of the hashed form; part of the storage format. */
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

const encoder = new TextEncoder();
const halves = new Uint32Array(2);

/**
 * The id of a tag set.
 *
 * @param tags present tags in any order, names unique.
 * @param typeOf native type of a tag's column; `String` for all protocols but SQL.
 */
export function seriesId(tags: readonly Tag[], typeOf: (name: string) => string = () => 'String'): bigint {
  const named = tags.map((tag) => ({ name: encoder.encode(tag.name), value: tag.value, type: typeOf(tag.name) }));
  named.sort((a, b) => compareBytes(a.name, b.name));
  let length = 0;
  for (const { name, value } of named) {
    length += varintLength(name.length) + name.length + 1 + varintLength(value.length) + value.length;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const { name, value, type } of named) {
    at = writeVarint(bytes, at, name.length);
    bytes.set(name, at);
    at += name.length;
    bytes[at++] = TYPE_BYTES[type] ?? OTHER_TYPE_BYTE;
    at = writeVarint(bytes, at, value.length);
    bytes.set(value, at);
    at += value.length;
  }
  hash64(bytes, 0, length, halves);
  return (BigInt(halves[1]) << 32n) | BigInt(halves[0]);
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}
