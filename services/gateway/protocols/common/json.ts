import { isUtf8 } from 'node:buffer';

import { AlmanacError } from '#shared/errors/almanac-error';

/** A JSON value. Integers of up to 64 bits that a number does not hold exactly are bigints. */
export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;

/** A JSON object; the last of several members with the same name counts. */
export interface JsonObject {
  readonly [name: string]: JsonValue;
}

/** Limits for one JSON text. */
export interface JsonLimits {
  /** Largest text in bytes; default 64 MiB. */
  readonly bytesMax?: number;
  /** Largest number of arrays and objects inside each other; default 64. */
  readonly depthMax?: number;
}

const BYTES_MAX = 64 * 1024 * 1024;
const DEPTH_MAX = 64;
/** 2^53 has 16 digits: integers with fewer are exact in any case. */
const LONG_DIGITS = 16;

const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const POINT = 0x2e;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

/**
 * Parses a JSON text and keeps 64-bit integers exact.
 *
 * `JSON.parse` does the work, several times as fast as a parser in JavaScript, unless the text has a long integer.
 *
 * @throws `invalid_arguments`, with line and column, if the text is not JSON or exceeds a limit.
 */
export function parseJson(bytes: Buffer, { bytesMax = BYTES_MAX, depthMax = DEPTH_MAX }: JsonLimits = {}): JsonValue {
  if (bytes.length > bytesMax) throw invalid(`JSON is larger than ${bytesMax} bytes`);
  if (!isUtf8(bytes)) throw invalid('JSON is not valid UTF-8');
  const hasLongInteger = checkDepth(bytes, depthMax);
  const text = bytes.toString();
  if (!hasLongInteger) {
    try {
      return JSON.parse(text) as JsonValue;
    } catch {
      // Not every message of `JSON.parse` has a position: the parser below finds it.
    }
  }
  return new JsonParser(text).parse();
}

/** Whether a value is an object, neither null nor an array. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @returns whether there are that many digits in a row, outside of texts, that some may be an inexact integer. */
function checkDepth(bytes: Buffer, depthMax: number): boolean {
  let depth = 0;
  let digits = 0;
  let hasLongInteger = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte >= 0x30 && byte <= 0x39) {
      if (++digits === LONG_DIGITS) hasLongInteger = true;
      continue;
    }
    // Fractions are inexact anyway, so their digits do not count.
    digits = byte === POINT ? -Infinity : 0;
    if (byte === QUOTE) at = closingQuote(bytes, at + 1);
    else if (OPEN.has(byte) && ++depth > depthMax) {
      throw invalid(`JSON has more than ${depthMax} levels at ${positionOf(bytes.toString('utf8', 0, at))}`);
    } else if (CLOSE.has(byte)) depth--;
  }
  return hasLongInteger;
}

function closingQuote(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Parses the texts that `JSON.parse` does not read exactly, or refuses without a position. */
class JsonParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): JsonValue {
    const value = this.#value();
    if (this.#next() !== '') throw this.#unexpected('the end');
    return value;
  }

  #value(): JsonValue {
    switch (this.#next()) {
      case '{':
        return this.#object();
      case '[':
        return this.#array();
      case '"':
        return this.#string();
      default:
        return this.#word();
    }
  }

  #object(): JsonObject {
    const members: [string, JsonValue][] = [];
    this.#at++;
    if (this.#takes('}')) return {};
    do {
      if (this.#next() !== '"') throw this.#unexpected('a member name');
      const name = this.#string();
      if (!this.#takes(':')) throw this.#unexpected('":"');
      members.push([name, this.#value()]);
    } while (this.#takes(','));
    if (!this.#takes('}')) throw this.#unexpected('"," or "}"');
    // Defines members, so that one named `__proto__` is a member as any other.
    return Object.fromEntries(members);
  }

  #array(): JsonValue[] {
    const items: JsonValue[] = [];
    this.#at++;
    if (this.#takes(']')) return items;
    do items.push(this.#value());
    while (this.#takes(','));
    if (!this.#takes(']')) throw this.#unexpected('"," or "]"');
    return items;
  }

  #string(): string {
    const text = this.#text;
    let end = this.#at + 1;
    while (end < text.length && text.charCodeAt(end) !== QUOTE) end += text.charCodeAt(end) === BACKSLASH ? 2 : 1;
    try {
      const value = JSON.parse(text.slice(this.#at, end + 1)) as string;
      this.#at = end + 1;
      return value;
    } catch {
      throw this.#unexpected('a valid text');
    }
  }

  /** A number, `true`, `false` or `null`. */
  #word(): JsonValue {
    WORD.lastIndex = this.#at;
    const word = WORD.exec(this.#text)?.[0] ?? '';
    try {
      const value = JSON.parse(word) as JsonValue;
      this.#at += word.length;
      return LONG_INTEGER.test(word) && !Number.isSafeInteger(value) ? BigInt(word) : value;
    } catch {
      throw this.#unexpected('a value');
    }
  }

  /** Returns the next character that is not white space; empty at the end. */
  #next(): string {
    WHITE_SPACE.lastIndex = this.#at;
    this.#at += WHITE_SPACE.exec(this.#text)?.[0].length ?? 0;
    return this.#text.charAt(this.#at);
  }

  #takes(character: string): boolean {
    if (this.#next() !== character) return false;
    this.#at++;
    return true;
  }

  #unexpected(expected: string): AlmanacError {
    const found = this.#at < this.#text.length ? JSON.stringify(this.#text.charAt(this.#at)) : 'the end';
    const position = positionOf(this.#text.slice(0, this.#at));
    return invalid(`JSON is not valid at ${position}: expected ${expected}, found ${found}`);
  }
}

const WORD = /[-+.\w]*/y;
/** Longer integers exceed 64 bits, and converting many digits takes long. */
const LONG_INTEGER = /^-?\d{16,20}$/;
const WHITE_SPACE = /[ \t\n\r]*/y;

/** @param before the text up to the position. */
function positionOf(before: string): string {
  let line = 1;
  for (let at = before.indexOf('\n'); at >= 0; at = before.indexOf('\n', at + 1)) line++;
  return `line ${line}, column ${before.length - before.lastIndexOf('\n')}`;
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', text);
}
