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
import {
  longsOf,
  plainCells,
  type ColumnCells,
  type LongCells,
  type NumberCells,
  type SharedCells,
  type TextCells,
} from '#shared/duckdb/column-cells';
import { AlmanacError } from '#shared/errors/almanac-error';

import { compressedStream, loadArrowCompression, type ArrowCompression } from './arrow-compression.js';
import type { HeadColumn, OutputColumn, ResultFormat } from './format.js';
import { jsonEncoder } from './json.js';

/** Marks the end of a stream: the continuation marker, and a message without a length. */
const END = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

const NOTHING = new Uint8Array(0);

/** Types with values of a fixed size. Dates and times have the unit of their column, timestamps have no zone. */
const FIXED: Readonly<Record<string, FixedType>> = {
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

interface FixedType {
  readonly type: DataType;
  readonly array: TypedArrayClass;
}

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
  const encode = (columns: readonly OutputColumn[], cells: readonly ColumnCells[], rowCount: number): Uint8Array => {
    if (rowCount === 0) return NOTHING;
    const schema = new Schema(columns.map(({ name, type }) => fieldOf({ name, type: type.name })));
    const children = columns.map((column, i) => dataOf(column, cells[i], rowCount));
    const data = makeData({ type: new Struct(schema.fields), length: rowCount, nullCount: 0, children });
    const table = new Table(schema, [new RecordBatch(schema, data)]);
    const stream = compression === undefined ? streamOf(table) : compressedStream(table, compression);
    return stream.subarray(schemaLength(stream), stream.length - END.length);
  };
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

    encodeRows: encode,
    encodeColumns: encode,

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

function dataOf(column: OutputColumn, cells: ColumnCells, length: number): Data {
  const { name, kind } = column.type;
  const fixed = Object.hasOwn(FIXED, name) ? FIXED[name] : undefined;
  if ('words' in cells) {
    if (fixed?.array === BigInt64Array) {
      // A copy: of two columns in the same memory, the package would write one.
      return fixedDataOf(fixed.type, longsOf(cells, length).slice(), absentOf(cells.present, length));
    }
  } else if ('numbers' in cells) {
    if (kind === 'text') return sharedTextData(cells, length);
  } else if ('bytes' in cells) {
    if (kind === 'text' || kind === 'json') return storedTextData(cells, length);
  } else if ('present' in cells && fixed !== undefined) {
    return numberData(fixed, cells, length);
  }
  return cellData(column, plainCells(cells, length), length);
}

function cellData(column: OutputColumn, cells: readonly Cell[], length: number): Data {
  const { type } = column;
  const { name, kind } = type;
  const arrow = arrowType(name);
  if (kind === 'null') return makeData({ type: new Null(), length });
  if (Object.hasOwn(FIXED, name)) return fixedData(column, FIXED[name], cells, length);
  if (kind === 'decimal') return decimalData(arrow as Decimal, cells, length);
  if (kind === 'bool' || kind === 'binary') return vectorFromArray(cells.slice(0, length), arrow).data[0];
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

/** As `textData`, of texts that rows share; most rows have that of the one before. */
function sharedTextData({ numbers, cells }: SharedCells, length: number): Data {
  const texts = cells.map((cell) => Buffer.from((cell ?? '') as string));
  const valueOffsets = new Int32Array(length + 1);
  for (let i = 0; i < length; i++) valueOffsets[i + 1] = valueOffsets[i] + texts[numbers[i]].length;
  const data = Buffer.allocUnsafe(valueOffsets[length]);
  for (let from = 0, to = 0; from < length; from = to) {
    const number = numbers[from];
    while (to < length && numbers[to] === number) to++;
    data.fill(texts[number], valueOffsets[from], valueOffsets[to]);
  }
  const nulls = nullsWhere(length, (i) => cells[numbers[i]] === null);
  return makeData({ type: new Utf8(), length, ...nulls, valueOffsets, data });
}

function storedTextData({ bytes: data, offsets: valueOffsets, present }: TextCells, length: number): Data {
  return makeData({ type: new Utf8(), length, ...absentOf(present, length), valueOffsets, data });
}

/** @param cells of values that are exact, and within the range of the type: kernels and the engine check that */
function numberData({ type, array }: FixedType, { values, present }: NumberCells, length: number): Data {
  return fixedDataOf(type, converted(values.subarray(0, length), array), absentOf(present, length));
}

function converted(values: Float64Array, array: TypedArrayClass): InstanceType<TypedArrayClass> {
  if (array === BigInt64Array || array === BigUint64Array) return longsOf(halvesOf(values), values.length);
  return (array as Float64ArrayConstructor).from(values);
}

/** Returns integers that are exact as doubles, as those of 64 bits. */
function halvesOf(values: Float64Array): LongCells {
  const words = new Int32Array(2 * values.length);
  for (let i = 0; i < values.length; i++) {
    words[2 * i] = values[i];
    words[2 * i + 1] = Math.floor(values[i] / 2 ** 32);
  }
  return { words };
}

function fixedDataOf(type: DataType, data: InstanceType<TypedArrayClass>, nulls: Nulls): Data {
  return makeData({ type, length: data.length, data, ...nulls } as Parameters<typeof makeData>[0]);
}

function fixedData({ name }: OutputColumn, { type, array }: FixedType, cells: readonly Cell[], length: number): Data {
  const data = new array(length);
  const { nullBitmap, nullCount } = nullsOf(cells, length);
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    for (let i = 0; i < length; i++) {
      const value = BigInt((cells[i] ?? 0) as bigint | number);
      data[i] = value;
      // Sums may exceed their type, which JSON shows and an array would cut.
      if (data[i] !== value) {
        const remedy = 'cast it to DOUBLE or DECIMAL(38, 0)';
        throw new AlmanacError(
          'execute_query',
          `column "${name}": ${value} does not fit 64 bits; for Arrow, ${remedy}`,
        );
      }
    }
  } else {
    for (let i = 0; i < length; i++) data[i] = Number(cells[i] ?? 0);
  }
  return fixedDataOf(type, data, { nullBitmap, nullCount });
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

/** A bit for each value, set if it is not null; `null` if there is no null. */
interface Nulls {
  readonly nullBitmap: Uint8Array | null;
  readonly nullCount: number;
}

/** @param present 0 where a value is null; undefined: none is */
function absentOf(present: Uint8Array | undefined, length: number): Nulls {
  return present === undefined ? { nullBitmap: null, nullCount: 0 } : nullsWhere(length, (i) => present[i] === 0);
}

function nullsOf(cells: readonly Cell[], length: number): Nulls {
  return nullsWhere(length, (i) => cells[i] === null);
}

function nullsWhere(length: number, isNull: (row: number) => boolean): Nulls {
  const nullBitmap = new Uint8Array((length + 7) >> 3);
  let nullCount = 0;
  for (let i = 0; i < length; i++) {
    if (isNull(i)) nullCount++;
    else nullBitmap[i >> 3] |= 1 << (i & 7);
  }
  return { nullBitmap, nullCount };
}
