import { AlmanacError } from '#shared/errors/almanac-error';

import type { Expr, LabelMatcher, VectorSelector } from '../../promql/ast.js';
import { matchesEmpty } from '../../promql/matcher.js';
import { parseSelector, type Dialect } from '../../promql/parse.js';

/**
 * The matchers of texts of `match[]`.
 *
 * @throws `invalid_syntax`; `invalid_arguments` if one of them fits every series.
 */
export function parseMatches(texts: readonly string[], dialect: Dialect): (readonly LabelMatcher[])[] {
  const sets = texts.map((text) => parseSelector(text, dialect));
  if (sets.every((matchers) => !matchers.every(matchesEmpty))) return sets;
  throw new AlmanacError('invalid_arguments', 'match[] must contain at least one non-empty matcher');
}

/** All selectors of an expression. */
export function selectorsOf(expr: Expr): { readonly selector: VectorSelector; readonly isRange: boolean }[] {
  switch (expr.kind) {
    case 'number':
    case 'string':
      return [];
    case 'vectorSelector':
      return [{ selector: expr, isRange: false }];
    case 'matrixSelector':
      return [{ selector: expr.selector, isRange: true }];
    case 'paren':
    case 'unary':
    case 'subquery':
      return selectorsOf(expr.expr);
    case 'binary':
      return [...selectorsOf(expr.lhs), ...selectorsOf(expr.rhs)];
    case 'call':
      return expr.args.flatMap(selectorsOf);
    case 'aggregation':
      return [...selectorsOf(expr.expr), ...(expr.param === undefined ? [] : selectorsOf(expr.param))];
  }
}
