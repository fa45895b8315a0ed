import { int64AsNumberSize, int64Size, uint32Size, type ByteWriter } from './byte-writer.js';
import type { ByteReader } from './byte-reader.js';

/** How values of one protobuf type cross. */
export interface Scalar {
  readonly wire: 0 | 1 | 2;
  /** What a field has that is not on the wire. */
  readonly zero: unknown;
  readonly isZero: (value: unknown) => boolean;
  readonly size: (value: unknown) => number;
  readonly write: (out: ByteWriter, value: unknown) => void;
  readonly read: (from: ByteReader) => unknown;
}

interface ScalarOf<T> {
  readonly wire: 0 | 1 | 2;
  readonly zero: T;
  readonly isZero?: (value: T) => boolean;
  readonly size: (value: T) => number;
  readonly write: (out: ByteWriter, value: T) => void;
  readonly read: (from: ByteReader) => T;
}

/** The contracts give each field values of its type, so that the entries need not look at them again. */
function scalar<T>(entry: ScalarOf<T>): Scalar {
  return { isZero: (value: T) => value === entry.zero, ...entry } as unknown as Scalar;
}

const INT32 = scalar<number>({
  wire: 0,
  zero: 0,
  size: (value) => (value < 0 ? 10 : uint32Size(value)),
  write: (out, value) => out.int32(value),
  read: (from) => from.int32(),
});

/** By the name of the type; 64-bit integers that are numbers in TypeScript have a name of their own. */
export const SCALARS: ReadonlyMap<string, Scalar> = new Map([
  [
    'uint32',
    scalar<number>({
      wire: 0,
      zero: 0,
      size: uint32Size,
      write: (out, value) => out.uint32(value),
      read: (from) => from.uint32(),
    }),
  ],
  ['int32', INT32],
  ['enum', INT32],
  [
    'bool',
    scalar<boolean>({
      wire: 0,
      zero: false,
      size: () => 1,
      write: (out, value) => out.uint32(value ? 1 : 0),
      read: (from) => from.bool(),
    }),
  ],
  ['int64', int64((from) => from.int64())],
  ['uint64', int64((from) => from.uint64())],
  ['int64 as number', int64AsNumber((from) => from.int64AsNumber())],
  ['uint64 as number', int64AsNumber((from) => from.uint64AsNumber())],
  [
    'double',
    scalar<number>({
      wire: 1,
      zero: 0,
      isZero: (value) => Object.is(value, 0),
      size: () => 8,
      write: (out, value) => out.double(value),
      read: (from) => from.double(),
    }),
  ],
  [
    'string',
    scalar<string>({
      wire: 2,
      zero: '',
      size: (value) => lengthSize(Buffer.byteLength(value)),
      write: (out, value) => out.string(value),
      read: (from) => from.string(),
    }),
  ],
  [
    'bytes',
    scalar<Uint8Array>({
      wire: 2,
      zero: new Uint8Array(0),
      isZero: (value) => value.length === 0,
      size: (value) => lengthSize(value.length),
      write: (out, value) => out.copy(value),
      read: (from) => from.bytes(),
    }),
  ],
]);

/** Bytes of a length and of what has that length. */
export function lengthSize(length: number): number {
  return uint32Size(length) + length;
}

function int64(read: (from: ByteReader) => bigint): Scalar {
  return scalar<bigint>({ wire: 0, zero: 0n, size: int64Size, write: (out, value) => out.int64(value), read });
}

function int64AsNumber(read: (from: ByteReader) => number): Scalar {
  const write = (out: ByteWriter, value: number): void => out.int64AsNumber(value);
  return scalar<number>({ wire: 0, zero: 0, size: int64AsNumberSize, write, read });
}
