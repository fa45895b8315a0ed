import { quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { UNIT_NS, type TimeUnit } from '#shared/schema/data-type';
import type { Zone } from '#shared/time/zone';

import { parseTimestampText } from './timestamp-text.js';

/** A literal of a statement. Numbers are kept as written, binary values as hexadecimal digits. */
export interface Literal {
  /** `unsigned`: an integer beyond Int64. `huge`: one beyond UInt64 too, or below Int64, which is a double where its type matters. */
  readonly kind: 'text' | 'integer' | 'unsigned' | 'huge' | 'decimal' | 'binary';
  readonly value: string;
}

/** The literals of a run of a plan. */
export interface RunLiterals {
  readonly literals: readonly Literal[];
}

/** The values on which a run of a plan depends, apart from its tables: its literals and the session. */
export interface RunValues extends RunLiterals {
  /** One reading of the clock for the whole statement. */
  readonly nowNs: bigint;
  readonly zone: Zone;
  /** Database of unqualified names. */
  readonly database: string;
  /** The request's user; empty without authentication. */
  readonly user: string;
}

/** Returns the texts of literals in one run. */
export function textsOf(literals: readonly ((run: RunValues) => Literal)[], run: RunValues): string[] {
  const texts: string[] = [];
  for (const literal of literals) texts.push(literal(run).value);
  return texts;
}

const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;
/** Largest integer of the engine has 39 digits; parsing a million takes half a second. */
const DIGITS_MAX = 64;
/** Integers with fewer digits, sign included, are all within Int64. */
const INT64_CHARS_MIN = 19;

/** Returns digits, with or without a sign, as the kind that their value has. */
export function sizedInteger(digits: string): Literal {
  if (digits.length < INT64_CHARS_MIN) return { kind: 'integer', value: digits };
  const value = digits.replace(/^(-?)0+(?=\d)/, '$1');
  if (value.length > DIGITS_MAX) return { kind: 'huge', value };
  const number = BigInt(value);
  if (number >= -INT64_MAX - 1n && number <= INT64_MAX) return { kind: 'integer', value };
  return { kind: number > 0n && number <= UINT64_MAX ? 'unsigned' : 'huge', value };
}

/** Reports whether literals of a kind are written as integers. */
export function isInteger(kind: Literal['kind']): boolean {
  return kind === 'integer' || kind === 'unsigned' || kind === 'huge';
}

/** What stands for all larger counts. */
const LARGE_COUNT: Literal = { kind: 'integer', value: String(Number.MAX_SAFE_INTEGER) };

/** Returns the literal of a LIMIT or OFFSET: in MySQL, 2^64 - 1 stands for no limit, which the engine does not take. */
export function countOf(literal: Literal): Literal {
  return isInteger(literal.kind) && Number(literal.value) > Number.MAX_SAFE_INTEGER ? LARGE_COUNT : literal;
}

/** Returns SQL text of a literal for the engine: decimals are doubles; integers beyond Int64 are UInt64, and other large ones doubles. */
export function literalSql(literal: Literal): string {
  switch (literal.kind) {
    case 'text':
      return quoteText(literal.value);
    case 'binary':
      return `from_hex('${literal.value}')`;
    case 'decimal':
      return parenthesised(doubleSql(literal.value));
    case 'integer':
    case 'unsigned':
    case 'huge':
      return parenthesised(integerSql(literal.value));
  }
}

/** Returns SQL text that the engine reads as a double instead of its exact decimal type. */
export function doubleSql(digits: string): string {
  return /[eE]/.test(digits) ? digits : `${digits}e0`;
}

function integerSql(digits: string): string {
  const { kind } = sizedInteger(digits);
  if (kind === 'huge') return `${digits}e0`;
  return kind === 'unsigned' ? `${digits}::UBIGINT` : digits;
}

function parenthesised(sql: string): string {
  return sql.startsWith('-') ? `(${sql})` : sql;
}

/** Unit of each timestamp type of the engine. */
export const TIMESTAMP_TYPES: Readonly<Record<string, TimeUnit>> = {
  TIMESTAMP_S: 's',
  TIMESTAMP_MS: 'ms',
  TIMESTAMP: 'us',
  TIMESTAMP_NS: 'ns',
};

/** The engine's timestamp type of each unit. */
export const TYPE_OF_UNIT: Readonly<Record<TimeUnit, string>> = {
  s: 'TIMESTAMP_S',
  ms: 'TIMESTAMP_MS',
  us: 'TIMESTAMP',
  ns: 'TIMESTAMP_NS',
};

/** Beyond the times of every unit: decimals are cut to it, since those such as 1e400 are no integers. */
const COUNT_MAX = 1e30;

/**
 * Returns the point in time, in ns since 1970, of a literal where a timestamp of `unit` is expected: a number counts that
 * unit, a text is in the session's zone unless it has an offset.
 *
 * @throws `execute_query` if the text is not a timestamp.
 */
export function timeOfLiteral(literal: Literal, unit: TimeUnit, zone: Zone): bigint {
  if (isInteger(literal.kind)) return literalInteger(literal.value) * UNIT_NS[unit];
  if (literal.kind === 'decimal') {
    const count = Math.max(-COUNT_MAX, Math.min(Number(literal.value), COUNT_MAX));
    return (BigInt(Math.round(count * 1e6)) * UNIT_NS[unit]) / 1_000_000n;
  }
  const ns = literal.kind === 'text' ? parseTimestampText(literal.value, zone) : undefined;
  if (ns === undefined) {
    throw new AlmanacError(
      'execute_query',
      `Parser error: Error parsing timestamp from '${literal.value.slice(0, 100)}': error parsing timestamp`,
    );
  }
  return ns;
}

/** Parses an integer of a query. @throws `execute_query` if it is beyond all types. */
export function literalInteger(text: string): bigint {
  if (text.length <= DIGITS_MAX) return BigInt(text);
  throw new AlmanacError('execute_query', `Parser error: ${text.slice(0, DIGITS_MAX)}.. has too many digits`);
}

/** Divides and rounds down. */
export function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

/** Divides and rounds up. */
export function ceilDivide(value: bigint, by: bigint): bigint {
  return -floorDivide(-value, by);
}

/** Returns a literal that is the same in all runs. */
export function fixedLiteral(kind: Literal['kind'], value: string): { kind: Literal['kind']; in: () => Literal } {
  return { kind, in: () => ({ kind, value }) };
}
