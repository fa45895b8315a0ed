import { isTrim } from '../syntax/operators.js';
import type { Expr, VectorSelector } from '../syntax/ast.js';
import { isCounterReset } from '../histogram/compare.js';
import { NO_BUCKETS, type CounterHint, type Histogram } from '../histogram/histogram.js';
import type { SampleSeries } from './samples.js';

/** Functions that look at nothing but count and sum of a histogram. */
const STATS: ReadonlySet<string> = new Set(['histogram_count', 'histogram_sum', 'histogram_avg']);
/** Functions that look at buckets, whatever is done with their result. */
const BUCKETS: ReadonlySet<string> = new Set(['histogram_quantile', 'histogram_quantiles', 'histogram_fraction']);

/** The selectors of an expression of whose histograms only count and sum are looked at. */
export function statsSelectors(expr: Expr): Set<VectorSelector> {
  const found = new Set<VectorSelector>();
  collect(expr, 'plain', found);
  return found;
}

/** What is known of how the value of a node is used: nothing, for its count and sum, or for its buckets. */
type Use = 'plain' | 'stats' | 'buckets';

function collect(expr: Expr, use: Use, found: Set<VectorSelector>): void {
  if (expr.kind === 'vectorSelector' && use === 'stats') found.add(expr);
  for (const [inner, innerUse] of innerUses(expr, use)) collect(inner, innerUse, found);
}

/** The parts of a node, and how it uses them. */
function innerUses(expr: Expr, use: Use): (readonly [Expr, Use])[] {
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
      return [expr.expr, ...(expr.param === undefined ? [] : [expr.param])].map((inner) => [inner, use] as const);
    case 'binary': {
      const innerUse = isTrim(expr.op) ? 'buckets' : use;
      return [expr.lhs, expr.rhs].map((inner) => [inner, innerUse] as const);
    }
    case 'call':
      return expr.args.map((arg) => [arg, useBy(expr.func.name, use)] as const);
  }
}

function useBy(name: string, use: Use): Use {
  if (use === 'buckets' || BUCKETS.has(name)) return 'buckets';
  return STATS.has(name) ? 'stats' : use;
}

/**
 * The series with histograms of which only count and sum are left. Those that are not known to follow a reset or not
 * are compared, with all their buckets, to the sample before, if the query reads that one too.
 *
 * @param endMs of the windows, ascending.
 * @param isRange whether both have to be in one window; otherwise it is enough that the earlier one is in a window that
 *   ends behind it.
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
    // A sample on the left edge of a range is not in it, and is read all the same.
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
