import { dataType, type DataType } from '#shared/schema/data-type';
import { isBytes, type Column, type FixedValues } from './column.js';

const FIRST_CAPACITY = 16;

/**
 * One growing field column. Rows that are not set are null.
 *
 * Fixed values are collected as doubles (integers beyond 2^53 separately, in `#wide`) and finished in the narrowest array
 * that holds them: most counters and gauges fit one or two bytes, which makes the log and the memtable several times
 * smaller.
 */
export class FieldBuilder {
  name: string;
  type: DataType;
  /** Rows before this one are decided: set, or null. */
  filled = 0;
  /** Rows that have a value. */
  setCount = 0;

  numbers: Float64Array<ArrayBuffer>;
  /** The same memory as `numbers`. */
  #words: Int32Array<ArrayBuffer>;
  #wide: Map<number, bigint> | undefined;
  #offsets: Int32Array<ArrayBuffer>;
  #bytes: Buffer<ArrayBuffer>;
  /** One byte per row, created at the first null. */
  #present: Uint8Array<ArrayBuffer> | undefined;
  /** Whether values are text or binary; constant for the life of the builder. */
  readonly isBytes: boolean;

  constructor(name: string, type: string) {
    this.name = name;
    this.type = dataType(type);
    this.isBytes = isBytes(this.type.storage);
    this.numbers = new Float64Array(this.isBytes ? 0 : FIRST_CAPACITY);
    this.#words = new Int32Array(this.numbers.buffer);
    this.#offsets = new Int32Array(this.isBytes ? FIRST_CAPACITY + 1 : 0);
    this.#bytes = zeroed(this.isBytes ? FIRST_CAPACITY * 16 : 0);
  }

  /** Sets a number, a boolean as 0 or 1, or an integer that a double holds exactly. The last call for a row wins. */
  setNumber(row: number, value: number): void {
    if (this.filled !== row) this.#reach(row);
    if (row >= this.numbers.length) this.#growNumbers(row + 1);
    this.numbers[row] = value;
    if (this.#present !== undefined) this.#mark(row);
    this.filled = row + 1;
    this.setCount++;
  }

  /** Sets a double by its two halves, so that a NaN keeps its bits. */
  setDoubleWords(row: number, low: number, high: number): void {
    if (this.filled !== row) this.#reach(row);
    if (row >= this.numbers.length) this.#growNumbers(row + 1);
    this.#words[2 * row] = low;
    this.#words[2 * row + 1] = high;
    if (this.#present !== undefined) this.#mark(row);
    this.filled = row + 1;
    this.setCount++;
  }

  /** Sets doubles of consecutive rows, the first of which has no value yet. */
  setDoubles(row: number, values: Float64Array): void {
    if (this.filled !== row) this.#reach(row);
    const end = row + values.length;
    if (end > this.numbers.length) this.#growNumbers(end);
    this.numbers.set(values, row);
    if (this.#present !== undefined) for (let i = row; i < end; i++) this.#mark(i);
    this.filled = end;
    this.setCount += values.length;
  }

  /** Sets an integer of any size. */
  setBigInt(row: number, value: bigint): void {
    const near = Number(value);
    this.setNumber(row, near);
    if (Number.isSafeInteger(near)) this.#wide?.delete(row);
    else (this.#wide ??= new Map<number, bigint>()).set(row, value);
  }

  /** Sets text or binary to a copy of `source[from, to)`. */
  setBytes(row: number, source: Uint8Array, from: number, to: number): void {
    if (this.filled !== row) this.#reach(row);
    const start = this.#offsets[row];
    const end = start + (to - from);
    if (row + 2 > this.#offsets.length) this.#growOffsets(row + 2);
    if (end > this.#bytes.length) this.#growBytes(end);
    if (to - from < 32) for (let i = from, at = start; i < to; i++, at++) this.#bytes[at] = source[i];
    else this.#bytes.set(source.subarray(from, to), start);
    this.#offsets[row + 1] = end;
    if (this.#present !== undefined) this.#mark(row);
    this.filled = row + 1;
    this.setCount++;
  }

  /** Sets text; surrogates without their other half become U+FFFD. */
  setText(row: number, text: string): void {
    if (this.filled !== row) this.#reach(row);
    const start = this.#offsets[row];
    if (row + 2 > this.#offsets.length) this.#growOffsets(row + 2);
    // No UTF-16 unit takes more than three bytes of UTF-8.
    if (start + 3 * text.length > this.#bytes.length) this.#growBytes(start + 3 * text.length);
    this.#offsets[row + 1] = start + this.#bytes.write(text, start);
    if (this.#present !== undefined) this.#mark(row);
    this.filled = row + 1;
    this.setCount++;
  }

  /** Discards the value of `row`, the last row. */
  undo(row: number): void {
    if (this.filled <= row) return;
    this.filled = row;
    this.setCount--;
    this.#wide?.delete(row);
  }

  /** Returns the column over `rowCount` rows; undefined if no row has a value. Its arrays may be views of those here. */
  finish(columnId: number, rowCount: number): Column | undefined {
    if (this.setCount === 0) return undefined;
    if (this.filled < rowCount) this.#reach(rowCount);
    const validity = this.#packValidity(rowCount);
    const nullCount = validity === undefined ? 0 : countNulls(validity, rowCount);
    const type = this.type.name;
    // Not by spreads, to which V8 adds members slowly: this runs for each column of a request.
    if (!this.isBytes) {
      return { kind: 'fixed', columnId, type, nullCount, validity, values: this.#finishNumbers(rowCount) };
    }
    const offsets = this.#offsets.subarray(0, rowCount + 1);
    // A plain array: `slice` of a buffer would not copy.
    const bytes = new Uint8Array(this.#bytes.buffer, 0, offsets[rowCount]);
    return { kind: 'bytes', columnId, type, nullCount, validity, offsets, bytes };
  }

  /** Size of the arrays in bytes. */
  get capacityBytes(): number {
    const present = this.#present?.length ?? 0;
    return this.numbers.byteLength + this.#offsets.byteLength + this.#bytes.length + present;
  }

  /** Empties the builder for another column with the same kind of values. The arrays stay. */
  restart(name: string, type: DataType): void {
    this.name = name;
    this.type = type;
    this.filled = 0;
    this.setCount = 0;
    this.#wide = undefined;
    this.#present = undefined;
  }

  #finishNumbers(rowCount: number): FixedValues {
    const { storage } = this.type;
    if (storage === 'float64') return this.numbers.subarray(0, rowCount);
    if (storage === 'float32') return Float32Array.from(this.numbers.subarray(0, rowCount));
    if (storage === 'bool') return Uint8Array.from(this.numbers.subarray(0, rowCount));
    return narrowIntegers(this.numbers, rowCount, this.#wide);
  }

  /** Makes the rows between the last decided one and `row` null. */
  #reach(row: number): void {
    if (row < this.filled) {
      // The value is replaced: the row has the same field twice.
      this.setCount--;
      this.#wide?.delete(row);
      return;
    }
    this.#present ??= new Uint8Array(Math.max(row + 1, FIRST_CAPACITY)).fill(1, 0, this.filled);
    if (row > this.#present.length) this.#growPresent(row);
    this.#present.fill(0, this.filled, row);
    if (this.isBytes) {
      if (row + 2 > this.#offsets.length) this.#growOffsets(row + 2);
      this.#offsets.fill(this.#offsets[this.filled], this.filled + 1, row + 1);
    } else {
      if (row > this.numbers.length) this.#growNumbers(row);
      this.numbers.fill(0, this.filled, row);
    }
    this.filled = row;
  }

  #mark(row: number): void {
    if (this.#present === undefined) return;
    if (row >= this.#present.length) this.#growPresent(row + 1);
    this.#present[row] = 1;
  }

  #packValidity(rowCount: number): Uint8Array<ArrayBuffer> | undefined {
    const present = this.#present;
    if (present === undefined) return undefined;
    const packed = new Uint8Array((rowCount + 7) >> 3);
    for (let row = 0; row < rowCount; row++) if (present[row] === 1) packed[row >> 3] |= 1 << (row & 7);
    return packed;
  }

  #growNumbers(least: number): void {
    const grown = new Float64Array(Math.max(least, this.numbers.length * 2));
    grown.set(this.numbers);
    this.numbers = grown;
    this.#words = new Int32Array(grown.buffer);
  }

  #growOffsets(least: number): void {
    const grown = new Int32Array(Math.max(least, this.#offsets.length * 2));
    grown.set(this.#offsets);
    this.#offsets = grown;
  }

  #growBytes(least: number): void {
    const grown = zeroed(Math.max(least, this.#bytes.length * 2));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }

  #growPresent(least: number): void {
    const present = this.#present ?? new Uint8Array(0);
    const grown = new Uint8Array(Math.max(least, present.length * 2));
    grown.set(present);
    this.#present = grown;
  }
}

/** Memory outside of Node's pool, since columns are views of it. */
function zeroed(length: number): Buffer<ArrayBuffer> {
  return Buffer.from(new ArrayBuffer(length));
}

/** Returns the narrowest array that holds `numbers[0, count)`, with the rows of `wide` replaced by their exact values. */
function narrowIntegers(
  numbers: Float64Array,
  count: number,
  wide: ReadonlyMap<number, bigint> | undefined,
): FixedValues {
  let min = 0;
  let max = 0;
  for (let row = 0; row < count; row++) {
    const value = numbers[row];
    if (value < min) min = value;
    else if (value > max) max = value;
  }
  if (min >= -128 && max <= 127) return copyInto(new Int8Array(count), numbers, count);
  if (min >= -32768 && max <= 32767) return copyInto(new Int16Array(count), numbers, count);
  if (min >= -2147483648 && max <= 2147483647) return copyInto(new Int32Array(count), numbers, count);
  return widenIntegers(numbers, count, wide);
}

function copyInto<T extends Int8Array | Int16Array | Int32Array>(target: T, numbers: Float64Array, count: number): T {
  for (let row = 0; row < count; row++) target[row] = numbers[row];
  return target;
}

/** Returns 64-bit integers, written as two words each to avoid BigInt. */
function widenIntegers(
  numbers: Float64Array,
  count: number,
  wide: ReadonlyMap<number, bigint> | undefined,
): BigInt64Array<ArrayBuffer> {
  const values = new BigInt64Array(count);
  const words = new Int32Array(values.buffer);
  for (let row = 0; row < count; row++) {
    const value = numbers[row];
    const high = Math.floor(value / 4294967296);
    words[2 * row] = value - high * 4294967296;
    words[2 * row + 1] = high;
  }
  // An unsigned value of 2^63 or more keeps its bits.
  if (wide !== undefined) for (const [row, value] of wide) values[row] = BigInt.asIntN(64, value);
  return values;
}

function countNulls(validity: Uint8Array, rowCount: number): number {
  let present = 0;
  for (let row = 0; row < rowCount; row++) present += (validity[row >> 3] >> (row & 7)) & 1;
  return rowCount - present;
}
