import type { Expr } from '../syntax/ast.js';
import type { Env } from './env.js';
import { divided, isCustom, type Histogram } from '../histogram/histogram.js';
import { HistogramSum } from '../histogram/sum.js';
import type { QueryLimits } from './limits.js';
import { MIXED_SCHEMAS } from '../functions/range-function.js';

/** What annotations of a combination name. */
export interface CombineContext {
  readonly env: Pick<Env, 'annotations' | 'limits'>;
  readonly at: Expr;
  readonly name: string;
}

/** Work of adding a histogram, in numbers that are looked at. */
const HISTOGRAM_WORK = 100;

/** The sum or the mean of histograms; undefined if their buckets cannot be added. Others are served meanwhile. */
export async function combineHistograms(
  histograms: readonly Histogram[],
  isMean: boolean,
  { env, at, name }: CombineContext,
): Promise<Histogram | undefined> {
  const { annotations: notes, limits } = env;
  const [first] = histograms;
  if (histograms.some((it) => isCustom(it) !== isCustom(first))) {
    notes.warn(`${MIXED_SCHEMAS} for metric name ${JSON.stringify(name)}`, at);
    return undefined;
  }
  const all = new HistogramSum(first);
  let finite = 1;
  for (const histogram of histograms.slice(1)) {
    limits.spend(HISTOGRAM_WORK);
    if (limits.isDue) await limits.yield();
    all.add(histogram);
    if (!all.isInfinite && finite > 0) finite++;
    else if (isMean) break;
  }
  if (all.notes.isReconciled) notes.info('mismatched custom buckets were reconciled during aggregation', at);
  if (all.notes.isCollision) notes.warn('conflicting counter resets during histogram aggregation', at);
  if (!isMean) return all.result();
  if (finite === histograms.length) return divided(all.result(), histograms.length);
  return incrementalMean(histograms, finite, limits);
}

/** The mean where the sum would be infinite. @param finite how many of them can be summed. */
async function incrementalMean(histograms: readonly Histogram[], finite: number, limits: QueryLimits): Promise<Histogram> {
  const mean = new HistogramSum(histograms[0]);
  for (const histogram of histograms.slice(1, finite)) mean.add(histogram);
  mean.scale(1 / finite);
  for (let n = finite + 1; n <= histograms.length; n++) {
    limits.spend(HISTOGRAM_WORK);
    if (limits.isDue) await limits.yield();
    mean.scale((n - 1) / n);
    mean.add(histograms[n - 1], 1, n);
  }
  return mean.result();
}
