import type { Column } from '#shared/contracts/gen/common';

import { isNumeric } from '../../kernels/preconditions.js';
import {
  NotForKernels,
  type Comparison,
  type FieldCondition,
  type NumberCondition,
  type RowConditions,
  type TagFilter,
} from '../../kernels/query.js';
import type { Ast } from '../syntax/ast.js';
import type { Literal, RunValues } from '../syntax/literals.js';
import type { Expressions } from './expressions.js';
import { flipped } from './time-constants.js';

/** A condition of a WHERE clause; its values come with each run. */
export type PlanCondition<T = TagFilter, F = FieldCondition> =
  | { readonly kind: 'tag'; readonly bind: (run: RunValues) => T }
  | { readonly kind: 'field'; readonly bind: (run: RunValues) => F };

const COMPARISONS: Readonly<Partial<Record<string, Comparison>>> = {
  COMPARE_EQUAL: '=',
  COMPARE_NOTEQUAL: '!=',
  COMPARE_LESSTHAN: '<',
  COMPARE_LESSTHANOREQUALTO: '<=',
  COMPARE_GREATERTHAN: '>',
  COMPARE_GREATERTHANOREQUALTO: '>=',
};

/**
 * Returns the conditions that one AND-ed part of a WHERE clause is. Bounds of the time index are none: the table's plan has
 * them already, and a run reads only rows within.
 *
 * @throws `NotForKernels` for other conditions
 */
export function kernelCondition(node: Ast, expressions: Expressions): PlanCondition[] {
  const subject = node.class === 'BETWEEN' ? node.input : node.class === 'OPERATOR' ? node.children?.at(0) : node.left;
  if (subject === undefined) throw unsupported();
  if (node.class === 'COMPARISON' && node.right !== undefined && columnOf(subject, expressions) === undefined) {
    const turned = { ...node, left: node.right, right: subject, type: flipped(node.type) };
    if (columnOf(node.right, expressions) === undefined) throw unsupported();
    return kernelCondition(turned, expressions);
  }
  const column = columnOf(subject, expressions);
  if (column === undefined) throw unsupported();
  if (column.kind === 'time') return timeCondition(node, expressions);
  return [column.kind === 'tag' ? tagCondition(node, column, expressions) : fieldCondition(node, column, expressions)];
}

/** Returns conditions with the values of one run. */
export function conditionsIn(
  run: RunValues,
  conditions: readonly PlanCondition[],
): Pick<RowConditions, 'tagConditions' | 'fieldConditions'> {
  return {
    tagConditions: conditions.flatMap((it) => (it.kind === 'tag' ? it.bind(run) : [])),
    fieldConditions: conditions.flatMap((it) => (it.kind === 'field' ? it.bind(run) : [])),
  };
}

function columnOf(node: Ast, expressions: Expressions): Column | undefined {
  return expressions.columnOf(node)?.output?.column;
}

function unsupported(): NotForKernels {
  return new NotForKernels('WHERE has more than time bounds, tags and comparisons of fields with numbers');
}

function timeCondition(node: Ast, expressions: Expressions): PlanCondition[] {
  const isConstant = (operand: Ast | undefined): boolean => {
    return operand !== undefined && expressions.constantOf(operand) !== undefined;
  };
  const isBound =
    node.type === 'COMPARE_BETWEEN'
      ? isConstant(node.lower) && isConstant(node.upper)
      : node.class === 'COMPARISON' &&
        node.type in COMPARISONS &&
        node.type !== 'COMPARE_NOTEQUAL' &&
        isConstant(node.right);
  if (!isBound) throw unsupported();
  return [];
}

function tagCondition(node: Ast, tag: Column, expressions: Expressions): PlanCondition {
  const isList = node.class === 'OPERATOR' && (node.type === 'COMPARE_IN' || node.type === 'COMPARE_NOT_IN');
  const isEqual = node.class === 'COMPARISON' && (node.type === 'COMPARE_EQUAL' || node.type === 'COMPARE_NOTEQUAL');
  const operands = isList ? (node.children ?? []).slice(1) : [node.right];
  const literals = operands.map((operand) => (operand === undefined ? undefined : expressions.literalOf(operand)));
  const known = literals.flatMap((literal) => (literal?.kind === 'text' ? literal.in : []));
  if ((!isList && !isEqual) || tag.type !== 'String' || known.length < operands.length) throw unsupported();
  const isNegated = node.type === 'COMPARE_NOTEQUAL' || node.type === 'COMPARE_NOT_IN';
  return { kind: 'tag', bind: (run) => ({ tag, isNegated, values: known.map((literal) => literal(run).value) }) };
}

function fieldCondition(node: Ast, field: Column, expressions: Expressions): PlanCondition {
  const bind =
    node.class === 'COMPARISON' && node.right !== undefined && isNumeric(field.type)
      ? numberCondition(node.type, node.right, field.type, expressions)
      : undefined;
  if (bind === undefined) throw unsupported();
  return { kind: 'field', bind: (run) => ({ ...bind(run), field }) };
}

/**
 * Returns a comparison of numbers of a type with a literal; undefined for something else.
 *
 * @param type native type of the numbers
 */
export function numberCondition(
  comparison: string,
  operand: Ast,
  type: string,
  expressions: Expressions,
): ((run: RunValues) => NumberCondition) | undefined {
  const known = Object.hasOwn(COMPARISONS, comparison) ? COMPARISONS[comparison] : undefined;
  const literal = expressions.literalOf(operand);
  if (known === undefined || (literal?.kind !== 'integer' && literal?.kind !== 'decimal')) return undefined;
  return (run) => ({ comparison: known, value: comparable(literal.in(run), known, type) });
}

/** Returns the number that the engine compares numbers of a type with. @throws `NotForKernels` if that is not one double. */
function comparable({ kind, value }: Literal, comparison: Comparison, type: string): number {
  const number = Number(value);
  if (!Number.isFinite(number) || (kind === 'integer' && !Number.isSafeInteger(number))) {
    throw new NotForKernels('a number is too large');
  }
  // The engine casts the integer to the type of the numbers.
  if (type === 'Float32') return kind === 'integer' ? Math.fround(number) : number;
  if (type === 'Float64' || Number.isInteger(number)) return number;
  if (comparison === '=' || comparison === '!=') throw new NotForKernels('integers are compared with a fraction');
  return comparison === '<' || comparison === '>=' ? Math.ceil(number) : Math.floor(number);
}
