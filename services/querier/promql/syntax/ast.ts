import type { LabelMatcher } from '../../series/matcher.js';
import type { AggregationSignature, FunctionSignature, PromType } from './signature.js';

/** Position `[start, end)` of a node in the query, in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A number, or a duration in seconds. */
export interface NumberLiteral extends Span {
  readonly kind: 'number';
  readonly value: number;
  /** Whether the query has a duration such as `5m`. */
  readonly isDuration: boolean;
}

/** A string. */
export interface StringLiteral extends Span {
  readonly kind: 'string';
  /** Bytes that are not valid UTF-8 are lone surrogates, see `common/go-string.ts`. */
  readonly value: string;
}

/** An expression in parentheses. */
export interface ParenExpr extends Span {
  readonly kind: 'paren';
  readonly expr: Expr;
}

/** An expression with a sign. */
export interface UnaryExpr extends Span {
  readonly kind: 'unary';
  readonly op: '+' | '-';
  readonly expr: Expr;
}

/** Operators and functions of duration arithmetic. */
export type DurationOperator = '+' | '-' | '*' | '/' | '%' | '^' | 'step' | 'range' | 'min_of' | 'max_of';

/** Duration arithmetic such as `[5m * 2]`; its value may depend on the range and step of the query. */
export interface DurationExpr extends Span {
  readonly kind: 'duration';
  readonly op: DurationOperator;
  readonly lhs: DurationNode | undefined;
  readonly rhs: DurationNode | undefined;
  /** Whether it is in parentheses. */
  readonly isWrapped: boolean;
}

/** A node of duration arithmetic. */
export type DurationNode = NumberLiteral | DurationExpr;

/** `offset` and `@` of a selector or subquery. */
export interface TimeShift {
  readonly offsetMs: number;
  /** Replaces `offsetMs` when the times of the query are resolved. */
  readonly offsetExpr: DurationExpr | undefined;
  readonly atMs: number | undefined;
  readonly startOrEnd: 'start' | 'end' | undefined;
}

/** An instant vector selector. */
export interface VectorSelector extends Span, TimeShift {
  readonly kind: 'vectorSelector';
  /** The metric name before the braces, empty if there is none. */
  readonly name: string;
  /** All matchers, that of `name` last. */
  readonly matchers: readonly LabelMatcher[];
  readonly isAnchored: boolean;
  readonly isSmoothed: boolean;
}

/** A range vector selector. */
export interface MatrixSelector extends Span {
  readonly kind: 'matrixSelector';
  readonly selector: VectorSelector;
  readonly rangeMs: number;
  readonly rangeExpr: DurationExpr | undefined;
}

/** A subquery: `expr[range:step]`. */
export interface Subquery extends Span, TimeShift {
  readonly kind: 'subquery';
  readonly expr: Expr;
  readonly rangeMs: number;
  readonly rangeExpr: DurationExpr | undefined;
  /** 0 for the default step. */
  readonly stepMs: number;
  readonly stepExpr: DurationExpr | undefined;
}

/** A function call. */
export interface FunctionCall extends Span {
  readonly kind: 'call';
  readonly func: FunctionSignature;
  readonly args: readonly Expr[];
}

/** An aggregation such as `sum by (job) (v)`. */
export interface Aggregation extends Span {
  readonly kind: 'aggregation';
  readonly op: string;
  readonly signature: AggregationSignature;
  readonly expr: Expr;
  readonly param: Expr | undefined;
  readonly grouping: readonly string[];
  readonly isWithout: boolean;
}

/** Operators of two numbers. */
export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%' | '^' | 'atan2';
/** Operators that filter or, with `bool`, return 0 or 1. */
export type ComparisonOperator = '==' | '!=' | '<=' | '<' | '>=' | '>';
/** Operators that remove observations of a native histogram above or below a value. */
export type TrimOperator = '</' | '>/';
/** Operators on the sets of series of two vectors. */
export type SetOperator = 'and' | 'or' | 'unless';
/** All binary operators. */
export type BinaryOperator = ArithmeticOperator | ComparisonOperator | TrimOperator | SetOperator;

/** How many series of either side match one of the other. */
export type Cardinality = 'one-to-one' | 'many-to-one' | 'one-to-many' | 'many-to-many';

/** How the series of two vectors are matched. */
export interface VectorMatching {
  readonly card: Cardinality;
  readonly labels: readonly string[];
  /** Whether the series match on `labels`; otherwise on all other labels. */
  readonly isOn: boolean;
  /** Labels that `group_left` or `group_right` copies from the "one" side. */
  readonly include: readonly string[];
  readonly fillLeft: number | undefined;
  readonly fillRight: number | undefined;
}

/** A binary operation. */
export interface BinaryExpr extends Span {
  readonly kind: 'binary';
  readonly op: BinaryOperator;
  readonly lhs: Expr;
  readonly rhs: Expr;
  readonly isBool: boolean;
  /** Used only if both sides are vectors. */
  readonly matching: VectorMatching;
}

/** Any PromQL expression. */
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

/** Returns the type of an expression. */
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

/** Removes parentheses around an expression. */
export function unwrapped(expr: Expr): Expr {
  let inner = expr;
  while (inner.kind === 'paren') inner = inner.expr;
  return inner;
}
