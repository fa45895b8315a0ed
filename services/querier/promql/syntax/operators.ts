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

/** The operator for numbers; comparisons give 1 or 0. Differs from JavaScript where Go does. */
export function arithmeticOf(op: BinaryOperator): NumberOperation {
  return ARITHMETIC[op] ?? ((lhs, rhs) => (compareNumbers(op, lhs, rhs) ? 1 : 0));
}

/** Whether the operator makes a number of two. */
export function isArithmetic(op: BinaryOperator): boolean {
  return ARITHMETIC[op] !== undefined;
}

/** IEEE's power: `1 ^ NaN` and `-1 ^ Inf` are 1. */
function power(base: number, exponent: number): number {
  if (base === 1 || (base === -1 && Math.abs(exponent) === Infinity)) return 1;
  return base ** exponent;
}

/** Whether a comparison holds; with NaN only `!=` does. */
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

export function isComparison(op: BinaryOperator): boolean {
  return COMPARISONS.has(op);
}

export function isTrim(op: BinaryOperator): boolean {
  return TRIMS.has(op);
}

export function isSetOperator(op: BinaryOperator): boolean {
  return SET_OPERATORS.has(op);
}

/** Whether the metric name stays with the result: comparisons that filter, and trims. */
export function keepsName(op: BinaryOperator, isBool: boolean): boolean {
  return (isComparison(op) && !isBool) || isTrim(op);
}
