import { BACKSLASH, COMMA, EQUALS, LF, QUOTE, SPACE } from '#shared/bytes/ascii';
import { isReservedColumn } from '#shared/schema/segment-columns';
import { COLUMNS_MAX, NAME_BYTES_MAX } from '#shared/schema/names';
import { seriesId, seriesIdAt, TagNames, type Tag } from '#shared/rowbatch/series-key';

import { LastTexts } from './last-texts.js';

/** A parsed `measurement,tag=value,..`. */
export interface ParsedKey {
  readonly table: string;
  /** The same object for successive keys with the same names. */
  readonly names: TagNames;
  /** Of the series. */
  readonly id: bigint;
  /**
   * Whether it has a run of backslashes or a line break. Where such a key ends depends on the whole line, so it must
   * not be recognised by its own bytes alone.
   */
  readonly isIrregular: boolean;
}

const CONTROL = /[\u0000-\u001f\u007f]/;
/** Characters that a backslash escapes. */
const MEASUREMENT_SPECIALS = new Set([COMMA, SPACE, EQUALS, QUOTE]);
const TAG_SPECIALS = new Set([COMMA, SPACE, EQUALS]);

/** Returns where the key that starts at `from` ends: at the first space without a backslash before it, or at `to`. */
export function findKeyEnd(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from + 1; at < to; at++) {
    if (bytes[at] === SPACE && bytes[at - 1] !== BACKSLASH) return at;
  }
  return to;
}

/** The parts of a key, until the next one is divided. */
const parts = {
  table: '',
  hasEscapes: false,
  isIrregular: false,
  /** Number of tags. */
  count: 0,
  names: [] as string[],
  /** The value of tag `i`, with its escapes, is `bytes[ranges[2 * i], ranges[2 * i + 1])`. */
  ranges: [] as number[],
};

/** What successive keys mostly have in common: a new series costs a fraction of what its texts would. */
const lastTables = new LastTexts();
const lastTexts = new LastTexts();
/** Names that are distinct, and not too many. */
let lastNames = new TagNames([]);
/** Names that are allowed for columns. */
let allowedNames: TagNames | undefined;

/**
 * Parses the key `bytes[from, to)`.
 *
 * @returns the reason in the words of the protocol if it is malformed.
 */
export function parseKey(bytes: Buffer, from: number, to: number): ParsedKey | string {
  const reason = divideKey(bytes, from, to);
  if (reason !== '') return reason;
  const { table, hasEscapes, isIrregular, ranges } = parts;
  if (!areLastNames()) {
    const names = parts.names.slice(0, parts.count);
    if (new Set(names).size !== names.length) return 'duplicate tags';
    if (names.length >= COLUMNS_MAX) return `${names.length} tags exceed the limit of ${COLUMNS_MAX - 1}`;
    lastNames = new TagNames(names);
  }
  const id = hasEscapes ? seriesId(tagsOfParts(bytes)) : seriesIdAt(lastNames, bytes, ranges);
  return { table, names: lastNames, id, isIrregular };
}

/** Returns the tags of a key that `parseKey` accepts. Values may be views. */
export function keyTags(bytes: Buffer): Tag[] {
  return divideKey(bytes, 0, bytes.length) === '' ? tagsOfParts(bytes) : [];
}

/** Divides a key into `parts`. @returns the reason if it is malformed. */
function divideKey(bytes: Buffer, from: number, to: number): string {
  if (from === to || bytes[from] === COMMA) return 'missing measurement';
  const key = bytes.subarray(from, to);
  const hasEscapes = key.includes(BACKSLASH);
  const measurementEnd = findUnescaped(bytes, from + 1, to, COMMA);
  parts.hasEscapes = hasEscapes;
  parts.isIrregular = key.includes(LF) || (hasEscapes && hasEscapedBackslash(bytes, from, to));
  parts.table = hasEscapes
    ? withoutBackslashes(bytes, from, measurementEnd, MEASUREMENT_SPECIALS).toString()
    : lastTables.at(0, bytes, from, measurementEnd);
  parts.count = 0;
  for (let at = measurementEnd; at < to;) {
    const end = findUnescaped(bytes, at + 2, to, COMMA);
    const reason = divideTag(bytes, at + 1, end);
    if (reason !== '') return reason;
    at = end;
  }
  return '';
}

function tagsOfParts(bytes: Buffer): Tag[] {
  const { hasEscapes, count, names, ranges } = parts;
  const tags: Tag[] = [];
  for (let i = 0; i < count; i++) {
    const [from, to] = [ranges[2 * i], ranges[2 * i + 1]];
    const value = hasEscapes ? withoutBackslashes(bytes, from, to, TAG_SPECIALS) : bytes.subarray(from, to);
    tags.push({ name: names[i], value });
  }
  return tags;
}

function areLastNames(): boolean {
  const { names } = lastNames;
  if (names.length !== parts.count) return false;
  for (let i = 0; i < names.length; i++) if (parts.names[i] !== names[i]) return false;
  return true;
}

/** Returns why the names are not allowed for a table and its columns; empty if they are. */
export function keyNameProblem({ table, names }: ParsedKey): string {
  if (Buffer.byteLength(table) > NAME_BYTES_MAX) return `measurement name is longer than ${NAME_BYTES_MAX} bytes`;
  if (CONTROL.test(table)) return 'measurement name has control characters';
  if (names === allowedNames) return '';
  for (const name of names.names) {
    const problem = columnNameProblem('tag', name);
    if (problem !== '') return problem;
  }
  allowedNames = names;
  return '';
}

/** Returns why the name is not allowed for a column; empty if it is. */
export function columnNameProblem(kind: 'tag' | 'field', name: string): string {
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) return `${kind} name is longer than ${NAME_BYTES_MAX} bytes`;
  return isReservedColumn(name) ? `${kind} name "${name}" is reserved` : '';
}

/** Returns the bytes `[from, to)` without the backslashes that escape one of `specials`; a view if there are none. */
export function withoutBackslashes(bytes: Buffer, from: number, to: number, specials: ReadonlySet<number>): Buffer {
  const part = bytes.subarray(from, to);
  if (!part.includes(BACKSLASH)) return part;
  const out = Buffer.allocUnsafe(to - from);
  let length = 0;
  for (let at = from; at < to; at++) {
    if (bytes[at] === BACKSLASH && at + 1 < to && specials.has(bytes[at + 1])) continue;
    out[length++] = bytes[at];
  }
  return out.subarray(0, length);
}

/** Returns a field name without its escapes. */
export function unescapeFieldName(bytes: Buffer, from: number, to: number): string {
  return withoutBackslashes(bytes, from, to, TAG_SPECIALS).toString();
}

/** Returns the first position of `wanted` without a backslash before it, from `from` on; `to` if there is none. */
function findUnescaped(bytes: Buffer, from: number, to: number, wanted: number): number {
  for (let at = from; at < to; at++) if (bytes[at] === wanted && bytes[at - 1] !== BACKSLASH) return at;
  return to;
}

function divideTag(bytes: Buffer, from: number, to: number): string {
  if (from >= to || bytes[from] === COMMA || bytes[from] === EQUALS) return 'missing tag key';
  const equals = findUnescaped(bytes, from + 1, to, EQUALS);
  if (equals === to || equals + 1 === to) return 'missing tag value';
  if (bytes[equals + 1] === EQUALS || findUnescaped(bytes, equals + 2, to, EQUALS) !== to) return 'invalid tag format';
  const { count, hasEscapes } = parts;
  parts.names[count] = hasEscapes
    ? withoutBackslashes(bytes, from, equals, TAG_SPECIALS).toString()
    : lastTexts.at(count, bytes, from, equals);
  parts.ranges[2 * count] = equals + 1;
  parts.ranges[2 * count + 1] = to;
  parts.count++;
  return '';
}

function hasEscapedBackslash(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] === BACKSLASH && bytes[at + 1] === BACKSLASH) return true;
  return false;
}
