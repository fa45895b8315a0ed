import type { Column as BatchColumn, FixedValues } from '#shared/rowbatch/column';

import { TOO_LARGE } from '../field-values.js';
import type { KeptValues } from './kept-fields.js';
import { NotForKernels } from '../query.js';

/** A column of a batch; undefined: all rows are null. */
export interface BatchPart {
  readonly column: BatchColumn | undefined;
  readonly rowCount: number;
}

/** Values of a group before they are sorted, kept between calls. */
let doubles = new Float64Array(0);
let integers = new Int32Array(0);
let present = new Uint8Array(0);

/**
 * Returns the values of a column of several batches in an order, integers as narrow as they allow.
 *
 * @param order numbers of rows, counted over all batches
 * @throws `NotForKernels` for large integers.
 */
export function gathered(parts: readonly BatchPart[], order: Uint32Array): KeptValues {
  const arrays = parts.map(({ column }) => fixedValues(column));
  const valid = bitmapOf(parts, order);
  if (arrays.some((array) => array instanceof Float64Array || array instanceof Float32Array)) {
    reserveDoubles(order.length);
    copyEach(parts, arrays, doubles);
    return { values: permuted(doubles, 0, order, new Float64Array(order.length)), base: -0, valid, magnitude: 0 };
  }
  if (arrays.some((array) => array instanceof BigInt64Array)) {
    reserveDoubles(order.length);
    copyEach(parts, arrays, doubles);
    return { ...narrowed(doubles, order), valid };
  }
  if (integers.length < order.length) integers = new Int32Array(order.length);
  copyEach(parts, arrays, integers);
  return { ...narrowed(integers, order), valid };
}

function reserveDoubles(count: number): void {
  if (doubles.length < count) doubles = new Float64Array(count);
}

function fixedValues(column: BatchColumn | undefined): FixedValues | undefined {
  if (column === undefined) return undefined;
  if (column.kind !== 'fixed') throw new NotForKernels('values that are not numbers');
  const { values, type } = column;
  if (values instanceof BigUint64Array) throw new NotForKernels(TOO_LARGE);
  if (values instanceof BigInt64Array) checkIntegers(values, type.startsWith('U'));
  return values;
}

/** Integers from 2^53 on are not exact as doubles. Their high words are at least this. */
const HIGH_WORD_MAX = 2 ** 21;

/** @param isUnsigned whether negative numbers stand for greater ones */
function checkIntegers(values: BigInt64Array, isUnsigned: boolean): void {
  const least = isUnsigned ? 0 : -HIGH_WORD_MAX + 1;
  const high = new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
  for (let i = 1; i < high.length; i += 2) {
    if (high[i] < least || high[i] >= HIGH_WORD_MAX) throw new NotForKernels(TOO_LARGE);
  }
}

/** Copies the values of all batches, 0 for a batch without the column. */
function copyEach(
  parts: readonly BatchPart[],
  arrays: readonly (FixedValues | undefined)[],
  target: Float64Array | Int32Array,
): void {
  let at = 0;
  for (const [i, { rowCount }] of parts.entries()) {
    const array = arrays[i];
    if (array === undefined) target.fill(0, at, at + rowCount);
    else if (array instanceof BigInt64Array) copyWide(array, target, at);
    else if (!(array instanceof BigUint64Array)) target.set(array, at);
    at += rowCount;
  }
}

/** As big integers, each value would be an object. */
function copyWide(values: BigInt64Array, target: Float64Array | Int32Array, at: number): void {
  const low = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
  const high = new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
  for (let row = 0; row < values.length; row++) target[at + row] = high[2 * row + 1] * 2 ** 32 + low[2 * row];
}

/** Returns values in as narrow an array as they allow, which can be kept. */
export function narrow(field: KeptValues): KeptValues {
  const { values, base, valid, magnitude } = field;
  if (magnitude === 0) return field;
  const { length } = values;
  let [least, greatest] = [Infinity, -Infinity];
  for (let i = 0; i < length; i++) {
    const value = values[i];
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  const range = greatest - least;
  if (range >= 2 ** 32) return { values, base, valid, magnitude };
  const narrowed = new (arrayOf(range))(length);
  for (let i = 0; i < length; i++) narrowed[i] = values[i] - least;
  return { values: narrowed, base: base + least, valid, magnitude };
}

function arrayOf(range: number): Uint8ArrayConstructor | Uint16ArrayConstructor | Uint32ArrayConstructor {
  if (range < 2 ** 8) return Uint8Array;
  return range < 2 ** 16 ? Uint16Array : Uint32Array;
}

/** Returns integers in an order, relative to the least one. */
function narrowed(values: Float64Array | Int32Array, order: Uint32Array): Omit<KeptValues, 'valid'> {
  let [least, greatest] = [values[order[0]], values[order[0]]];
  for (let row = 0; row < order.length; row++) {
    const value = values[row];
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  const magnitude = Math.max(Math.abs(least), Math.abs(greatest));
  const range = greatest - least;
  if (range >= 2 ** 32) {
    return { values: permuted(values, 0, order, new Float64Array(order.length)), base: 0, magnitude };
  }
  return { values: permuted(values, least, order, new (arrayOf(range))(order.length)), base: least, magnitude };
}

function permuted<T extends Float64Array | Uint8Array | Uint16Array | Uint32Array>(
  values: Float64Array | Int32Array,
  base: number,
  order: Uint32Array,
  target: T,
): T {
  if (base === 0) for (let i = 0; i < order.length; i++) target[i] = values[order[i]];
  else for (let i = 0; i < order.length; i++) target[i] = values[order[i]] - base;
  return target;
}

/** Returns a bit for each row, set if it has a value; undefined if all have one. */
function bitmapOf(parts: readonly BatchPart[], order: Uint32Array): Uint8Array | undefined {
  if (parts.every(({ column }) => column !== undefined && column.validity === undefined)) return undefined;
  if (present.length < order.length) present = new Uint8Array(order.length);
  let at = 0;
  for (const { column, rowCount } of parts) {
    const validity = column?.validity;
    if (validity === undefined) present.fill(column === undefined ? 0 : 1, at, at + rowCount);
    else for (let row = 0; row < rowCount; row++) present[at + row] = (validity[row >> 3] >> (row & 7)) & 1;
    at += rowCount;
  }
  const bits = new Uint8Array((order.length + 7) >> 3);
  for (let i = 0; i < order.length; i++) bits[i >> 3] |= present[order[i]] << (i & 7);
  return bits;
}
