import { DIGIT_0, DOT, LOWER_E, LOWER_I, LOWER_U, MINUS, PLUS, UPPER_E } from './ascii.js';

/** Results of `NumberScanner.scan`: no number, `12i`, `12u`, or a decimal number. */
export const NO_NUMBER = 0;
/** An integer with the suffix `i`. */
export const SIGNED = 1;
/** An integer with the suffix `u`. */
export const UNSIGNED = 2;
/** A decimal number without a suffix. */
export const FLOAT_NUMBER = 3;

/** Powers of ten that a double holds exactly. */
const EXACT_POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** Every integer of at most 15 digits is exact as a double. */
const EXACT_DIGITS = 15;

/**
 * Scans decimal numbers in bytes; integers have a suffix `i` or `u`. One instance serves many scans.
 *
 * A mantissa of at most 15 digits and a power of ten up to 22 are both exact, so one division gives the nearest double
 * (W. Clinger, How to read floating point numbers accurately, 1990). All other shapes are converted by `Number`.
 */
export class NumberScanner {
  value = 0;
  /** Offset of the first byte after the number and its suffix. */
  end = 0;
  /** False for integers of more than 15 digits: `value` is approximate and the caller must parse the text. */
  isExact = true;
  #mantissa = 0;

  /** Scans the number that starts at `bytes[at]` and ends before `to`. @returns one of the constants above. */
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
    return FLOAT_NUMBER;
  }

  /** Adds digits to the mantissa and returns the offset after them. */
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

/** Returns the offset after the exponent at `from`: `from` itself without an exponent, 0 if the exponent has no digits. */
function exponentEnd(bytes: Buffer, from: number, to: number): number {
  if (from >= to || (bytes[from] !== LOWER_E && bytes[from] !== UPPER_E)) return from;
  const sign = bytes[from + 1];
  const digitsFrom = from + (sign === PLUS || sign === MINUS ? 2 : 1);
  let at = digitsFrom;
  while (at < to && (bytes[at] ^ DIGIT_0) <= 9) at++;
  return at === digitsFrom ? 0 : at;
}
