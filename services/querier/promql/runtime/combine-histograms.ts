import { divided, isCustom, type Histogram } from '../histogram/histogram.js';
import { HistogramSum } from '../histogram/sum.js';
import type { Expr } from '../syntax/ast.js';
import { MIXED_SCHEMAS } from './annotations.js';
import type { Env } from './env.js';
import type { QueryLimits } from './limits.js';
import type { Units } from './scheduler.js';

/** What annotations about combined histograms refer to. */
export interface CombineContext {
  readonly env: Pick<Env, 'annotations' | 'limits'>;
  readonly at: Expr;
  /** Metric name of the first series. */
  readonly name: string;
}

/** Cost of adding a histogram, in units of reading one float. */
const HISTOGRAM_WORK = 100;

/** Returns the sum or the mean of histograms; undefined if their buckets cannot be added. */
export function* combineHistograms(
  histograms: readonly Histogram[],
  isMean: boolean,
  { env, at, name }: CombineContext,
): Units<Histogram | undefined> {
  const { annotations, limits } = env;
  const [first] = histograms;
  if (histograms.some((it) => isCustom(it) !== isCustom(first))) {
    annotations.warn(`${MIXED_SCHEMAS} for metric name ${JSON.stringify(name)}`, at);
    return undefined;
  }
  const total = new HistogramSum(first);
  let finite = 1;
  for (const histogram of histograms.slice(1)) {
    limits.spend(HISTOGRAM_WORK);
    if (limits.scheduler.isDue) yield;
    total.add(histogram);
    if (!total.isInfinite && finite > 0) finite++;
    else if (isMean) break;
  }
  if (total.hasReconciledBounds) {
    annotations.info('mismatched custom buckets were reconciled during aggregation', at);
  }
  if (total.hasResetCollision) annotations.warn('conflicting counter resets during histogram aggregation', at);
  if (!isMean) return total.result();
  if (finite === histograms.length) return divided(total.result(), histograms.length);
  return yield* incrementalMean(histograms, finite, limits);
}

/** Returns the mean where the sum overflows. @param finite number of histograms whose sum is finite. */
function* incrementalMean(histograms: readonly Histogram[], finite: number, limits: QueryLimits): Units<Histogram> {
  const mean = new HistogramSum(histograms[0]);
  for (const histogram of histograms.slice(1, finite)) mean.add(histogram);
  mean.scale(1 / finite);
  for (let n = finite + 1; n <= histograms.length; n++) {
    limits.spend(HISTOGRAM_WORK);
    if (limits.scheduler.isDue) yield;
    mean.scale((n - 1) / n);
    mean.add(histograms[n - 1], 1, n);
  }
  return mean.result();
}
