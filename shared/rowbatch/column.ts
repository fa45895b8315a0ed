import type { DataType, Storage } from '#shared/schema/data-type';

/** Values of fixed width; integers are stored in the narrowest array that holds them all. */
export type FixedValues =
  | Int8Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | BigUint64Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Float64Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

interface ColumnBase {
  /** The table's column id. */
  readonly columnId: number;
  /** Native type name. */
  readonly type: string;
  readonly nullCount: number;
  /** One bit per row, least significant first, 1 = has a value; undefined if all rows have one. */
  readonly validity: Uint8Array<ArrayBuffer> | undefined;
}

/** A column whose values have a fixed width. */
export interface FixedColumn extends ColumnBase {
  readonly kind: 'fixed';
  /** One entry a row; 0 where null. Booleans are 0 or 1. */
  readonly values: FixedValues;
}

/** A column of text or binary values. */
export interface BytesColumn extends ColumnBase {
  readonly kind: 'bytes';
  /** Row i is `bytes[offsets[i], offsets[i + 1])`; one more entry than rows. */
  readonly offsets: Int32Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A column of a row batch. */
export type Column = FixedColumn | BytesColumn;

/** Returns whether a storage keeps its values as offsets and bytes. */
export function isBytes(storage: Storage): boolean {
  return storage === 'text' || storage === 'binary';
}

/** Returns whether row `row` has a value. */
export function hasValue(column: Column, row: number): boolean {
  return column.validity === undefined || (column.validity[row >> 3] & (1 << (row & 7))) !== 0;
}

/** Returns whether an array has a kind that the type is stored in; then all its values are in the type's range. */
export function isStoredAs(values: unknown, { storage, min = 0n, max = 0n }: DataType): boolean {
  if (storage === 'float64') return values instanceof Float64Array;
  if (storage === 'float32') return values instanceof Float32Array;
  if (storage !== 'int') return values instanceof Uint8Array;
  if (values instanceof Int8Array) return true;
  if (values instanceof Int16Array) return isBeyond(8, min, max);
  if (values instanceof Int32Array) return isBeyond(16, min, max);
  return values instanceof BigInt64Array && isBeyond(32, min, max);
}

/** Returns whether a range has numbers that do not fit this many bits. */
function isBeyond(bits: number, min: bigint, max: bigint): boolean {
  const limit = 1n << BigInt(bits - 1);
  return min < -limit || max >= limit;
}
