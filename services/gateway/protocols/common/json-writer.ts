import { isUtf8 } from 'node:buffer';

import { BACKSLASH, QUOTE } from '#shared/bytes/ascii';
import { wholeText } from '#shared/bytes/whole-text';
import { AlmanacError } from '#shared/errors/almanac-error';

const FIRST_BYTES = 4 * 1024;
/** Longest escape of one byte, `\u001f`. */
const ESCAPE_BYTES_MAX = 6;
const HEX = Buffer.from('0123456789abcdef');
const TWO_TO_32 = 4_294_967_296;

/** For each byte 0 if it stays, the letter of its escape, or `u`. */
const ESCAPES = new Uint8Array(256);
ESCAPES.fill(0x75, 0, 0x20);
for (const [byte, letter] of [
  [QUOTE, '"'],
  [BACKSLASH, '\\'],
  [0x08, 'b'],
  [0x0c, 'f'],
  [0x0a, 'n'],
  [0x0d, 'r'],
  [0x09, 't'],
] as const) {
  ESCAPES[byte] = letter.charCodeAt(0);
}

/** Writes JSON as bytes into one buffer that is used again, so that no strings are made of what clients sent. */
export class JsonWriter {
  /** The text is `[0, length)`. */
  bytes = Buffer.allocUnsafe(FIRST_BYTES);
  length = 0;

  clear(): void {
    this.length = 0;
  }

  /** Writes one character of ASCII, such as a bracket. */
  byte(value: number): void {
    this.#reserve(1);
    this.bytes[this.length++] = value;
  }

  /** Writes text as it is: a whole token, or several. */
  token(text: string): void {
    this.#reserve(text.length);
    this.length += this.bytes.write(text, this.length, 'latin1');
  }

  /** Writes the bytes `[from, to)` as a string. @throws `invalid_arguments` if they are not valid UTF-8. */
  string(source: Buffer, from: number, to: number): void {
    this.#reserve((to - from) * ESCAPE_BYTES_MAX + 2);
    const { bytes } = this;
    let at = this.length;
    let high = 0;
    bytes[at++] = QUOTE;
    for (let i = from; i < to; i++) {
      const byte = source[i];
      const escape = ESCAPES[byte];
      high |= byte;
      if (escape === 0) {
        bytes[at++] = byte;
        continue;
      }
      bytes[at++] = BACKSLASH;
      bytes[at++] = escape;
      if (escape !== 0x75) continue;
      bytes[at++] = 0x30;
      bytes[at++] = 0x30;
      bytes[at++] = HEX[byte >> 4];
      bytes[at++] = HEX[byte & 15];
    }
    bytes[at++] = QUOTE;
    this.length = at;
    if (high >= 0x80 && !isUtf8(source.subarray(from, to))) throw notUtf8();
  }

  /** Writes the bytes `[from, to)` as a string of hexadecimal digits in lower case. */
  hex(source: Buffer, from: number, to: number): void {
    this.#reserve((to - from) * 2 + 2);
    const { bytes } = this;
    let at = this.length;
    bytes[at++] = QUOTE;
    for (let i = from; i < to; i++) {
      bytes[at++] = HEX[source[i] >> 4];
      bytes[at++] = HEX[source[i] & 15];
    }
    bytes[at++] = QUOTE;
    this.length = at;
  }

  /** Writes a 64-bit integer from its two halves, as signed words. */
  integer(low: number, high: number): void {
    this.token(integerText(low, high));
  }

  /** Writes a double; NaN and infinities as strings, since JSON has no numbers for them. */
  double(value: number): void {
    this.token(Number.isFinite(value) ? String(value) : `"${value}"`);
  }

  #reserve(length: number): void {
    if (this.length + length <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + length));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }
}

/** Returns the decimal text of a signed 64-bit integer from its two halves. */
export function integerText(low: number, high: number): string {
  const near = high * TWO_TO_32 + (low >>> 0);
  return Number.isSafeInteger(near) ? wholeText(near) : String((BigInt(high) << 32n) | BigInt(low >>> 0));
}

/** Makes the error for text that is not valid UTF-8. */
export function notUtf8(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'string field contains invalid UTF-8');
}
