import type { Ast } from '../syntax/ast.js';
import { textsOf, type Literal, type RunValues } from '../syntax/literals.js';
import type { Bound } from './plan-table.js';
import type { Expressions } from './expressions.js';
import { originsOf } from './outputs.js';
import { flipped } from './time-constants.js';
import type { ColumnOrigin, FoundColumn, Scope } from './scope.js';

/** A lookup by series does not pay for more values. */
const TAG_VALUES_MAX = 1000;

/** The FROM clause that a WHERE clause restricts: only its own tables, not those of enclosing queries. */
export interface PredicateScope extends Pick<Scope, 'entries' | 'equals'> {
  readonly expressions: Expressions;
  /** Records what is required of a column's origin, which holds once all of the query is known. */
  readonly require: (origin: ColumnOrigin, apply: () => void) => void;
}

/**
 * Extracts bounds of time indexes and values of tags from the AND-ed conditions of a WHERE clause and records them at the
 * tables of its FROM, also those in subqueries and those joined by equal times: rows outside need not be read. Conditions
 * stay in the query, so a missed one only costs time.
 *
 * All conditions used here reject NULL, so they hold for the outer side of a join too.
 */
export function collectBounds(where: Ast, place: PredicateScope): void {
  switch (where.class) {
    case 'CONJUNCTION':
      if (where.type === 'CONJUNCTION_AND') for (const part of where.children ?? []) collectBounds(part, place);
      else collectAlternatives(where, place);
      return;
    case 'COMPARISON':
      collectComparison(where, place);
      return;
    case 'BETWEEN':
      if (where.input === undefined) return;
      addBound(where.input, 'COMPARE_GREATERTHANOREQUALTO', where.lower, place);
      addBound(where.input, 'COMPARE_LESSTHANOREQUALTO', where.upper, place);
      return;
    case 'OPERATOR':
      if (where.type === 'COMPARE_IN') collectTagValues(where.children?.[0], where.children?.slice(1) ?? [], place);
      return;
    default:
  }
}

function collectComparison(node: Ast, place: PredicateScope): void {
  const { left, right } = node;
  if (left === undefined || right === undefined) return;
  if (place.expressions.columnOf(left) !== undefined) addBound(left, node.type, right, place);
  else addBound(right, flipped(node.type), left, place);
  if (node.type !== 'COMPARE_EQUAL') return;
  if (place.expressions.columnOf(left) !== undefined) collectTagValues(left, [right], place);
  else collectTagValues(right, [left], place);
}

/** Records pairs of columns that the AND-ed conditions of a join or a WHERE clause require to be equal. */
export function collectEquals(
  condition: Ast,
  { expressions, equals }: Pick<PredicateScope, 'expressions' | 'equals'>,
): void {
  if (condition.class === 'CONJUNCTION' && condition.type === 'CONJUNCTION_AND') {
    for (const part of condition.children ?? []) collectEquals(part, { expressions, equals });
    return;
  }
  const { left, right } = condition;
  if (condition.type !== 'COMPARE_EQUAL' || left === undefined || right === undefined) return;
  const [first, second] = [expressions.columnOf(left), expressions.columnOf(right)];
  if (first?.output !== undefined && second?.output !== undefined && first.known === second.known) {
    equals.push([first, second]);
  }
}

/** `host = 'a' OR host = 'b'` is equivalent to IN. */
function collectAlternatives(node: Ast, place: PredicateScope): void {
  const parts = node.children ?? [];
  const column = parts[0]?.left;
  if (
    column === undefined ||
    !parts.every((part) => part.type === 'COMPARE_EQUAL' && isSameColumn(part.left, column))
  ) {
    return;
  }
  collectTagValues(
    column,
    parts.map((part) => part.right),
    place,
  );
}

function isSameColumn(a: Ast | undefined, b: Ast): boolean {
  return (
    a?.class === 'COLUMN_REF' && b.class === 'COLUMN_REF' && a.column_names?.join('\0') === b.column_names?.join('\0')
  );
}

function addBound(column: Ast, comparison: string, constant: Ast | undefined, place: PredicateScope): void {
  const origins = equalColumns(place.expressions.columnOf(column), place).flatMap((found) =>
    originsOf(found, place).filter((origin) => origin.column.kind === 'time'),
  );
  const value = constant === undefined ? undefined : place.expressions.constantOf(constant);
  if (value === undefined) return;
  const add = (end: Bound['end'], inclusive: boolean): void => {
    for (const origin of origins) place.require(origin, () => origin.plan.bounds.push({ end, value, inclusive }));
  };
  switch (comparison) {
    case 'COMPARE_GREATERTHAN':
      return void add('from', false);
    case 'COMPARE_GREATERTHANOREQUALTO':
      return void add('from', true);
    case 'COMPARE_LESSTHAN':
      return void add('to', false);
    case 'COMPARE_LESSTHANOREQUALTO':
      return void add('to', true);
    case 'COMPARE_EQUAL':
      add('from', true);
      add('to', true);
      return;
    default:
  }
}

/** Returns a column and those that are equal to it. */
function equalColumns(found: FoundColumn | undefined, { equals }: PredicateScope): FoundColumn[] {
  if (found === undefined) return [];
  const known = [found];
  const isKnown = (column: FoundColumn): boolean => known.some((other) => other.output === column.output);
  // `known` grows while it is walked.
  for (const column of known) {
    for (const [first, second] of equals) {
      if (first.output === column.output && !isKnown(second)) known.push(second);
      if (second.output === column.output && !isKnown(first)) known.push(first);
    }
  }
  return known;
}

function collectTagValues(column: Ast | undefined, values: readonly (Ast | undefined)[], place: PredicateScope): void {
  const found = column === undefined ? undefined : place.expressions.columnOf(column);
  const origins = originsOf(found, place).filter(({ column: { kind, type } }) => kind === 'tag' && type === 'String');
  const literals = origins.length === 0 ? undefined : textLiterals(values, place);
  if (literals === undefined) return;
  for (const origin of origins) {
    const { tagValues } = origin.plan;
    place.require(origin, () => {
      if (tagValues.has(origin.column.name)) return;
      tagValues.set(origin.column.name, (run) => textsOf(literals, run));
    });
  }
}

/** Returns the values as text literals; undefined if one is something else, or if there are none or too many. */
function textLiterals(
  values: readonly (Ast | undefined)[],
  place: PredicateScope,
): ((run: RunValues) => Literal)[] | undefined {
  if (values.length === 0 || values.length > TAG_VALUES_MAX) return undefined;
  const literals: ((run: RunValues) => Literal)[] = [];
  for (const value of values) {
    const literal = value === undefined ? undefined : place.expressions.literalOf(value);
    if (literal?.kind !== 'text') return undefined;
    literals.push(literal.in);
  }
  return literals;
}
