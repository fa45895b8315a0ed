import {
  typeOf,
  unwrapped,
  type Aggregation,
  type Expr,
  type FunctionCall,
  type MatrixSelector,
  type Subquery,
  type TimeShift,
  type VectorSelector,
} from './ast.js';

/** Reports whether an expression has the same value at each step; then it is evaluated at the first step only. */
export function isStepInvariant(expr: Expr): boolean {
  switch (expr.kind) {
    case 'number':
    case 'string':
      return true;
    case 'paren':
    case 'unary':
    case 'aggregation':
      // The parameter of an aggregation is that of the first step then, as in Prometheus.
      return isStepInvariant(expr.expr);
    case 'binary':
      return isStepInvariant(expr.lhs) && isStepInvariant(expr.rhs);
    case 'call':
      return isInvariantCall(expr);
    case 'vectorSelector':
    case 'subquery':
      return isPinned(expr);
    case 'matrixSelector':
      return isPinned(expr.selector);
  }
}

function isInvariantCall(call: FunctionCall): boolean {
  const { func, args } = call;
  const [first] = args;
  if (func.readsSampleTimes === true && first.kind === 'vectorSelector' && isPinned(first)) return true;
  if (func.matchersArg !== undefined && commonReference(call)?.atMs === undefined) return false;
  return func.dependsOnTime !== true && evaluatedArgs(call).every(isStepInvariant);
}

/** Returns the arguments without label matchers, which select series at the time of the other arguments. */
function evaluatedArgs({ func, args }: FunctionCall): readonly Expr[] {
  return args.filter((_, i) => i !== func.matchersArg);
}

function isPinned({ atMs }: Pick<TimeShift, 'atMs'>): boolean {
  return atMs !== undefined;
}

/** The time that samples are from: `atMs`, or the time of the step, minus `offsetMs`. */
export interface TimeReference {
  readonly atMs: number | undefined;
  readonly offsetMs: number;
}

/**
 * Returns the time that all samples of an expression are from; undefined if they are from different times or if a part of
 * the vector comes from no selector.
 *
 * @see https://github.com/prometheus/prometheus/pull/19387
 */
export function commonReference(expr: Expr): TimeReference | undefined {
  const references = referencesOf(expr);
  if (references === undefined || references.length === 0) return undefined;
  const [first, ...others] = references;
  return others.every((other) => isSameTime(first, other)) ? first : undefined;
}

function isSameTime(one: TimeReference, other: TimeReference): boolean {
  if ((one.atMs === undefined) !== (other.atMs === undefined)) return false;
  return (one.atMs ?? 0) - one.offsetMs === (other.atMs ?? 0) - other.offsetMs;
}

/** Returns the times of all selectors that contribute samples; undefined if a vector has no selector. */
function referencesOf(expr: Expr): readonly TimeReference[] | undefined {
  switch (expr.kind) {
    case 'vectorSelector':
      return [expr];
    case 'matrixSelector':
      return [expr.selector];
    case 'subquery':
      return referencesOf(expr.expr)?.map((inner) => within(inner, expr));
    case 'paren':
    case 'unary':
    case 'aggregation':
      return referencesOf(expr.expr);
    case 'binary':
      return referencesOfAll([expr.lhs, expr.rhs]);
    case 'call':
      return referencesOfAll(evaluatedArgs(expr));
    case 'number':
    case 'string':
      return undefined;
  }
}

/** Scalars select no series, so their selectors do not count. */
function referencesOfAll(exprs: readonly Expr[]): readonly TimeReference[] | undefined {
  const vectors = exprs.filter((expr) => typeOf(expr) === 'vector' || typeOf(expr) === 'matrix').map(referencesOf);
  if (vectors.length === 0) return undefined;
  return vectors.reduce((all, some) => all && some && [...all, ...some], []);
}

/** Returns the time of a selector within a subquery. An inner `@` is absolute; offsets add up to it. */
function within(inner: TimeReference, { atMs, offsetMs }: TimeReference): TimeReference {
  return inner.atMs === undefined ? { atMs, offsetMs: inner.offsetMs + offsetMs } : inner;
}

/**
 * Reports whether the value of an expression at a time depends only on samples up to that time: neither on the range of the
 * query nor on later samples.
 */
export function isStepwise(expr: Expr): boolean {
  switch (expr.kind) {
    case 'vectorSelector':
      return isPlain(expr);
    case 'matrixSelector':
      return isPlain(expr.selector) && expr.rangeExpr === undefined;
    case 'subquery':
      return looksBack(expr) && hasFixedSteps(expr) && isStepwise(expr.expr);
    case 'call':
      return expr.func.dependsOnRange !== true && expr.args.every(isStepwise);
    case 'aggregation':
      return expr.signature.dependsOnRange !== true && isLiteral(expr.param) && isStepwise(expr.expr);
    default:
      return partsOf(expr).every(isStepwise);
  }
}

/**
 * Returns how far before a step the oldest sample can be that a stepwise expression reads, in milliseconds.
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

function hasFixedSteps({ rangeExpr, stepExpr }: Subquery): boolean {
  return rangeExpr === undefined && stepExpr === undefined;
}

function isPlain(selector: VectorSelector): boolean {
  return looksBack(selector) && !selector.isAnchored && !selector.isSmoothed;
}

function looksBack({ offsetMs, offsetExpr, atMs, startOrEnd }: TimeShift): boolean {
  return offsetMs >= 0 && offsetExpr === undefined && atMs === undefined && startOrEnd === undefined;
}
