import type { Annotations } from '../annotations.js';
import type { Expr } from '../ast.js';
import { isCustom, divided, type Histogram } from '../histogram/histogram.js';
import { HistogramSum } from '../histogram/sum.js';
import { metricName } from '../metric-name.js';
import { NeumaierSum } from '../neumaier.js';
import { FLOAT, histogramAt, HISTOGRAM, NONE, setFloat, setHistogram } from '../samples.js';
import type { GroupReducer } from './aggregation.js';
import { Mean } from './mean.js';

/** `sum` and `avg`: numbers or histograms, not both. */
export const sum: GroupReducer = (group, result, call) => total(group, result, call, false);
export const avg: GroupReducer = (group, result, call) => total(group, result, call, true);

function total(...[{ series }, result, { expr, env }, isMean]: [...Parameters<GroupReducer>, boolean]): void {
  for (let step = 0; step < env.steps; step++) {
    const histograms: Histogram[] = [];
    const mean = new Mean();
    const floats = new NeumaierSum();
    for (const one of series) {
      if (one.kinds[step] === HISTOGRAM) histograms.push(histogramAt(one, step));
      if (one.kinds[step] !== FLOAT) continue;
      mean.add(one.values[step]);
      floats.add(one.values[step]);
    }
    if (mean.count > 0 && histograms.length > 0) {
      env.notes.warn('encountered a mix of histograms and floats for aggregation', expr.expr);
    } else if (mean.count > 0) {
      setFloat(result, step, isMean ? mean.value : floats.value);
    } else if (histograms.length > 0) {
      const name = metricName(series.find(({ kinds }) => kinds[step] !== NONE)?.labels);
      const combined = combineHistograms(histograms, isMean, { notes: env.notes, at: expr.expr, name });
      if (combined !== undefined) setHistogram(result, step, combined);
    }
  }
}

/** What annotations of a combination name. */
export interface CombineContext {
  readonly notes: Annotations;
  readonly at: Expr;
  readonly name: string;
}

/** The sum or the mean of histograms; undefined if their buckets cannot be added. */
export function combineHistograms(
  histograms: readonly Histogram[],
  isMean: boolean,
  { notes, at, name }: CombineContext,
): Histogram | undefined {
  const [first] = histograms;
  if (histograms.some((it) => isCustom(it) !== isCustom(first))) {
    const what = 'histograms with exponential and custom buckets schemas';
    notes.warn(`vector contains a mix of ${what} for metric name ${JSON.stringify(name)}`, at);
    return undefined;
  }
  const all = new HistogramSum(first);
  let finite = 1;
  for (const histogram of histograms.slice(1)) {
    all.add(histogram);
    if (!all.isInfinite && finite > 0) finite++;
    else if (isMean) break;
  }
  if (all.notes.isReconciled) notes.info('mismatched custom buckets were reconciled during aggregation', at);
  if (all.notes.isCollision) notes.warn('conflicting counter resets during histogram aggregation', at);
  if (!isMean) return all.result();
  if (finite === histograms.length) return divided(all.result(), histograms.length);
  return incrementalMean(histograms, finite);
}

/** The mean where the sum would be infinite. @param finite how many of them can be summed. */
function incrementalMean(histograms: readonly Histogram[], finite: number): Histogram {
  const mean = new HistogramSum(histograms[0]);
  for (const histogram of histograms.slice(1, finite)) mean.add(histogram);
  mean.scale(1 / finite);
  for (let n = finite + 1; n <= histograms.length; n++) {
    mean.scale((n - 1) / n);
    mean.add(histograms[n - 1], 1, n);
  }
  return mean.result();
}
