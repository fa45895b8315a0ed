import {
  DuckDBArrayType,
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalType,
  DuckDBIntervalValue,
  DuckDBListType,
  DuckDBListValue,
  DuckDBMapType,
  DuckDBMapValue,
  DuckDBStructType,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  DuckDBTypeId,
} from '@duckdb/node-api';
import type { DuckDBDataChunk, DuckDBType, DuckDBValue } from '@duckdb/node-api';
import duckdb from '@duckdb/node-bindings';

import { AlmanacError } from '#shared/errors/almanac-error';

import { markNulls } from './typed-chunk.js';

/** How values of a result column are printed. */
export type ValueKind =
  | 'null'
  | 'bool'
  | 'int'
  | 'float32'
  | 'float64'
  | 'text'
  | 'decimal'
  | 'binary'
  | 'json'
  | 'vector'
  | 'interval'
  | 'list'
  | 'struct'
  | 'map';

/** Type of a result column, by its native name. */
export interface ValueType {
  /** Native name, for example `TimestampMillisecond` or `List<Int64>`. */
  readonly name: string;
  readonly kind: ValueKind;
  readonly child?: ValueType;
  readonly fields?: readonly { readonly name: string; readonly type: ValueType }[];
}

/** An interval as the engine stores it: `2 months 3 days`. */
export interface IntervalCell {
  readonly months: number;
  readonly days: number;
  readonly micros: bigint;
}

/** A value: integers, dates and timestamps as numbers in their unit, decimals as text of fixed scale, maps as pairs. */
export type Cell =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | IntervalCell
  | readonly Cell[]
  | { readonly members: readonly Cell[] };

const SIMPLE: Readonly<Partial<Record<DuckDBTypeId, ValueType>>> = {
  [DuckDBTypeId.SQLNULL]: { name: 'Null', kind: 'null' },
  [DuckDBTypeId.BOOLEAN]: { name: 'Boolean', kind: 'bool' },
  [DuckDBTypeId.TINYINT]: { name: 'Int8', kind: 'int' },
  [DuckDBTypeId.SMALLINT]: { name: 'Int16', kind: 'int' },
  [DuckDBTypeId.INTEGER]: { name: 'Int32', kind: 'int' },
  [DuckDBTypeId.BIGINT]: { name: 'Int64', kind: 'int' },
  // The engine's sums of integers have its widest type; they are exact beyond 64 bits too.
  [DuckDBTypeId.HUGEINT]: { name: 'Int64', kind: 'int' },
  [DuckDBTypeId.UTINYINT]: { name: 'UInt8', kind: 'int' },
  [DuckDBTypeId.USMALLINT]: { name: 'UInt16', kind: 'int' },
  [DuckDBTypeId.UINTEGER]: { name: 'UInt32', kind: 'int' },
  [DuckDBTypeId.UBIGINT]: { name: 'UInt64', kind: 'int' },
  [DuckDBTypeId.UHUGEINT]: { name: 'UInt64', kind: 'int' },
  [DuckDBTypeId.FLOAT]: { name: 'Float32', kind: 'float32' },
  [DuckDBTypeId.DOUBLE]: { name: 'Float64', kind: 'float64' },
  [DuckDBTypeId.VARCHAR]: { name: 'String', kind: 'text' },
  [DuckDBTypeId.ENUM]: { name: 'String', kind: 'text' },
  [DuckDBTypeId.UUID]: { name: 'String', kind: 'text' },
  [DuckDBTypeId.BIT]: { name: 'String', kind: 'text' },
  [DuckDBTypeId.BLOB]: { name: 'Binary', kind: 'binary' },
  [DuckDBTypeId.DATE]: { name: 'Date', kind: 'int' },
  [DuckDBTypeId.TIME]: { name: 'TimeMicrosecond', kind: 'int' },
  [DuckDBTypeId.TIMESTAMP_S]: { name: 'TimestampSecond', kind: 'int' },
  [DuckDBTypeId.TIMESTAMP_MS]: { name: 'TimestampMillisecond', kind: 'int' },
  [DuckDBTypeId.TIMESTAMP]: { name: 'TimestampMicrosecond', kind: 'int' },
  [DuckDBTypeId.TIMESTAMP_TZ]: { name: 'TimestampMicrosecond', kind: 'int' },
  [DuckDBTypeId.TIMESTAMP_NS]: { name: 'TimestampNanosecond', kind: 'int' },
  [DuckDBTypeId.INTERVAL]: { name: 'IntervalMonthDayNano', kind: 'interval' },
};

const OTHER: ValueType = { name: 'String', kind: 'text' };

/**
 * Returns the native type of an engine type; types that Almanac lacks are read as text.
 * @throws `unsupported` for structs without names of members.
 */
export function valueTypeOf(type: DuckDBType): ValueType {
  const simple = SIMPLE[type.typeId];
  if (simple !== undefined) return simple;
  if (type instanceof DuckDBDecimalType) return { name: `Decimal(${type.width}, ${type.scale})`, kind: 'decimal' };
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) {
    const child = valueTypeOf(type.valueType);
    return { name: `List<${child.name}>`, kind: 'list', child };
  }
  if (type instanceof DuckDBStructType) {
    // The engine's library returns the values by name.
    if (new Set(type.entryNames).size < type.entryNames.length) {
      throw new AlmanacError('unsupported', 'Not supported: a result with a struct whose members have no names');
    }
    const fields = type.entryNames.map((name, i) => ({ name, type: valueTypeOf(type.entryTypes[i]) }));
    return {
      name: `Struct<${fields.map((field) => `"${field.name}": ${field.type.name}`).join(', ')}>`,
      kind: 'struct',
      fields,
    };
  }
  if (type instanceof DuckDBMapType) {
    const fields = [
      { name: 'key', type: valueTypeOf(type.keyType) },
      { name: 'value', type: valueTypeOf(type.valueType) },
    ];
    return { name: `Map<${fields[0].type.name}, ${fields[1].type.name}>`, kind: 'map', fields };
  }
  return OTHER;
}

type NumberArray =
  Float64Array | Float32Array | BigInt64Array<ArrayBuffer> | BigUint64Array | Int32Array | Int16Array | Uint32Array;

interface EngineArray {
  /** Size of a value. */
  readonly bytes: number;
  readonly of: (buffer: ArrayBuffer) => NumberArray;
}

/** Arrays of types whose values the engine stores as an array of the numbers that their cells are. */
export const ARRAYS: Readonly<Partial<Record<DuckDBTypeId, EngineArray>>> = {
  [DuckDBTypeId.DOUBLE]: { bytes: 8, of: (buffer) => new Float64Array(buffer) },
  [DuckDBTypeId.FLOAT]: { bytes: 4, of: (buffer) => new Float32Array(buffer) },
  [DuckDBTypeId.BIGINT]: { bytes: 8, of: (buffer) => new BigInt64Array(buffer) },
  [DuckDBTypeId.UBIGINT]: { bytes: 8, of: (buffer) => new BigUint64Array(buffer) },
  [DuckDBTypeId.INTEGER]: { bytes: 4, of: (buffer) => new Int32Array(buffer) },
  [DuckDBTypeId.UINTEGER]: { bytes: 4, of: (buffer) => new Uint32Array(buffer) },
  [DuckDBTypeId.SMALLINT]: { bytes: 2, of: (buffer) => new Int16Array(buffer) },
  [DuckDBTypeId.DATE]: { bytes: 4, of: (buffer) => new Int32Array(buffer) },
  [DuckDBTypeId.TIMESTAMP_S]: { bytes: 8, of: (buffer) => new BigInt64Array(buffer) },
  [DuckDBTypeId.TIMESTAMP_MS]: { bytes: 8, of: (buffer) => new BigInt64Array(buffer) },
  [DuckDBTypeId.TIMESTAMP]: { bytes: 8, of: (buffer) => new BigInt64Array(buffer) },
  [DuckDBTypeId.TIMESTAMP_NS]: { bytes: 8, of: (buffer) => new BigInt64Array(buffer) },
};

/** Copies the numbers of a column; those of nulls are undefined. */
export function numbersIn(chunk: DuckDBDataChunk, columnIndex: number, { bytes, of }: EngineArray): NumberArray {
  const copy = new Uint8Array(chunk.rowCount * bytes);
  copy.set(duckdb.vector_get_data(duckdb.data_chunk_get_vector(chunk.chunk, columnIndex), copy.length));
  return of(copy.buffer);
}

/** Reads all values of one column of a chunk. */
export function readCells(chunk: DuckDBDataChunk, columnIndex: number): Cell[] {
  const vector = chunk.getColumnVector(columnIndex);
  const { rowCount } = chunk;
  const array = ARRAYS[vector.type.typeId];
  if (array !== undefined) {
    const numbers = numbersIn(chunk, columnIndex, array);
    const cells = Array.from<number | bigint, Cell>(numbers as ArrayLike<number | bigint>, (cell) => cell);
    const nulls = new Uint8Array(rowCount);
    if (markNulls(chunk, columnIndex, nulls, 0)) for (let i = 0; i < rowCount; i++) if (nulls[i] === 1) cells[i] = null;
    return cells;
  }
  const cells = new Array<Cell>(rowCount);
  for (let i = 0; i < rowCount; i++) cells[i] = cellOf(vector.getItem(i));
  return cells;
}

/** Returns a function that reads one value of a column. */
export function cellReader(chunk: DuckDBDataChunk, columnIndex: number): (row: number) => Cell {
  const vector = chunk.getColumnVector(columnIndex);
  return (row) => cellOf(vector.getItem(row));
}

function cellOf(value: DuckDBValue): Cell {
  if (value === null || typeof value !== 'object') return value;
  return countOf(value) ?? nestedOf(value) ?? String(value);
}

/** Returns times and dates as counts of their unit. */
function countOf(value: object): bigint | number | undefined {
  if (value instanceof DuckDBTimestampNanosecondsValue) return value.nanos;
  if (value instanceof DuckDBTimestampMillisecondsValue) return value.millis;
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) return value.micros;
  if (value instanceof DuckDBTimestampSecondsValue) return value.seconds;
  if (value instanceof DuckDBDateValue) return value.days;
  return value instanceof DuckDBTimeValue ? value.micros : undefined;
}

function nestedOf(value: object): Cell | undefined {
  if (value instanceof DuckDBBlobValue) return value.bytes;
  if (value instanceof DuckDBIntervalValue) return { months: value.months, days: value.days, micros: value.micros };
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return value.items.map(cellOf);
  if (value instanceof DuckDBStructValue) return { members: Object.values(value.entries).map(cellOf) };
  if (value instanceof DuckDBMapValue) return value.entries.map((entry) => [cellOf(entry.key), cellOf(entry.value)]);
  return undefined;
}
