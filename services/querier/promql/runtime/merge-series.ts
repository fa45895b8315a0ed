import { AlmanacError } from '#shared/errors/almanac-error';

import { SERIES_WORK } from './env.js';
import type { Histogram } from '../histogram/histogram.js';
import type { QueryLimits } from './limits.js';
import { NO_SAMPLE, putSample, sampleAt, type MutableSeries, type SampleSeries, type StepSeries } from './samples.js';

/**
 * Merges series with equal labels.
 *
 * @throws `execute_query` if two of them have a sample at the same step.
 */
export async function mergedSeries(vector: readonly StepSeries[], limits: QueryLimits): Promise<StepSeries[]> {
  const byLabels = new Map<string, StepSeries>();
  for (const series of vector) {
    limits.spend(SERIES_WORK);
    if (limits.isDue) await limits.yield();
    const before = byLabels.get(series.labels.key);
    byLabels.set(series.labels.key, before === undefined ? series : await merged(before, series, limits));
  }
  return [...byLabels.values()];
}

/** Removes the metric names that are marked as dropped. @throws as `mergedSeries`. */
export async function withoutDroppedNames(vector: readonly StepSeries[], limits: QueryLimits): Promise<StepSeries[]> {
  const bare: StepSeries[] = [];
  for (const series of vector) {
    limits.spend(SERIES_WORK);
    if (limits.isDue) await limits.yield();
    bare.push(series.isNameDropped ? { ...series, labels: series.labels.bare, isNameDropped: false } : series);
  }
  return mergedSeries(bare, limits);
}

/** Removes the metric names that are marked as dropped, from samples. @throws as `mergedSeries`. */
export async function withoutDroppedSampleNames(
  all: readonly SampleSeries[],
  limits: QueryLimits,
): Promise<SampleSeries[]> {
  const byLabels = new Map<string, SampleSeries>();
  for (const series of all) {
    limits.spend(SERIES_WORK);
    if (limits.isDue) await limits.yield();
    const labels = series.isNameDropped === true ? series.labels.bare : series.labels;
    const before = byLabels.get(labels.key);
    const named = { ...series, labels, isNameDropped: false };
    byLabels.set(labels.key, before === undefined ? named : await mergedSamples(before, named, limits));
  }
  return [...byLabels.values()];
}

/** Merges the samples of two series by time. */
async function mergedSamples(one: SampleSeries, other: SampleSeries, limits: QueryLimits): Promise<SampleSeries> {
  const count = one.times.length + other.times.length;
  const merged = { times: new Float64Array(count), values: new Float64Array(count) };
  const histograms = new Array<Histogram | undefined>(count);
  let [left, right] = [0, 0];
  await limits.inSlices(count, (from, to) => {
    for (let i = from; i < to; i++) {
      const isLeft = right === other.times.length || one.times[left] < other.times[right];
      if (!isLeft && left < one.times.length && one.times[left] === other.times[right]) throw sameLabels();
      const source = isLeft ? one : other;
      const at = isLeft ? left++ : right++;
      merged.times[i] = source.times[at];
      merged.values[i] = source.values[at];
      histograms[i] = source.histograms?.[at];
    }
  });
  return { labels: one.labels, ...merged, histograms };
}

function sameLabels(): AlmanacError {
  return new AlmanacError('execute_query', 'vector cannot contain metrics with the same labelset');
}

async function merged(one: StepSeries, other: StepSeries, limits: QueryLimits): Promise<StepSeries> {
  const { labels, isNameDropped } = one;
  const base = { labels, kinds: one.kinds.slice(), values: one.values.slice(), isNameDropped };
  const result: MutableSeries = one.histograms === undefined ? base : { ...base, histograms: [...one.histograms] };
  await limits.inSlices(result.kinds.length, (from, to) => {
    for (let step = from; step < to; step++) {
      if (other.kinds[step] === NO_SAMPLE) continue;
      if (result.kinds[step] !== NO_SAMPLE) throw sameLabels();
      putSample(result, step, sampleAt(other, step));
    }
  });
  return result;
}
