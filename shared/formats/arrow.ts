import {
  Binary,
  Bool,
  DateDay,
  Decimal,
  Field,
  Float32,
  Float64,
  Int16,
  Int32,
  Int64,
  Int8,
  makeData,
  Null,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableToIPC,
  TimeMicrosecond,
  TimeMillisecond,
  TimeNanosecond,
  TimeSecond,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint16,
  Uint32,
  Uint64,
  Uint8,
  Utf8,
  vectorFromArray,
  type Data,
  type DataType,
} from 'apache-arrow';

import type { Cell } from '#shared/duckdb/chunk-reader';
import { AlmanacError } from '#shared/errors/almanac-error';

import { compressedStream, loadArrowCompression, type ArrowCompression } from './arrow-compression.js';
import type { HeadColumn, OutputColumn, ResultFormat } from './format.js';
import { jsonEncoder } from './json.js';

/** Marks the end of a stream: the continuation marker, and a message without a length. */
const END = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

/** Types with values of a fixed size. Dates and times have the unit of their column, timestamps have no zone. */
const FIXED: Readonly<Record<string, { readonly type: DataType; readonly array: TypedArrayClass }>> = {
  Int8: { type: new Int8(), array: Int8Array },
  Int16: { type: new Int16(), array: Int16Array },
  Int32: { type: new Int32(), array: Int32Array },
  Int64: { type: new Int64(), array: BigInt64Array },
  UInt8: { type: new Uint8(), array: Uint8Array },
  UInt16: { type: new Uint16(), array: Uint16Array },
  UInt32: { type: new Uint32(), array: Uint32Array },
  UInt64: { type: new Uint64(), array: BigUint64Array },
  Float32: { type: new Float32(), array: Float32Array },
  Float64: { type: new Float64(), array: Float64Array },
  Date: { type: new DateDay(), array: Int32Array },
  TimestampSecond: { type: new TimestampSecond(), array: BigInt64Array },
  TimestampMillisecond: { type: new TimestampMillisecond(), array: BigInt64Array },
  TimestampMicrosecond: { type: new TimestampMicrosecond(), array: BigInt64Array },
  TimestampNanosecond: { type: new TimestampNanosecond(), array: BigInt64Array },
  TimeSecond: { type: new TimeSecond(), array: Int32Array },
  TimeMillisecond: { type: new TimeMillisecond(), array: Int32Array },
  TimeMicrosecond: { type: new TimeMicrosecond(), array: BigInt64Array },
  TimeNanosecond: { type: new TimeNanosecond(), array: BigInt64Array },
};

type TypedArrayClass =
  | Int8ArrayConstructor
  | Int16ArrayConstructor
  | Int32ArrayConstructor
  | BigInt64ArrayConstructor
  | Uint8ArrayConstructor
  | Uint16ArrayConstructor
  | Uint32ArrayConstructor
  | BigUint64ArrayConstructor
  | Float32ArrayConstructor
  | Float64ArrayConstructor;

const DECIMAL = /^Decimal\((\d+), (\d+)\)$/;
/** Of an Arrow decimal, in bits. */
const DECIMAL_BITS = 128;

/**
 * The format `arrow`: an Arrow IPC stream. Lists, objects, JSON and intervals are texts, as in JSON; the metadata `type` of a
 * column has its native type.
 */
export const arrowFormat = compressedArrow(undefined);

/** The same, with compressed values. */
const COMPRESSED: Readonly<Record<ArrowCompression, ResultFormat>> = {
  lz4: compressedArrow('lz4'),
  zstd: compressedArrow('zstd'),
};

/** Returns the format with a compression: `lz4` or `zstd`, in any case; without one for other names. */
export function arrowFormatWith(compression: string): ResultFormat {
  const name = compression.toLowerCase();
  return name === 'lz4' || name === 'zstd' ? COMPRESSED[name] : arrowFormat;
}

function compressedArrow(compression: ArrowCompression | undefined): ResultFormat {
  return {
    names: [compression === undefined ? 'arrow' : `arrow:${compression}`],
    contentType: 'application/arrow',
    isSingle: true,
    separator: '',
    ...(compression === undefined ? {} : { load: () => loadArrowCompression(compression) }),
    head: (columns) => schemaMessage(new Schema(columns.map(fieldOf))),
    tail: () => END,
    affected: () => '',
    end: () => '',

    encodeRows(columns, cells, rowCount) {
      if (rowCount === 0) return '';
      const schema = new Schema(columns.map((column) => fieldOf({ name: column.name, type: column.type.name })));
      const children = columns.map((column, i) => dataOf(column, cells[i], rowCount));
      const data = makeData({ type: new Struct(schema.fields), length: rowCount, nullCount: 0, children });
      const table = new Table(schema, [new RecordBatch(schema, data)]);
      const stream = compression === undefined ? streamOf(table) : compressedStream(table, compression);
      return stream.subarray(schemaLength(stream), stream.length - END.length);
    },

    rowSql: () => undefined,
  };
}

function fieldOf({ name, type }: HeadColumn): Field {
  return new Field(name, arrowType(type), true, new Map([['type', type]]));
}

function arrowType(name: string): DataType {
  if (Object.hasOwn(FIXED, name)) return FIXED[name].type;
  const decimal = DECIMAL.exec(name);
  if (decimal !== null) return new Decimal(Number(decimal[2]), Number(decimal[1]), DECIMAL_BITS);
  if (name === 'Boolean') return new Bool();
  if (name === 'Binary') return new Binary();
  return name === 'Null' ? new Null() : new Utf8();
}

function streamOf(table: Table): Uint8Array {
  return tableToIPC(table, 'stream');
}

function schemaMessage(schema: Schema): Uint8Array {
  const stream = streamOf(new Table(schema));
  return stream.subarray(0, schemaLength(stream));
}

/** The first message of a stream is its schema: a marker, the length of the rest, the rest. */
function schemaLength(stream: Uint8Array): number {
  return 8 + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true);
}

function dataOf({ type }: OutputColumn, cells: readonly Cell[], length: number): Data {
  const { name, kind } = type;
  const arrow = arrowType(name);
  if (kind === 'null') return makeData({ type: new Null(), length });
  if (Object.hasOwn(FIXED, name)) return fixedData(arrow, FIXED[name].array, cells, length);
  if (kind === 'decimal') return decimalData(arrow as Decimal, cells, length);
  if (kind === 'bool' || kind === 'binary') return vectorFromArray(cells, arrow).data[0];
  if (kind === 'text') return textData(cells, length);
  const encode = jsonEncoder(type);
  const text = (cell: Cell): string => (kind === 'interval' ? (JSON.parse(encode(cell)) as string) : encode(cell));
  return textData(
    cells.map((cell) => (cell === null ? null : text(cell))),
    length,
  );
}

/** @param cells texts and nulls. */
function textData(cells: readonly Cell[], length: number): Data {
  const valueOffsets = new Int32Array(length + 1);
  let texts = '';
  for (let i = 0; i < length; i++) {
    const text = (cells[i] ?? '') as string;
    texts += text;
    valueOffsets[i + 1] = valueOffsets[i] + Buffer.byteLength(text);
  }
  return makeData({ type: new Utf8(), length, ...nullsOf(cells, length), valueOffsets, data: Buffer.from(texts) });
}

function fixedData(type: DataType, array: TypedArrayClass, cells: readonly Cell[], length: number): Data {
  const data = new array(length);
  const { nullBitmap, nullCount } = nullsOf(cells, length);
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    for (let i = 0; i < length; i++) {
      const value = BigInt((cells[i] ?? 0) as bigint | number);
      data[i] = value;
      // Sums may exceed their type, which JSON shows and an array would cut.
      if (data[i] !== value) throw new AlmanacError('execute_query', `${value} does not fit a 64-bit column of Arrow`);
    }
  } else {
    for (let i = 0; i < length; i++) data[i] = Number(cells[i] ?? 0);
  }
  return makeData({ type, length, data, nullBitmap, nullCount } as Parameters<typeof makeData>[0]);
}

/** @param cells texts with the digits of the scale: `-1.10`. */
function decimalData(type: Decimal, cells: readonly Cell[], length: number): Data {
  const words = new BigInt64Array(length * 2);
  const { nullBitmap, nullCount } = nullsOf(cells, length);
  for (let i = 0; i < length; i++) {
    if (cells[i] === null) continue;
    const unscaled = BigInt((cells[i] as string).replace('.', ''));
    words[2 * i] = BigInt.asIntN(64, unscaled);
    words[2 * i + 1] = unscaled >> 64n;
  }
  return makeData({ type, length, data: new Uint32Array(words.buffer), nullBitmap, nullCount });
}

/** A bit for each value, set if it is not null. */
function nullsOf(cells: readonly Cell[], length: number): { nullBitmap: Uint8Array; nullCount: number } {
  const nullBitmap = new Uint8Array((length + 7) >> 3);
  let nullCount = 0;
  for (let i = 0; i < length; i++) {
    if (cells[i] === null) nullCount++;
    else nullBitmap[i >> 3] |= 1 << (i & 7);
  }
  return { nullBitmap, nullCount };
}
