import type { FunctionContext } from '../functions/function.js';
import { call, cast, copy, integerConstant, operator, textNode, type Ast } from '../syntax/ast.js';
import { literalSql } from '../syntax/literals.js';

/** Builds a division of integers, or its remainder: division by zero is an error, which the engine returns as NULL. */
export function integerDivision(
  name: '//' | '%',
  left: Ast,
  right: Ast,
  { literalOf, perRun }: Pick<FunctionContext, 'literalOf' | 'perRun'>,
): Ast {
  const literal = literalOf(right);
  const failure = (): Ast => cast(call('error', textNode('Divide by zero error')), 'BIGINT');
  if (literal !== undefined) {
    const divisor = perRun((run) =>
      /^-?0+$/.test(literal.in(run).value)
        ? "CAST(error('Divide by zero error') AS BIGINT)"
        : literalSql(literal.in(run)),
    );
    return operator(name, left, divisor);
  }
  const isZero: Ast = {
    class: 'COMPARISON',
    type: 'COMPARE_EQUAL',
    alias: '',
    left: copy(right),
    right: integerConstant(0),
  };
  const division = operator(name, left, right);
  const isNull: Ast = { class: 'OPERATOR', type: 'OPERATOR_IS_NULL', alias: '', children: [copy(left)] };
  return {
    class: 'CASE',
    type: 'CASE_EXPR',
    alias: '',
    case_checks: [
      // NULL divided by anything, also by zero, is NULL.
      { when_expr: isNull, then_expr: copy(left) },
      { when_expr: isZero, then_expr: failure() },
    ],
    else_expr: division,
  } as Ast;
}
