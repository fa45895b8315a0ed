/** Writes the text of rows of cells, which commas separate. */

/** What the cells of a column are; others are 64-bit integers. */
const TEXT: u32 = 0;
const INTEGER: u32 = 1;
const FLOAT: u32 = 2;

const COMMA: u8 = 0x2c;
const ZERO: u8 = 0x30;
const MINUS: u8 = 0x2d;
const POINT: u8 = 0x2e;
const BILLION: u64 = 1_000_000_000;
/** Greatest double up to which all integers are exact. */
const SAFE_MAX: f64 = 9007199254740991;

/** Digits of the numbers up to 99. */
const PAIRS = memory.data(200);
/** Powers of ten from 10^0 on, which are exact, and their halves of 26 bits each. */
const POWER_COUNT = 23;
const POWERS = memory.data(8 * POWER_COUNT, 8);
const HIGH_HALVES = memory.data(8 * POWER_COUNT, 8);
const LOW_HALVES = memory.data(8 * POWER_COUNT, 8);

for (let number = 0; number < 100; number++) {
  store<u8>(PAIRS + 2 * number, ZERO + <u8>(number / 10));
  store<u8>(PAIRS + 2 * number + 1, ZERO + <u8>(number % 10));
}
for (let i = 0, power = 1.0; i < POWER_COUNT; i++, power *= 10) {
  store<f64>(POWERS + 8 * i, power);
  store<f64>(HIGH_HALVES + 8 * i, highHalf(power));
  store<f64>(LOW_HALVES + 8 * i, power - highHalf(power));
}

/** Writes the text of a number that this module does not write. @returns number of its bytes, at most 32 */
declare function writeOther(column: i32, row: i32, out: usize): i32;

/**
 * Writes rows.
 *
 * @param columns has three words for each column: what its cells are, where they are, and a third one.
 *   Numbers are doubles or 64-bit integers; the third is the address of a byte for each, which is 0 for null (address 0: none is).
 *   Texts are pairs of addresses, of the first byte and after the last; the third is the address of a word for each row, the
 *   number of its text (address 0: that of the row).
 * @param marks has such pairs: of what is between rows, before the first cell of a row, and after the last, and of null.
 * @param start where the text begins; up to 15 bytes are written after its end.
 * @returns the address after the text
 */
export function writeRows(columns: usize, columnCount: i32, rowCount: i32, marks: usize, start: usize): usize {
  let out = start;
  for (let row = 0; row < rowCount; row++) {
    if (row > 0) out = text(marks, out);
    out = text(marks + 8, out);
    for (let column = 0; column < columnCount; column++) {
      if (column > 0) store<u8>(out++, COMMA);
      const place = columns + 12 * column;
      const kind = load<u32>(place);
      const cells = load<u32>(place, 4);
      const third = load<u32>(place, 8);
      if (kind == TEXT) {
        out = text(cells + 8 * (third == 0 ? row : load<u32>(third + 4 * row)), out);
        continue;
      }
      if (third != 0 && load<u8>(third + row) == 0) out = text(marks + 24, out);
      else if (kind == INTEGER) out = integer(load<f64>(cells + 8 * row), column, row, out);
      else if (kind == FLOAT) out = float(load<f64>(cells + 8 * row), column, row, out);
      else out = long(load<i64>(cells + 8 * row), out);
    }
    out = text(marks + 16, out);
  }
  return out;
}

/** Copies a text, 16 bytes at once. */
function text(pair: usize, out: usize): usize {
  const from = load<u32>(pair);
  const length = load<u32>(pair, 4) - from;
  for (let i: u32 = 0; i < length; i += 16) v128.store(out + i, v128.load(from + i));
  return out + length;
}

function integer(value: f64, column: i32, row: i32, out: usize): usize {
  const size = abs(value);
  if (!(size <= SAFE_MAX) || trunc(size) != size) return out + writeOther(column, row, out);
  if (value < 0) store<u8>(out++, MINUS);
  return whole(<u64>size, out);
}

function long(value: i64, out: usize): usize {
  if (value >= 0) return whole(<u64>value, out);
  store<u8>(out, MINUS);
  return whole(0 - <u64>value, out + 1);
}

/** Writes the shortest text that reads back equal, with a point. */
function float(value: f64, column: i32, row: i32, out: usize): usize {
  const size = abs(value);
  let at = out;
  if (value < 0) store<u8>(at++, MINUS);
  if (size <= SAFE_MAX && trunc(size) == size && (size > 0 || reinterpret<u64>(value) == 0)) {
    at = whole(<u64>size, at);
    store<u8>(at, POINT);
    store<u8>(at, ZERO, 1);
    return at + 2;
  }
  const thousandths = nearest(size * 1000);
  // Up to 15 digits are the shortest text of a number that reads back equal.
  if (size > 0 && thousandths < 1e15 && thousandths / 1000 == size) return thousandthsText(<u64>thousandths, at);
  const end = shortest(size, at);
  return end != 0 ? end : out + writeOther(column, row, out);
}

/** @param count no multiple of 1000 */
function thousandthsText(count: u64, out: usize): usize {
  const units = count / 1000;
  const rest = <u32>(count - 1000 * units);
  let at = whole(units, out);
  store<u8>(at, POINT);
  store<u8>(at, ZERO + <u8>(rest / 100), 1);
  store<u16>(at, load<u16>(PAIRS + 2 * (rest % 100)), 2);
  at += 4;
  while (load<u8>(at - 1) == ZERO) at--;
  return at;
}

function whole(value: u64, out: usize): usize {
  if (value < BILLION) return digits(<u32>value, out);
  const billions = value / BILLION;
  let at = out;
  if (billions < BILLION) {
    at = digits(<u32>billions, at);
  } else {
    const most = billions / BILLION;
    at = nineDigits(<u32>(billions - most * BILLION), digits(<u32>most, at));
  }
  return nineDigits(<u32>(value - billions * BILLION), at);
}

/** @param value less than a billion */
function digits(value: u32, out: usize): usize {
  if (value < 10) {
    store<u8>(out, ZERO + <u8>value);
    return out + 1;
  }
  if (value < 100) {
    store<u16>(out, load<u16>(PAIRS + 2 * value));
    return out + 2;
  }
  let end = out + 3;
  for (let most: u32 = 1_000; end < out + 9 && value >= most; most *= 10) end++;
  fill(value, out, end);
  return end;
}

function nineDigits(value: u32, out: usize): usize {
  fill(value, out, out + 9);
  return out + 9;
}

/** Writes the digits of a number to `[from, to)`. */
function fill(value: u32, from: usize, to: usize): void {
  let rest = value;
  let at = to;
  for (; at > from + 1; at -= 2) {
    const hundreds = rest / 100;
    store<u16>(at - 2, load<u16>(PAIRS + 2 * (rest - 100 * hundreds)));
    rest = hundreds;
  }
  if (at > from) store<u8>(from, ZERO + <u8>rest);
}

/** Greatest and least size of numbers whose digits are found. */
const SIZE_MAX: f64 = 1e15;
const SIZE_MIN: f64 = 1e-3;
const LOW_COUNT: u32 = 100_000_000;
const HIGH_COUNT: u32 = 1_000_000_000;
/** What is that close to a bound is left to the caller, in parts of the last digit. */
const DOUBT: f64 = 1e-6;

/**
 * Writes the shortest digits that read back as a double, and of these the closest to it. The double times a power of ten is an
 * exact sum of two doubles, a number of 17 digits; each decimal number within half of the distance to the next double reads back.
 *
 * @param size no integer
 * @returns the address after the text; 0 if it does not write it
 */
function shortest(size: f64, out: usize): usize {
  if (!(size >= SIZE_MIN && size < SIZE_MAX)) return 0;
  const exponent = exponentOf(size);
  const power = 16 - exponent;
  const product = size * load<f64>(POWERS + 8 * power);
  const rest = restOfProduct(size, power, product);
  const half = halfDistance(size) * load<f64>(POWERS + 8 * power);
  if (half == 0) return 0;
  let high = <u32>(product / <f64>LOW_COUNT);
  let low = <u32>(product - <f64>high * <f64>LOW_COUNT);
  // All multiples of 100 are further apart than the bounds, so that one of 1000 is found as one of these.
  let found = nearestMultiple(low, 100, rest, half);
  if (found == FAR) found = nearestMultiple(low, 10, rest, half);
  if (found == FAR) {
    const unit = nearest(rest);
    if (abs(rest - unit) >= 0.5 - DOUBT) return 0;
    found = <i32>low + <i32>unit;
  }
  if (found < 0) return 0;
  low = <u32>found;
  if (low >= LOW_COUNT) {
    high++;
    low -= LOW_COUNT;
  }
  if (high < HIGH_COUNT / 10 || high >= HIGH_COUNT) return 0;
  return decimal(high, low, exponent, out);
}

/** No multiple reads back, and that which is closest may or may not be the one. */
const FAR: i32 = -1;
const UNKNOWN: i32 = -2;

/** Returns the multiple of `step` that is closest to `low + rest`, if it is less than `half` away. */
function nearestMultiple(low: u32, step: u32, rest: f64, half: f64): i32 {
  const last = low % step;
  const over = <f64>last + rest;
  const steps = nearest(over * (1 / <f64>step));
  const distance = abs(over - steps * <f64>step);
  if (distance > half + DOUBT) return FAR;
  if (distance >= half - DOUBT || distance >= <f64>step / 2 - DOUBT) return UNKNOWN;
  return <i32>low - <i32>last + <i32>steps * <i32>step;
}

/** Writes the 17 digits of a number without the zeros at its end. @param exponent of ten of the first digit */
function decimal(high: u32, low: u32, exponent: i32, out: usize): usize {
  let at = out;
  if (exponent < 0) {
    store<u8>(at, ZERO);
    store<u8>(at, POINT, 1);
    at += 2;
    for (let i = exponent; i < -1; i++) store<u8>(at++, ZERO);
    fill(high, at, at + 9);
    fill(low, at + 9, at + 17);
    at += 17;
  } else {
    // One further, and what is before the point is moved back.
    fill(high, at + 1, at + 10);
    fill(low, at + 10, at + 18);
    const point = at + exponent + 1;
    for (; at < point; at++) store<u8>(at, load<u8>(at, 1));
    store<u8>(point, POINT);
    at = out + 18;
  }
  while (load<u8>(at - 1) == ZERO) at--;
  return at;
}

/** Returns the exponent of the power of ten that is at most the size, or one next to it. */
function exponentOf(size: f64): i32 {
  let exponent = 0;
  if (size < 1) {
    for (let scaled = size * 10; scaled < 1; scaled *= 10) exponent--;
    return exponent - 1;
  }
  if (size >= 1e8) exponent = 8;
  while (load<f64>(POWERS + 8 * (exponent + 1)) <= size) exponent++;
  return exponent;
}

/** Returns what a product lacks (Dekker 1971). */
function restOfProduct(size: f64, power: i32, product: f64): f64 {
  const high = highHalf(size);
  const low = size - high;
  const highPower = load<f64>(HIGH_HALVES + 8 * power);
  const lowPower = load<f64>(LOW_HALVES + 8 * power);
  return high * highPower - product + high * lowPower + low * highPower + low * lowPower;
}

function highHalf(number: f64): f64 {
  const scaled: f64 = 134217729 * number;
  return scaled - (scaled - number);
}

/** Returns half of the distance to the next doubles; 0 if these are not equally far. */
function halfDistance(size: f64): f64 {
  const bits = reinterpret<u64>(size);
  if ((bits & 0xf_ffff_ffff_ffff) == 0) return 0;
  return reinterpret<f64>(bits & 0x7ff0_0000_0000_0000) * 1.1102230246251565e-16;
}
