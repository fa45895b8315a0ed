import type { QueryLimits } from './limits.js';

/**
 * The value at rank `q * (n - 1)` of the sorted values, interpolated between neighbours; NaN counts as smallest.
 *
 * @returns NaN for no values or a `q` that is NaN; infinities for a `q` outside of 0 to 1. A promise of it only for many
 *   values, while which others are served.
 */
export function quantileOf(q: number, values: Float64Array, limits: QueryLimits): number | Promise<number> {
  if (values.length === 0 || Number.isNaN(q)) return NaN;
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
  const rank = q * (values.length - 1);
  const lower = Math.max(0, Math.floor(rank));
  const upper = Math.min(values.length - 1, lower + 1);
  const weight = rank - Math.floor(rank);
  if (values.length > SORTED_MAX) {
    return valueAtRank(values, lower, limits).then(({ value, next }) => {
      return value * (1 - weight) + (upper === lower ? value : next) * weight;
    });
  }
  // NaN is put last.
  const sorted = values.length > INSERTION_MAX ? values.slice().sort() : inserted(values);
  let numbers = sorted.length;
  while (numbers > 0 && Number.isNaN(sorted[numbers - 1])) numbers--;
  const at = (place: number): number => sorted[(place + numbers) % sorted.length];
  return at(lower) * (1 - weight) + at(upper) * weight;
}

/** Sorting more takes longer than others should wait. */
const SORTED_MAX = 1 << 15;

/** Up to so many values, insertion is several times as fast as the engine's own sorting of typed arrays. */
const INSERTION_MAX = 48;

function inserted(values: Float64Array): Float64Array {
  const sorted = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const x = values[i];
    let at = i;
    for (; at > 0 && (sorted[at - 1] > x || sorted[at - 1] !== sorted[at - 1]); at--) sorted[at] = sorted[at - 1];
    sorted[at] = x;
  }
  return sorted;
}

/**
 * Finds a value by its rank without sorting: numbers of 64 bits are ordered as their bits are, once those of negative ones
 * are turned round, so they are counted by 16 bits at a time, the highest first, and only those that share the bits of the
 * one that is looked for are looked at again.
 */

/** Bits that are counted at once, and how many counts there are. */
const DIGIT_BITS = 16;
const DIGITS = 1 << DIGIT_BITS;
const DIGITS_PER_NUMBER = 64 / DIGIT_BITS;

/** The value of a rank, and the value of the next rank; that is NaN if there is none. */
export interface RankedValue {
  readonly value: number;
  readonly next: number;
}

/** The value that would be at a place if the values were sorted, NaN first. Others are served meanwhile. */
export async function valueAtRank(values: Float64Array, rank: number, limits: QueryLimits): Promise<RankedValue> {
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
async function digitAt(values: Float64Array, place: number, digit: number, limits: QueryLimits): Promise<FoundDigit> {
  const counts = new Uint32Array(DIGITS);
  const digits = new Digits(values, digit);
  await limits.inSlices(values.length, (from, to) => {
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
  limits: QueryLimits,
): Promise<Float64Array> {
  if (count === values.length) return values;
  const digits = new Digits(values, digit);
  const found = new Float64Array(count);
  let next = 0;
  await limits.inSlices(values.length, (from, to) => {
    for (let i = from; i < to; i++) if (digits.at(i) === wanted) found[next++] = values[i];
  });
  return found;
}

/** The least number that is greater, -0 being less than 0 and NaN less than all. */
async function leastAbove(values: Float64Array, value: number, limits: QueryLimits): Promise<number> {
  let least = NaN;
  await limits.inSlices(values.length, (from, to) => {
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
