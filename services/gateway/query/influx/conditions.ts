import type { Table } from '#shared/contracts/gen/common';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import { AlmanacError } from '#shared/errors/almanac-error';
import { timeIndexOf } from '#shared/schema/table-schema';

import { durationOf, type InfluxCursor } from './influxql.js';
import { checkPattern } from './name-test.js';

/** A condition of `WHERE` on tags and on the time. */
export type InfluxCondition =
  | { readonly kind: 'all' | 'any'; readonly parts: readonly InfluxCondition[] }
  | { readonly kind: 'tag'; readonly key: string; readonly operator: string; readonly value: string }
  | { readonly kind: 'time'; readonly operator: string; readonly timeNs: (nowMs: number) => bigint };

/** What conditions are made SQL for. */
export interface ConditionScope {
  readonly table: Table;
  readonly nowMs: number;
}

const LEVELS_MAX = 100;
const TEXT_OPERATORS = ['=~', '!~', '!=', '<>', '='];
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
    case 'tag':
      return tagSql(condition, scope.table);
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
  const operator = oneOf(cursor, TEXT_OPERATORS);
  const isPattern = operator.endsWith('~');
  const value = isPattern ? cursor.acceptPattern() : cursor.acceptText();
  if (value === undefined) throw cursor.unexpected(isPattern ? 'regex' : 'string');
  if (isPattern) checkPattern(value);
  return { kind: 'tag', key, operator, value };
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
  const ns = number !== undefined && /^\d{1,19}$/.test(number) ? BigInt(number) : durationOf(number ?? '');
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

function tagSql(
  { key, operator, value }: Extract<InfluxCondition, { readonly kind: 'tag' }>,
  { name, columns }: Table,
): string {
  const column = columns.find((candidate) => candidate.name === key);
  if (column !== undefined && column.kind !== 'tag') {
    throw new AlmanacError('invalid_arguments', `"${key}" is a field of "${name}": use tags and time in WHERE`);
  }
  // A tag that a row lacks is an empty text for InfluxDB.
  const tag = column === undefined ? "''" : `coalesce(${quoteName(key)}, '')`;
  if (!operator.endsWith('~')) return `${tag} ${operator} ${quoteText(value)}`;
  return `${operator === '!~' ? 'NOT ' : ''}regexp_matches(${tag}, ${quoteText(value)})`;
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
