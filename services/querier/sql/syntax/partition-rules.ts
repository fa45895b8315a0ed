import { AlmanacError } from '#shared/errors/almanac-error';
import { quoteName, quoteText } from '#shared/duckdb/quote';
import type { Partitions } from '#shared/schema/partitions';

import { Cursor } from './cursor.js';
import { lexSql } from './lex.js';
import { readLiteralCell } from './literal-cell.js';

/** Most partitions of a table, and most points at which a set of rules is checked. */
const RULES_MAX = 1_000;
const POINTS_MAX = 100_000;
const DEPTH_MAX = 50;

type Constant = number | bigint | string | boolean;
const OPERATORS = ['<=', '>=', '<>', '!=', '<', '>', '='] as const;
type Operator = (typeof OPERATORS)[number];

/** A condition on the partition columns. */
export type PartitionRule =
  | { readonly kind: 'compare'; readonly column: string; readonly operator: Operator; readonly value: Constant }
  | { readonly kind: 'AND' | 'OR'; readonly parts: readonly PartitionRule[] };

/** Parses `(a, b) (rule, rule, ..)`, as it follows `ON COLUMNS`. @throws `invalid_syntax`, `invalid_arguments`. */
export function parsePartitions(cursor: Cursor): { columns: string[]; rules: PartitionRule[] } {
  const columns = parseNames(cursor);
  return { columns, rules: parseRules(cursor) };
}

/** Parses `(a, b)`. */
export function parseNames(cursor: Cursor): string[] {
  const names: string[] = [];
  cursor.expectSymbol('(');
  while (!cursor.acceptSymbol(')')) {
    names.push(cursor.name('column name'));
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  return names;
}

/** Parses `(rule, rule, ..)`. @throws `invalid_syntax`. */
export function parseRules(cursor: Cursor): PartitionRule[] {
  const rules: PartitionRule[] = [];
  cursor.expectSymbol('(');
  while (!cursor.acceptSymbol(')')) {
    rules.push(parseAny(cursor, 0));
    if (rules.length > RULES_MAX) throw invalid(`a table has at most ${RULES_MAX} partitions`);
    if (!cursor.acceptSymbol(',') && !cursor.seesSymbol(')')) throw cursor.unexpected(', or )');
  }
  return rules;
}

function parseAny(cursor: Cursor, depth: number): PartitionRule {
  const parts = [parseAll(cursor, depth)];
  while (cursor.accept('OR')) parts.push(parseAll(cursor, depth));
  return parts.length === 1 ? parts[0] : { kind: 'OR', parts };
}

function parseAll(cursor: Cursor, depth: number): PartitionRule {
  const parts = [parseOne(cursor, depth)];
  while (cursor.accept('AND')) parts.push(parseOne(cursor, depth));
  return parts.length === 1 ? parts[0] : { kind: 'AND', parts };
}

const MIRRORED: Readonly<Partial<Record<Operator, Operator>>> = { '<': '>', '>': '<', '<=': '>=', '>=': '<=' };

function parseOne(cursor: Cursor, depth: number): PartitionRule {
  if (depth > DEPTH_MAX) throw invalid(`partition rules are nested at most ${DEPTH_MAX} deep`);
  if (cursor.acceptSymbol('(')) {
    const inner = parseAny(cursor, depth + 1);
    cursor.expectSymbol(')');
    return inner;
  }
  const first = parseConstant(cursor);
  if (first === undefined) {
    const column = cursor.name('column name');
    const operator = parseOperator(cursor);
    return { kind: 'compare', column, operator, value: expectedConstant(cursor) };
  }
  const operator = parseOperator(cursor);
  return {
    kind: 'compare',
    column: cursor.name('column name'),
    operator: MIRRORED[operator] ?? operator,
    value: first,
  };
}

function parseOperator(cursor: Cursor): Operator {
  const operator = OPERATORS.find((symbol) => cursor.acceptSymbol(symbol));
  if (operator === undefined) throw cursor.unexpected('<, <=, >, >=, = or <>');
  return operator === '!=' ? '<>' : operator;
}

function expectedConstant(cursor: Cursor): Constant {
  const value = parseConstant(cursor);
  if (value === undefined) throw cursor.unexpected('constant');
  return value;
}

/** Double quotes are names here. */
function parseConstant(cursor: Cursor): Constant | undefined {
  const raw = cursor.done ? '' : cursor.tokens.raw(cursor.at);
  if (raw.startsWith('"') || raw.startsWith('`')) return undefined;
  const start = cursor.at;
  const cell = readLiteralCell(cursor);
  if (cell?.kind === 'bool') return cell.value;
  if (cell?.kind === 'literal' && cell.literal.kind === 'text') return cell.literal.value;
  if (cell?.kind === 'literal' && cell.literal.kind !== 'binary') {
    const text = `${cell.isNegative ? '-' : ''}${cell.literal.value}`;
    return cell.literal.kind === 'integer' ? BigInt(text) : Number(text);
  }
  cursor.at = start;
  return undefined;
}

/** Returns a rule as it is shown. */
export function ruleText(rule: PartitionRule, isNested = false): string {
  if (rule.kind === 'compare') {
    const { column, operator, value } = rule;
    const name = /^[a-z_][a-z0-9_]*$/.test(column) ? column : quoteName(column);
    return `${name} ${operator} ${typeof value === 'string' ? quoteText(value) : String(value)}`;
  }
  const text = rule.parts.map((part) => ruleText(part, true)).join(` ${rule.kind} `);
  return isNested && rule.kind === 'OR' ? `(${text})` : text;
}

/** Parses a rule that was shown. */
export function parseRule(text: string): PartitionRule {
  const tokens = lexSql(text);
  return parseAny(new Cursor(tokens, 0, tokens.count), 0);
}

/**
 * Checks that each possible row is in exactly one partition.
 *
 * Whether a row fulfils a rule changes only at the constants that rules compare a column with. So it suffices to check the
 * combinations of all constants and of the ranges between them.
 *
 * @throws `invalid_arguments` with the first combination that is in none, or in several.
 */
export function checkPartitions({
  columns,
  rules,
}: {
  columns: readonly string[];
  rules: readonly PartitionRule[];
}): void {
  const constants = new Map<string, Constant[]>(columns.map((column) => [column, []]));
  for (const rule of rules) collectConstants(rule, constants);
  if (rules.length === 0) return;
  const axes = columns.map((column) => ({ column, values: sorted(constants.get(column) ?? []) }));
  const count = axes.reduce((product, { values }) => product * (2 * values.length + 1), 1);
  if (count * rules.length > POINTS_MAX * 10 || count > POINTS_MAX) {
    throw invalid(`partition rules have ${count} combinations of constants, at most ${POINTS_MAX} can be checked`);
  }
  for (let i = 0; i < count; i++) {
    const point = pointAt(axes, i);
    const holding = rules.filter((rule) => holds(rule, point)).length;
    if (holding === 1) continue;
    const text = axes.map((axis) => coordinateText(axis, point)).join(', ');
    throw new AlmanacError(
      'invalid_arguments',
      `Checkpoint \`${text}\` is ${holding === 0 ? 'not covered' : 'overlapped'}`,
    );
  }
}

function collectConstants(rule: PartitionRule, constants: ReadonlyMap<string, Constant[]>): void {
  if (rule.kind !== 'compare') {
    for (const part of rule.parts) collectConstants(part, constants);
    return;
  }
  const known = constants.get(rule.column);
  if (known === undefined) throw new AlmanacError('invalid_arguments', `Cannot find column by name: ${rule.column}`);
  known.push(rule.value);
}

interface Axis {
  readonly column: string;
  /** Different constants, ascending. */
  readonly values: readonly Constant[];
}

/** Position on each axis: odd ones are constants, even ones the ranges before, between and after them. */
type Point = ReadonlyMap<string, { readonly position: number; readonly axis: Axis }>;

function sorted(values: readonly Constant[]): Constant[] {
  if (new Set(values.map((value) => (typeof value === 'bigint' ? 'number' : typeof value))).size > 1) {
    throw invalid('partition rules compare a column with constants of different types');
  }
  const ascending = [...values].sort(compare);
  return ascending.filter((value, i) => i === 0 || compare(ascending[i - 1], value) !== 0);
}

function compare(a: Constant, b: Constant): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function pointAt(axes: readonly Axis[], index: number): Point {
  let rest = index;
  const point = new Map<string, { position: number; axis: Axis }>();
  for (const axis of axes) {
    const size = 2 * axis.values.length + 1;
    point.set(axis.column, { position: rest % size, axis });
    rest = Math.floor(rest / size);
  }
  return point;
}

function holds(rule: PartitionRule, point: Point): boolean {
  if (rule.kind !== 'compare') {
    const isHeld = (part: PartitionRule): boolean => holds(part, point);
    return rule.kind === 'AND' ? rule.parts.every(isHeld) : rule.parts.some(isHeld);
  }
  const coordinate = point.get(rule.column);
  if (coordinate === undefined) return false;
  const wanted = 2 * coordinate.axis.values.findIndex((value) => compare(value, rule.value) === 0) + 1;
  const difference = coordinate.position - wanted;
  if (rule.operator === '=') return difference === 0;
  if (rule.operator === '<>' || rule.operator === '!=') return difference !== 0;
  if (rule.operator === '<') return difference < 0;
  if (rule.operator === '<=') return difference <= 0;
  return rule.operator === '>' ? difference > 0 : difference >= 0;
}

function coordinateText({ column, values }: Axis, point: Point): string {
  const position = point.get(column)?.position ?? 0;
  const index = Math.floor(position / 2);
  if (position % 2 === 1) return `${column}=${String(values[index])}`;
  if (values.length === 0) return column;
  return index === 0 ? `${column}<${String(values[0])}` : `${column}>${String(values[index - 1])}`;
}

/** Returns rules that are to be stored. */
export function storedPartitions(columns: readonly string[], rules: readonly PartitionRule[]): Partitions {
  return { columns, rules: rules.map((rule) => ruleText(rule)) };
}

function invalid(text: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `Invalid partition rule: ${text}`);
}
