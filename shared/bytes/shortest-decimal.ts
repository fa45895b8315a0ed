/** Greatest and least size of numbers whose digits are found. */
const SIZE_MAX = 1e15;
const SIZE_MIN = 1e-3;
/** Powers of ten from 10^0 on, which are exact. */
const POWERS = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
/** Halves of them, of 26 bits each. */
const SPLITTER = 2 ** 27 + 1;
const HIGH_HALVES = POWERS.map(highHalf);
const LOW_HALVES = POWERS.map((power, i) => power - HIGH_HALVES[i]);

const LOW_COUNT = 1e8;
const HIGH_COUNT = 1e9;
/** What is that close to a bound is left to V8, in parts of the last digit. */
const DOUBT = 1e-6;

const value = new Float64Array(1);
const words = new Uint32Array(value.buffer);

/**
 * Finds the shortest digits that read back as a double, and of these the closest to it. `String` finds the same; with the copy of
 * its text into bytes it takes twice as long. The double times a power of ten is an exact sum of two doubles, a number of 17
 * digits; each decimal number within half of the distance to the next double reads back.
 */
export class ShortestDecimal {
  /** The first nine digits, and the eight after them. */
  high = 0;
  low = 0;
  /** Exponent of ten of the first digit. */
  exponent = 0;

  /** Finds the digits. @param size more than 0. @returns false if it is left to V8. */
  find(size: number): boolean {
    if (!(size >= SIZE_MIN && size < SIZE_MAX)) return false;
    const exponent = exponentOf(size);
    const power = 16 - exponent;
    const whole = size * POWERS[power];
    const rest = restOfProduct(size, power, whole);
    const half = halfDistance(size) * POWERS[power];
    if (half === 0) return false;
    this.exponent = exponent;
    this.high = Math.floor(whole / LOW_COUNT);
    this.low = whole - this.high * LOW_COUNT;
    // All multiples of 100 are further apart than the bounds, so that one of 1000 is found as one of these.
    for (let step = 100; step > 1; step /= 10) {
      const last = this.low % step;
      const over = last + rest;
      const steps = Math.round(over / step);
      const distance = Math.abs(over - steps * step);
      if (distance > half + DOUBT) continue;
      return distance < half - DOUBT && distance < step / 2 - DOUBT && this.#setLow(this.low - last + steps * step);
    }
    const unit = Math.round(rest);
    return Math.abs(rest - unit) < 0.5 - DOUBT && this.#setLow(this.low + unit);
  }

  #setLow(low: number): boolean {
    const carry = Math.floor(low / LOW_COUNT);
    this.high += carry;
    this.low = low - carry * LOW_COUNT;
    return this.high >= HIGH_COUNT / 10 && this.high < HIGH_COUNT;
  }
}

/** Returns the exponent of the power of ten that is at most the size, or one next to it. */
function exponentOf(size: number): number {
  let exponent = 0;
  if (size < 1) {
    for (let scaled = size * 10; scaled < 1; scaled *= 10) exponent--;
    return exponent - 1;
  }
  if (size >= 1e8) exponent = 8;
  while (POWERS[exponent + 1] <= size) exponent++;
  return exponent;
}

/** Returns what a product lacks (Dekker 1971). */
function restOfProduct(size: number, power: number, product: number): number {
  const high = highHalf(size);
  const low = size - high;
  const [highPower, lowPower] = [HIGH_HALVES[power], LOW_HALVES[power]];
  return high * highPower - product + high * lowPower + low * highPower + low * lowPower;
}

function highHalf(number: number): number {
  const scaled = SPLITTER * number;
  return scaled - (scaled - number);
}

/** Returns half of the distance to the next doubles; 0 if these are not equally far. */
function halfDistance(size: number): number {
  value[0] = size;
  const [low, high] = words;
  if (low === 0 && (high & 0xfffff) === 0) return 0;
  words[0] = 0;
  words[1] = high & 0x7ff00000;
  return value[0] * 2 ** -53;
}
