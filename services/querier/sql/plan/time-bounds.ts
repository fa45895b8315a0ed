import type { Ast } from '../syntax/ast.js';
import type { Literal, RunValues } from '../syntax/literals.js';
import type { Bound, PlanTable } from './plan-table.js';
import type { Expressions } from './expressions.js';
import { flipped } from './time-constants.js';
import type { FoundColumn, FromEntry } from './scope.js';

/** A lookup by series does not pay for more values. */
const TAG_VALUES_MAX = 1000;

/** The FROM clause that a WHERE clause restricts: only its own tables, not those of enclosing queries. */
export interface PredicateScope {
  readonly expressions: Expressions;
  readonly entries: readonly FromEntry[];
}

/**
 * Extracts bounds of time indexes and values of tags from the AND-ed conditions of a WHERE clause and records them at the
 * tables of its FROM: rows outside need not be read. Conditions stay in the query, so a missed one only costs time.
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
  const plan = prunableTable(place.expressions.columnOf(column), 'time', place);
  const value = constant === undefined ? undefined : place.expressions.constantOf(constant);
  if (plan === undefined || value === undefined) return;
  const add = (end: Bound['end'], inclusive: boolean): number => plan.bounds.push({ end, value, inclusive });
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

function collectTagValues(column: Ast | undefined, values: readonly (Ast | undefined)[], place: PredicateScope): void {
  const found = column === undefined ? undefined : place.expressions.columnOf(column);
  const plan = prunableTable(found, 'tag', place);
  const tag = found?.output?.column;
  if (plan === undefined || tag?.type !== 'String' || plan.tagValues.has(tag.name)) return;
  const literals = textLiterals(values, place);
  if (literals !== undefined) plan.tagValues.set(tag.name, (run) => literals.map((literal) => literal(run).value));
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

/** Returns the table whose rows need not be read where a condition on this column fails. */
function prunableTable(found: FoundColumn | undefined, kind: string, place: PredicateScope): PlanTable | undefined {
  const { entry, output } = found ?? {};
  if (
    entry?.plan === undefined ||
    !place.entries.includes(entry) ||
    !entry.prunable ||
    !entry.ownsBareNames ||
    output?.column?.kind !== kind
  ) {
    return undefined;
  }
  return entry.plan;
}
