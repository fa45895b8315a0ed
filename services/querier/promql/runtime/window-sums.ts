import type { QueryLimits } from './limits.js';
import { NeumaierSum } from '../common/compensated-sum.js';

/** Number of values per block; windows of fewer than two blocks are summed value by value. */
const BLOCK = 32;
const LARGE_WINDOW = 2 * BLOCK;
/** Number of values from which blocks are computed with yields, by `prepare`. */
const PREPARED_MIN = 1 << 16;

/**
 * Compensated sums of windows of an array.
 *
 * Each block is summed once; a window costs its blocks and the values at its ends. Nothing is subtracted, so a large value
 * that has left the window does not reduce the precision.
 */
export class WindowSums {
  readonly #values: Float64Array;
  readonly #length: number;
  /** Sums of blocks and their compensations. */
  #sums: Float64Array | undefined;
  #losses: Float64Array | undefined;

  /** @param length number of values used. */
  constructor(values: Float64Array, length = values.length) {
    this.#values = values;
    this.#length = length;
  }

  /** Returns the Neumaier sum of `[from, to)`; infinite if a partial sum is. */
  sum(from: number, to: number): number {
    if (to - from < LARGE_WINDOW) return sumOf(this.#values, from, to);
    if (this.#sums === undefined) this.#prepareBlocks(0, this.#begin());
    const sums = this.#sums ?? this.#values;
    const losses = this.#losses ?? this.#values;
    const firstBlock = Math.ceil(from / BLOCK);
    const lastBlock = Math.floor(to / BLOCK);
    const total = new NeumaierSum();
    total.addAll(this.#values, from, firstBlock * BLOCK);
    for (let block = firstBlock; block < lastBlock; block++) total.addPart(sums[block], losses[block]);
    total.addAll(this.#values, lastBlock * BLOCK, to);
    return total.value;
  }

  /** Must be called, and awaited if it returns a promise, before the first window. */
  prepare(limits: QueryLimits): void | Promise<void> {
    if (this.#length < PREPARED_MIN) return;
    return limits.inSlices(this.#begin(), (from, to) => this.#prepareBlocks(from, to), BLOCK);
  }

  /** @returns the number of blocks. */
  #begin(): number {
    const blocks = Math.floor(this.#length / BLOCK);
    this.#sums = new Float64Array(blocks);
    this.#losses = new Float64Array(blocks);
    return blocks;
  }

  #prepareBlocks(from: number, to: number): void {
    if (this.#sums === undefined || this.#losses === undefined) return;
    for (let block = from; block < to; block++) {
      const part = new NeumaierSum();
      part.addAll(this.#values, block * BLOCK, (block + 1) * BLOCK);
      this.#sums[block] = part.sum;
      this.#losses[block] = part.compensation;
    }
  }
}

function sumOf(values: Float64Array, from: number, to: number): number {
  const sum = new NeumaierSum();
  sum.addAll(values, from, to);
  return sum.value;
}

/** Least or greatest values of windows of an array; NaN only if all values are. */
export class WindowExtremes {
  readonly #values: Float64Array;
  readonly #isMax: boolean;
  #blocks: Float64Array | undefined;

  constructor(values: Float64Array, isMax: boolean) {
    this.#values = values;
    this.#isMax = isMax;
  }

  /** Returns the extreme of `[from, to)`, which must not be empty. */
  extreme(from: number, to: number): number {
    if (to - from < LARGE_WINDOW) return extremeOf(this.#values, from, to, this.#isMax);
    if (this.#blocks === undefined) this.#prepareBlocks(0, this.#begin());
    const blocks = this.#blocks ?? this.#values;
    const firstBlock = Math.ceil(from / BLOCK);
    const lastBlock = Math.floor(to / BLOCK);
    let best = extremeOf(blocks, firstBlock, lastBlock, this.#isMax);
    best = better(best, extremeOf(this.#values, from, firstBlock * BLOCK, this.#isMax), this.#isMax);
    return better(best, extremeOf(this.#values, lastBlock * BLOCK, to, this.#isMax), this.#isMax);
  }

  /** See `WindowSums.prepare`. */
  prepare(limits: QueryLimits): void | Promise<void> {
    if (this.#values.length < PREPARED_MIN) return;
    return limits.inSlices(this.#begin(), (from, to) => this.#prepareBlocks(from, to), BLOCK);
  }

  #begin(): number {
    this.#blocks = new Float64Array(Math.floor(this.#values.length / BLOCK));
    return this.#blocks.length;
  }

  #prepareBlocks(from: number, to: number): void {
    if (this.#blocks === undefined) return;
    for (let block = from; block < to; block++) {
      this.#blocks[block] = extremeOf(this.#values, block * BLOCK, (block + 1) * BLOCK, this.#isMax);
    }
  }
}

/** Returns NaN for an empty range. */
function extremeOf(values: Float64Array, from: number, to: number, isMax: boolean): number {
  let best = NaN;
  for (let i = from; i < to; i++) best = better(best, values[i], isMax);
  return best;
}

function better(best: number, x: number, isMax: boolean): number {
  return (isMax ? x > best : x < best) || Number.isNaN(best) ? x : best;
}
