import { BACKSLASH, COMMA, EQUALS, LF, QUOTE, SPACE } from '#shared/bytes/ascii';
import { isReservedColumn } from '#shared/schema/segment-columns';
import { COLUMNS_MAX, NAME_BYTES_MAX } from '#shared/schema/names';
import type { Tag } from '#shared/rowbatch/series-key';

/** A parsed `measurement,tag=value,..`. Values of tags may be views into the parsed bytes. */
export interface ParsedKey {
  readonly table: string;
  readonly tags: readonly Tag[];
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

/**
 * Parses the key `bytes[from, to)`.
 *
 * @returns the reason in the words of the protocol if it is malformed.
 */
export function parseKey(bytes: Buffer, from: number, to: number): ParsedKey | string {
  if (from === to || bytes[from] === COMMA) return 'missing measurement';
  const measurementEnd = findUnescaped(bytes, from + 1, to, COMMA);
  const table = withoutBackslashes(bytes, from, measurementEnd, MEASUREMENT_SPECIALS).toString();
  const tags: Tag[] = [];
  for (let at = measurementEnd; at < to;) {
    const end = findUnescaped(bytes, at + 2, to, COMMA);
    const reason = parseTag(bytes, at + 1, end, tags);
    if (reason !== '') return reason;
    at = end;
  }
  if (hasDuplicates(tags)) return 'duplicate tags';
  if (tags.length >= COLUMNS_MAX) return `${tags.length} tags exceed the limit of ${COLUMNS_MAX - 1}`;
  return { table, tags, isIrregular: isIrregular(bytes, from, to) };
}

/** Returns why the names are not allowed for a table and its columns; empty if they are. */
export function keyNameProblem({ table, tags }: ParsedKey): string {
  if (Buffer.byteLength(table) > NAME_BYTES_MAX) return `measurement name is longer than ${NAME_BYTES_MAX} bytes`;
  if (CONTROL.test(table)) return 'measurement name has control characters';
  for (const { name } of tags) {
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

function parseTag(bytes: Buffer, from: number, to: number, tags: Tag[]): string {
  if (from >= to || bytes[from] === COMMA || bytes[from] === EQUALS) return 'missing tag key';
  const equals = findUnescaped(bytes, from + 1, to, EQUALS);
  if (equals === to || equals + 1 === to) return 'missing tag value';
  if (bytes[equals + 1] === EQUALS || findUnescaped(bytes, equals + 2, to, EQUALS) !== to) return 'invalid tag format';
  const name = withoutBackslashes(bytes, from, equals, TAG_SPECIALS).toString();
  tags.push({ name, value: withoutBackslashes(bytes, equals + 1, to, TAG_SPECIALS) });
  return '';
}

function hasDuplicates(tags: readonly Tag[]): boolean {
  if (tags.length < 2) return false;
  return new Set(tags.map(({ name }) => name)).size !== tags.length;
}

function isIrregular(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    if (bytes[at] === LF || (bytes[at] === BACKSLASH && bytes[at + 1] === BACKSLASH)) return true;
  }
  return false;
}
