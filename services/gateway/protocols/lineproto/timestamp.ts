import { DIGIT_0, MINUS } from '#shared/bytes/ascii';

/** Unit of the timestamps of a request. */
export type Precision = 'ns' | 'us' | 'ms' | 's' | 'm' | 'h';

const PRECISIONS: Readonly<Record<string, Precision>> = {
  n: 'ns',
  ns: 'ns',
  u: 'us',
  us: 'us',
  ms: 'ms',
  s: 's',
  m: 'm',
  h: 'h',
};

/** Returns the unit for a client's word; undefined if there is none. */
export function precisionOf(word: string): Precision | undefined {
  return Object.hasOwn(PRECISIONS, word) ? PRECISIONS[word] : undefined;
}

const OUT_OF_RANGE = 'time outside range -9223372036854775806 - 9223372036854775806';
const BAD = 'bad timestamp';
const BILLION = 1_000_000_000;
const TWO_32 = 4_294_967_296;
/** The largest time: this many seconds and nanoseconds. */
const SECONDS_MAX = 9_223_372_036;
const REST_NS_MAX = 854_775_806;
/** More significant digits than the largest timestamp has. */
const DIGITS_MAX = 19;

/** Nanoseconds since 1970 as the two halves of a 64-bit integer, without BigInt. */
export class NanosecondTime {
  low = 0;
  high = 0;

  /**
   * Reads the whole of `bytes[from, to)` as an integer in units of `precision`.
   *
   * @returns the reason in the words of the protocol if it is malformed or out of range, else an empty text.
   */
  parse(bytes: Uint8Array, from: number, to: number, precision: Precision): string {
    const isNegative = bytes[from] === MINUS;
    let at = isNegative ? from + 1 : from;
    if (at >= to) return BAD;
    while (at < to - 1 && bytes[at] === DIGIT_0) at++;
    // The last nine digits, and all before them.
    const middle = Math.max(at, to - 9);
    let head = 0;
    let tail = 0;
    for (let i = at; i < middle; i++) {
      const digit = bytes[i] ^ DIGIT_0;
      if (digit > 9) return BAD;
      head = head * 10 + digit;
    }
    for (let i = middle; i < to; i++) {
      const digit = bytes[i] ^ DIGIT_0;
      if (digit > 9) return BAD;
      tail = tail * 10 + digit;
    }
    if (to - at > DIGITS_MAX) return OUT_OF_RANGE;
    return this.#scale(head, tail, isNegative, precision);
  }

  /** Sets the time to `time`, rounded down to whole units of `precision`. */
  setNow(time: bigint, precision: Precision): void {
    const unit = UNITS_NS[precision];
    const whole = (time / unit) * unit;
    this.low = Number(BigInt.asIntN(32, whole));
    this.high = Number(BigInt.asIntN(32, whole >> 32n));
  }

  #scale(head: number, tail: number, isNegative: boolean, precision: Precision): string {
    switch (precision) {
      case 'ns':
        return this.#set(head, tail, isNegative);
      case 'us':
        return this.#set(head * 1_000 + Math.floor(tail / 1_000_000), (tail % 1_000_000) * 1_000, isNegative);
      case 'ms':
        return this.#set(head * 1_000_000 + Math.floor(tail / 1_000), (tail % 1_000) * 1_000_000, isNegative);
      case 's':
        return this.#set(head * BILLION + tail, 0, isNegative);
      case 'm':
        return this.#set((head * BILLION + tail) * 60, 0, isNegative);
      case 'h':
        return this.#set((head * BILLION + tail) * 3_600, 0, isNegative);
    }
  }

  /** Sets +-(seconds x 10^9 + restNs). Products are split so that none exceeds 2^53. */
  #set(seconds: number, restNs: number, isNegative: boolean): string {
    if (seconds > SECONDS_MAX || (seconds === SECONDS_MAX && restNs > REST_NS_MAX)) return OUT_OF_RANGE;
    // Remainders by subtraction, which is exact here and takes a tenth of the time of `%` on doubles.
    const upperSeconds = Math.floor(seconds / 65_536);
    const upper = upperSeconds * BILLION;
    const lower = (seconds - upperSeconds * 65_536) * BILLION + restNs;
    const highest = Math.floor(upper / 65_536);
    const sum = (upper - highest * 65_536) * 65_536 + lower;
    const carry = Math.floor(sum / TWO_32);
    let low = sum - carry * TWO_32;
    let high = highest + carry;
    if (isNegative) {
      high = low === 0 ? -high : -high - 1;
      low = -low;
    }
    this.low = low | 0;
    this.high = high | 0;
    return '';
  }
}

const UNITS_NS: Readonly<Record<Precision, bigint>> = {
  ns: 1n,
  us: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
