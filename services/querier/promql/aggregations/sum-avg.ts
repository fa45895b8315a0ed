import { RunningMean } from '../common/compensated-sum.js';
import type { Histogram } from '../histogram/histogram.js';
import { metricName, MIXED_KINDS } from '../runtime/annotations.js';
import { combineHistograms } from '../runtime/combine-histograms.js';
import {
  FLOAT_SAMPLE,
  HISTOGRAM_SAMPLE,
  histogramAt,
  NO_SAMPLE,
  setHistogram,
  type MutableSeries,
  type StepSeries,
} from '../runtime/samples.js';
import type { Units } from '../runtime/scheduler.js';
import type { AggregationCall, GroupFold, PromAggregation } from './aggregation.js';

/** Sum of the floats or of the histograms of each group. */
export const SUM: PromAggregation = {
  name: 'sum',
  doc: 'Sum of floats or of histograms.',
  body: { kind: 'reduce', begin: (call, series) => new Total(call, series, false) },
};

/** Mean of the floats or of the histograms of each group. */
export const AVG: PromAggregation = {
  name: 'avg',
  doc: 'Mean of floats or of histograms.',
  body: { kind: 'reduce', begin: (call, series) => new Total(call, series, true) },
};

/** Sums or means of floats or histograms, one per step. */
class Total implements GroupFold {
  readonly #call: AggregationCall;
  readonly #series: readonly StepSeries[];
  readonly #isMean: boolean;
  readonly #sums: Sums;
  readonly #withHistograms: StepSeries[] = [];

  constructor(call: AggregationCall, series: readonly StepSeries[], isMean: boolean) {
    this.#call = call;
    this.#series = series;
    this.#isMean = isMean;
    this.#sums = new Sums(call.env.steps);
  }

  get needsSeries(): boolean {
    return this.#isMean && this.#sums.isInfinite;
  }

  add(series: StepSeries): void {
    this.#sums.add(series);
    if (series.histograms !== undefined) this.#withHistograms.push(series);
  }

  *finish(result: MutableSeries): Units<void> {
    const sums = this.#sums;
    const isMean = this.#isMean;
    const { expr, env } = this.#call;
    for (let step = 0; step < env.steps; step++) {
      const histograms = histogramsAt(this.#withHistograms, step);
      if (sums.counts[step] > 0 && histograms.length > 0) {
        env.annotations.warn(`${MIXED_KINDS} for aggregation`, expr.expr);
      } else if (sums.counts[step] > 0) {
        result.kinds[step] = FLOAT_SAMPLE;
        result.values[step] = isMean ? (sums.mean(step) ?? meanAt(this.#series, step)) : sums.sum(step);
      } else if (histograms.length > 0) {
        env.limits.spend(this.#withHistograms.length);
        if (env.scheduler.isDue) yield;
        const name = metricName(this.#series.find(({ kinds }) => kinds[step] !== NO_SAMPLE)?.labels);
        const combined = yield* combineHistograms(histograms, isMean, { env, at: expr.expr, name });
        if (combined !== undefined) setHistogram(result, step, combined);
      }
    }
  }
}

const NO_HISTOGRAMS: readonly Histogram[] = [];

function histogramsAt(series: readonly StepSeries[], step: number): readonly Histogram[] {
  if (series.length === 0) return NO_HISTOGRAMS;
  return series.filter(({ kinds }) => kinds[step] === HISTOGRAM_SAMPLE).map((one) => histogramAt(one, step));
}

/** Mean of values whose sum overflows. */
function meanAt(series: readonly StepSeries[], step: number): number {
  const mean = new RunningMean();
  for (const { kinds, values } of series) if (kinds[step] === FLOAT_SAMPLE) mean.add(values[step]);
  return mean.value;
}

/** Neumaier sums, one per step. Adds series by series, the order in which the values are in memory. */
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

  get isInfinite(): boolean {
    return this.#sums.some((sum) => !Number.isFinite(sum));
  }

  sum(step: number): number {
    return this.#sums[step] + this.#losses[step];
  }

  /** Returns undefined where the sum is not finite; the mean may be. */
  mean(step: number): number | undefined {
    if (!Number.isFinite(this.#sums[step])) return undefined;
    const count = this.counts[step];
    return this.#sums[step] / count + this.#losses[step] / count;
  }
}
