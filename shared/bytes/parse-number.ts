import { DIGIT_0, DOT, LOWER_E, LOWER_I, LOWER_U, MINUS, PLUS, UPPER_E } from './ascii.js';

/** What `scanNumber` found. */
export const NO_NUMBER = 0;
/** `12i`: `value` is exact if `isExact`, else the text has to be read again. */
export const SIGNED = 1;
/** `12u`. */
export const UNSIGNED = 2;
export const FLOAT = 3;

/** Result of `scanNumber`, made once and used again. */
export class ScannedNumber {
  value = 0;
  /** Behind the number and its suffix. */
  end = 0;
  /** False for integers of more than 15 digits: `value` is only near. */
  isExact = true;
}

/** Powers of ten that a double holds exactly. */
const EXACT_POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** Any integer of so many digits is a double. */
const EXACT_DIGITS = 15;

/**
 * Reads a decimal number, with suffix `i` or `u` for integers, from `bytes[at, to)`; stops at the first byte that
 * does not belong to it.
 *
 * A mantissa of at most 15 digits and a power of ten up to 22 are both exact, so one multiplication or division gives
 * the nearest double (W. Clinger, How to read floating point numbers accurately, 1990). All else goes to `Number`.
 */
export function scanNumber(bytes: Buffer, at: number, to: number, out: ScannedNumber): number {
  let position = at;
  const isNegative = bytes[position] === MINUS;
  if (isNegative) position++;
  const integerFrom = position;
  let mantissa = 0;
  for (; position < to; position++) {
    const digit = bytes[position] ^ DIGIT_0;
    if (digit > 9) break;
    mantissa = mantissa * 10 + digit;
  }
  const integerDigits = position - integerFrom;
  out.isExact = integerDigits <= EXACT_DIGITS;
  const next = position < to ? bytes[position] : 0;
  if ((next === LOWER_I || next === LOWER_U) && integerDigits > 0) {
    if (next === LOWER_U && isNegative) return NO_NUMBER;
    out.value = isNegative ? -mantissa : mantissa;
    out.end = position + 1;
    return next === LOWER_I ? SIGNED : UNSIGNED;
  }
  let scale = 0;
  let digits = integerDigits;
  if (next === DOT) {
    const fractionFrom = ++position;
    for (; position < to; position++) {
      const digit = bytes[position] ^ DIGIT_0;
      if (digit > 9) break;
      mantissa = mantissa * 10 + digit;
    }
    scale = fractionFrom - position;
    digits -= scale;
  }
  if (digits === 0) return NO_NUMBER;
  const mark = position < to ? bytes[position] : 0;
  if (mark === LOWER_E || mark === UPPER_E) {
    const exponentFrom = position + 1;
    const signed = exponentFrom < to && (bytes[exponentFrom] === PLUS || bytes[exponentFrom] === MINUS);
    position = signed ? exponentFrom + 1 : exponentFrom;
    const digitsFrom = position;
    while (position < to && (bytes[position] ^ DIGIT_0) <= 9) position++;
    if (position === digitsFrom) return NO_NUMBER;
    digits = EXACT_DIGITS + 1; // rare: left to Number
  }
  out.end = position;
  out.value = digits <= EXACT_DIGITS ? scaled(mantissa, scale, isNegative) : Number(bytes.toString('latin1', at, position));
  return FLOAT;
}

function scaled(mantissa: number, scale: number, isNegative: boolean): number {
  const value = scale === 0 ? mantissa : mantissa / EXACT_POWERS[-scale];
  return isNegative ? -value : value;
}
