import type { Column } from '#shared/contracts/gen/common';
import type { ValueType } from '#shared/duckdb/chunk-reader';
import { quoteText } from '#shared/duckdb/quote';
import { dataType, vectorDimension, type DataType, type TimeUnit } from '#shared/schema/data-type';

import { vectorFunction } from '../vectors/row-functions.js';

/** What `parseTimestampText` accepts: groups of the date, hours and minutes, seconds, and the offset. */
const TIME_TEXT =
  String.raw`(?i)^\s*([+-]?\d{4,6}-\d\d-\d\d)(?:(?: {1,100}|T)(\d\d:\d\d)(:\d\d(?:\.\d{1,DIGITS})?)?\d*)?` +
  String.raw`\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?\s*$`;
/** White space of JSON, and the strings that keep theirs. */
const JSON_SPACE = String.raw`("(?:[^"\\]|\\.)*")|\s+`;
const BYTES_PER_ELEMENT = 4;

/**
 * Returns the SQL expression that converts a value of a file to the declared type of a column, as COPY does.
 *
 * @param value a name in SQL: it is repeated.
 * @param format of the file: texts of CSV and JSON have bytes in hexadecimal digits and times as counts of the column's unit.
 */
export function declaredSql(column: Column, value: string, from: ValueType, format: string): string {
  const type = dataType(column.type);
  if (from.kind !== 'text') return ofTyped(column, type, value, from);
  // Of Parquet, other types can be texts here.
  const text = format === 'parquet' ? `CAST(${value} AS VARCHAR)` : value;
  if (type.name === 'String') return text;
  return `CASE WHEN ${value} IS NULL THEN NULL ${ofText(column, type, text, format === 'parquet')} END`;
}

/** Returns the SQL condition that a text can be converted to a type of numbers, times or truth values; NULL for NULL. */
export function isDeclarable({ type }: { readonly name: string; readonly type: string }, value: string): string {
  const { storage, timeUnit, duckdb, name } = dataType(type);
  if (timeUnit !== undefined) return `(${isCount(value)} OR ${isTimeText(value, timeUnit)})`;
  if (name === 'Date') return isTimeText(value, 'us');
  if (storage === 'bool') return `lower(${value}) IN ('true', 't', '1', 'false', 'f', '0')`;
  const isNumber = storage === 'int' ? `${isWhole(value)} AND ` : '';
  return `(${value} IS NULL OR (${isNumber}TRY_CAST(trim(${value}) AS ${duckdb}) IS NOT NULL))`;
}

/** Returns the branches of a CASE. */
function ofText(column: Column, type: DataType, value: string, isPlain: boolean): string {
  const { name, timeUnit, storage, duckdb } = type;
  const refused = `ELSE ${refusal(column, value)}`;
  if (timeUnit !== undefined) {
    const count = `WHEN ${isCount(value)} THEN ${ofCount(`CAST(${value} AS BIGINT)`, timeUnit)}`;
    return `${count} ${timeBranches(value, timeUnit)} ${refused}`;
  }
  if (name === 'Date') {
    const time = `CASE ${timeBranches(value, 'us')} ELSE NULL END`;
    return `WHEN ${isTimeText(value, 'us')} THEN CAST(${time} AS DATE) ${refused}`;
  }
  if (name === 'Json' || name.startsWith('Json2')) {
    const compact = `regexp_replace(${value}, ${quoteText(JSON_SPACE)}, '\\1', 'g')`;
    return `WHEN json_valid(${value}) THEN ${compact} ELSE error('Invalid json text: ' || left(${value}, 100))`;
  }
  const dimension = vectorDimension(name);
  if (dimension !== undefined) {
    const hasElements = `len(string_split(${value}, ',')) = ${dimension}`;
    return `WHEN ${hasElements} THEN ${vectorFunction('parse_vec')}(${value}) ${refused}`;
  }
  if (storage === 'binary') {
    if (isPlain) return `ELSE encode(${value})`;
    return `WHEN regexp_full_match(${value}, '([0-9a-fA-F]{2})*') THEN unhex(${value}) ${refused}`;
  }
  if (storage === 'bool') {
    return `WHEN ${isDeclarable(column, value)} THEN lower(${value}) IN ('true', 't', '1') ${refused}`;
  }
  return `WHEN ${isDeclarable(column, value)} THEN CAST(trim(${value}) AS ${duckdb}) ${refused}`;
}

function isCount(value: string): string {
  return `regexp_full_match(${value}, '-?\\d{1,19}')`;
}

function isWhole(value: string): string {
  return `regexp_full_match(trim(${value}), '[+-]?\\d+')`;
}

function refusal({ name, type }: Column, value: string): string {
  const end = quoteText(` to ${dataType(type).timeUnit === undefined ? type : 'Timestamp'} value, column: ${name}`);
  return `error('Failed to parse value: Failed to parse ' || left(${value}, 100) || ${end})`;
}

function patternOf(unit: TimeUnit): string {
  return quoteText(TIME_TEXT.replace('DIGITS', unit === 'ns' ? '9' : '6'));
}

function isTimeText(value: string, unit: TimeUnit): string {
  return `regexp_matches(${value}, ${patternOf(unit)})`;
}

/** The first branch is for times as exports have them, without the work of the second. */
function timeBranches(value: string, unit: TimeUnit): string {
  const plain = `'\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d(\\.\\d{1,${unit === 'ns' ? 9 : 6}})?'`;
  const parts = [
    [String.raw` \|`, ' 00:00:00|'],
    [String.raw` (\d\d:\d\d)\|`, String.raw` \1:00|`],
    [String.raw`(?i)\|(Z|UTC)?$`, '+00:00'],
    [String.raw`\|([+-]\d\d)$`, String.raw`\1:00`],
    [String.raw`\|([+-]\d\d):?(\d\d)$`, String.raw`\1:\2`],
  ];
  const split = `regexp_replace(${value}, ${patternOf(unit)}, '\\1 \\2\\3|\\4')`;
  const complete = parts.reduce(
    (text, [pattern, by]) => `regexp_replace(${text}, ${quoteText(pattern)}, ${quoteText(by)})`,
    split,
  );
  const timeOf = (text: string): string =>
    unit === 'ns' ? `CAST(${text} AS TIMESTAMP_NS)` : ofMicros(`epoch_us(CAST(${text} AS TIMESTAMPTZ))`, unit);
  return (
    `WHEN regexp_full_match(${value}, ${plain}) THEN ${timeOf(`(${value} || '+00:00')`)} ` +
    `WHEN ${isTimeText(value, unit)} THEN ${timeOf(complete)}`
  );
}

/** Returns the time of a count of its unit. */
function ofCount(count: string, unit: TimeUnit): string {
  switch (unit) {
    case 's':
      return `CAST(make_timestamp(${count} * 1000000) AS TIMESTAMP_S)`;
    case 'ms':
      return `CAST(make_timestamp(${count} * 1000) AS TIMESTAMP_MS)`;
    case 'us':
      return `make_timestamp(${count})`;
    case 'ns':
      return `make_timestamp_ns(${count})`;
  }
}

/** Rounds down, as INSERT does; casts of the engine round in other ways. */
function ofMicros(micros: string, unit: TimeUnit): string {
  const step = { s: 1_000_000, ms: 1_000, us: 1, ns: 1 }[unit];
  const floor = step === 1 ? micros : `(${floorDiv(micros, step)}) * ${step}`;
  const time = `make_timestamp(${floor})`;
  return unit === 'us'
    ? time
    : `CAST(${time} AS ${{ s: 'TIMESTAMP_S', ms: 'TIMESTAMP_MS', ns: 'TIMESTAMP_NS' }[unit]})`;
}

function floorDiv(count: string, step: number): string {
  return `(${count} - (${count} % ${step} + ${step}) % ${step}) // ${step}`;
}

/** Converts a value that has a type in its file, as those of Parquet have. */
function ofTyped(
  column: Column,
  { name, timeUnit, storage, duckdb }: DataType,
  value: string,
  from: ValueType,
): string {
  const dimension = vectorDimension(name);
  const text = `CAST(${value} AS VARCHAR)`;
  if (timeUnit !== undefined) return ofTypedTime(duckdb, timeUnit, value, from);
  if (dimension !== undefined) {
    if (from.kind === 'list') return `${vectorFunction('parse_vec')}(${text})`;
    const isVector = `${value} IS NULL OR octet_length(${value}) = ${BYTES_PER_ELEMENT * dimension}`;
    return from.kind === 'binary' ? `CASE WHEN ${isVector} THEN ${value} ELSE ${refusal(column, text)} END` : value;
  }
  if (name === 'Json' || name.startsWith('Json2')) {
    return from.kind === 'list' || from.kind === 'struct' || from.kind === 'map'
      ? `CAST(to_json(${value}) AS VARCHAR)`
      : text;
  }
  const isFraction = from.name.startsWith('Float') || from.kind === 'decimal';
  return storage === 'int' && name !== 'Date' && isFraction
    ? `CAST(trunc(${value}) AS ${duckdb})`
    : `CAST(${value} AS ${duckdb})`;
}

const UNIT_NAMES: Readonly<Record<TimeUnit, string>> = {
  s: 'TimestampSecond',
  ms: 'TimestampMillisecond',
  us: 'TimestampMicrosecond',
  ns: 'TimestampNanosecond',
};

function ofTypedTime(duckdb: string, unit: TimeUnit, value: string, from: ValueType): string {
  if (from.name === UNIT_NAMES[unit]) return `CAST(${value} AS ${duckdb})`;
  if (from.name === UNIT_NAMES.ns) return ofMicros(floorDiv(`epoch_ns(${value})`, 1_000), unit);
  if (from.name.startsWith('Timestamp')) return ofMicros(`epoch_us(${value})`, unit);
  const isInteger = /^U?Int\d+$/.test(from.name);
  return isInteger ? ofCount(`CAST(${value} AS BIGINT)`, unit) : `CAST(${value} AS ${duckdb})`;
}
