import { AlmanacError } from '#shared/errors/almanac-error';

import { isJson2, json2Sql, jsonHints } from './json-hints.js';
import { VECTOR_DIMENSION_MAX } from './vector.js';

/** How values of a type are stored in a row batch. Decimals and JSON are text. */
export type Storage = 'int' | 'float64' | 'float32' | 'bool' | 'text' | 'binary';

/** Unit of a timestamp type. */
export type TimeUnit = 's' | 'ms' | 'us' | 'ns';

/** A native data type and its names. */
export interface DataType {
  /** Native name, as DESCRIBE and result schemas print it. */
  readonly name: string;
  /** As SHOW CREATE TABLE prints it. */
  readonly sql: string;
  /** The corresponding type of the engine. */
  readonly duckdb: string;
  readonly storage: Storage;
  /** Bytes of one value in the engine; text is estimated. */
  readonly widthBytes: number;
  readonly timeUnit?: TimeUnit;
  /** Integer range, both ends included. */
  readonly min?: bigint;
  readonly max?: bigint;
}

const int = (name: string, sql: string, duckdb: string, bits: number, signed: boolean): DataType => ({
  name,
  sql,
  duckdb,
  storage: 'int',
  widthBytes: bits / 8,
  min: signed ? -(1n << BigInt(bits - 1)) : 0n,
  max: signed ? (1n << BigInt(bits - 1)) - 1n : (1n << BigInt(bits)) - 1n,
});

/** Greatest distance from 1970 that the engine can represent in each unit. */
export const TIME_LIMITS: Readonly<Record<TimeUnit, bigint>> = {
  s: 8_640_000_000_000n,
  ms: 8_640_000_000_000_000n,
  us: 8_640_000_000_000_000_000n,
  ns: 9_223_372_036_854_775_806n,
};

const time = (name: string, sql: string, duckdb: string, timeUnit: TimeUnit): DataType => ({
  ...int(name, sql, duckdb, 64, true),
  timeUnit,
  min: -TIME_LIMITS[timeUnit],
  max: TIME_LIMITS[timeUnit],
});

/** Greatest day number; those at the ends of 32 bits are the engine's infinities. */
const DAYS_MAX = 2_147_483_646n;

const TYPES: readonly DataType[] = [
  { name: 'String', sql: 'STRING', duckdb: 'VARCHAR', storage: 'text', widthBytes: 16 },
  { name: 'Binary', sql: 'VARBINARY', duckdb: 'BLOB', storage: 'binary', widthBytes: 16 },
  { name: 'Json', sql: 'JSON', duckdb: 'VARCHAR', storage: 'text', widthBytes: 16 },
  { name: 'Json2', sql: 'JSON2', duckdb: 'VARCHAR', storage: 'text', widthBytes: 16 },
  { name: 'Boolean', sql: 'BOOLEAN', duckdb: 'BOOLEAN', storage: 'bool', widthBytes: 1 },
  int('Int8', 'TINYINT', 'TINYINT', 8, true),
  int('Int16', 'SMALLINT', 'SMALLINT', 16, true),
  int('Int32', 'INT', 'INTEGER', 32, true),
  int('Int64', 'BIGINT', 'BIGINT', 64, true),
  int('UInt8', 'TINYINT UNSIGNED', 'UTINYINT', 8, false),
  int('UInt16', 'SMALLINT UNSIGNED', 'USMALLINT', 16, false),
  int('UInt32', 'INT UNSIGNED', 'UINTEGER', 32, false),
  int('UInt64', 'BIGINT UNSIGNED', 'UBIGINT', 64, false),
  { name: 'Float32', sql: 'FLOAT', duckdb: 'FLOAT', storage: 'float32', widthBytes: 4 },
  { name: 'Float64', sql: 'DOUBLE', duckdb: 'DOUBLE', storage: 'float64', widthBytes: 8 },
  { ...int('Date', 'DATE', 'DATE', 32, true), min: -DAYS_MAX, max: DAYS_MAX },
  time('TimestampSecond', 'TIMESTAMP(0)', 'TIMESTAMP_S', 's'),
  time('TimestampMillisecond', 'TIMESTAMP(3)', 'TIMESTAMP_MS', 'ms'),
  time('TimestampMicrosecond', 'TIMESTAMP(6)', 'TIMESTAMP', 'us'),
  time('TimestampNanosecond', 'TIMESTAMP(9)', 'TIMESTAMP_NS', 'ns'),
];

const BY_NAME = new Map(TYPES.map((type) => [type.name, type]));

const SQL_NAMES: Readonly<Record<string, string>> = {
  STRING: 'String',
  TEXT: 'String',
  TINYTEXT: 'String',
  MEDIUMTEXT: 'String',
  LONGTEXT: 'String',
  VARCHAR: 'String',
  CHAR: 'String',
  BINARY: 'Binary',
  VARBINARY: 'Binary',
  BLOB: 'Binary',
  BYTEA: 'Binary',
  BOOLEAN: 'Boolean',
  BOOL: 'Boolean',
  JSON: 'Json',
  JSON2: 'Json2',
  TINYINT: 'Int8',
  SMALLINT: 'Int16',
  INT2: 'Int16',
  INT16: 'Int16',
  INT: 'Int32',
  INTEGER: 'Int32',
  INT4: 'Int32',
  INT32: 'Int32',
  BIGINT: 'Int64',
  INT8: 'Int64',
  INT64: 'Int64',
  'TINYINT UNSIGNED': 'UInt8',
  UINT8: 'UInt8',
  'SMALLINT UNSIGNED': 'UInt16',
  UINT16: 'UInt16',
  'INT UNSIGNED': 'UInt32',
  'INTEGER UNSIGNED': 'UInt32',
  UINT32: 'UInt32',
  'BIGINT UNSIGNED': 'UInt64',
  UINT64: 'UInt64',
  FLOAT: 'Float32',
  REAL: 'Float32',
  FLOAT4: 'Float32',
  FLOAT32: 'Float32',
  DOUBLE: 'Float64',
  FLOAT8: 'Float64',
  FLOAT64: 'Float64',
  DATE: 'Date',
  TIMESTAMP_S: 'TimestampSecond',
  TIMESTAMP_SEC: 'TimestampSecond',
  TIMESTAMPSECOND: 'TimestampSecond',
  TIMESTAMP: 'TimestampMillisecond',
  TIMESTAMP_MS: 'TimestampMillisecond',
  TIMESTAMPMILLISECOND: 'TimestampMillisecond',
  TIMESTAMP_US: 'TimestampMicrosecond',
  TIMESTAMPMICROSECOND: 'TimestampMicrosecond',
  DATETIME: 'TimestampMicrosecond',
  TIMESTAMP_NS: 'TimestampNanosecond',
  TIMESTAMPNANOSECOND: 'TimestampNanosecond',
};

const TIMESTAMP_BY_PRECISION: Readonly<Record<number, string>> = {
  0: 'TimestampSecond',
  3: 'TimestampMillisecond',
  6: 'TimestampMicrosecond',
  9: 'TimestampNanosecond',
};

/** Nanoseconds of one step of a unit. */
export const UNIT_NS: Readonly<Record<TimeUnit, bigint>> = { s: 1_000_000_000n, ms: 1_000_000n, us: 1_000n, ns: 1n };

/** Finds a type by its native name, `Decimal(p, s)` and `Vector(d)` included. @throws `unsupported` if there is no such type. */
export function dataType(name: string): DataType {
  const known = BY_NAME.get(name);
  if (known !== undefined) return known;
  const decimal = /^Decimal\((\d+), (\d+)\)$/.exec(name);
  if (decimal !== null) return decimalType(Number(decimal[1]), Number(decimal[2]));
  const dimension = vectorDimension(name);
  if (dimension !== undefined) return vectorType(dimension);
  if (isJson2(name)) return { ...dataType('Json2'), name, sql: json2Sql(jsonHints(name)) };
  throw new AlmanacError('unsupported', `unknown data type "${name}"`);
}

/** Returns the type of a column for values of a native type: text for lists and others that no column has. */
export function columnTypeOf(name: string): string {
  try {
    return dataType(name).name;
  } catch {
    return 'String';
  }
}

/**
 * Finds the type for a SQL type name, in any case, aliases included.
 *
 * @param name words in upper case joined by one space, without arguments, for example `BIGINT UNSIGNED`.
 * @param args the numbers in parentheses, if any.
 * @returns undefined if there is no such type.
 */
export function dataTypeFromSql(name: string, args: readonly number[]): DataType | undefined {
  if (name === 'DECIMAL' || name === 'NUMERIC') return decimalFromSql(args);
  if (name === 'VECTOR') return vectorFromSql(args);
  if (name === 'TIMESTAMP' && args.length === 1) {
    const native = TIMESTAMP_BY_PRECISION[args[0]];
    return native === undefined ? undefined : dataType(native);
  }
  const native = SQL_NAMES[name];
  if (native === undefined) return undefined;
  const takesLength = native === 'String' && (name === 'VARCHAR' || name === 'CHAR');
  return args.length > 0 && !takesLength ? undefined : dataType(native);
}

/** Returns the number of elements of a type that is a vector. */
export function vectorDimension(name: string): number | undefined {
  const match = /^Vector\((\d+)\)$/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

function vectorFromSql([dimension, ...rest]: readonly (number | undefined)[]): DataType | undefined {
  const isValid = dimension !== undefined && dimension >= 1 && dimension <= VECTOR_DIMENSION_MAX && rest.length === 0;
  return isValid ? vectorType(dimension) : undefined;
}

function vectorType(dimension: number): DataType {
  const [name, sql] = [`Vector(${dimension})`, `VECTOR(${dimension})`];
  return { name, sql, duckdb: 'BLOB', storage: 'binary', widthBytes: 16 + 4 * dimension };
}

/** Returns whether a native type is a timestamp. */
export function isTimestamp(name: string): boolean {
  return dataType(name).timeUnit !== undefined;
}

function decimalFromSql(args: readonly number[]): DataType | undefined {
  const precision = args[0] ?? 38;
  const scale = args[1] ?? (args.length === 0 ? 10 : 0);
  if (precision < 1 || precision > 38 || scale > precision) return undefined;
  return decimalType(precision, scale);
}

function decimalType(precision: number, scale: number): DataType {
  const sql = `DECIMAL(${precision}, ${scale})`;
  return { name: `Decimal(${precision}, ${scale})`, sql, duckdb: sql, storage: 'text', widthBytes: 16 };
}
