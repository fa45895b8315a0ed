import {
  unwrapped,
  type Aggregation,
  type Call,
  type Expr,
  type MatrixSelector,
  type Subquery,
  type TimeShift,
  type VectorSelector,
} from './ast.js';

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
  expr: Exclude<Expr, VectorSelector | MatrixSelector | Subquery | Call | Aggregation>,
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
