import { varintLength } from '#shared/bytes/varint';
import { FIXED64, VARINT, BYTES, type WireReader } from '#shared/protobuf/wire-reader';
import { bigVarintLength, type WireWriter } from '#shared/protobuf/wire-writer';

/** How values of one protobuf type are encoded. */
export interface Scalar {
  readonly wire: typeof VARINT | typeof FIXED64 | typeof BYTES;
  /** Value of a field that is not on the wire. */
  readonly zero: unknown;
  readonly isZero: (value: unknown) => boolean;
  readonly size: (value: unknown) => number;
  readonly write: (out: WireWriter, value: unknown) => void;
  /** Reads a value at `from.at`. */
  readonly read: (from: WireReader) => unknown;
}

interface ScalarOf<T> {
  readonly wire: Scalar['wire'];
  readonly zero: T;
  readonly isZero?: (value: T) => boolean;
  readonly size: (value: T) => number;
  readonly write: (out: WireWriter, value: T) => void;
  readonly read: (from: WireReader) => T;
}

/** From this length on, bytes may stay a view of their message. */
const VIEW_BYTES_MIN = 4096;

/** The contracts give each field values of its type, so the entries do not check them again. */
function scalar<T>(entry: ScalarOf<T>): Scalar {
  return { isZero: (value: T) => value === entry.zero, ...entry } as unknown as Scalar;
}

const INT32 = integer((from) => from.varint(from.at, from.bytes.length) | 0);

/** By the name of the type; 64-bit integers that are numbers in TypeScript have a name of their own. */
export const SCALARS: ReadonlyMap<string, Scalar> = new Map([
  ['uint32', integer((from) => from.varint(from.at, from.bytes.length))],
  ['int32', INT32],
  ['enum', INT32],
  [
    'bool',
    scalar<boolean>({
      wire: VARINT,
      zero: false,
      size: () => 1,
      write: (out, value) => out.byte(value ? 1 : 0),
      read: (from) => {
        readVarint64(from);
        return (from.low | from.high) !== 0;
      },
    }),
  ],
  ['int64', bigInteger((unsigned) => BigInt.asIntN(64, unsigned))],
  ['uint64', bigInteger((unsigned) => unsigned)],
  [
    'int64 as number',
    integer((from) => {
      readVarint64(from);
      return from.signed;
    }),
  ],
  [
    'uint64 as number',
    integer((from) => {
      readVarint64(from);
      return from.unsigned;
    }),
  ],
  [
    'double',
    scalar<number>({
      wire: FIXED64,
      zero: 0,
      isZero: (value) => Object.is(value, 0),
      size: () => 8,
      write: (out, value) => out.double(value),
      read: (from) => from.double(from.at, from.bytes.length),
    }),
  ],
  [
    'string',
    scalar<string>({
      wire: BYTES,
      zero: '',
      size: (value) => lengthSize(Buffer.byteLength(value)),
      write: (out, value) => out.lengthAndText(value),
      read: (from) => from.text(from.at, from.bytes.length),
    }),
  ],
  [
    'bytes',
    scalar<Uint8Array>({
      wire: BYTES,
      zero: new Uint8Array(0),
      isZero: (value) => value.length === 0,
      size: (value) => lengthSize(value.length),
      write: (out, value) => out.lengthAndBytes(value),
      read: readBytes,
    }),
  ],
]);

/** Returns the bytes of a length and of the content that it counts. */
export function lengthSize(length: number): number {
  return varintLength(length) + length;
}

function integer(read: (from: WireReader) => number): Scalar {
  return scalar<number>({
    wire: VARINT,
    zero: 0,
    size: varintLength,
    write: (out, value) => out.varint(value),
    read,
  });
}

function bigInteger(fromUnsigned: (value: bigint) => bigint): Scalar {
  return scalar<bigint>({
    wire: VARINT,
    zero: 0n,
    size: bigVarintLength,
    write: (out, value) => out.bigVarint(value),
    read: (from) => {
      readVarint64(from);
      return fromUnsigned(from.bigUnsigned);
    },
  });
}

function readVarint64(from: WireReader): void {
  from.varint64(from.at, from.bytes.length);
}

/**
 * Returns a view if the bytes are most of the message, else a copy, so that holding the ID of a batch does not hold
 * its rows as well.
 */
function readBytes(from: WireReader): Uint8Array {
  const { bytes } = from;
  const end = from.lengthEnd(from.at, bytes.length);
  const view = new Uint8Array(bytes.buffer, bytes.byteOffset + from.at, end - from.at);
  from.at = end;
  return view.length >= VIEW_BYTES_MIN && view.length * 2 >= bytes.length ? view : view.slice();
}
