import type { NumberCells } from '#shared/duckdb/column-cells';

import type { AggregateName } from './query.js';
import type { RowSpans } from './row-spans.js';

/** Values of a numeric column: that of row `i` is `base + values[i]`. */
export interface Numbers {
  readonly values: NumberArray;
  readonly base: number;
}

/** The arrays of decoded columns and of unflushed rows. */
export type NumberArray =
  Float64Array | Uint8Array | Uint16Array | Uint32Array | Int8Array | Int16Array | Int32Array | Float32Array;

/** Aggregates of many groups, of which each has a cell. */
export interface GroupAccumulator {
  /** Adds rows to their cells. @param mask has 0 for each row that is left out */
  add(numbers: Numbers, mask: Uint8Array | undefined, spans: RowSpans): void;
  /** Returns the aggregate of a cell; null if it has no value. */
  result(cell: number): number | null;
  /** Returns the aggregates of cells: `result` of each takes three times as long, since V8 allocates the numbers. */
  results(cells: readonly number[]): NumberCells;
  /** Returns the aggregate of the cells `[from, to)` together. */
  combined(from: number, to: number): number | null;
  /** The arrays that it consists of. */
  readonly state: AccumulatorState;
  /** Adds what another accumulator of the same kind and cells has added up. */
  merge(other: AccumulatorState): void;
}

/** The arrays of an accumulator, which can be sent to another thread. */
export type AccumulatorState = readonly (Float64Array | Uint8Array | BigInt64Array)[];

/** Aggregates that depend on the values alone. */
export type ValueAggregate = Exclude<AggregateName, 'first' | 'last'>;

/** Returns the memory of an accumulator for one cell. */
export function bytesPerCell(name: ValueAggregate): number {
  if (name === 'count') return 8;
  return name === 'min' || name === 'max' ? 9 : 16;
}

/** Creates an accumulator with no rows. */
export function accumulatorOf(name: ValueAggregate, cells: number): GroupAccumulator {
  switch (name) {
    case 'count':
      return new CountAccumulator(cells);
    case 'min':
      return new MinAccumulator(cells);
    case 'max':
      return new MaxAccumulator(cells);
    case 'sum':
      return new SumAccumulator(cells, false);
    case 'avg':
      return new SumAccumulator(cells, true);
  }
}

/** Counts rows, or values that are not null. */
export class CountAccumulator implements GroupAccumulator {
  readonly #counts: Float64Array;

  constructor(cells: number) {
    this.#counts = new Float64Array(cells);
  }

  add(_numbers: Numbers | undefined, mask: Uint8Array | undefined, { from, to, cells, count }: RowSpans): void {
    const counts = this.#counts;
    for (let i = 0; i < count; i++) {
      counts[cells[i]] += mask === undefined ? to[i] - from[i] : countMask(mask, from[i], to[i]);
    }
  }

  result(cell: number): number {
    return this.#counts[cell];
  }

  results(cells: readonly number[]): NumberCells {
    const found = emptyCells(cells.length);
    found.present.fill(1);
    for (let i = 0; i < cells.length; i++) found.values[i] = this.#counts[cells[i]];
    return found;
  }

  combined(from: number, to: number): number {
    let count = 0;
    for (let cell = from; cell < to; cell++) count += this.#counts[cell];
    return count;
  }

  get state(): AccumulatorState {
    return [this.#counts];
  }

  merge([counts]: AccumulatorState): void {
    for (let cell = 0; cell < this.#counts.length; cell++) this.#counts[cell] += Number(counts[cell]);
  }
}

class MinAccumulator implements GroupAccumulator {
  /** NaN until there is another value, because it is the greatest. */
  readonly #least: Float64Array;
  readonly #has: Uint8Array;

  constructor(cells: number) {
    this.#least = new Float64Array(cells).fill(NaN);
    this.#has = new Uint8Array(cells);
  }

  add({ values, base }: Numbers, mask: Uint8Array | undefined, { from, to, cells, count }: RowSpans): void {
    for (let i = 0; i < count; i++) {
      if (mask !== undefined && !hasAny(mask, from[i], to[i])) continue;
      const least = mask === undefined ? minOf(values, from[i], to[i]) : maskedMinOf(values, mask, from[i], to[i]);
      const cell = cells[i];
      const before = this.#least[cell];
      if (base + least < before || Number.isNaN(before)) this.#least[cell] = base + least;
      this.#has[cell] = 1;
    }
  }

  result(cell: number): number | null {
    return this.#has[cell] === 0 ? null : this.#least[cell];
  }

  results(cells: readonly number[]): NumberCells {
    return cellsWith(this.#has, this.#least, cells);
  }

  combined(from: number, to: number): number | null {
    let least: number | null = null;
    for (let cell = from; cell < to; cell++) {
      if (this.#has[cell] === 0) continue;
      const value = this.#least[cell];
      if (least === null || value < least || Number.isNaN(least)) least = value;
    }
    return least;
  }

  get state(): AccumulatorState {
    return [this.#least, this.#has];
  }

  merge([least, has]: AccumulatorState): void {
    for (let cell = 0; cell < this.#has.length; cell++) {
      if (has[cell] === 0) continue;
      const [before, value] = [this.#least[cell], Number(least[cell])];
      if (value < before || Number.isNaN(before)) this.#least[cell] = value;
      this.#has[cell] = 1;
    }
  }
}

class MaxAccumulator implements GroupAccumulator {
  readonly #greatest: Float64Array;
  readonly #has: Uint8Array;

  constructor(cells: number) {
    this.#greatest = new Float64Array(cells).fill(-Infinity);
    this.#has = new Uint8Array(cells);
  }

  add({ values, base }: Numbers, mask: Uint8Array | undefined, { from, to, cells, count }: RowSpans): void {
    for (let i = 0; i < count; i++) {
      if (mask !== undefined && !hasAny(mask, from[i], to[i])) continue;
      const most = mask === undefined ? maxOf(values, from[i], to[i]) : maskedMaxOf(values, mask, from[i], to[i]);
      const cell = cells[i];
      const greatest = base + most;
      if (greatest > this.#greatest[cell] || Number.isNaN(greatest)) this.#greatest[cell] = greatest;
      this.#has[cell] = 1;
    }
  }

  result(cell: number): number | null {
    return this.#has[cell] === 0 ? null : this.#greatest[cell];
  }

  results(cells: readonly number[]): NumberCells {
    return cellsWith(this.#has, this.#greatest, cells);
  }

  combined(from: number, to: number): number | null {
    let greatest: number | null = null;
    for (let cell = from; cell < to; cell++) {
      if (this.#has[cell] === 0) continue;
      const value = this.#greatest[cell];
      if (greatest === null || value > greatest || Number.isNaN(value)) greatest = value;
    }
    return greatest;
  }

  get state(): AccumulatorState {
    return [this.#greatest, this.#has];
  }

  merge([greatest, has]: AccumulatorState): void {
    for (let cell = 0; cell < this.#has.length; cell++) {
      if (has[cell] === 0) continue;
      const value = Number(greatest[cell]);
      if (value > this.#greatest[cell] || Number.isNaN(value)) this.#greatest[cell] = value;
      this.#has[cell] = 1;
    }
  }
}

/** Adds up values, one after the other in the order of the calls, as the engine does with one thread. */
class SumAccumulator implements GroupAccumulator {
  readonly #sums: Float64Array;
  readonly #counts: Float64Array;
  readonly #isMean: boolean;

  constructor(cells: number, isMean: boolean) {
    this.#sums = new Float64Array(cells);
    this.#counts = new Float64Array(cells);
    this.#isMean = isMean;
  }

  add({ values, base }: Numbers, mask: Uint8Array | undefined, spans: RowSpans): void {
    const words = mask === undefined ? byteWords(values, spans) : undefined;
    for (let i = 0; i < spans.count; i++) {
      const [from, to, cell] = [spans.from[i], spans.to[i], spans.cells[i]];
      const count = mask === undefined ? to - from : countMask(mask, from, to);
      if (count === 0) continue;
      const before = this.#sums[cell];
      let sum: number;
      if (words !== undefined) sum = before + sumOfByteWords(words, from, to);
      else if (mask === undefined) sum = sumOf(values, before, from, to);
      else sum = maskedSumOf(values, mask, before, from, to);
      // Columns with a base are integers, whose sums are exact.
      this.#sums[cell] = sum + base * count;
      this.#counts[cell] += count;
    }
  }

  result(cell: number): number | null {
    const count = this.#counts[cell];
    if (count === 0) return null;
    return this.#isMean ? this.#sums[cell] / count : this.#sums[cell];
  }

  results(cells: readonly number[]): NumberCells {
    const found = emptyCells(cells.length);
    const [sums, counts] = [this.#sums, this.#counts];
    for (let i = 0; i < cells.length; i++) {
      const cell = cells[i];
      if (counts[cell] === 0) continue;
      found.values[i] = this.#isMean ? sums[cell] / counts[cell] : sums[cell];
      found.present[i] = 1;
    }
    return found;
  }

  combined(from: number, to: number): number | null {
    let [sum, count] = [0, 0];
    for (let cell = from; cell < to; cell++) {
      sum += this.#sums[cell];
      count += this.#counts[cell];
    }
    if (count === 0) return null;
    return this.#isMean ? sum / count : sum;
  }

  get state(): AccumulatorState {
    return [this.#sums, this.#counts];
  }

  merge([sums, counts]: AccumulatorState): void {
    for (let cell = 0; cell < this.#sums.length; cell++) {
      if (counts[cell] === 0) continue;
      this.#sums[cell] += Number(sums[cell]);
      this.#counts[cell] += Number(counts[cell]);
    }
  }
}

function emptyCells(count: number): NumberCells {
  return { values: new Float64Array(count), present: new Uint8Array(count) };
}

/** Returns the values of cells that have one. */
function cellsWith(has: Uint8Array, values: Float64Array, cells: readonly number[]): NumberCells {
  const found = emptyCells(cells.length);
  for (let i = 0; i < cells.length; i++) {
    if (has[cells[i]] === 0) continue;
    found.values[i] = values[cells[i]];
    found.present[i] = 1;
  }
  return found;
}

function countMask(mask: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let row = from; row < to; row++) count += mask[row];
  return count;
}

function hasAny(mask: Uint8Array, from: number, to: number): boolean {
  for (let row = from; row < to; row++) if (mask[row] === 1) return true;
  return false;
}

/** Returns the sum of `first` and the values, from left to right. */
function sumOf(values: NumberArray, first: number, from: number, to: number): number {
  // Loops of their own for the usual types are faster: they never look the type of the array up.
  if (values instanceof Float64Array) return sumOfDoubles(values, first, from, to);
  if (values instanceof Uint8Array) return first + sumOfBytes(values, from, to);
  let sum = first;
  for (let row = from; row < to; row++) sum += values[row];
  return sum;
}

function sumOfDoubles(values: Float64Array, first: number, from: number, to: number): number {
  let sum = first;
  for (let row = from; row < to; row++) sum += values[row];
  return sum;
}

/** Words that are added before the halves of a sum could overflow. */
const WORDS_MAX = 256;
/** Spans of fewer bytes are added one by one. */
const WORD_BYTES_MIN = 64;
const EVEN_BYTES = 0x00ff00ff;

/** Bytes, and the words that they are in. */
interface ByteWords {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
}

/** Returns words for the sums of spans of bytes; undefined if that would not save time. */
function byteWords(bytes: NumberArray, { from, to, count }: RowSpans): ByteWords | undefined {
  if (!(bytes instanceof Uint8Array) || bytes.byteOffset % 4 > 0) return undefined;
  if (count === 0 || to[count - 1] - from[0] < WORD_BYTES_MIN * count) return undefined;
  return { bytes, words: new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2) };
}

/** Adds bytes four at a time, in a third of the time: two sums of 16 bits in a word. A row group has at most 2^22 rows. */
function sumOfByteWords({ bytes, words }: ByteWords, from: number, to: number): number {
  const [firstWord, endWord] = [(from + 3) >> 2, to >> 2];
  if (firstWord >= endWord) return sumOfBytes(bytes, from, to);
  let sum = sumOfBytes(bytes, from, 4 * firstWord) + sumOfBytes(bytes, 4 * endWord, to);
  for (let word = firstWord; word < endWord; word += WORDS_MAX) {
    sum += sumOfWords(words, word, Math.min(word + WORDS_MAX, endWord));
  }
  return sum;
}

function sumOfWords(words: Int32Array, from: number, to: number): number {
  let even = 0;
  let odd = 0;
  for (let i = from; i < to; i++) {
    const word = words[i];
    even = (even + (word & EVEN_BYTES)) | 0;
    odd = (odd + ((word >>> 8) & EVEN_BYTES)) | 0;
  }
  return (even & 0xffff) + (even >>> 16) + (odd & 0xffff) + (odd >>> 16);
}

/** Adds 32-bit integers, which do not overflow. */
function sumOfBytes(values: Uint8Array, from: number, to: number): number {
  let sum = 0;
  for (let row = from; row < to; row++) sum = (sum + values[row]) | 0;
  return sum;
}

function maskedSumOf(values: NumberArray, mask: Uint8Array, first: number, from: number, to: number): number {
  let sum = first;
  for (let row = from; row < to; row++) if (mask[row] === 1) sum += values[row];
  return sum;
}

/** Returns the greatest value; NaN if there is one. */
function maxOf(values: NumberArray, from: number, to: number): number {
  if (values instanceof Float64Array) return maxOfDoubles(values, from, to);
  if (values instanceof Uint8Array) return maxOfBytes(values, from, to);
  let greatest = values[from];
  for (let row = from + 1; row < to; row++) {
    const value = values[row];
    if (value > greatest || Number.isNaN(value)) greatest = value;
  }
  return greatest;
}

function maxOfDoubles(values: Float64Array, from: number, to: number): number {
  let greatest = values[from];
  for (let row = from + 1; row < to; row++) {
    const value = values[row];
    if (value > greatest || Number.isNaN(value)) greatest = value;
  }
  return greatest;
}

function maxOfBytes(values: Uint8Array, from: number, to: number): number {
  let greatest = values[from];
  for (let row = from + 1; row < to; row++) if (values[row] > greatest) greatest = values[row];
  return greatest;
}

function maskedMaxOf(values: NumberArray, mask: Uint8Array, from: number, to: number): number {
  let greatest = -Infinity;
  for (let row = from; row < to; row++) {
    const value = values[row];
    if (mask[row] === 1 && (value > greatest || Number.isNaN(value))) greatest = value;
  }
  return greatest;
}

/** Returns the least value; NaN only if there is no other. */
function minOf(values: NumberArray, from: number, to: number): number {
  if (values instanceof Float64Array) return minOfDoubles(values, from, to);
  let least = values[from];
  for (let row = from + 1; row < to; row++) {
    const value = values[row];
    if (value < least || Number.isNaN(least)) least = value;
  }
  return least;
}

function minOfDoubles(values: Float64Array, from: number, to: number): number {
  let least = values[from];
  for (let row = from + 1; row < to; row++) {
    const value = values[row];
    if (value < least || Number.isNaN(least)) least = value;
  }
  return least;
}

function maskedMinOf(values: NumberArray, mask: Uint8Array, from: number, to: number): number {
  let least = NaN;
  for (let row = from; row < to; row++) {
    const value = values[row];
    if (mask[row] === 1 && (value < least || Number.isNaN(least))) least = value;
  }
  return least;
}
