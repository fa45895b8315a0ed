/**
 * Encoding of series definitions in write requests, log records and scans.
 *
 *   u32 count | count x definition
 *   definition: u32 length of the rest | u32 tsid low | u32 tsid high | tags
 *   tags: for each present tag, ascending column id: varint column id | varint length | value (UTF-8 or raw bytes)
 *
 * Integers are little-endian.
 */
import { ByteReader, varintLength, writeVarint } from '#shared/bytes/varint';
import { AlmanacError } from '#shared/errors/almanac-error';

/** A tag value of a series, by column ID. */
export interface SeriesTag {
  readonly columnId: number;
  readonly value: Uint8Array;
}

/** A series: its ID and its tags. */
export interface SeriesDefinition {
  readonly tsid: bigint;
  /** Present tags in ascending order of column IDs; encoded as in the format above. */
  readonly tags: Uint8Array;
}

const TSID_BYTES = 8;

/** The encoding of an empty list of definitions. */
export const NO_DEFINITIONS: Uint8Array = new Uint8Array(4);

/** Encodes the tags of one series. @param tags in ascending order of column IDs. */
export function encodeTags(tags: readonly SeriesTag[]): Uint8Array {
  let length = 0;
  for (const { columnId, value } of tags) {
    length += varintLength(columnId) + varintLength(value.length) + value.length;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const { columnId, value } of tags) {
    at = writeVarint(bytes, at, columnId);
    at = writeVarint(bytes, at, value.length);
    bytes.set(value, at);
    at += value.length;
  }
  return bytes;
}

/** Decodes the tags of one series; values are views. @throws `invalid_arguments` if the bytes are truncated. */
export function decodeTags(bytes: Uint8Array): SeriesTag[] {
  const reader = new ByteReader(bytes);
  const tags: SeriesTag[] = [];
  while (!reader.done) tags.push({ columnId: reader.varint(), value: reader.slice(reader.varint()) });
  return tags;
}

/** Returns the value of one tag of a series, as a view; undefined if the series lacks the tag. */
export function tagValue(bytes: Uint8Array, columnId: number): Uint8Array | undefined {
  const reader = new ByteReader(bytes);
  while (!reader.done) {
    const id = reader.varint();
    const value = reader.slice(reader.varint());
    if (id === columnId) return value;
  }
  return undefined;
}

/** Encodes a list of definitions. */
export function encodeDefinitions(definitions: readonly SeriesDefinition[]): Uint8Array {
  if (definitions.length === 0) return NO_DEFINITIONS;
  let length = 4;
  for (const { tags } of definitions) length += 12 + tags.length;
  const bytes = new Uint8Array(length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, definitions.length, true);
  let at = 4;
  for (const { tsid, tags } of definitions) {
    view.setUint32(at, 8 + tags.length, true);
    view.setBigUint64(at + 4, tsid, true);
    bytes.set(tags, at + 12);
    at += 12 + tags.length;
  }
  return bytes;
}

/** Decodes a list of definitions; tags are views. @throws `invalid_arguments` if they do not fill the bytes exactly. */
export function decodeDefinitions(bytes: Uint8Array): SeriesDefinition[] {
  if (bytes.length === 0) return [];
  const reader = new ByteReader(bytes);
  const count = reader.uint32();
  const definitions: SeriesDefinition[] = [];
  for (let i = 0; i < count; i++) {
    const length = reader.uint32();
    if (length < TSID_BYTES) throw malformed();
    const low = reader.uint32();
    const high = reader.uint32();
    definitions.push({ tsid: (BigInt(high) << 32n) | BigInt(low), tags: reader.slice(length - TSID_BYTES) });
  }
  if (!reader.done) throw malformed();
  return definitions;
}

function malformed(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'series definitions do not match their lengths');
}
