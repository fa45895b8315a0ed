/** Shapes of a parsed PromQL expression. Offsets count UTF-16 units of the query text. */
import type { LabelMatcher } from '../../series/matcher.js';

export type PromType = 'scalar' | 'string' | 'vector' | 'matrix';

/** Place of a node in the query: `[start, end)`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface NumberLiteral extends Span {
  readonly kind: 'number';
  readonly value: number;
  /** Whether it was written as a duration, as in `5m`. */
  readonly isDuration: boolean;
}

export interface StringLiteral extends Span {
  readonly kind: 'string';
  readonly value: string;
}

export interface ParenExpr extends Span {
  readonly kind: 'paren';
  readonly expr: Expr;
}

export interface UnaryExpr extends Span {
  readonly kind: 'unary';
  readonly op: '+' | '-';
  readonly expr: Expr;
}

export type DurationOperator = '+' | '-' | '*' | '/' | '%' | '^' | 'step' | 'range' | 'min_of' | 'max_of';

/** Arithmetic of durations, as in `[5m * 2]`; its value may depend on the query's range and step. */
export interface DurationExpr extends Span {
  readonly kind: 'duration';
  readonly op: DurationOperator;
  readonly lhs: DurationNode | undefined;
  readonly rhs: DurationNode | undefined;
  /** Whether it stands in parentheses. */
  readonly isWrapped: boolean;
}

export type DurationNode = NumberLiteral | DurationExpr;

/** `offset` and `@` of a selector or subquery. */
export interface TimeShift {
  readonly offsetMs: number;
  /** Replaces `offsetMs` once it is resolved. */
  readonly offsetExpr: DurationExpr | undefined;
  readonly atMs: number | undefined;
  readonly startOrEnd: 'start' | 'end' | undefined;
}

export interface VectorSelector extends Span, TimeShift {
  readonly kind: 'vectorSelector';
  /** The metric name in front of the braces; empty if there is none. */
  readonly name: string;
  /** All matchers; that of `name` is the last. */
  readonly matchers: readonly LabelMatcher[];
  readonly isAnchored: boolean;
  readonly isSmoothed: boolean;
}

export interface MatrixSelector extends Span {
  readonly kind: 'matrixSelector';
  readonly selector: VectorSelector;
  readonly rangeMs: number;
  readonly rangeExpr: DurationExpr | undefined;
}

export interface Subquery extends Span, TimeShift {
  readonly kind: 'subquery';
  readonly expr: Expr;
  readonly rangeMs: number;
  readonly rangeExpr: DurationExpr | undefined;
  /** 0: the default. */
  readonly stepMs: number;
  readonly stepExpr: DurationExpr | undefined;
}

/** What the parser has to know of a function. */
export interface FunctionSignature {
  readonly name: string;
  readonly args: readonly PromType[];
  /** How often the last argument may be left out or repeated: 0 exactly once, n up to n times, -1 any number of times. */
  readonly variadic: number;
  readonly returns: PromType;
  readonly isExperimental: boolean;
}

export interface FunctionCall extends Span {
  readonly kind: 'call';
  readonly func: FunctionSignature;
  readonly args: readonly Expr[];
}

export type AggregationOperator =
  | 'sum'
  | 'avg'
  | 'min'
  | 'max'
  | 'count'
  | 'group'
  | 'stddev'
  | 'stdvar'
  | 'topk'
  | 'bottomk'
  | 'quantile'
  | 'count_values'
  | 'limitk'
  | 'limit_ratio';

export interface Aggregation extends Span {
  readonly kind: 'aggregation';
  readonly op: AggregationOperator;
  readonly expr: Expr;
  readonly param: Expr | undefined;
  readonly grouping: readonly string[];
  readonly isWithout: boolean;
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | '^' | 'atan2';
export type ComparisonOperator = '==' | '!=' | '<=' | '<' | '>=' | '>';
export type TrimOperator = '</' | '>/';
export type SetOperator = 'and' | 'or' | 'unless';
export type BinaryOperator = ArithmeticOperator | ComparisonOperator | TrimOperator | SetOperator;

export type Cardinality = 'one-to-one' | 'many-to-one' | 'one-to-many' | 'many-to-many';

export interface VectorMatching {
  readonly card: Cardinality;
  readonly labels: readonly string[];
  /** Whether `labels` are those to match on; otherwise they are ignored. */
  readonly isOn: boolean;
  /** Labels that `group_left` and `group_right` copy from the one side. */
  readonly include: readonly string[];
  readonly fillLeft: number | undefined;
  readonly fillRight: number | undefined;
}

export interface BinaryExpr extends Span {
  readonly kind: 'binary';
  readonly op: BinaryOperator;
  readonly lhs: Expr;
  readonly rhs: Expr;
  readonly isBool: boolean;
  /** Means nothing unless both sides are vectors. */
  readonly matching: VectorMatching;
}

export type Expr =
  | NumberLiteral
  | StringLiteral
  | ParenExpr
  | UnaryExpr
  | VectorSelector
  | MatrixSelector
  | Subquery
  | FunctionCall
  | Aggregation
  | BinaryExpr;

/** The type of an expression's value. */
export function typeOf(expr: Expr): PromType {
  switch (expr.kind) {
    case 'number':
      return 'scalar';
    case 'string':
      return 'string';
    case 'paren':
    case 'unary':
      return typeOf(expr.expr);
    case 'vectorSelector':
    case 'aggregation':
      return 'vector';
    case 'matrixSelector':
    case 'subquery':
      return 'matrix';
    case 'call':
      return expr.func.returns;
    case 'binary':
      return typeOf(expr.lhs) === 'scalar' && typeOf(expr.rhs) === 'scalar' ? 'scalar' : 'vector';
  }
}

/** The expression without parentheses around it. */
export function unwrapped(expr: Expr): Expr {
  let inner = expr;
  while (inner.kind === 'paren') inner = inner.expr;
  return inner;
}
