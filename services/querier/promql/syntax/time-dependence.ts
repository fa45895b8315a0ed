import { unwrapped, type Aggregation, type FunctionCall, type Expr, type MatrixSelector, type Subquery, type TimeShift, type VectorSelector } from './ast.js';

/** Functions of the query's own range, and one that chooses series by what the whole range has. */
const OF_RANGE: ReadonlySet<string> = new Set(['start', 'end', 'range', 'step', 'info']);
const BY_ORDER: ReadonlySet<string> = new Set(['limitk', 'limit_ratio']);

/**
 * Whether the value of an expression at a time follows from samples up to that time and nothing else: neither from the
 * range of the query nor from later samples.
 */
export function isStepwise(expr: Expr): boolean {
  switch (expr.kind) {
    case 'vectorSelector':
      return isPlain(expr);
    case 'matrixSelector':
      return isPlain(expr.selector) && expr.rangeExpr === undefined;
    case 'subquery':
      return looksBack(expr) && isFixed(expr) && isStepwise(expr.expr);
    case 'call':
      return !OF_RANGE.has(expr.func.name) && expr.args.every(isStepwise);
    case 'aggregation':
      return !BY_ORDER.has(expr.op) && isLiteral(expr.param) && isStepwise(expr.expr);
    default:
      return partsOf(expr).every(isStepwise);
  }
}

/**
 * How far in front of a step samples may lie on which the value of a stepwise expression depends there.
 *
 * @param lookbackMs of selectors without a range.
 */
export function reachMs(expr: Expr, lookbackMs: number): number {
  switch (expr.kind) {
    case 'vectorSelector':
      return expr.offsetMs + lookbackMs;
    case 'matrixSelector':
      return expr.selector.offsetMs + expr.rangeMs;
    case 'subquery':
      return expr.offsetMs + expr.rangeMs + reachMs(expr.expr, lookbackMs);
    case 'call':
      return farthest(expr.args, lookbackMs);
    case 'aggregation':
      return reachMs(expr.expr, lookbackMs);
    default:
      return farthest(partsOf(expr), lookbackMs);
  }
}

function farthest(exprs: readonly Expr[], lookbackMs: number): number {
  return exprs.reduce((reach, expr) => Math.max(reach, reachMs(expr, lookbackMs)), 0);
}

function partsOf(
  expr: Exclude<Expr, VectorSelector | MatrixSelector | Subquery | FunctionCall | Aggregation>,
): readonly Expr[] {
  if (expr.kind === 'binary') return [expr.lhs, expr.rhs];
  return expr.kind === 'paren' || expr.kind === 'unary' ? [expr.expr] : [];
}

/** Other parameters may be taken from the first step of the range. */
function isLiteral(param: Expr | undefined): boolean {
  if (param === undefined) return true;
  const { kind } = unwrapped(param);
  return kind === 'number' || kind === 'string';
}

function isFixed({ rangeExpr, stepExpr }: Subquery): boolean {
  return rangeExpr === undefined && stepExpr === undefined;
}

function isPlain(selector: VectorSelector): boolean {
  return looksBack(selector) && !selector.isAnchored && !selector.isSmoothed;
}

function looksBack({ offsetMs, offsetExpr, atMs, startOrEnd }: TimeShift): boolean {
  return offsetMs >= 0 && offsetExpr === undefined && atMs === undefined && startOrEnd === undefined;
}

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
      return isPinned(expr);
    case 'matrixSelector':
      return isPinned(expr.selector);
    case 'subquery':
      return expr.atMs !== undefined;
  }
}

function isTimestampOfSelector(expr: Extract<Expr, { kind: 'call' }>): boolean {
  if (expr.func.name !== 'timestamp') return false;
  const [arg] = expr.args;
  return arg.kind === 'vectorSelector' && isPinned(arg);
}

function isPinned({ atMs }: Pick<VectorSelector, 'atMs'>): boolean {
  return atMs !== undefined;
}
