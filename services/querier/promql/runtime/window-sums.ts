import { NeumaierSum } from '../common/compensated-sum.js';

/** Number of values per block; windows of fewer than two blocks are summed value by value. */
const BLOCK = 32;
const LARGE_WINDOW = 2 * BLOCK;

/**
 * Compensated sums of windows of an array.
 *
 * Each block is summed once; a window costs its blocks and the values at its ends. Nothing is subtracted, so a large value
 * that has left the window does not reduce the precision. Blocks are computed for the first large window.
 */
export class WindowSums {
  readonly #values: Float64Array;
  readonly #firstBlock: number;
  readonly #blocks: number;
  /** Sums of blocks and their compensations. */
  #sums: Float64Array | undefined;
  #losses: Float64Array | undefined;

  /** Windows are in `[from, to)`. */
  constructor(values: Float64Array, from = 0, to = values.length) {
    this.#values = values;
    this.#firstBlock = Math.ceil(from / BLOCK);
    this.#blocks = Math.max(0, Math.floor(to / BLOCK) - this.#firstBlock);
  }

  /** Returns the Neumaier sum of `[from, to)`; infinite if a partial sum is. */
  sum(from: number, to: number): number {
    if (to - from < LARGE_WINDOW) return sumOf(this.#values, from, to);
    const sums = (this.#sums ??= this.#prepareBlocks());
    const losses = this.#losses ?? sums;
    const firstBlock = Math.ceil(from / BLOCK);
    const lastBlock = Math.floor(to / BLOCK);
    const total = new NeumaierSum();
    total.addAll(this.#values, from, firstBlock * BLOCK);
    for (let block = firstBlock - this.#firstBlock; block < lastBlock - this.#firstBlock; block++) {
      total.addPart(sums[block], losses[block]);
    }
    total.addAll(this.#values, lastBlock * BLOCK, to);
    return total.value;
  }

  #prepareBlocks(): Float64Array {
    const sums = new Float64Array(this.#blocks);
    const losses = new Float64Array(this.#blocks);
    for (let block = 0; block < this.#blocks; block++) {
      const part = new NeumaierSum();
      const from = (this.#firstBlock + block) * BLOCK;
      part.addAll(this.#values, from, from + BLOCK);
      sums[block] = part.sum;
      losses[block] = part.compensation;
    }
    this.#losses = losses;
    return sums;
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
  readonly #firstBlock: number;
  readonly #count: number;
  #blocks: Float64Array | undefined;

  /** Windows are in `[from, to)`. */
  constructor(values: Float64Array, isMax: boolean, from = 0, to = values.length) {
    this.#values = values;
    this.#isMax = isMax;
    this.#firstBlock = Math.ceil(from / BLOCK);
    this.#count = Math.max(0, Math.floor(to / BLOCK) - this.#firstBlock);
  }

  /** Returns the extreme of `[from, to)`, which must not be empty. */
  extreme(from: number, to: number): number {
    if (to - from < LARGE_WINDOW) return extremeOf(this.#values, from, to, this.#isMax);
    const blocks = (this.#blocks ??= this.#prepareBlocks());
    const firstBlock = Math.ceil(from / BLOCK);
    const lastBlock = Math.floor(to / BLOCK);
    let best = extremeOf(blocks, firstBlock - this.#firstBlock, lastBlock - this.#firstBlock, this.#isMax);
    best = better(best, extremeOf(this.#values, from, firstBlock * BLOCK, this.#isMax), this.#isMax);
    return better(best, extremeOf(this.#values, lastBlock * BLOCK, to, this.#isMax), this.#isMax);
  }

  #prepareBlocks(): Float64Array {
    const blocks = new Float64Array(this.#count);
    for (let block = 0; block < blocks.length; block++) {
      const from = (this.#firstBlock + block) * BLOCK;
      blocks[block] = extremeOf(this.#values, from, from + BLOCK, this.#isMax);
    }
    return blocks;
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
