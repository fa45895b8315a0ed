import type { Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { timeIndexOf } from '#shared/schema/table-schema';

import { influxDurationNs, type InfluxCursor } from './influxql.js';
import { checkPattern } from './name-test.js';

/** A condition of `WHERE` on tags, fields and the time. */
export type InfluxCondition =
  | { readonly kind: 'all' | 'any'; readonly parts: readonly InfluxCondition[] }
  | {
      readonly kind: 'column';
      readonly key: string;
      readonly operator: string;
      readonly value: string | number | bigint | boolean;
    }
  | { readonly kind: 'time'; readonly operator: string; readonly timeNs: (nowMs: number) => bigint };

/** What conditions are made SQL for. */
export interface ConditionScope {
  readonly table: Table;
  readonly nowMs: number;
  /** Whether fields can be compared: not where only tags are listed. */
  readonly hasFields?: boolean;
}

/** The times that a condition allows, both included; undefined if it does not limit them. */
export interface InfluxTimeBounds {
  readonly fromNs: bigint | undefined;
  readonly toNs: bigint | undefined;
}

const LEVELS_MAX = 100;
const COLUMN_OPERATORS = ['=~', '!~', '!=', '<>', '<=', '>=', '<', '>', '='];
const TIME_OPERATORS = ['<=', '>=', '<>', '!=', '<', '>', '='];
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?)?$/;
const MS_NS = 1_000_000n;
/** Last nanosecond that a time of 64 bits can have, and so the first one with the sign changed. */
const TIME_NS_MAX = (1n << 63n) - 1n;

/** Reads the condition after `WHERE`; undefined if there is none. @throws `invalid_syntax`. */
export function readWhere(cursor: InfluxCursor): InfluxCondition | undefined {
  return cursor.accept('WHERE') ? readAny(cursor, 0) : undefined;
}

/** Returns a condition as SQL. @throws `invalid_arguments` for a condition on a field. */
export function conditionSql(condition: InfluxCondition, scope: ConditionScope): string {
  switch (condition.kind) {
    case 'all':
    case 'any': {
      const word = condition.kind === 'all' ? ' AND ' : ' OR ';
      return `(${condition.parts.map((part) => conditionSql(part, scope)).join(word)})`;
    }
    case 'column':
      return columnSql(condition, scope);
    case 'time': {
      const time = timeSql(condition.timeNs(scope.nowMs));
      return `${quoteName(timeIndexOf(scope.table).name)} ${condition.operator} ${time}`;
    }
  }
}

function readAny(cursor: InfluxCursor, level: number): InfluxCondition {
  const parts = [readAll(cursor, level)];
  while (cursor.accept('OR')) parts.push(readAll(cursor, level));
  return parts.length === 1 ? parts[0] : { kind: 'any', parts };
}

function readAll(cursor: InfluxCursor, level: number): InfluxCondition {
  const parts = [readOne(cursor, level)];
  while (cursor.accept('AND')) parts.push(readOne(cursor, level));
  return parts.length === 1 ? parts[0] : { kind: 'all', parts };
}

function readOne(cursor: InfluxCursor, level: number): InfluxCondition {
  if (cursor.acceptSymbol('(')) {
    if (level === LEVELS_MAX) throw invalid(`conditions have more than ${LEVELS_MAX} levels`);
    const inner = readAny(cursor, level + 1);
    if (!cursor.acceptSymbol(')')) throw cursor.unexpected(')');
    return inner;
  }
  if (cursor.accept('TIME')) return readTime(cursor);
  const key = cursor.name();
  if (cursor.acceptSymbol('::') && !cursor.accept('TAG')) throw cursor.unexpected('tag');
  const operator = oneOf(cursor, COLUMN_OPERATORS);
  if (operator.endsWith('~')) {
    const pattern = cursor.acceptPattern();
    if (pattern === undefined) throw cursor.unexpected('regex');
    checkPattern(pattern);
    return { kind: 'column', key, operator, value: pattern };
  }
  const value = cursor.acceptText() ?? readBoolean(cursor) ?? readExactNumber(cursor);
  if (value === undefined) throw cursor.unexpected('string, number, bool');
  return { kind: 'column', key, operator, value };
}

function readBoolean(cursor: InfluxCursor): boolean | undefined {
  if (cursor.accept('TRUE')) return true;
  return cursor.accept('FALSE') ? false : undefined;
}

/** Reads a number with its sign; undefined if there is none. @throws `invalid_syntax` for a sign or a unit alone. */
export function readNumber(cursor: InfluxCursor): number | undefined {
  const value = readExactNumber(cursor);
  return value === undefined ? undefined : Number(value);
}

/** As `readNumber`; integers that a double cannot hold keep all their digits. */
function readExactNumber(cursor: InfluxCursor): number | bigint | undefined {
  const isNegative = cursor.acceptSymbol('-');
  const text = cursor.acceptNumber();
  if (text === undefined && !isNegative) return undefined;
  const value = Number(text ?? NaN);
  if (!Number.isFinite(value)) throw cursor.unexpected('number');
  const exact = /^\d{16,20}$/.test(text ?? '') ? BigInt(text ?? '') : value;
  return isNegative ? -exact : exact;
}

function readTime(cursor: InfluxCursor): InfluxCondition {
  const operator = oneOf(cursor, TIME_OPERATORS);
  if (!cursor.accept('NOW')) {
    const fixed = readFixedTime(cursor);
    return { kind: 'time', operator, timeNs: () => fixed };
  }
  if (!cursor.acceptSymbol('(') || !cursor.acceptSymbol(')')) throw cursor.unexpected('()');
  const sign = cursor.acceptSymbol('-') ? -1n : cursor.acceptSymbol('+') ? 1n : 0n;
  const offset = sign === 0n ? 0n : sign * cursor.durationNs();
  return { kind: 'time', operator, timeNs: (nowMs) => BigInt(Math.floor(nowMs)) * MS_NS + offset };
}

/** Reads a time as a text, as nanoseconds, or as a number with a unit, all since 1970. */
function readFixedTime(cursor: InfluxCursor): bigint {
  const text = cursor.acceptText();
  if (text !== undefined) {
    const ns = textNs(text);
    if (ns === undefined) throw invalid(`invalid time "${text.slice(0, 60)}"`);
    return ns;
  }
  const sign = cursor.acceptSymbol('-') ? -1n : 1n;
  const number = cursor.acceptNumber();
  const ns = number !== undefined && /^\d{1,19}$/.test(number) ? BigInt(number) : influxDurationNs(number ?? '');
  if (ns === undefined || ns > TIME_NS_MAX) throw cursor.unexpected('time');
  return sign * ns;
}

function textNs(text: string): bigint | undefined {
  const match = TIME.exec(text);
  if (match === null) return undefined;
  const [, date, clock = '00:00:00', fraction = '', zone = 'Z'] = match as (string | undefined)[];
  const ms = Date.parse(`${date}T${clock}${zone}`);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * MS_NS + BigInt(fraction.padEnd(9, '0'));
}

function oneOf(cursor: InfluxCursor, operators: readonly string[]): string {
  const operator = operators.find((symbol) => cursor.acceptSymbol(symbol));
  if (operator === undefined) throw cursor.unexpected(operators.join(', '));
  return operator === '!=' ? '<>' : operator;
}

function columnSql(
  { key, operator, value }: Extract<InfluxCondition, { readonly kind: 'column' }>,
  { table: { name, columns }, hasFields = false }: ConditionScope,
): string {
  const column = columns.find((candidate) => candidate.name === key);
  const isField = column !== undefined && column.kind !== 'tag';
  if (isField && !hasFields) {
    throw new AlmanacError('invalid_arguments', `"${key}" is a field of "${name}": use tags and time in WHERE`);
  }
  const type = isField ? fieldKind(column.type) : 'string';
  // Values of other types are never equal, and a missing column has none but the empty text.
  if (type !== (typeof value === 'bigint' ? 'number' : typeof value)) return 'FALSE';
  const sql = isField ? quoteName(key) : column === undefined ? "''" : `coalesce(${quoteName(key)}, '')`;
  if (typeof value !== 'string') return `${sql} ${operator} ${value}`;
  if (!operator.endsWith('~')) return `${sql} ${operator} ${quoteText(value)}`;
  return `${operator === '!~' ? 'NOT ' : ''}regexp_matches(${sql}, ${quoteText(value)})`;
}

/** Returns the type that values of a field have for InfluxDB; other types are texts to it, which nothing equals. */
export function fieldKind(type: string): 'number' | 'boolean' | 'string' | 'other' {
  if (type === 'String') return 'string';
  if (type === 'Boolean') return 'boolean';
  return /^(?:U?Int|Float|Decimal)/.test(type) ? 'number' : 'other';
}

/** Returns the times that all rows with a condition have. */
export function timeBounds(condition: InfluxCondition | undefined, nowMs: number): InfluxTimeBounds {
  if (condition?.kind === 'all') {
    const parts = condition.parts.map((part) => timeBounds(part, nowMs));
    return {
      fromNs: most(
        parts.map(({ fromNs }) => fromNs),
        (a, b) => a > b,
      ),
      toNs: most(
        parts.map(({ toNs }) => toNs),
        (a, b) => a < b,
      ),
    };
  }
  if (condition?.kind !== 'time') return { fromNs: undefined, toNs: undefined };
  const ns = condition.timeNs(nowMs);
  const { operator } = condition;
  const isLower = operator === '>' || operator === '>=' || operator === '=';
  const isUpper = operator === '<' || operator === '<=' || operator === '=';
  return {
    fromNs: isLower ? ns + (operator === '>' ? 1n : 0n) : undefined,
    toNs: isUpper ? ns - (operator === '<' ? 1n : 0n) : undefined,
  };
}

function most(values: readonly (bigint | undefined)[], isMore: (a: bigint, b: bigint) => boolean): bigint | undefined {
  return values.reduce((found, value) => {
    return value !== undefined && (found === undefined || isMore(value, found)) ? value : found;
  }, undefined);
}

function timeSql(ns: bigint): string {
  const bounded = ns > TIME_NS_MAX ? TIME_NS_MAX : ns < -TIME_NS_MAX ? -TIME_NS_MAX : ns;
  const part = ((bounded % MS_NS) + MS_NS) % MS_NS;
  const time = new Date(Number((bounded - part) / MS_NS)).toISOString().slice(0, -1);
  return `'${time}${String(part).padStart(6, '0')}Z'`;
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_syntax', text);
}
