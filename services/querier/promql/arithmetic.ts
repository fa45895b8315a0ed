import type { BinaryOperator } from './ast.js';

/** `lhs op rhs` for numbers; comparisons give 1 or 0. Differs from JavaScript where Go does. */
export function applyNumbers(op: BinaryOperator, lhs: number, rhs: number): number {
  switch (op) {
    case '+':
      return lhs + rhs;
    case '-':
      return lhs - rhs;
    case '*':
      return lhs * rhs;
    case '/':
      return lhs / rhs;
    case '%':
      return lhs % rhs;
    case '^':
      return power(lhs, rhs);
    case 'atan2':
      return Math.atan2(lhs, rhs);
    default:
      return compareNumbers(op, lhs, rhs) ? 1 : 0;
  }
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
