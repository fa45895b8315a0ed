import type { Annotations } from '../runtime/annotations.js';
import { arithmeticOf, compareNumbers, isComparison, isTrim } from '../syntax/operators.js';
import type { BinaryExpr } from '../syntax/ast.js';
import { areEqualHistograms } from '../histogram/compare.js';
import { compacted, divided, scaled, type Histogram } from '../histogram/histogram.js';
import { areCompatible, HistogramSum } from '../histogram/sum.js';
import { trimmed } from '../histogram/trim.js';
import type { SampleValue } from '../runtime/samples.js';

/**
 * Computes `lhs op rhs` for two samples, at least one of them from a vector.
 *
 * @param kept result of a filtering comparison that holds.
 * @returns undefined if the element is dropped.
 */
export function applySamples(
  expr: BinaryExpr,
  lhs: SampleValue,
  rhs: SampleValue,
  kept: SampleValue,
  annotations: Annotations,
): SampleValue | undefined {
  if (typeof lhs === 'number') {
    return typeof rhs === 'number'
      ? applyFloats(expr, lhs, rhs, kept, annotations)
      : applyToHistogram(expr, lhs, rhs, annotations);
  }
  return typeof rhs === 'number'
    ? applyByNumber(expr, lhs, rhs, annotations)
    : applyHistograms(expr, lhs, rhs, annotations);
}

function applyFloats(
  expr: BinaryExpr,
  lhs: number,
  rhs: number,
  kept: SampleValue,
  annotations: Annotations,
): SampleValue | undefined {
  const { op, isBool } = expr;
  if (isTrim(op)) return incompatible(expr, lhs, rhs, annotations);
  if (!isComparison(op)) return arithmeticOf(op)(lhs, rhs);
  const holds = compareNumbers(op, lhs, rhs);
  if (isBool) return holds ? 1 : 0;
  return holds ? kept : undefined;
}

function applyToHistogram(
  expr: BinaryExpr,
  lhs: number,
  rhs: Histogram,
  annotations: Annotations,
): SampleValue | undefined {
  return expr.op === '*' ? compacted(scaled(rhs, lhs)) : incompatible(expr, lhs, rhs, annotations);
}

function applyByNumber(
  expr: BinaryExpr,
  lhs: Histogram,
  rhs: number,
  annotations: Annotations,
): SampleValue | undefined {
  switch (expr.op) {
    case '*':
      return compacted(scaled(lhs, rhs));
    case '/':
      return compacted(divided(lhs, rhs));
    case '</':
    case '>/':
      return trimmed(lhs, expr.op, rhs);
    default:
      return incompatible(expr, lhs, rhs, annotations);
  }
}

function applyHistograms(
  expr: BinaryExpr,
  lhs: Histogram,
  rhs: Histogram,
  annotations: Annotations,
): SampleValue | undefined {
  const { op, isBool } = expr;
  if (op === '+' || op === '-') return sumOf(expr, lhs, rhs, annotations);
  if (op !== '==' && op !== '!=') return incompatible(expr, lhs, rhs, annotations);
  const holds = areEqualHistograms(lhs, rhs) === (op === '==');
  if (isBool) return holds ? 1 : 0;
  return holds ? lhs : undefined;
}

function sumOf(expr: BinaryExpr, lhs: Histogram, rhs: Histogram, annotations: Annotations): Histogram | undefined {
  const { op } = expr;
  if (!areCompatible(lhs, rhs)) {
    annotations.warn(`incompatible bucket layout encountered for binary operator ${op}`, expr.lhs);
    return undefined;
  }
  const total = new HistogramSum(lhs);
  total.add(rhs, op === '+' ? 1 : -1);
  const word = op === '+' ? 'addition' : 'subtraction';
  if (total.hasReconciledBounds) annotations.info(`mismatched custom buckets were reconciled during ${word}`, expr.lhs);
  if (total.hasResetCollision) {
    annotations.warn(`conflicting counter resets during histogram ${word}`, expr.lhs);
    return undefined;
  }
  return op === '+' ? total.result() : { ...total.result(), hint: 'gauge' };
}

function incompatible(
  { op, lhs: operand }: BinaryExpr,
  lhs: SampleValue,
  rhs: SampleValue,
  annotations: Annotations,
): undefined {
  const kind = (sample: SampleValue): string => (typeof sample === 'number' ? 'float' : 'histogram');
  const text = `incompatible sample types encountered for binary operator "${op}": ${kind(lhs)} ${op} ${kind(rhs)}`;
  annotations.info(text, operand);
  return undefined;
}
