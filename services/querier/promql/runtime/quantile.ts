import { inUnits, type Units } from './scheduler.js';
import type { QueryLimits } from './limits.js';

/**
 * Returns the value at rank `q * (n - 1)` of the sorted values, interpolated between neighbours; NaN is the least value.
 *
 * @returns NaN for no values or if `q` is NaN; an infinity if `q` is not between 0 and 1.
 */
export function* quantileOf(q: number, values: Float64Array, limits: QueryLimits): Units<number> {
  if (values.length === 0 || Number.isNaN(q)) return NaN;
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
  const rank = q * (values.length - 1);
  const lower = Math.max(0, Math.floor(rank));
  const upper = Math.min(values.length - 1, lower + 1);
  const weight = rank - Math.floor(rank);
  if (values.length > SORTED_MAX) {
    const { value, next } = yield* valueAtRank(values, lower, limits);
    return value * (1 - weight) + (upper === lower ? value : next) * weight;
  }
  // Both sorts put NaN last.
  const sorted = values.length > INSERTION_MAX ? values.slice().sort() : insertionSorted(values);
  let numbers = sorted.length;
  while (numbers > 0 && Number.isNaN(sorted[numbers - 1])) numbers--;
  const at = (index: number): number => sorted[(index + numbers) % sorted.length];
  return at(lower) * (1 - weight) + at(upper) * weight;
}

/** Largest number of values that are sorted in one unit. */
const SORTED_MAX = 1 << 15;

/** Largest number of values for which insertion sort is faster, several times, than `TypedArray.prototype.sort`. */
const INSERTION_MAX = 48;

function insertionSorted(values: Float64Array): Float64Array {
  const sorted = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const x = values[i];
    let at = i;
    for (; at > 0 && (sorted[at - 1] > x || sorted[at - 1] !== sorted[at - 1]); at--) sorted[at] = sorted[at - 1];
    sorted[at] = x;
  }
  return sorted;
}

/** Bits per digit of the radix selection. */
const DIGIT_BITS = 16;
const DIGITS = 1 << DIGIT_BITS;
const DIGITS_PER_NUMBER = 64 / DIGIT_BITS;

/** The values of a rank and of the next rank, NaN if there is none. */
export interface RankedValue {
  readonly value: number;
  readonly next: number;
}

/**
 * Selects a value by its rank, NaN first, without sorting: the values are counted by 16 bits at a time, the highest first,
 * and only those with the digit of the result are counted by the next 16 bits.
 */
export function* valueAtRank(values: Float64Array, rank: number, limits: QueryLimits): Units<RankedValue> {
  let index = rank;
  let candidates = values;
  for (let digit = 0; digit < DIGITS_PER_NUMBER; digit++) {
    const found = yield* digitAt(candidates, index, digit, limits);
    candidates = yield* withDigit(candidates, digit, found, limits);
    index = found.index;
  }
  // The remaining candidates are equal.
  const [value] = candidates;
  if (index + 1 < candidates.length) return { value, next: value };
  return { value, next: yield* leastAbove(values, value, limits) };
}

interface FoundDigit {
  readonly digit: number;
  /** Number of values with the digit. */
  readonly count: number;
  /** Rank among these values. */
  readonly index: number;
}

/** Returns the digit of the value with a rank. */
function* digitAt(values: Float64Array, index: number, digit: number, limits: QueryLimits): Units<FoundDigit> {
  const counts = new Uint32Array(DIGITS);
  const digits = new Digits(values, digit);
  yield* inUnits(values.length, limits, (from, to) => {
    for (let i = from; i < to; i++) counts[digits.at(i)]++;
  });
  let before = 0;
  for (let found = 0; found < DIGITS; found++) {
    if (before + counts[found] > index) return { digit: found, count: counts[found], index: index - before };
    before += counts[found];
  }
  throw new RangeError(`no value has rank ${index}`);
}

/** Returns the values with a digit. */
function* withDigit(
  values: Float64Array,
  digit: number,
  { digit: selected, count }: FoundDigit,
  limits: QueryLimits,
): Units<Float64Array> {
  if (count === values.length) return values;
  const digits = new Digits(values, digit);
  const found = new Float64Array(count);
  let next = 0;
  yield* inUnits(values.length, limits, (from, to) => {
    for (let i = from; i < to; i++) if (digits.at(i) === selected) found[next++] = values[i];
  });
  return found;
}

/** Returns the least greater value; -0 is less than 0, and NaN is less than all numbers. */
function* leastAbove(values: Float64Array, value: number, limits: QueryLimits): Units<number> {
  let least = NaN;
  yield* inUnits(values.length, limits, (from, to) => {
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

/** One digit of each value; digits are ordered as the values. */
class Digits {
  readonly #halves: Uint32Array;
  /** Index of the half with the digit; the lower half is first in memory. */
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
    // NaN is the least value, whatever its bits are.
    if (magnitude > 0x7ff00000 || (magnitude === 0x7ff00000 && this.#halves[2 * i] !== 0)) return 0;
    const bits = (this.#halves[2 * i + this.#half] >>> this.#shift) & (DIGITS - 1);
    if (high >>> 31 === 1) return DIGITS - 1 - bits;
    return this.#isFirst ? bits + DIGITS / 2 : bits;
  }
}
