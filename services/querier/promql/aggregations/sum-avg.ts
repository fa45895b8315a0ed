import { combineHistograms } from '../runtime/combine-histograms.js';
import type { Histogram } from '../histogram/histogram.js';
import { Mean } from '../common/compensated-sum.js';
import { metricName } from '../runtime/annotations.js';
import { FLOAT_SAMPLE, HISTOGRAM_SAMPLE, histogramAt, NO_SAMPLE, setHistogram, type StepSeries } from '../runtime/samples.js';
import type { GroupReducer } from './aggregation.js';

/** `sum` and `avg`: numbers or histograms, not both. */
export const sum: GroupReducer = (group, result, call) => total(group, result, call, false);
export const avg: GroupReducer = (group, result, call) => total(group, result, call, true);

async function total(
  ...[{ series }, result, { expr, env }, isMean]: [...Parameters<GroupReducer>, boolean]
): Promise<void> {
  const sums = new Sums(env.steps);
  const withHistograms: StepSeries[] = [];
  for (const one of series) {
    env.limits.spend(1 + env.steps);
    if (env.limits.isDue) await env.limits.yield();
    sums.add(one);
    if (one.histograms !== undefined) withHistograms.push(one);
  }
  for (let step = 0; step < env.steps; step++) {
    if (env.limits.isDue) await env.limits.yield();
    if (withHistograms.length > 0) env.limits.spend(withHistograms.length);
    const histograms = histogramsAt(withHistograms, step);
    if (sums.counts[step] > 0 && histograms.length > 0) {
      env.annotations.warn('encountered a mix of histograms and floats for aggregation', expr.expr);
    } else if (sums.counts[step] > 0) {
      result.kinds[step] = FLOAT_SAMPLE;
      result.values[step] = isMean ? (sums.mean(step) ?? meanAt(series, step)) : sums.sum(step);
    } else if (histograms.length > 0) {
      const name = metricName(series.find(({ kinds }) => kinds[step] !== NO_SAMPLE)?.labels);
      const combined = await combineHistograms(histograms, isMean, { env, at: expr.expr, name });
      if (combined !== undefined) setHistogram(result, step, combined);
    }
  }
}

const NO_HISTOGRAMS: readonly Histogram[] = [];

function histogramsAt(series: readonly StepSeries[], step: number): readonly Histogram[] {
  if (series.length === 0) return NO_HISTOGRAMS;
  return series.filter(({ kinds }) => kinds[step] === HISTOGRAM_SAMPLE).map((one) => histogramAt(one, step));
}

/** The mean where the sum is too great for a number. */
function meanAt(series: readonly StepSeries[], step: number): number {
  const mean = new Mean();
  for (const { kinds, values } of series) if (kinds[step] === FLOAT_SAMPLE) mean.add(values[step]);
  return mean.value;
}

/** Neumaier's sums, one for each step: series by series, which is the order in which the numbers lie in memory. */
class Sums {
  readonly counts: Int32Array;
  readonly #sums: Float64Array;
  readonly #losses: Float64Array;

  constructor(steps: number) {
    this.counts = new Int32Array(steps);
    this.#sums = new Float64Array(steps);
    this.#losses = new Float64Array(steps);
  }

  add({ kinds, values }: StepSeries): void {
    const counts = this.counts;
    const sums = this.#sums;
    const losses = this.#losses;
    for (let step = 0; step < kinds.length; step++) {
      if (kinds[step] !== FLOAT_SAMPLE) continue;
      const x = values[step];
      const sum = sums[step];
      const total = sum + x;
      if (total === Infinity || total === -Infinity) losses[step] = 0;
      else if (Math.abs(sum) >= Math.abs(x)) losses[step] += sum - total + x;
      else losses[step] += x - total + sum;
      sums[step] = total;
      counts[step]++;
    }
  }

  sum(step: number): number {
    return this.#sums[step] + this.#losses[step];
  }

  /** Undefined where the sum is not finite, and the mean may be. */
  mean(step: number): number | undefined {
    if (!Number.isFinite(this.#sums[step])) return undefined;
    const count = this.counts[step];
    return this.#sums[step] / count + this.#losses[step] / count;
  }
}
