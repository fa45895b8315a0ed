import { BACKSLASH, COMMA, EQUALS, LF, QUOTE, SPACE } from '#shared/bytes/ascii';
import { isReservedColumn } from '#shared/schema/segment-columns';
import { COLUMNS_MAX, NAME_BYTES_MAX } from '#shared/schema/names';
import {
  KNOWN_CHARS_MAX,
  KNOWN_NAMES_MAX,
  KnownSets,
  seriesId,
  seriesIdAt,
  TagNames,
  type Tag,
} from '#shared/rowbatch/series-key';

/** A parsed `measurement,tag=value,..`. */
export interface ParsedKey {
  readonly table: string;
  /** Names of the tags. */
  readonly names: readonly string[];
  /** Whether `names` is the array of an earlier key. */
  readonly areNamesShared: boolean;
  /** Why a tag cannot have its name; empty if all can. */
  readonly nameProblem: string;
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

/** Where the parts of a key are, until the next one is divided. */
const parts = {
  hasEscapes: false,
  measurementEnd: 0,
  /** Number of tags. */
  count: 0,
  /** The name of tag `i`, with its escapes, is `bytes[names[2 * i], names[2 * i + 1])`. */
  names: [] as number[],
  /** The same of its value. */
  values: [] as number[],
};

/** Names as a client writes them, without escapes. */
interface RawNames {
  readonly raw: readonly Uint8Array[];
  readonly names: TagNames;
  readonly problem: string;
}

/** Names of earlier keys by a hash: most keys have the same as others before, which are not decoded again. */
const rawSets = new KnownSets<RawNames>();

/**
 * Parses the key `bytes[from, to)`.
 *
 * @returns the reason in the words of the protocol if it is malformed.
 */
export function parseKey(bytes: Buffer, from: number, to: number): ParsedKey | string {
  const reason = divideKey(bytes, from, to);
  if (reason !== '') return reason;
  const { hasEscapes, measurementEnd, values } = parts;
  const table = hasEscapes
    ? withoutBackslashes(bytes, from, measurementEnd, MEASUREMENT_SPECIALS).toString()
    : bytes.toString('utf8', from, measurementEnd);
  const isIrregular = isIrregularKey(bytes, from, to);
  const hash = hasEscapes ? undefined : hashOfNames(bytes);
  const known = hash === undefined ? undefined : rawSets.get(hash);
  if (known !== undefined && areNames(known, bytes)) {
    const id = seriesIdAt(known.names, bytes, values);
    return { table, names: known.names.names, areNamesShared: true, nameProblem: known.problem, id, isIrregular };
  }
  const tags = tagsOfParts(bytes);
  const names = tags.map(({ name }) => name);
  if (new Set(names).size !== names.length) return 'duplicate tags';
  if (names.length >= COLUMNS_MAX) return `${names.length} tags exceed the limit of ${COLUMNS_MAX - 1}`;
  const nameProblem = tagNameProblem(names);
  const kept = hash === undefined ? undefined : keepNames(hash, names, nameProblem, bytes);
  const id = kept === undefined ? seriesId(tags) : seriesIdAt(kept, bytes, values);
  return { table, names, areNamesShared: false, nameProblem, id, isIrregular };
}

/** Keeps the names of `parts` for later keys. @returns undefined if there is no room. */
function keepNames(hash: number, names: readonly string[], problem: string, bytes: Buffer): TagNames | undefined {
  if (!rawSets.hasRoom()) return undefined;
  const kept = new TagNames(names);
  rawSets.set(hash, { raw: rawNames(bytes), names: kept, problem });
  return kept;
}

/** Returns the tags of a key that `parseKey` accepts. Values may be views. */
export function keyTags(bytes: Buffer): Tag[] {
  return divideKey(bytes, 0, bytes.length) === '' ? tagsOfParts(bytes) : [];
}

/** Divides a key into `parts`. @returns the reason if it is malformed. */
function divideKey(bytes: Buffer, from: number, to: number): string {
  if (from === to || bytes[from] === COMMA) return 'missing measurement';
  const measurementEnd = findUnescaped(bytes, from + 1, to, COMMA);
  parts.hasEscapes = bytes.subarray(from, to).includes(BACKSLASH);
  parts.measurementEnd = measurementEnd;
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
  const { hasEscapes, count, names, values } = parts;
  const tags: Tag[] = [];
  const partOf = (ranges: readonly number[], i: number): Buffer => {
    const [from, to] = [ranges[2 * i], ranges[2 * i + 1]];
    return hasEscapes ? withoutBackslashes(bytes, from, to, TAG_SPECIALS) : bytes.subarray(from, to);
  };
  for (let i = 0; i < count; i++) tags.push({ name: partOf(names, i).toString(), value: partOf(values, i) });
  return tags;
}

/** Returns the hash of the names of `parts`; undefined if they are too many or too long to be kept. */
function hashOfNames(bytes: Buffer): number | undefined {
  const { count, names } = parts;
  if (count > KNOWN_NAMES_MAX) return undefined;
  let hash = 0;
  let length = 0;
  for (let i = 0; i < count; i++) {
    const [from, to] = [names[2 * i], names[2 * i + 1]];
    length += to - from;
    if (length > KNOWN_CHARS_MAX) return undefined;
    hash = (Math.imul(hash, 31) + to - from) | 0;
    for (let at = from; at < to; at++) hash = (Math.imul(hash, 31) + bytes[at]) | 0;
  }
  return hash;
}

function rawNames(bytes: Buffer): Uint8Array[] {
  const raw: Uint8Array[] = [];
  for (let i = 0; i < parts.count; i++) {
    raw.push(Uint8Array.from(bytes.subarray(parts.names[2 * i], parts.names[2 * i + 1])));
  }
  return raw;
}

/** Returns whether `parts` have these names. */
function areNames({ raw }: RawNames, bytes: Buffer): boolean {
  const { count, names } = parts;
  if (raw.length !== count) return false;
  for (let i = 0; i < count; i++) {
    const one = raw[i];
    const from = names[2 * i];
    if (one.length !== names[2 * i + 1] - from) return false;
    for (let k = 0; k < one.length; k++) if (one[k] !== bytes[from + k]) return false;
  }
  return true;
}

/** Returns why the names are not allowed for a table and its columns; empty if they are. */
export function keyNameProblem({ table, nameProblem }: ParsedKey): string {
  if (Buffer.byteLength(table) > NAME_BYTES_MAX) return `measurement name is longer than ${NAME_BYTES_MAX} bytes`;
  if (CONTROL.test(table)) return 'measurement name has control characters';
  return nameProblem;
}

function tagNameProblem(names: readonly string[]): string {
  for (const name of names) {
    const problem = columnNameProblem('tag', name);
    if (problem !== '') return problem;
  }
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
  const at = 2 * parts.count++;
  parts.names[at] = from;
  parts.names[at + 1] = equals;
  parts.values[at] = equals + 1;
  parts.values[at + 1] = to;
  return '';
}

function isIrregularKey(bytes: Buffer, from: number, to: number): boolean {
  if (bytes.subarray(from, to).includes(LF)) return true;
  if (!parts.hasEscapes) return false;
  for (let at = from; at < to; at++) if (bytes[at] === BACKSLASH && bytes[at + 1] === BACKSLASH) return true;
  return false;
}
