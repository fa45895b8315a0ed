import type { Expr, VectorSelector } from './ast.js';

/** Returns all selectors of an expression. */
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

/** Returns the expression with each selector replaced. */
export function mapSelectors(expr: Expr, change: (selector: VectorSelector) => VectorSelector): Expr {
  const within = (inner: Expr): Expr => mapSelectors(inner, change);
  switch (expr.kind) {
    case 'number':
    case 'string':
      return expr;
    case 'vectorSelector':
      return change(expr);
    case 'matrixSelector':
      return { ...expr, selector: change(expr.selector) };
    case 'paren':
    case 'unary':
    case 'subquery':
      return { ...expr, expr: within(expr.expr) };
    case 'binary':
      return { ...expr, lhs: within(expr.lhs), rhs: within(expr.rhs) };
    case 'call':
      return { ...expr, args: expr.args.map(within) };
    case 'aggregation':
      return { ...expr, expr: within(expr.expr), param: expr.param === undefined ? undefined : within(expr.param) };
  }
}
