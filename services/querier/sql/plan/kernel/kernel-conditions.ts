import type { Column } from '#shared/contracts/gen/common';

import { isNumeric } from '../../../kernels/preconditions.js';
import {
  NotForKernels,
  type Comparison,
  type FieldCondition,
  type NumberCondition,
  type RowConditions,
  type TagFilter,
  type TextPattern,
} from '../../../kernels/query.js';
import { isPlainCall, type Ast } from '../../syntax/ast.js';
import { textsOf, type Literal, type RunValues } from '../../syntax/literals.js';
import type { Expressions } from '../expressions.js';
import { flipped } from '../time-constants.js';

/** A condition of a WHERE clause; its values come with each run. */
export type PlanCondition =
  | {
      readonly kind: 'tag';
      readonly tag: Column;
      /** Whether it is a list of accepted values, which OR joins with others. */
      readonly hasValues: boolean;
      readonly bind: (run: RunValues) => TagFilter;
    }
  | { readonly kind: 'field'; readonly field: Column; readonly bind: (run: RunValues) => FieldCondition };

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
  if (node.type === 'CONJUNCTION_OR') return [anyOfValues(node.children ?? [], expressions)];
  if (node.type === 'OPERATOR_NOT') return [negated(node.children ?? [], expressions)];
  if (node.class === 'FUNCTION') return [patternCondition(node, expressions)];
  return columnCondition(node, expressions);
}

/** Returns the conditions that a comparison of a column is. */
function columnCondition(node: Ast, expressions: Expressions): PlanCondition[] {
  const subject = node.class === 'BETWEEN' ? node.input : node.class === 'OPERATOR' ? node.children?.at(0) : node.left;
  if (subject === undefined) throw unsupported();
  if (node.class === 'COMPARISON' && node.right !== undefined && columnOf(subject, expressions) === undefined) {
    const turned = { ...node, left: node.right, right: subject, type: flipped(node.type) };
    if (columnOf(node.right, expressions) === undefined) throw unsupported();
    return columnCondition(turned, expressions);
  }
  const column = columnOf(subject, expressions);
  if (column === undefined) throw unsupported();
  if (column.kind === 'time') return timeCondition(node, expressions);
  return column.kind === 'tag' ? [tagCondition(node, column, expressions)] : fieldConditions(node, column, expressions);
}

/** Returns conditions with the values of one run. */
export function conditionsIn(
  run: RunValues,
  conditions: readonly PlanCondition[],
): Pick<RowConditions, 'tagConditions' | 'fieldConditions'> {
  const tagConditions: TagFilter[] = [];
  const fieldConditions: FieldCondition[] = [];
  for (const condition of conditions) {
    if (condition.kind === 'tag') tagConditions.push(condition.bind(run));
    else fieldConditions.push(condition.bind(run));
  }
  return { tagConditions, fieldConditions };
}

/** Returns the fields that conditions compare. */
export function testedFields(conditions: readonly PlanCondition[]): Column[] {
  return conditions.flatMap((it) => (it.kind === 'field' ? it.field : []));
}

function columnOf(node: Ast, expressions: Expressions): Column | undefined {
  return expressions.columnOf(node)?.output?.column;
}

function unsupported(): NotForKernels {
  return new NotForKernels(
    'WHERE has more than time bounds, conditions on tags, and comparisons of fields with numbers',
  );
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

/** Returns the condition that `tag = 'a' OR tag IN ('b', 'c')` is. */
function anyOfValues(parts: readonly Ast[], expressions: Expressions): PlanCondition {
  const conditions = parts.flatMap((part) => kernelCondition(part, expressions));
  const tags = conditions.flatMap((it) => (it.kind === 'tag' ? it : []));
  const [first] = tags;
  const isOfValues = tags.every(({ tag, hasValues }) => hasValues && tag.id === first.tag.id);
  // A part may be several conditions, or none at all.
  if (tags.length === 0 || tags.length < conditions.length || conditions.length !== parts.length || !isOfValues) {
    throw unsupported();
  }
  return {
    ...first,
    bind: (run) => {
      const filters = tags.map(({ bind }) => bind(run));
      const accepted = filters.flatMap((filter) => ('kind' in filter.accepted ? [] : filter.accepted));
      return { tag: first.tag, accepted, isNegated: false };
    },
  };
}

function negated(operands: readonly Ast[], expressions: Expressions): PlanCondition {
  const [condition] = operands.flatMap((operand) => kernelCondition(operand, expressions));
  if (condition?.kind !== 'tag') throw unsupported();
  const { bind } = condition;
  return {
    ...condition,
    hasValues: false,
    bind: (run) => {
      const filter = bind(run);
      return { ...filter, isNegated: !filter.isNegated };
    },
  };
}

/** What the engine's functions of two texts match, by name. */
const PATTERNS: Readonly<Partial<Record<string, Pick<TextPattern, 'kind'> & { readonly isNegated: boolean }>>> = {
  '~~': { kind: 'like', isNegated: false },
  '!~~': { kind: 'like', isNegated: true },
  regexp_matches: { kind: 'regex', isNegated: false },
};

function patternCondition(node: Ast, expressions: Expressions): PlanCondition {
  const { function_name: name = '', children = [] } = node;
  const known = PATTERNS[name];
  const tag = children.length === 2 ? columnOf(children[0], expressions) : undefined;
  const literal = tag === undefined ? undefined : expressions.literalOf(children[1]);
  if (known === undefined || !isPlainCall(node) || tag?.kind !== 'tag' || tag.type !== 'String') throw unsupported();
  if (literal?.kind !== 'text') throw unsupported();
  const { kind, isNegated } = known;
  return {
    kind: 'tag',
    tag,
    hasValues: false,
    bind: (run) => ({ tag, accepted: { kind, pattern: literal.in(run).value }, isNegated }),
  };
}

function tagCondition(node: Ast, tag: Column, expressions: Expressions): PlanCondition {
  if (node.type === 'OPERATOR_IS_NOT_NULL') {
    return { kind: 'tag', tag, hasValues: false, bind: () => ({ tag, accepted: [], isNegated: true }) };
  }
  const isList = node.class === 'OPERATOR' && (node.type === 'COMPARE_IN' || node.type === 'COMPARE_NOT_IN');
  const isEqual = node.class === 'COMPARISON' && (node.type === 'COMPARE_EQUAL' || node.type === 'COMPARE_NOTEQUAL');
  const operands = isList ? (node.children ?? []).slice(1) : [node.right];
  const literals = operands.map((operand) => (operand === undefined ? undefined : expressions.literalOf(operand)));
  const known = literals.flatMap((literal) => (literal?.kind === 'text' ? literal.in : []));
  if ((!isList && !isEqual) || tag.type !== 'String' || known.length < operands.length) throw unsupported();
  const isNegated = node.type === 'COMPARE_NOTEQUAL' || node.type === 'COMPARE_NOT_IN';
  return {
    kind: 'tag',
    tag,
    hasValues: !isNegated,
    bind: (run) => ({ tag, isNegated, accepted: textsOf(known, run) }),
  };
}

function fieldConditions(node: Ast, field: Column, expressions: Expressions): PlanCondition[] {
  if (!isNumeric(field.type)) throw unsupported();
  // Every number, NaN too, is at least -Infinity.
  if (node.type === 'OPERATOR_IS_NOT_NULL') {
    return [{ kind: 'field', field, bind: () => ({ field, comparison: '>=', value: -Infinity }) }];
  }
  const comparisons =
    node.type === 'COMPARE_BETWEEN'
      ? [
          { type: 'COMPARE_GREATERTHANOREQUALTO', operand: node.lower },
          { type: 'COMPARE_LESSTHANOREQUALTO', operand: node.upper },
        ]
      : node.class === 'COMPARISON'
        ? [{ type: node.type, operand: node.right }]
        : [];
  const kinds = new Set(comparisons.map(({ operand }) => operand && expressions.literalOf(operand)?.kind));
  // The engine compares all three values in one type.
  if (field.type === 'Float32' && kinds.size > 1) throw unsupported();
  const binds = comparisons.flatMap(({ type, operand }) => {
    return (operand && numberCondition(type, operand, field.type, expressions)) ?? [];
  });
  if (binds.length === 0 || binds.length < comparisons.length) throw unsupported();
  return binds.map((bind) => ({ kind: 'field', field, bind: (run) => ({ ...bind(run), field }) }));
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
