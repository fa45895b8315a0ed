import {
  BACKSLASH,
  COMMA,
  CR,
  DIGIT_0,
  DOT,
  LF,
  MINUS,
  PLUS,
  QUOTE,
  SPACE,
  UPPER_E,
  LOWER_E,
} from '#shared/bytes/ascii';
import { FLOAT_NUMBER, NO_NUMBER, NumberScanner, SIGNED } from '#shared/bytes/parse-number';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import { dataType, type DataType } from '#shared/schema/data-type';

/** Type of integers, the most frequent values. */
export const INT64 = dataType('Int64');
const UINT64 = dataType('UInt64');
const FLOAT64 = dataType('Float64');
const BOOLEAN = dataType('Boolean');
const STRING = dataType('String');

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

const BOOLEANS: Readonly<Record<string, number>> = {
  t: 1,
  T: 1,
  true: 1,
  True: 1,
  TRUE: 1,
  f: 0,
  F: 0,
  false: 0,
  False: 0,
  FALSE: 0,
};
const BOOLEAN_BYTES_MAX = 5;

/** One field value of a line, read and then stored; reused for all lines. */
export class FieldValue {
  /** Type of the last value. */
  type: DataType = INT64;
  /** Position after the value. */
  end = 0;
  readonly #number = new NumberScanner();
  #isWide = false;
  #wide = 0n;
  #textFrom = 0;
  #hasBackslash = false;

  /**
   * Reads the value that starts at `bytes[at]`. The caller checks what follows it.
   *
   * @returns false if no value ends before `to`.
   */
  read(bytes: Buffer, at: number, to: number): boolean {
    const first = bytes[at];
    if (first === QUOTE) return this.#readText(bytes, at + 1, to);
    if ((first ^ DIGIT_0) <= 9 || first === MINUS || first === DOT) return this.#readNumber(bytes, at, to);
    return this.#readBoolean(bytes, at, to);
  }

  /** Sets the value for `row`. @param bytes the same as for `read`. */
  store(field: FieldBuilder, row: number, bytes: Buffer): void {
    if (this.type !== STRING) {
      if (this.#isWide) field.setBigInt(row, this.#wide);
      else field.setNumber(row, this.#number.value);
    } else if (this.#hasBackslash) {
      const text = plainText(bytes, this.#textFrom, this.end - 1);
      field.setBytes(row, text, 0, text.length);
    } else {
      field.setBytes(row, bytes, this.#textFrom, this.end - 1);
    }
  }

  #readNumber(bytes: Buffer, at: number, to: number): boolean {
    const number = this.#number;
    const kind = number.scan(bytes, at, to);
    if (kind === NO_NUMBER) return false;
    this.end = number.end;
    this.#isWide = false;
    if (kind === FLOAT_NUMBER) {
      this.type = FLOAT64;
      return Number.isFinite(number.value);
    }
    this.type = kind === SIGNED ? INT64 : UINT64;
    return number.isExact || this.#readWide(BigInt(bytes.toString('latin1', at, number.end - 1)));
  }

  #readWide(value: bigint): boolean {
    this.#isWide = true;
    this.#wide = value;
    return this.type === INT64 ? value >= INT64_MIN && value <= INT64_MAX : value <= UINT64_MAX;
  }

  #readBoolean(bytes: Buffer, at: number, to: number): boolean {
    let end = at;
    const stop = Math.min(to, at + BOOLEAN_BYTES_MAX + 1);
    while (end < stop && !isEnd(bytes[end])) end++;
    const word = bytes.toString('latin1', at, end);
    if (!Object.hasOwn(BOOLEANS, word)) return false;
    this.type = BOOLEAN;
    this.end = end;
    this.#isWide = false;
    this.#number.value = BOOLEANS[word];
    return true;
  }

  #readText(bytes: Buffer, from: number, to: number): boolean {
    this.#hasBackslash = false;
    for (let at = from; at < to; at++) {
      const byte = bytes[at];
      if (byte === BACKSLASH) {
        this.#hasBackslash = true;
        at++;
      } else if (byte === QUOTE) {
        this.type = STRING;
        this.#textFrom = from;
        this.end = at + 1;
        return true;
      }
    }
    return false;
  }
}

/** Returns why `bytes[at, to)` does not begin with a value that ends at a comma, a space or `to`. */
export function valueProblem(bytes: Buffer, at: number, to: number): string {
  let end = at;
  while (end < to && bytes[end] !== COMMA && bytes[end] !== SPACE) end++;
  const first = bytes[at];
  if (first === QUOTE) return isClosed(bytes, at + 1, to) ? 'invalid field format' : 'unbalanced quotes';
  if ((first ^ DIGIT_0) <= 9 || first === MINUS || first === DOT) return numberProblem(bytes, at, end);
  // NaN is the only word that InfluxDB takes for a number.
  return (first | 0x20) === 0x6e ? 'invalid number' : 'invalid boolean';
}

function numberProblem(bytes: Buffer, from: number, to: number): string {
  const token = bytes.toString('latin1', from, Math.min(to, from + 1024));
  if (/^-?[0-9]+i$/.test(token)) return `unable to parse integer ${token.slice(0, -1)}: value out of range`;
  if (/^[0-9]+u$/.test(token)) return `unable to parse unsigned ${token.slice(0, -1)}: value out of range`;
  return looksScientific(bytes, from, to) ? 'invalid float' : 'invalid number';
}

/** Whether there are only digits, at most one point, an `e` that is not first, and signs only first or after an `e`. */
function looksScientific(bytes: Buffer, from: number, to: number): boolean {
  let points = 0;
  let exponents = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    const before = bytes[at - 1];
    if (byte === DOT) points++;
    else if ((byte === LOWER_E || byte === UPPER_E) && at > from) exponents++;
    else if (byte === MINUS && at === from) continue;
    else if ((byte === MINUS || byte === PLUS) && (before === LOWER_E || before === UPPER_E)) continue;
    else if ((byte ^ DIGIT_0) > 9) return false;
  }
  return points <= 1 && exponents > 0;
}

function isClosed(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    if (bytes[at] === BACKSLASH) at++;
    else if (bytes[at] === QUOTE) return true;
  }
  return false;
}

/** Returns a quoted text without the backslashes that escape a quote or a backslash. */
function plainText(bytes: Buffer, from: number, to: number): Buffer {
  const out = Buffer.allocUnsafe(to - from);
  let length = 0;
  for (let at = from; at < to; at++) {
    if (bytes[at] === BACKSLASH && (bytes[at + 1] === QUOTE || bytes[at + 1] === BACKSLASH)) at++;
    out[length++] = bytes[at];
  }
  return out.subarray(0, length);
}

function isEnd(byte: number): boolean {
  return byte === COMMA || byte === SPACE || byte === LF || byte === CR;
}
