import type { Band } from '#shared/segments/bands';

import { NotForKernels } from '../query.js';

/** Larger differences of times, and their sums with others, are not exact as doubles. */
export const LENGTH_EXACT = 2n ** 52n;

/** Times of unflushed rows, which are read as pairs of words: as big integers, each would be an object. */
export class RowTimes {
  /** The first time. */
  readonly base: bigint;
  readonly #times: BigInt64Array;
  readonly #low: Uint32Array;
  readonly #high: Int32Array;
  readonly #baseLow: number;
  readonly #baseHigh: number;

  /**
   * @param times of one row at least
   * @param around range that has all of them
   * @throws `NotForKernels` if it is too long.
   */
  constructor(times: BigInt64Array, around: Band) {
    if (around.last - around.first > LENGTH_EXACT) throw new NotForKernels('unflushed rows are far apart');
    this.#times = times;
    this.#low = new Uint32Array(times.buffer, times.byteOffset, 2 * times.length);
    this.#high = new Int32Array(times.buffer, times.byteOffset, 2 * times.length);
    this.base = times[0];
    this.#baseLow = this.#low[0];
    this.#baseHigh = this.#high[1];
  }

  /** Returns the time of a row. */
  at(row: number): bigint {
    return this.#times[row];
  }

  /** Returns the time of a row relative to the base. */
  sinceBase(row: number): number {
    return (this.#high[2 * row + 1] - this.#baseHigh) * 2 ** 32 + (this.#low[2 * row] - this.#baseLow);
  }
}
