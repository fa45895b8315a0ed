import { decodeGoString } from '../common/go-string.js';
import { parseError } from './parse-error.js';

/** The value of a string literal and where it ends. */
export interface StringToken {
  readonly value: string;
  readonly end: number;
}

const PLAIN: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
};
/** Number of digits and base of a numeric escape. */
const NUMERIC: Readonly<Record<string, readonly [number, number]>> = { x: [2, 16], u: [4, 16], U: [8, 16] };
const POINT_MAX = 0x10ffff;

/** Reads a string in backquotes, without escapes. */
export function readRaw(query: string, start: number): StringToken {
  const end = query.indexOf('`', start + 1);
  if (end < 0) throw parseError(query, start, 'unterminated raw string');
  return { value: query.slice(start + 1, end), end: end + 1 };
}

/** Reads a string with Go's escapes. */
export function readQuoted(query: string, start: number, quote: string): StringToken {
  const parts: Buffer[] = [];
  let from = start + 1;
  for (let at = from; ;) {
    const char = query[at];
    if (char === undefined || char === '\n') throw parseError(query, start, 'unterminated quoted string');
    if (char !== quote && char !== '\\') {
      at++;
      continue;
    }
    parts.push(Buffer.from(query.slice(from, at)));
    if (char === quote) return { value: decodeGoString(Buffer.concat(parts)), end: at + 1 };
    const escape = readEscape(query, at, quote);
    parts.push(escape.bytes);
    at = from = escape.end;
  }
}

function readEscape(query: string, at: number, quote: string): { readonly bytes: Buffer; readonly end: number } {
  const char = query[at + 1];
  if (char === undefined) throw parseError(query, at, 'escape sequence not terminated');
  if (char === quote) return { bytes: Buffer.from(char), end: at + 2 };
  const plain = PLAIN[char];
  if (plain !== undefined) return { bytes: Buffer.of(plain), end: at + 2 };
  const isOctal = char >= '0' && char <= '7';
  const shape = isOctal ? ([3, 8] as const) : NUMERIC[char];
  if (shape === undefined) throw parseError(query, at, `unknown escape sequence ${unicodeName(query, at + 1)}`);
  const [length, base] = shape;
  const from = at + (isOctal ? 1 : 2);
  return { bytes: pointBytes(query, at, from, length, base), end: from + length };
}

/** Returns the bytes of a numeric escape: one byte for up to three digits, else a code point. */
function pointBytes(query: string, at: number, from: number, length: number, base: number): Buffer {
  let point = 0;
  for (let i = from; i < from + length; i++) {
    if (query[i] === undefined) throw parseError(query, at, 'escape sequence not terminated');
    const digit = Number.parseInt(query[i], base);
    if (Number.isNaN(digit)) {
      throw parseError(query, at, `illegal character ${unicodeName(query, i)} in escape sequence`);
    }
    point = point * base + digit;
  }
  const isByte = length < 4;
  const isValid = isByte ? point <= 255 : point <= POINT_MAX && !(point >= 0xd800 && point < 0xe000);
  if (!isValid) throw parseError(query, at, 'escape sequence is an invalid Unicode code point');
  return isByte ? Buffer.of(point) : Buffer.from(String.fromCodePoint(point));
}

/** Formats a character as Go's `%#U` does: `U+0071 'q'`. */
function unicodeName(query: string, at: number): string {
  const point = query.codePointAt(at) ?? 0;
  const hex = point.toString(16).toUpperCase().padStart(4, '0');
  return `U+${hex} '${String.fromCodePoint(point)}'`;
}
