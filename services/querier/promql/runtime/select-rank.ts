/**
 * Finds a value by its rank without sorting: numbers of 64 bits are ordered as their bits are, once those of negative ones
 * are turned round, so they are counted by 16 bits at a time, the highest first, and only those that share the bits of the
 * one that is looked for are looked at again.
 */
import type { Limits } from './limits.js';

/** Bits that are counted at once, and how many counts there are. */
const DIGIT_BITS = 16;
const DIGITS = 1 << DIGIT_BITS;
const DIGITS_PER_NUMBER = 64 / DIGIT_BITS;

/** The value of a rank, and the value of the next rank; that is NaN if there is none. */
export interface Selected {
  readonly value: number;
  readonly next: number;
}

/** The value that would be at a place if the values were sorted, NaN first. Others are served meanwhile. */
export async function selected(values: Float64Array, rank: number, limits: Limits): Promise<Selected> {
  let place = rank;
  let candidates = values;
  for (let digit = 0; digit < DIGITS_PER_NUMBER; digit++) {
    const found = await digitAt(candidates, place, digit, limits);
    candidates = await withDigit(candidates, digit, found, limits);
    place = found.place;
  }
  // All that are left are equal.
  const [value] = candidates;
  if (place + 1 < candidates.length) return { value, next: value };
  return { value, next: await leastAbove(values, value, limits) };
}

interface FoundDigit {
  readonly digit: number;
  /** How many numbers have it. */
  readonly count: number;
  /** The place among these. */
  readonly place: number;
}

/** The digit of the number at a place. */
async function digitAt(values: Float64Array, place: number, digit: number, limits: Limits): Promise<FoundDigit> {
  const counts = new Uint32Array(DIGITS);
  const digits = new Digits(values, digit);
  await limits.inTurns(values.length, (from, to) => {
    for (let i = from; i < to; i++) counts[digits.at(i)]++;
  });
  let before = 0;
  for (let found = 0; found < DIGITS; found++) {
    if (before + counts[found] > place) return { digit: found, count: counts[found], place: place - before };
    before += counts[found];
  }
  throw new RangeError(`no value has rank ${place}`);
}

/** The numbers with a digit. */
async function withDigit(
  values: Float64Array,
  digit: number,
  { digit: wanted, count }: FoundDigit,
  limits: Limits,
): Promise<Float64Array> {
  if (count === values.length) return values;
  const digits = new Digits(values, digit);
  const found = new Float64Array(count);
  let next = 0;
  await limits.inTurns(values.length, (from, to) => {
    for (let i = from; i < to; i++) if (digits.at(i) === wanted) found[next++] = values[i];
  });
  return found;
}

/** The least number that is greater, -0 being less than 0 and NaN less than all. */
async function leastAbove(values: Float64Array, value: number, limits: Limits): Promise<number> {
  let least = NaN;
  await limits.inTurns(values.length, (from, to) => {
    for (let i = from; i < to; i++) {
      const x = values[i];
      if (isLess(value, x) && (Number.isNaN(least) || isLess(x, least))) least = x;
    }
  });
  return least;
}

function isLess(one: number, other: number): boolean {
  if (Number.isNaN(one)) return !Number.isNaN(other);
  return one < other || (one === 0 && Object.is(one, -0) && Object.is(other, 0));
}

/** 16 bits of each number, in the order of the numbers. */
class Digits {
  readonly #halves: Uint32Array;
  /** Of the number, whose lower half comes first. */
  readonly #half: number;
  readonly #shift: number;
  readonly #isFirst: boolean;

  /** @param digit 0 for the highest bits. */
  constructor(values: Float64Array, digit: number) {
    this.#halves = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
    this.#half = digit < 2 ? 1 : 0;
    this.#shift = digit % 2 === 0 ? DIGIT_BITS : 0;
    this.#isFirst = digit === 0;
  }

  at(i: number): number {
    const high = this.#halves[2 * i + 1];
    const magnitude = high & 0x7fffffff;
    // NaN, whatever its bits are, is the least of all.
    if (magnitude > 0x7ff00000 || (magnitude === 0x7ff00000 && this.#halves[2 * i] !== 0)) return 0;
    const bits = (this.#halves[2 * i + this.#half] >>> this.#shift) & (DIGITS - 1);
    if (high >>> 31 === 1) return DIGITS - 1 - bits;
    return this.#isFirst ? bits + DIGITS / 2 : bits;
  }
}
