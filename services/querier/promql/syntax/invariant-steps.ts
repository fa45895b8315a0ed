import type { Expr, VectorSelector } from './ast.js';

/** Functions whose value depends on the time of evaluation, or on all of the query. */
const UNSAFE: ReadonlySet<string> = new Set([
  ...['time', 'timestamp', 'predict_linear', 'days_in_month', 'day_of_month', 'day_of_week', 'day_of_year'],
  ...['hour', 'minute', 'month', 'year', 'start', 'end', 'range', 'step'],
]);

/** Whether the expression has the same value at each step: then it is evaluated at the first one only. */
export function isStepInvariant(expr: Expr): boolean {
  switch (expr.kind) {
    case 'number':
    case 'string':
      return true;
    case 'paren':
    case 'unary':
    case 'aggregation':
      // Of an aggregation only the vector counts: its parameter is that of the first step then.
      return isStepInvariant(expr.expr);
    case 'binary':
      return isStepInvariant(expr.lhs) && isStepInvariant(expr.rhs);
    case 'call': {
      if (isTimestampOfSelector(expr)) return true;
      // What the other argument selects is read at the times of the first.
      if (expr.func.name === 'info') return isStepInvariant(expr.args[0]);
      return !UNSAFE.has(expr.func.name) && expr.args.every(isStepInvariant);
    }
    case 'vectorSelector':
      return isFixed(expr);
    case 'matrixSelector':
      return isFixed(expr.selector);
    case 'subquery':
      return expr.atMs !== undefined;
  }
}

function isTimestampOfSelector(expr: Extract<Expr, { kind: 'call' }>): boolean {
  if (expr.func.name !== 'timestamp') return false;
  const [arg] = expr.args;
  return arg.kind === 'vectorSelector' && isFixed(arg);
}

function isFixed({ atMs }: Pick<VectorSelector, 'atMs'>): boolean {
  return atMs !== undefined;
}
