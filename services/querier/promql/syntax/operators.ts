import type { BinaryOperator } from './ast.js';

type NumberOperation = (lhs: number, rhs: number) => number;

const ARITHMETIC: Readonly<Partial<Record<BinaryOperator, NumberOperation>>> = {
  '+': (lhs, rhs) => lhs + rhs,
  '-': (lhs, rhs) => lhs - rhs,
  '*': (lhs, rhs) => lhs * rhs,
  '/': (lhs, rhs) => lhs / rhs,
  '%': (lhs, rhs) => lhs % rhs,
  '^': (lhs, rhs) => power(lhs, rhs),
  atan2: Math.atan2,
};

/** Returns the operator as a function of numbers; comparisons return 1 or 0. Edge cases are those of Go. */
export function arithmeticOf(op: BinaryOperator): NumberOperation {
  return ARITHMETIC[op] ?? ((lhs, rhs) => (compareNumbers(op, lhs, rhs) ? 1 : 0));
}

/** Reports whether the operator is arithmetic. */
export function isArithmetic(op: BinaryOperator): boolean {
  return ARITHMETIC[op] !== undefined;
}

/** IEEE 754 power: unlike in JavaScript, `1 ^ NaN` and `-1 ^ Inf` are 1. */
function power(base: number, exponent: number): number {
  if (base === 1 || (base === -1 && Math.abs(exponent) === Infinity)) return 1;
  return base ** exponent;
}

/** Evaluates a comparison; with NaN only `!=` is true. */
export function compareNumbers(op: BinaryOperator, lhs: number, rhs: number): boolean {
  switch (op) {
    case '==':
      return lhs === rhs;
    case '!=':
      return lhs !== rhs;
    case '<':
      return lhs < rhs;
    case '<=':
      return lhs <= rhs;
    case '>':
      return lhs > rhs;
    case '>=':
      return lhs >= rhs;
    default:
      return false;
  }
}

const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<=', '<', '>=', '>']);
const TRIMS: ReadonlySet<string> = new Set(['</', '>/']);
const SET_OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'unless']);

/** Reports whether the operator is a comparison. */
export function isComparison(op: BinaryOperator): boolean {
  return COMPARISONS.has(op);
}

/** Reports whether the operator trims histograms. */
export function isTrim(op: BinaryOperator): boolean {
  return TRIMS.has(op);
}

/** Reports whether the operator is a set operator. */
export function isSetOperator(op: BinaryOperator): boolean {
  return SET_OPERATORS.has(op);
}

/** Reports whether the result keeps the metric name: after filtering comparisons and trims. */
export function keepsName(op: BinaryOperator, isBool: boolean): boolean {
  return (isComparison(op) && !isBool) || isTrim(op);
}
