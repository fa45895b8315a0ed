import { DIGIT_0, DOT, LOWER_E, LOWER_I, LOWER_U, MINUS, PLUS, UPPER_E } from './ascii.js';

/** What a scan found. */
export const NO_NUMBER = 0;
/** `12i`. */
export const SIGNED = 1;
/** `12u`. */
export const UNSIGNED = 2;
export const FLOAT = 3;

/** Powers of ten that a double holds exactly. */
const EXACT_POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** Any integer of so many digits is a double. */
const EXACT_DIGITS = 15;

/**
 * Reads decimal numbers from bytes; integers have a suffix `i` or `u`. Made once and used again.
 *
 * A mantissa of at most 15 digits and a power of ten up to 22 are both exact, so one division gives the nearest double
 * (W. Clinger, How to read floating point numbers accurately, 1990). All else goes to `Number`.
 */
export class NumberScanner {
  value = 0;
  /** Behind the number and its suffix. */
  end = 0;
  /** False for integers of more than 15 digits: `value` is only near, and the text has to be read again. */
  isExact = true;
  #mantissa = 0;

  /** Reads the number at `bytes[at]` up to the first byte that does not belong to it, at most to `to`. */
  scan(bytes: Buffer, at: number, to: number): number {
    const isNegative = bytes[at] === MINUS;
    const from = isNegative ? at + 1 : at;
    this.#mantissa = 0;
    const integerEnd = this.#digits(bytes, from, to);
    const next = integerEnd < to ? bytes[integerEnd] : 0;
    if ((next === LOWER_I || next === LOWER_U) && integerEnd > from) {
      this.isExact = integerEnd - from <= EXACT_DIGITS;
      this.value = isNegative ? -this.#mantissa : this.#mantissa;
      this.end = integerEnd + 1;
      if (next === LOWER_I) return SIGNED;
      return isNegative ? NO_NUMBER : UNSIGNED;
    }
    return this.#scanFloat(bytes, at, integerEnd, to);
  }

  #scanFloat(bytes: Buffer, at: number, integerEnd: number, to: number): number {
    const isNegative = bytes[at] === MINUS;
    const hasPoint = integerEnd < to && bytes[integerEnd] === DOT;
    const fractionEnd = hasPoint ? this.#digits(bytes, integerEnd + 1, to) : integerEnd;
    const scale = hasPoint ? fractionEnd - integerEnd - 1 : 0;
    const digits = integerEnd - at - (isNegative ? 1 : 0) + scale;
    if (digits === 0) return NO_NUMBER;
    this.isExact = true;
    this.end = exponentEnd(bytes, fractionEnd, to);
    if (this.end === 0) return NO_NUMBER;
    if (this.end !== fractionEnd || digits > EXACT_DIGITS) {
      this.value = Number(bytes.toString('latin1', at, this.end));
    } else {
      const size = scale === 0 ? this.#mantissa : this.#mantissa / EXACT_POWERS[scale];
      this.value = isNegative ? -size : size;
    }
    return FLOAT;
  }

  /** Adds digits to the mantissa; returns where they end. */
  #digits(bytes: Buffer, from: number, to: number): number {
    let mantissa = this.#mantissa;
    let at = from;
    for (; at < to; at++) {
      const digit = bytes[at] ^ DIGIT_0;
      if (digit > 9) break;
      mantissa = mantissa * 10 + digit;
    }
    this.#mantissa = mantissa;
    return at;
  }
}

/** Where the exponent at `from` ends: `from` if there is none, 0 if it has no digits. */
function exponentEnd(bytes: Buffer, from: number, to: number): number {
  if (from >= to || (bytes[from] !== LOWER_E && bytes[from] !== UPPER_E)) return from;
  const sign = bytes[from + 1];
  const digitsFrom = from + (sign === PLUS || sign === MINUS ? 2 : 1);
  let at = digitsFrom;
  while (at < to && (bytes[at] ^ DIGIT_0) <= 9) at++;
  return at === digitsFrom ? 0 : at;
}
