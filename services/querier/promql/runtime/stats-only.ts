import { isTrim } from '../syntax/operators.js';
import type { Expr, VectorSelector } from '../syntax/ast.js';
import type { FunctionSignature } from '../syntax/signature.js';
import { isCounterReset } from '../histogram/compare.js';
import { NO_BUCKETS, type CounterHint, type Histogram } from '../histogram/histogram.js';
import type { SampleSeries } from './samples.js';

/** Returns the selectors of histograms of which an expression reads only count and sum. */
export function statsSelectors(expr: Expr): Set<VectorSelector> {
  const found = new Set<VectorSelector>();
  collect(expr, 'plain', found);
  return found;
}

/** The part of histograms that the parents of a node read. */
type HistogramUse = 'plain' | 'stats' | 'buckets';

function collect(expr: Expr, use: HistogramUse, found: Set<VectorSelector>): void {
  if (expr.kind === 'vectorSelector' && use === 'stats') found.add(expr);
  for (const [inner, innerUse] of innerUses(expr, use)) collect(inner, innerUse, found);
}

/** Returns the children of a node and the part that it reads of their histograms. */
function innerUses(expr: Expr, use: HistogramUse): (readonly [Expr, HistogramUse])[] {
  switch (expr.kind) {
    case 'number':
    case 'string':
    case 'vectorSelector':
      return [];
    case 'matrixSelector':
      return [[expr.selector, use]];
    case 'paren':
    case 'unary':
      return [[expr.expr, use]];
    case 'subquery':
      return [[expr.expr, 'buckets']];
    case 'aggregation':
      return expr.param === undefined
        ? [[expr.expr, use]]
        : [
            [expr.expr, use],
            [expr.param, use],
          ];
    case 'binary': {
      const innerUse = isTrim(expr.op) ? 'buckets' : use;
      return [
        [expr.lhs, innerUse],
        [expr.rhs, innerUse],
      ];
    }
    case 'call': {
      const uses: (readonly [Expr, HistogramUse])[] = [];
      for (const arg of expr.args) uses.push([arg, useBy(expr.func, use)]);
      return uses;
    }
  }
}

function useBy({ histogramPart }: FunctionSignature, use: HistogramUse): HistogramUse {
  if (use === 'buckets' || histogramPart === 'buckets') return 'buckets';
  return histogramPart === 'countAndSum' ? 'stats' : use;
}

/**
 * Reduces histograms to count and sum. A histogram without reset hint gets one: it is compared with the previous sample, by
 * all buckets, if the query reads that one too.
 *
 * @param endMs ends of the windows, ascending.
 * @param isRange whether both samples must be in one window; otherwise the previous one must be in a window that ends after
 *   it.
 */
export function withStats(series: SampleSeries, endMs: Float64Array, windowMs: number, isRange: boolean): SampleSeries {
  const { times, histograms, stale } = series;
  if (histograms === undefined) return series;
  let step = 0;
  const isRead = (i: number): boolean => {
    const before = times[i - 1];
    while (step < endMs.length && (isRange ? endMs[step] < times[i] : endMs[step] <= before)) step++;
    if (step === endMs.length) return false;
    const startMs = endMs[step] - windowMs;
    // A sample on the open left edge of a range is read although it is not in the range.
    return isRange ? startMs <= before : startMs < before;
  };
  const stats = histograms.map((histogram, i) => {
    if (histogram === undefined) return undefined;
    const before = histograms[i - 1];
    const isKnown = histogram.hint !== 'unknown' || before === undefined || stale?.[i - 1] === 1 || !isRead(i);
    if (isKnown) return statsOf(histogram, histogram.hint);
    return statsOf(histogram, isCounterReset(before, histogram) ? 'reset' : 'not_reset');
  });
  return { ...series, histograms: stats };
}

function statsOf({ schema, count, sum }: Histogram, hint: CounterHint): Histogram {
  const empty = { zeroThreshold: 0, zeroCount: 0, positive: NO_BUCKETS, negative: NO_BUCKETS, custom: [] };
  return { schema, count, sum, hint, ...empty };
}
