import { AlmanacError } from '#shared/errors/almanac-error';

import { readNumber, readWhere, type InfluxCondition } from '../conditions.js';
import { influxDurationNs, type InfluxCursor } from '../influxql.js';
import { checkPattern, type NameTest } from '../name-test.js';
import { readSources, type InfluxSource } from '../sources.js';

/** An expression of a `SELECT`. */
export type SelectExpression =
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'duration'; readonly ns: bigint }
  | { readonly kind: 'column'; readonly name: string }
  /** `*` and `/regex/`: all columns with such names. */
  | { readonly kind: 'columns'; readonly isShown: NameTest }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly SelectExpression[] }
  | {
      readonly kind: 'math';
      readonly operator: MathOperator;
      readonly left: SelectExpression;
      readonly right: SelectExpression;
    };

/** Arithmetic of `SELECT`. */
export type MathOperator = '+' | '-' | '*' | '/' | '%';

/** A column of the result, or several of them. */
export interface SelectField {
  readonly expression: SelectExpression;
  readonly alias: string | undefined;
}

/** Values of intervals without rows. */
export type SelectFill = 'null' | 'none' | 'previous' | 'linear' | number;

/** A `SELECT` that was read. */
export interface SelectStatement {
  readonly fields: readonly SelectField[];
  readonly sources: readonly InfluxSource[];
  readonly where: InfluxCondition | undefined;
  readonly groups: SelectGroups;
  readonly fill: SelectFill;
  readonly isDescending: boolean;
  /** Rows of each series; 0: all. */
  readonly limit: number;
  readonly offset: number;
  /** Series of each measurement; 0: all. */
  readonly seriesLimit: number;
  readonly seriesOffset: number;
}

/** `GROUP BY` of a `SELECT`. */
export interface SelectGroups {
  /** Interval of `time(..)`; undefined without it. */
  readonly everyNs: bigint | undefined;
  readonly offsetNs: bigint;
  /** Tags that are named, and tests for others. */
  readonly tags: readonly string[];
  readonly tagTests: readonly NameTest[];
}

const LEVELS_MAX = 100;
/** Each operator is computed for all values. */
const OPERATORS_MAX = 200;
/** The engine counts intervals in microseconds. */
const EVERY_NS_MIN = 1_000n;

/** Reads a statement after the word `SELECT`. @throws `invalid_syntax`. */
export function parseSelect(cursor: InfluxCursor): SelectStatement {
  const fields: SelectField[] = [];
  do {
    const expression = readSum(cursor, 0);
    const alias = cursor.accept('AS') ? cursor.name() : undefined;
    // The time is always the first column.
    if (expression.kind !== 'column' || expression.name.toLowerCase() !== 'time') fields.push({ expression, alias });
  } while (cursor.acceptSymbol(','));
  if (fields.length === 0) throw invalid('at least one field must be selected besides time');
  if (operatorCount(fields) > OPERATORS_MAX) throw invalid(`a statement has at most ${OPERATORS_MAX} operators`);
  if (cursor.accept('INTO')) throw unsupported('INTO', 'create a flow');
  cursor.expect('FROM');
  if (cursor.acceptSymbol('(')) throw unsupported('a subquery', 'query with SQL at /v1/sql');
  const sources = readSources(cursor);
  const where = readWhere(cursor);
  const groups = cursor.accept('GROUP', 'BY') ? readGroups(cursor) : NO_GROUPS;
  const fill = cursor.accept('FILL') ? readFill(cursor) : 'null';
  const isDescending = cursor.accept('ORDER', 'BY') && readOrder(cursor);
  const [limit, offset, seriesLimit, seriesOffset] = ['LIMIT', 'OFFSET', 'SLIMIT', 'SOFFSET'].map((word) =>
    cursor.accept(word) ? cursor.number() : 0,
  );
  if (cursor.accept('TZ')) throw unsupported('tz()', 'query with SQL at /v1/sql');
  return { fields, sources, where, groups, fill, isDescending, limit, offset, seriesLimit, seriesOffset };
}

const NO_GROUPS: SelectGroups = { everyNs: undefined, offsetNs: 0n, tags: [], tagTests: [] };

function readSum(cursor: InfluxCursor, level: number): SelectExpression {
  return readChain(cursor, ['+', '-'], () => readProduct(cursor, level));
}

function readProduct(cursor: InfluxCursor, level: number): SelectExpression {
  return readChain(cursor, ['*', '/', '%'], () => readOperand(cursor, level));
}

function readChain(
  cursor: InfluxCursor,
  operators: readonly MathOperator[],
  readNext: () => SelectExpression,
): SelectExpression {
  let left = readNext();
  for (;;) {
    const operator = operators.find((symbol) => cursor.acceptSymbol(symbol));
    if (operator === undefined) return left;
    left = { kind: 'math', operator, left, right: readNext() };
  }
}

function readOperand(cursor: InfluxCursor, level: number): SelectExpression {
  if (level > LEVELS_MAX) throw invalid(`expressions have more than ${LEVELS_MAX} levels`);
  if (cursor.acceptSymbol('(')) return closed(cursor, readSum(cursor, level + 1));
  if (cursor.acceptSymbol('*')) return { kind: 'columns', isShown: () => true };
  if (cursor.acceptSymbol('-')) {
    const right = readOperand(cursor, level + 1);
    return { kind: 'math', operator: '*', left: { kind: 'number', value: -1 }, right };
  }
  const pattern = cursor.acceptPattern();
  if (pattern !== undefined) return matchingColumns(pattern);
  const number = cursor.acceptNumber();
  if (number !== undefined) return numberOf(cursor, number);
  const name = cursor.name();
  if (!cursor.acceptSymbol('(')) {
    if (cursor.acceptSymbol('::')) cursor.name();
    return { kind: 'column', name };
  }
  const args: SelectExpression[] = [];
  if (cursor.acceptSymbol(')')) return { kind: 'call', name: name.toLowerCase(), args };
  do args.push(readSum(cursor, level + 1));
  while (cursor.acceptSymbol(','));
  return closed(cursor, { kind: 'call', name: name.toLowerCase(), args });
}

/** Returns the number of operators; chains of them are not nested, and may be too long for recursion. */
function operatorCount(fields: readonly SelectField[]): number {
  let count = 0;
  const waiting = fields.map(({ expression }) => expression);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next.kind === 'call') waiting.push(...next.args);
    if (next.kind !== 'math') continue;
    count++;
    waiting.push(next.left, next.right);
  }
  return count;
}

function closed(cursor: InfluxCursor, expression: SelectExpression): SelectExpression {
  if (!cursor.acceptSymbol(')')) throw cursor.unexpected(')');
  return expression;
}

function matchingColumns(pattern: string): SelectExpression {
  const expression = checkPattern(pattern);
  return { kind: 'columns', isShown: (name) => expression.matcher(name).find() };
}

function numberOf(cursor: InfluxCursor, text: string): SelectExpression {
  const ns = influxDurationNs(text);
  if (ns !== undefined) return { kind: 'duration', ns };
  const value = Number(text);
  if (!Number.isFinite(value)) throw cursor.unexpected('number');
  return { kind: 'number', value };
}

function readGroups(cursor: InfluxCursor): SelectGroups {
  let every: Pick<SelectGroups, 'everyNs' | 'offsetNs'> = NO_GROUPS;
  const tags: string[] = [];
  const tagTests: NameTest[] = [];
  do {
    const pattern = cursor.acceptPattern();
    if (pattern !== undefined) {
      const expression = checkPattern(pattern);
      tagTests.push((name) => expression.matcher(name).find());
    } else if (cursor.acceptSymbol('*')) tagTests.push(() => true);
    else if (cursor.accept('TIME')) every = readEvery(cursor);
    else {
      tags.push(cursor.name());
      if (cursor.acceptSymbol('::')) cursor.name();
    }
  } while (cursor.acceptSymbol(','));
  return { everyNs: every.everyNs, offsetNs: every.offsetNs, tags, tagTests };
}

function readEvery(cursor: InfluxCursor): Pick<SelectGroups, 'everyNs' | 'offsetNs'> {
  if (!cursor.acceptSymbol('(')) throw cursor.unexpected('(');
  const everyNs = cursor.durationNs();
  if (everyNs < EVERY_NS_MIN || everyNs % EVERY_NS_MIN !== 0n) {
    throw invalid('time dimension must be whole microseconds, at least 1u');
  }
  let offsetNs = 0n;
  if (cursor.acceptSymbol(',')) {
    const isNegative = cursor.acceptSymbol('-');
    offsetNs = cursor.durationNs() % everyNs;
    if (isNegative && offsetNs > 0n) offsetNs = everyNs - offsetNs;
  }
  if (!cursor.acceptSymbol(')')) throw cursor.unexpected(')');
  return { everyNs, offsetNs };
}

function readFill(cursor: InfluxCursor): SelectFill {
  if (!cursor.acceptSymbol('(')) throw cursor.unexpected('(');
  const word = (['null', 'none', 'previous', 'linear'] as const).find((name) => cursor.accept(name.toUpperCase()));
  const fill = word ?? readNumber(cursor);
  if (fill === undefined) throw cursor.unexpected('null, none, previous, linear, number');
  if (!cursor.acceptSymbol(')')) throw cursor.unexpected(')');
  return fill;
}

/** Returns whether the order is descending. */
function readOrder(cursor: InfluxCursor): boolean {
  cursor.expect('TIME');
  if (cursor.accept('DESC')) return true;
  cursor.accept('ASC');
  return false;
}

function unsupported(what: string, instead: string): AlmanacError {
  return invalid(`${what} is not supported: ${instead}`);
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_syntax', text);
}
