import { AlmanacError } from '#shared/errors/almanac-error';

import {
  HISTOGRAM,
  histogramAt,
  NONE,
  setFloat,
  setHistogram,
  type MutableSeries,
  type SampleSeries,
  type StepSeries,
} from './samples.js';

/**
 * Makes one series of those with equal labels, which may not have values at the same step.
 *
 * @throws `execute_query`.
 */
export function mergedSeries(vector: readonly StepSeries[]): StepSeries[] {
  const byLabels = new Map<string, StepSeries>();
  for (const series of vector) {
    const before = byLabels.get(series.labels.key);
    byLabels.set(series.labels.key, before === undefined ? series : merged(before, series));
  }
  return [...byLabels.values()];
}

/** The vector without the names that were to be dropped. @throws as `mergedSeries`. */
export function withoutDroppedNames(vector: readonly StepSeries[]): StepSeries[] {
  return mergedSeries(
    vector.map((series) => {
      if (!series.isNameDropped) return series;
      return { ...series, labels: series.labels.bare, isNameDropped: false };
    }),
  );
}

/** Samples without the names that were to be dropped. @throws as `mergedSeries`. */
export function withoutDroppedSampleNames(all: readonly SampleSeries[]): SampleSeries[] {
  const byLabels = new Map<string, SampleSeries>();
  for (const series of all) {
    const labels = series.isNameDropped === true ? series.labels.bare : series.labels;
    const before = byLabels.get(labels.key);
    const named = { ...series, labels, isNameDropped: false };
    byLabels.set(labels.key, before === undefined ? named : mergedSamples(before, named));
  }
  return [...byLabels.values()];
}

function mergedSamples(one: SampleSeries, other: SampleSeries): SampleSeries {
  const all = [one, other].flatMap(({ times, values, histograms }) =>
    Array.from(times, (timeMs, i) => ({ timeMs, value: values[i], histogram: histograms?.[i] })),
  );
  all.sort((a, b) => a.timeMs - b.timeMs);
  if (all.some(({ timeMs }, i) => i > 0 && all[i - 1].timeMs === timeMs)) throw sameLabels();
  return {
    labels: one.labels,
    times: Float64Array.from(all, ({ timeMs }) => timeMs),
    values: Float64Array.from(all, ({ value }) => value),
    histograms: all.map(({ histogram }) => histogram),
  };
}

function sameLabels(): AlmanacError {
  return new AlmanacError('execute_query', 'vector cannot contain metrics with the same labelset');
}

function merged(one: StepSeries, other: StepSeries): StepSeries {
  const { labels, isNameDropped } = one;
  const base = { labels, kinds: one.kinds.slice(), values: one.values.slice(), isNameDropped };
  const result: MutableSeries = one.histograms === undefined ? base : { ...base, histograms: [...one.histograms] };
  for (let step = 0; step < result.kinds.length; step++) {
    if (other.kinds[step] === NONE) continue;
    if (result.kinds[step] !== NONE) throw sameLabels();
    if (other.kinds[step] === HISTOGRAM) setHistogram(result, step, histogramAt(other, step));
    else setFloat(result, step, other.values[step]);
  }
  return result;
}
