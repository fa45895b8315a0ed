import { AlmanacError } from '#shared/errors/almanac-error';

import { SERIES_WORK } from './env.js';
import type { Histogram } from '../histogram/histogram.js';
import type { QueryLimits } from './limits.js';
import { floatSeries, NO_SAMPLE, putSample, sampleAt, type SampleSeries, type StepSeries } from './samples.js';

/**
 * Merges series with equal labels.
 *
 * @throws `execute_query` if two of them have a sample at the same step.
 */
export async function mergedSeries(
  vector: readonly StepSeries[],
  { scheduler }: Pick<QueryLimits, 'scheduler'>,
): Promise<StepSeries[]> {
  const byLabels = new Map<string, StepSeries>();
  await scheduler.each(vector, SERIES_WORK, (series) => {
    const { key } = series.labels;
    const before = byLabels.get(key);
    if (before !== undefined) scheduler.spend(series.kinds.length);
    byLabels.set(key, before === undefined ? series : merged(before, series));
  });
  return [...byLabels.values()];
}

/** Removes the metric names that are marked as dropped. @throws as `mergedSeries`. */
export async function withoutDroppedNames(vector: readonly StepSeries[], limits: QueryLimits): Promise<StepSeries[]> {
  const bare: StepSeries[] = [];
  await limits.scheduler.each(vector, SERIES_WORK, (series) => {
    bare.push(series.isNameDropped ? withoutName(series) : series);
  });
  return mergedSeries(bare, limits);
}

function withoutName({ labels, kinds, values, histograms, texts }: StepSeries): StepSeries {
  const bare = floatSeries(labels.bare, kinds, values, false, texts);
  bare.histograms = histograms;
  return bare;
}

/** Removes the metric names that are marked as dropped, from samples. @throws as `mergedSeries`. */
export async function withoutDroppedSampleNames(
  all: readonly SampleSeries[],
  { scheduler }: QueryLimits,
): Promise<SampleSeries[]> {
  const byLabels = new Map<string, SampleSeries>();
  await scheduler.each(all, SERIES_WORK, (series) => {
    const labels = series.isNameDropped === true ? series.labels.bare : series.labels;
    const before = byLabels.get(labels.key);
    const named = { ...series, labels, isNameDropped: false };
    if (before !== undefined) scheduler.spend(before.times.length + series.times.length);
    byLabels.set(labels.key, before === undefined ? named : mergedSamples(before, named));
  });
  return [...byLabels.values()];
}

/** Merges the samples of two series by time. */
function mergedSamples(one: SampleSeries, other: SampleSeries): SampleSeries {
  const count = one.times.length + other.times.length;
  const merged = { times: new Float64Array(count), values: new Float64Array(count) };
  const histograms = new Array<Histogram | undefined>(count);
  let [left, right] = [0, 0];
  for (let i = 0; i < count; i++) {
    const isLeft = right === other.times.length || one.times[left] < other.times[right];
    if (!isLeft && left < one.times.length && one.times[left] === other.times[right]) throw sameLabels();
    const source = isLeft ? one : other;
    const at = isLeft ? left++ : right++;
    merged.times[i] = source.times[at];
    merged.values[i] = source.values[at];
    histograms[i] = source.histograms?.[at];
  }
  return { labels: one.labels, ...merged, histograms };
}

function sameLabels(): AlmanacError {
  return new AlmanacError('execute_query', 'vector cannot contain metrics with the same labelset');
}

function merged(one: StepSeries, other: StepSeries): StepSeries {
  const { labels, isNameDropped } = one;
  const result = floatSeries(labels, one.kinds.slice(), one.values.slice(), isNameDropped);
  if (one.histograms !== undefined) result.histograms = [...one.histograms];
  for (let step = 0; step < result.kinds.length; step++) {
    if (other.kinds[step] === NO_SAMPLE) continue;
    if (result.kinds[step] !== NO_SAMPLE) throw sameLabels();
    putSample(result, step, sampleAt(other, step));
  }
  return result;
}
