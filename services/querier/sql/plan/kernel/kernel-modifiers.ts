import { NotForKernels, type ResultOrder, type ResultPosition } from '../../../kernels/query.js';
import type { Ast, AstModifier } from '../../syntax/ast.js';
import type { RunValues } from '../../syntax/literals.js';
import type { Expressions } from '../expressions.js';

/** A value that depends on the literals of a run. */
export type ForRun<T> = (run: RunValues) => T;

/** Returns values for one run. */
export function valuesOfRun<T>(all: readonly ForRun<T>[], run: RunValues): T[] {
  const values: T[] = [];
  for (const value of all) values.push(value(run));
  return values;
}

/** A member of ORDER BY, as the engine's parser returns it. */
export interface OrderDetails {
  readonly type: string;
  readonly null_order: string;
  readonly expression: Ast;
}

/** The clauses after the select list. */
export interface Modifiers {
  order: readonly ForRun<ResultOrder>[];
  limit: ForRun<number>;
  offset: ForRun<number>;
}

/** What the clauses of a query refer to. */
export interface ModifierScope {
  readonly expressions: Expressions;
  /** Whether DISTINCT is read elsewhere. */
  readonly allowsDistinct: boolean;
  /** Columns of the result. */
  readonly outputs: readonly ResultPosition[];
  /** Returns the position of a member of ORDER BY. */
  readonly positionOf: (node: Ast) => ResultPosition;
}

/** Reads the clauses after the select list. @throws `NotForKernels` */
export function modifiersOf(ast: Ast, scope: ModifierScope): Modifiers {
  const found: Modifiers = { order: [], limit: () => Infinity, offset: () => 0 };
  for (const modifier of ast.modifiers ?? []) {
    if (modifier.type === 'ORDER_MODIFIER') {
      found.order = ordersOf(ast).map((order) => orderOf(order, scope));
    } else if (modifier.type === 'LIMIT_MODIFIER') {
      found.limit = countOf(modifier.limit, Infinity, scope);
      found.offset = countOf(modifier.offset, 0, scope);
    } else if (modifier.type !== 'DISTINCT_MODIFIER' || !scope.allowsDistinct) {
      throw new NotForKernels('the query has DISTINCT or another clause');
    }
  }
  return found;
}

/** Returns the members of ORDER BY. */
export function ordersOf(ast: Ast): readonly OrderDetails[] {
  const order = ast.modifiers?.find(({ type }) => type === 'ORDER_MODIFIER');
  return (order?.orders ?? []) as readonly { readonly expression: Ast }[] as readonly OrderDetails[];
}

function orderOf(
  { type, null_order: nullOrder, expression }: OrderDetails,
  { expressions, outputs, positionOf }: ModifierScope,
): ForRun<ResultOrder> {
  const isDescending = type === 'DESCENDING';
  // The engine is configured so that nulls are the greatest values.
  const nullsFirst = nullOrder === 'ORDER_DEFAULT' ? isDescending : nullOrder === 'NULLS FIRST';
  const literal = expressions.literalOf(expression);
  if (literal === undefined) {
    const position = positionOf(expression);
    return () => ({ position, isDescending, nullsFirst });
  }
  return (run) => {
    const { value } = literal.in(run);
    const position = Number(value) > 0 ? outputs.at(Number(value) - 1) : undefined;
    if (position === undefined) throw new NotForKernels('ORDER BY has a position that does not exist');
    return { position, isDescending, nullsFirst };
  };
}

function countOf(node: AstModifier['limit'], missing: number, { expressions }: ModifierScope): ForRun<number> {
  if (node === undefined || node === null) return () => missing;
  const literal = expressions.literalOf(node);
  if (literal?.kind !== 'integer') throw new NotForKernels('LIMIT is no number');
  return (run) => {
    const count = Number(literal.in(run).value);
    if (!Number.isSafeInteger(count) || count < 0) throw new NotForKernels('LIMIT is out of range');
    // What stands for no limit is none.
    return count === Number.MAX_SAFE_INTEGER ? Math.max(count, missing) : count;
  };
}
