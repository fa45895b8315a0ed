import type { Annotations } from '../runtime/annotations.js';
import { arithmeticOf, compareNumbers, isComparison, isTrim } from '../syntax/operators.js';
import type { BinaryExpr } from '../syntax/ast.js';
import { areEqualHistograms } from '../histogram/compare.js';
import { compacted, divided, scaled, type Histogram } from '../histogram/histogram.js';
import { areCompatible, HistogramSum } from '../histogram/sum.js';
import { trimmed } from '../histogram/trim.js';
import { HISTOGRAM_SAMPLE, histogramAt, setFloat, setHistogram, type MutableSeries, type StepSeries } from '../runtime/samples.js';

/** A sample: a number or a histogram. */
export type SampleValue = number | Histogram;

/** The sample of a step that has one. */
export function sampleAt(series: StepSeries, step: number): SampleValue {
  return series.kinds[step] === HISTOGRAM_SAMPLE ? histogramAt(series, step) : series.values[step];
}

/** Puts a sample, if there is one. */
export function putSample(series: MutableSeries, step: number, sample: SampleValue | undefined): void {
  if (sample === undefined) return;
  if (typeof sample === 'number') setFloat(series, step, sample);
  else setHistogram(series, step, sample);
}

/**
 * `lhs op rhs` for two samples of which one is from a vector.
 *
 * @param kept what a comparison that filters gives when it holds.
 * @returns undefined for an element that is dropped.
 */
export function applySamples(
  expr: BinaryExpr,
  lhs: SampleValue,
  rhs: SampleValue,
  kept: SampleValue,
  notes: Annotations,
): SampleValue | undefined {
  if (typeof lhs === 'number') {
    return typeof rhs === 'number' ? applyFloats(expr, lhs, rhs, kept, notes) : applyToHistogram(expr, lhs, rhs, notes);
  }
  return typeof rhs === 'number' ? applyByNumber(expr, lhs, rhs, notes) : applyHistograms(expr, lhs, rhs, notes);
}

function applyFloats(expr: BinaryExpr, lhs: number, rhs: number, kept: SampleValue, notes: Annotations): SampleValue | undefined {
  const { op, isBool } = expr;
  if (isTrim(op)) return incompatible(expr, lhs, rhs, notes);
  if (!isComparison(op)) return arithmeticOf(op)(lhs, rhs);
  const holds = compareNumbers(op, lhs, rhs);
  if (isBool) return holds ? 1 : 0;
  return holds ? kept : undefined;
}

function applyToHistogram(expr: BinaryExpr, lhs: number, rhs: Histogram, notes: Annotations): SampleValue | undefined {
  return expr.op === '*' ? compacted(scaled(rhs, lhs)) : incompatible(expr, lhs, rhs, notes);
}

function applyByNumber(expr: BinaryExpr, lhs: Histogram, rhs: number, notes: Annotations): SampleValue | undefined {
  switch (expr.op) {
    case '*':
      return compacted(scaled(lhs, rhs));
    case '/':
      return compacted(divided(lhs, rhs));
    case '</':
    case '>/':
      return trimmed(lhs, expr.op, rhs);
    default:
      return incompatible(expr, lhs, rhs, notes);
  }
}

function applyHistograms(expr: BinaryExpr, lhs: Histogram, rhs: Histogram, notes: Annotations): SampleValue | undefined {
  const { op, isBool } = expr;
  if (op === '+' || op === '-') return sumOf(expr, lhs, rhs, notes);
  if (op !== '==' && op !== '!=') return incompatible(expr, lhs, rhs, notes);
  const holds = areEqualHistograms(lhs, rhs) === (op === '==');
  if (isBool) return holds ? 1 : 0;
  return holds ? lhs : undefined;
}

function sumOf(expr: BinaryExpr, lhs: Histogram, rhs: Histogram, notes: Annotations): Histogram | undefined {
  const { op } = expr;
  if (!areCompatible(lhs, rhs)) {
    notes.warn(`incompatible bucket layout encountered for binary operator ${op}`, expr.lhs);
    return undefined;
  }
  const total = new HistogramSum(lhs);
  total.add(rhs, op === '+' ? 1 : -1);
  const word = op === '+' ? 'addition' : 'subtraction';
  if (total.notes.isReconciled) notes.info(`mismatched custom buckets were reconciled during ${word}`, expr.lhs);
  if (total.notes.isCollision) {
    notes.warn(`conflicting counter resets during histogram ${word}`, expr.lhs);
    return undefined;
  }
  return op === '+' ? total.result() : { ...total.result(), hint: 'gauge' };
}

function incompatible({ op, lhs: operand }: BinaryExpr, lhs: SampleValue, rhs: SampleValue, notes: Annotations): undefined {
  const kind = (sample: SampleValue): string => (typeof sample === 'number' ? 'float' : 'histogram');
  const text = `incompatible sample types encountered for binary operator "${op}": ${kind(lhs)} ${op} ${kind(rhs)}`;
  notes.info(text, operand);
  return undefined;
}
