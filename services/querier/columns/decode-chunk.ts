import { UnknownLayout } from '#shared/parquet/compact-protocol';
import { decodeDeltas } from './decode-deltas.js';
import type { ColumnChunks, PhysicalType } from './footer.js';
import { readLevels, readPage, type Page } from './page.js';
import type { ScratchArrays } from './scratch-arrays.js';

/** Values of a column in one row group: that of row `i` is `base + values[i]`. */
export interface ColumnValues {
  /** As narrow as the statistics of the row group allow; 0 where a row is null. */
  readonly values: Uint8Array | Uint16Array | Uint32Array | Float64Array;
  /** Least value of integers; 0 for others. */
  readonly base: bigint;
  /** A bit for each row, set if it is not null; undefined if no row is. */
  readonly valid: Uint8Array | undefined;
}

/** Integers that are further apart are left to the engine: their differences are not exact as doubles while they are added. */
const RANGE_MAX = 2n ** 52n;
const ROWS_MAX = 1 << 22;

const PLAIN = 0;
const DELTA_BINARY_PACKED = 5;
const BYTE_STREAM_SPLIT = 9;

/** Memory for the rows of one row group, kept between calls: `octets` and `words` for integers that fit, which are decoded faster. */
let numbers = new Float64Array(1 << 15);
let words = new Int32Array(1 << 15);
let octets = new Uint8Array(1 << 15);
let present = new Uint8Array(1 << 15);

/** Rows `[from, to)` of a row group. */
export interface NeededRows {
  readonly from: number;
  readonly to: number;
}

/** Numbers of a row group, valid until the next call: that of row `i` is `base + numbers[i]`. */
export interface DecodedRows {
  /** 0 where a row is null. */
  readonly numbers: Float64Array;
  readonly base: bigint;
  /** 1 for each row that is not null; undefined if no row is null. */
  readonly present: Uint8Array | undefined;
}

/**
 * Decodes a column of a row group. Call it when `isLoaded` of the compression has resolved.
 *
 * @param bytes of all pages
 * @param scratch has the memory of the values; undefined: they get their own
 * @throws `UnknownLayout` if the engine must read it.
 */
export function decodeChunk(
  bytes: Uint8Array,
  column: ColumnChunks,
  { group, rowCount }: { readonly group: number; readonly rowCount: number },
  scratch?: ScratchArrays,
): ColumnValues {
  const { rows, base, nulls } = decodePages(bytes, column, group, { rowCount, needed: { from: 0, to: rowCount } });
  const ArrayType = narrowest(column, group);
  const size = rowCount * ArrayType.BYTES_PER_ELEMENT;
  const values = new ArrayType(scratch?.take(size) ?? new ArrayBuffer(size), 0, rowCount);
  values.set(rows.subarray(0, rowCount));
  return { values, base, valid: nulls === 0 ? undefined : bitmap(rowCount) };
}

/**
 * As `decodeChunk`, without an array of its own.
 *
 * @param needed rows, of which others may be left out where that saves time; undefined: all
 */
export function decodeGroup(
  bytes: Uint8Array,
  column: ColumnChunks,
  group: number,
  rowCount: number,
  needed: NeededRows = { from: 0, to: rowCount },
): DecodedRows {
  const { rows, base, nulls } = decodePages(bytes, column, group, { rowCount, needed });
  if (rows !== numbers) numbers.set(rows.subarray(0, rowCount));
  return { numbers, base, present: nulls === 0 ? undefined : present };
}

/** Numbers of a row group relative to `base`, and which rows are null. */
interface DecodedPages {
  readonly rows: RowNumbers;
  readonly base: bigint;
  readonly nulls: number;
}

type RowNumbers = Float64Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/** Decodes all pages to `octets`, `words` or `numbers`, and to `present` if any row is null. */
function decodePages(
  bytes: Uint8Array,
  column: ColumnChunks,
  group: number,
  { rowCount, needed }: { readonly rowCount: number; readonly needed: NeededRows },
): DecodedPages {
  if (rowCount > ROWS_MAX) throw new UnknownLayout('row group with too many rows');
  if (numbers.length < rowCount) {
    numbers = new Float64Array(rowCount);
    words = new Int32Array(rowCount);
    octets = new Uint8Array(rowCount);
    present = new Uint8Array(rowCount);
  }
  const base = baseOf(column, group);
  const range = rangeOf(column, group);
  const rows = range < 2n ** 8n ? octets : range < 2n ** 31n ? words : numbers;
  const nulls = readPages(bytes, column, rows, { base, rowCount, needed });
  return { rows, base, nulls };
}

/** Returns what the numbers of a row group are relative to. */
function baseOf({ type, min, max }: ColumnChunks, group: number): bigint {
  if (type === 'float' || type === 'double' || type === 'boolean') return 0n;
  if (min === undefined || max === undefined) throw new UnknownLayout('integers without statistics');
  const range = max[group] - min[group];
  if (range > RANGE_MAX || range < 0n) throw new UnknownLayout('integers that are far apart');
  return min[group];
}

/** Returns the difference between the least and the greatest integer of a row group; that of doubles is unknown. */
function rangeOf({ type, min, max }: ColumnChunks, group: number): bigint {
  if (type === 'boolean') return 1n;
  return min === undefined || max === undefined ? RANGE_MAX : max[group] - min[group];
}

/** Returns the narrowest type for the values of a row group. */
function narrowest(
  column: ColumnChunks,
  group: number,
): Uint8ArrayConstructor | Uint16ArrayConstructor | Uint32ArrayConstructor | Float64ArrayConstructor {
  const range = rangeOf(column, group);
  if (range < 2n ** 8n) return Uint8Array;
  if (range < 2n ** 16n) return Uint16Array;
  return range < 2n ** 32n ? Uint32Array : Float64Array;
}

interface GroupOfRows {
  readonly base: bigint;
  readonly rowCount: number;
  readonly needed: NeededRows;
}

/** Decodes all pages. @returns number of rows that are null. */
function readPages(
  bytes: Uint8Array,
  column: ColumnChunks,
  rows: RowNumbers,
  { base, rowCount, needed }: GroupOfRows,
): number {
  let nulls = 0;
  let row = 0;
  for (let at = 0; row < rowCount;) {
    const page = readPage(bytes, at, column.isOptional);
    if (page.valueCount > rowCount - row) throw new UnknownLayout('pages with too many values');
    let pageNulls = 0;
    if (column.isOptional) pageNulls = readLevels(page, present, row);
    const count = page.valueCount - pageNulls;
    const end = row + count;
    // Where rows are null, values have other positions than rows.
    const some = pageNulls > 0 ? { from: row, to: end } : overlap(needed, row, end);
    decodeValues(page, column, base, rows, { at: row, count, needed: some });
    if (pageNulls > 0) spread(rows, row, page.valueCount, count);
    nulls += pageNulls;
    row += page.valueCount;
    at = page.end;
  }
  return nulls;
}

function overlap({ from, to }: NeededRows, first: number, end: number): NeededRows {
  const least = Math.min(Math.max(from, first), end);
  return { from: least, to: Math.max(least, Math.min(to, end)) };
}

/** Moves `count` values at `row` to the rows that are not null. */
function spread(rows: RowNumbers, row: number, rowCount: number, count: number): void {
  let from = row + count;
  for (let to = row + rowCount - 1; to >= row; to--) rows[to] = present[to] === 1 ? rows[--from] : 0;
}

function bitmap(rowCount: number): Uint8Array {
  const bits = new Uint8Array((rowCount + 7) >> 3);
  for (let i = 0; i < rowCount; i++) bits[i >> 3] |= present[i] << (i & 7);
  return bits;
}

interface ValuesOfPage {
  /** Row of the first value. */
  readonly at: number;
  readonly count: number;
  readonly needed: NeededRows;
}

/** Decodes the values of a page, without nulls. */
function decodeValues(
  page: Page,
  { type, isUnsigned }: ColumnChunks,
  base: bigint,
  rows: RowNumbers,
  { at, count, needed }: ValuesOfPage,
): void {
  const { encoding, bytes, from, to } = page;
  if (count === 0) return;
  if (encoding === DELTA_BINARY_PACKED && (type === 'int32' || type === 'int64')) {
    decodeDeltas(bytes, { from, to }, base, { out: rows, at, count });
    return;
  }
  const width = WIDTHS[type];
  if (from + (width === 0 ? (count + 7) >> 3 : count * width) > to) throw new UnknownLayout('page is cut off');
  if (encoding === BYTE_STREAM_SPLIT && type === 'double') joinDoubles(bytes, from - at, count, needed);
  else if (encoding === BYTE_STREAM_SPLIT && type === 'float') joinFloats(bytes, from, at, count);
  else if (encoding === PLAIN) copyPlain(bytes, from, { type, isUnsigned, base }, rows.subarray(at, at + count));
  else throw new UnknownLayout(`encoding ${encoding} of ${type}`);
}

/** Bytes of a value; 0: a bit. */
const WIDTHS: Readonly<Record<PhysicalType, number>> = { boolean: 0, int32: 4, int64: 8, float: 4, double: 8 };

/** Joins doubles whose bytes are in eight streams, one after the other. @param b0 position of the first byte of row 0. */
function joinDoubles(bytes: Uint8Array, b0: number, count: number, { from, to }: NeededRows): void {
  const halves = new Int32Array(numbers.buffer);
  const [b1, b2, b3] = [b0 + count, b0 + 2 * count, b0 + 3 * count];
  const [b4, b5, b6, b7] = [b0 + 4 * count, b0 + 5 * count, b0 + 6 * count, b0 + 7 * count];
  for (let i = from, word = 2 * from; i < to; i++, word += 2) {
    halves[word] = bytes[b0 + i] | (bytes[b1 + i] << 8) | (bytes[b2 + i] << 16) | (bytes[b3 + i] << 24);
    halves[word + 1] = bytes[b4 + i] | (bytes[b5 + i] << 8) | (bytes[b6 + i] << 16) | (bytes[b7 + i] << 24);
  }
}

const floatWord = new Int32Array(1);
const floatValue = new Float32Array(floatWord.buffer);

function joinFloats(bytes: Uint8Array, from: number, at: number, count: number): void {
  for (let i = 0; i < count; i++) {
    const b = from + i;
    floatWord[0] = bytes[b] | (bytes[b + count] << 8) | (bytes[b + 2 * count] << 16) | (bytes[b + 3 * count] << 24);
    numbers[at + i] = floatValue[0];
  }
}

function copyPlain(
  bytes: Uint8Array,
  from: number,
  { type, isUnsigned, base }: Pick<ColumnChunks, 'type' | 'isUnsigned'> & { readonly base: bigint },
  out: RowNumbers,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset + from);
  for (let i = 0; i < out.length; i++) {
    if (type === 'double') out[i] = view.getFloat64(8 * i, true);
    else if (type === 'float') out[i] = view.getFloat32(4 * i, true);
    else if (type === 'boolean') out[i] = (bytes[from + (i >> 3)] >> (i & 7)) & 1;
    else if (type === 'int64') out[i] = Number(view.getBigInt64(8 * i, true) - base);
    else out[i] = (isUnsigned ? view.getUint32(4 * i, true) : view.getInt32(4 * i, true)) - Number(base);
  }
}
