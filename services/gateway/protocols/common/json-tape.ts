import { isUtf8 } from 'node:buffer';

import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  DIGIT_0,
  DOT,
  LF,
  LOWER_E,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  SPACE,
  TAB,
  UPPER_E,
} from '#shared/bytes/ascii';
import { hasBytes } from '#shared/bytes/equal';
import { NumberScanner } from '#shared/bytes/parse-number';
import { AlmanacError } from '#shared/errors/almanac-error';

import { parseJson, stringifyJson } from './json.js';

/** How a tape reads objects. */
export interface JsonTapeOptions {
  /** Level of the object; default 1. */
  readonly level?: number;
  /** Members are distinguished as long as the level of their object is at most this; default 10. */
  readonly levelsMax?: number;
  /** Returns the text of an array, or of an object below the last level; default: compact JSON. */
  readonly listText?: (json: Buffer) => string;
}

/** What a value is. `escaped` is text with escapes, `empty` an object without members, `replaced` not valid any more. */
export const JsonKind = {
  null: 0,
  false: 1,
  true: 2,
  integer: 3,
  double: 4,
  text: 5,
  escaped: 6,
  /** A list, or an object below the last level of members. */
  list: 7,
  empty: 8,
  replaced: 9,
} as const;
/** What a value is. */
export type JsonKind = (typeof JsonKind)[keyof typeof JsonKind];

/** Objects inside each other whose members are distinguished. */
const LEVELS_MAX = 10;
/** Names of members in one request; they stay in memory until its end. */
const MEMBERS_MAX = 100_000;
/** Every integer of at most 15 digits is exact as a double. */
const EXACT_DIGITS = 15;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

const WORDS = [
  { kind: JsonKind.true, bytes: Buffer.from('true') },
  { kind: JsonKind.false, bytes: Buffer.from('false') },
  { kind: JsonKind.null, bytes: Buffer.from('null') },
];

/** A member of the objects of a request, by its path. */
export class JsonMember {
  /** The key, without escapes. */
  readonly key: Buffer;
  /** Whether the key is the same in JSON, without escapes. */
  readonly isPlain: boolean;
  /** The path: keys joined by dots. */
  readonly name: string;
  readonly parent: JsonMember | undefined;
  /** Objects are entered up to a level of the tape. */
  level: number;
  /** What the names of its own members begin with. */
  prefix: string;
  /** What a protocol does with the values; 0 until it decides. */
  use = 0;
  /** What rows have found out about the column of the values. */
  column: object | undefined = undefined;
  /** The last document that has the member. */
  document = 0;
  /** Members of the last object, by position: documents of one sender have the same keys in the same order. */
  readonly expected: JsonMember[] = [];
  readonly byKey = new Map<string, JsonMember>();

  constructor(key: string, parent: JsonMember | undefined, level: number) {
    this.key = Buffer.from(key);
    this.isPlain = this.key.every((byte) => byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH);
    this.name = parent === undefined ? key : parent.prefix + key;
    this.parent = parent;
    this.level = level;
    this.prefix = parent === undefined ? '' : `${this.name}.`;
  }
}

/**
 * Reads JSON objects from bytes to a list of values with their members, without an object or a text for each.
 *
 * Accepts what `JSON.parse` accepts, of which the last of several members with the same name counts.
 */
export class JsonTape {
  readonly root: JsonMember;
  /** Number of values of the object that was read last. */
  count = 0;
  /** By value: its member, its `JsonKind`, and the bytes of its text, without quotes. */
  readonly members: JsonMember[] = [];
  readonly kinds: JsonKind[] = [];
  readonly from: number[] = [];
  readonly to: number[] = [];
  bytes: Buffer = Buffer.alloc(0);
  readonly #levelsMax: number;
  readonly #listText: (json: Buffer) => string;
  readonly #numbers = new NumberScanner();
  readonly #lists = new Map<number, string>();
  #end = 0;
  #document = 0;
  #memberCount = 0;
  #checked: Buffer | undefined = undefined;
  #isUtf8 = false;

  constructor({ level = 1, levelsMax = LEVELS_MAX, listText = plainListText }: JsonTapeOptions = {}) {
    this.root = new JsonMember('', undefined, level);
    this.#levelsMax = levelsMax;
    this.#listText = listText;
  }

  /** Returns the member of the object with this key. @throws `invalid_arguments` if there are too many. */
  memberOf(parent: JsonMember, key: string): JsonMember {
    const known = parent.byKey.get(key);
    if (known !== undefined) return known;
    if (++this.#memberCount > MEMBERS_MAX) {
      throw new AlmanacError('invalid_arguments', `request has more than ${MEMBERS_MAX} names of members`, {
        http: 413,
      });
    }
    const member = new JsonMember(key, parent, parent.level + 1);
    parent.byKey.set(key, member);
    return member;
  }

  /**
   * Reads the object that begins at `from`, after spaces. Returns the position after it.
   *
   * @throws `invalid_arguments` if it is malformed, or not complete before `end`.
   */
  read(bytes: Buffer, from: number, end: number): number {
    this.bytes = bytes;
    this.#end = end;
    this.#document++;
    this.count = 0;
    if (this.#lists.size > 0) this.#lists.clear();
    const start = this.#afterSpace(from);
    if (this.#byteAt(start) !== OPEN_BRACE) throw malformed(start - from);
    try {
      const to = this.#object(start + 1, this.root);
      if (!this.#hasUtf8(start, to)) throw new AlmanacError('invalid_arguments', 'JSON is not valid UTF-8');
      return to;
    } catch (error) {
      if (error instanceof MalformedJson) throw malformed(error.at - from);
      throw error;
    }
  }

  /** Returns the text of a value: of text the content, of everything else the JSON. */
  text(index: number): string {
    const list = this.#lists.get(index);
    if (list !== undefined) return list;
    const from = this.from[index];
    const to = this.to[index];
    if (this.kinds[index] === JsonKind.escaped) {
      return JSON.parse(this.bytes.toString('utf8', from - 1, to + 1)) as string;
    }
    return this.bytes.toString('utf8', from, to);
  }

  /** Returns an integer or a double as a double. */
  number(index: number): number {
    this.#numbers.scan(this.bytes, this.from[index], this.to[index]);
    return this.#numbers.value;
  }

  /** Returns an integer; a bigint if a double might not hold it; undefined if 64 bits do not. */
  integer(index: number): number | bigint | undefined {
    const from = this.from[index];
    if (this.to[index] - from <= EXACT_DIGITS) return this.number(index);
    const value = BigInt(this.bytes.toString('latin1', from, this.to[index]));
    return value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
  }

  #afterSpace(from: number): number {
    return afterJsonSpace(this.bytes, from, this.#end);
  }

  #byteAt(at: number): number {
    return at < this.#end ? this.bytes[at] : -1;
  }

  /** Reads the members of an object, and returns the position after it. */
  #object(from: number, owner: JsonMember): number {
    const { bytes } = this;
    let at = this.#afterSpace(from);
    if (this.#byteAt(at) === CLOSE_BRACE) {
      this.#add(owner, JsonKind.empty, at, at);
      return at + 1;
    }
    for (let position = 0; ; position++) {
      if (this.#byteAt(at) !== QUOTE) throw new MalformedJson(at);
      const expected = owner.expected[position] as JsonMember | undefined;
      const isExpected = expected !== undefined && isKey(bytes, at + 1, expected.key);
      const close = isExpected ? at + 1 + expected.key.length : closingQuote(bytes, at + 1, this.#end);
      const member = isExpected ? expected : this.#memberAt(at + 1, close, owner);
      if (!isExpected && member.isPlain) owner.expected[position] = member;
      if (member.document === this.#document) this.#replace(member);
      member.document = this.#document;
      at = this.#afterSpace(close + 1);
      if (this.#byteAt(at) !== COLON) throw new MalformedJson(at);
      at = this.#afterSpace(this.#value(this.#afterSpace(at + 1), member));
      const next = this.#byteAt(at);
      if (next === CLOSE_BRACE) return at + 1;
      if (next !== COMMA) throw new MalformedJson(at);
      at = this.#afterSpace(at + 1);
    }
  }

  #memberAt(from: number, to: number, owner: JsonMember): JsonMember {
    const hasEscape = this.bytes.subarray(from, to).includes(BACKSLASH);
    const raw = this.bytes.toString('utf8', hasEscape ? from - 1 : from, hasEscape ? to + 1 : to);
    return this.memberOf(owner, hasEscape ? (JSON.parse(raw) as string) : raw);
  }

  #value(at: number, member: JsonMember): number {
    const byte = this.#byteAt(at);
    if (byte === QUOTE) return this.#textValue(at + 1, member);
    if (byte === MINUS || isDigit(byte)) return this.#numberValue(at, member);
    if (byte === OPEN_BRACE && member.level <= this.#levelsMax) return this.#object(at + 1, member);
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.#listValue(at, member);
    for (const { kind, bytes } of WORDS) {
      const end = at + bytes.length;
      if (byte !== bytes[0] || end > this.#end || !hasBytes(this.bytes, at, end, bytes)) continue;
      this.#add(member, kind, at, end);
      return end;
    }
    throw new MalformedJson(at);
  }

  #textValue(from: number, member: JsonMember): number {
    const { bytes } = this;
    const end = this.#end;
    let kind: JsonKind = JsonKind.text;
    let at = from;
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) break;
      if (byte < SPACE) throw new MalformedJson(at);
      if (byte !== BACKSLASH) continue;
      kind = JsonKind.escaped;
      at = afterEscape(bytes, at, end) - 1;
    }
    if (at >= end) throw new MalformedJson(end);
    this.#add(member, kind, from, at);
    return at + 1;
  }

  #numberValue(from: number, member: JsonMember): number {
    const { bytes } = this;
    let at = bytes[from] === MINUS ? from + 1 : from;
    at = bytes[at] === DIGIT_0 ? at + 1 : this.#afterDigits(at);
    let kind: JsonKind = JsonKind.integer;
    if (bytes[at] === DOT) {
      kind = JsonKind.double;
      at = this.#afterDigits(at + 1);
    }
    if (bytes[at] === LOWER_E || bytes[at] === UPPER_E) {
      kind = JsonKind.double;
      const isSigned = bytes[at + 1] === PLUS || bytes[at + 1] === MINUS;
      at = this.#afterDigits(isSigned ? at + 2 : at + 1);
    }
    if (at > this.#end) throw new MalformedJson(this.#end);
    this.#add(member, kind, from, at);
    return at;
  }

  /** Returns the position after the digits, of which there must be one. */
  #afterDigits(from: number): number {
    let at = from;
    while (isDigit(this.bytes[at])) at++;
    if (at === from) throw new MalformedJson(at);
    return at;
  }

  /** Lists are rare, and stored as text: they are parsed and written as a whole. */
  #listValue(from: number, member: JsonMember): number {
    const to = afterJsonBrackets(this.bytes, from, this.#end);
    const text = this.#listText(this.bytes.subarray(from, to));
    this.#lists.set(this.count, text);
    this.#add(member, JsonKind.list, from, to);
    return to;
  }

  #add(member: JsonMember, kind: JsonKind, from: number, to: number): void {
    const index = this.count++;
    this.members[index] = member;
    this.kinds[index] = kind;
    this.from[index] = from;
    this.to[index] = to;
  }

  /** Removes what an earlier member with the same name has added. */
  #replace(member: JsonMember): void {
    for (let i = 0; i < this.count; i++) {
      for (let at: JsonMember | undefined = this.members[i]; at !== undefined; at = at.parent) {
        if (at === member) this.kinds[i] = JsonKind.replaced;
        // Its members are not repeated when they come again.
        if (at === member) this.members[i].document = 0;
      }
    }
  }

  /** Checks the whole buffer once, and single objects only if it has text that is not UTF-8 anywhere. */
  #hasUtf8(from: number, to: number): boolean {
    if (this.bytes !== this.#checked) {
      this.#checked = this.bytes;
      this.#isUtf8 = isUtf8(this.bytes);
    }
    return this.#isUtf8 || isUtf8(this.bytes.subarray(from, to));
  }
}

/** Thrown inside the reader, which knows where the object begins. */
class MalformedJson extends Error {
  readonly at: number;

  constructor(at: number) {
    super('JSON is not valid');
    this.at = at;
  }
}

function malformed(at: number): AlmanacError {
  return new AlmanacError('invalid_arguments', `JSON is not valid at byte ${at}`);
}

/** Whether the bytes from `from` on are the key and a quote. */
function isKey(bytes: Buffer, from: number, key: Buffer): boolean {
  for (let i = 0; i < key.length; i++) if (bytes[from + i] !== key[i]) return false;
  return bytes[from + key.length] === QUOTE;
}

function plainListText(json: Buffer): string {
  return stringifyJson(parseJson(json));
}

/** Returns the position of the quote that ends a text. */
function closingQuote(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && bytes[at] !== QUOTE) {
    if (bytes[at] < SPACE) throw new MalformedJson(at);
    at = bytes[at] === BACKSLASH ? afterEscape(bytes, at, end) : at + 1;
  }
  if (at >= end) throw new MalformedJson(at);
  return at;
}

/** Returns the position after an escape. */
function afterEscape(bytes: Buffer, at: number, end: number): number {
  const letter = at + 1 < end ? String.fromCharCode(bytes[at + 1]) : ' ';
  if (letter !== 'u') {
    if (!'"\\/bfnrt'.includes(letter)) throw new MalformedJson(at);
    return at + 2;
  }
  const digits = bytes.toString('latin1', at + 2, Math.min(at + 6, end));
  if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new MalformedJson(at);
  return at + 6;
}

/** Returns the position after the array or object that begins at `from`, whose content is not checked. */
function afterJsonBrackets(bytes: Buffer, from: number, end: number): number {
  let depth = 0;
  for (let at = from; at < end; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = closingQuote(bytes, at + 1, end);
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++;
    else if ((byte === CLOSE_BRACKET || byte === CLOSE_BRACE) && --depth === 0) return at + 1;
  }
  throw new MalformedJson(end);
}

/**
 * Returns the position after the array or object that begins at `from`, whose content is not checked.
 *
 * @throws `invalid_arguments` if it does not end before `end`.
 */
export function endOfJson(bytes: Buffer, from: number, end: number): number {
  try {
    return afterJsonBrackets(bytes, from, end);
  } catch (error) {
    if (error instanceof MalformedJson) throw malformed(error.at - from);
    throw error;
  }
}

/** Returns the position of the next byte in `[from, end)` that is no space of JSON. */
export function afterJsonSpace(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && (bytes[at] === SPACE || bytes[at] === LF || bytes[at] === CR || bytes[at] === TAB)) at++;
  return at;
}

function isDigit(byte: number): boolean {
  return byte >= DIGIT_0 && byte <= DIGIT_0 + 9;
}
