import { runQuery, type PromResult } from '#services/querier/promql/index';
import type { SeriesSource } from '#services/querier/promql/runtime/env';
import type { Histogram } from '#services/querier/promql/histogram/histogram';
import { Labels, printLabels } from '#services/querier/series/labels';
import { QueryLimits, type QueryLimitOptions } from '#services/querier/promql/runtime/limits';
import { compileMatcher } from '#services/querier/series/matcher';
import type { SampleSeries } from '#services/querier/promql/runtime/samples';
import { systemClock } from '#shared/clock/clock';

/** A sample of a test: a float, a histogram, a staleness marker, or none. */
export type TestSample = number | Histogram | 'stale' | undefined;

/** Returns a series with a sample every `everyS` seconds from 0 on. @param name of the metric. */
export function series(
  name: string,
  labels: Readonly<Record<string, string>>,
  samples: readonly TestSample[],
  everyS = 60,
): SampleSeries {
  const present = samples
    .map((sample, i) => ({ sample, timeMs: i * everyS * 1000 }))
    .filter(({ sample }) => sample !== undefined);
  const base = {
    labels: Labels.of([['__name__', name], ...Object.entries(labels)]),
    times: Float64Array.from(present, ({ timeMs }) => timeMs),
    values: Float64Array.from(present, ({ sample }) => (typeof sample === 'number' ? sample : 0)),
    stale: Uint8Array.from(present, ({ sample }) => (sample === 'stale' ? 1 : 0)),
  };
  const histograms = present.map(({ sample }) => (typeof sample === 'object' ? sample : undefined));
  return histograms.some((it) => it !== undefined) ? { ...base, histograms } : base;
}

/** Returns a source of series in memory. */
export function memorySource(all: readonly SampleSeries[]): SeriesSource {
  return {
    select(matchers, fromMs, toMs) {
      const tests = matchers.map((matcher) => ({ name: matcher.name, test: compileMatcher(matcher) }));
      const matches = ({ labels }: SampleSeries): boolean => tests.every(({ name, test }) => test(labels.get(name)));
      return Promise.resolve(all.filter(matches).map((one) => between(one, fromMs, toMs)));
    },
  };
}

function between(
  { labels, times, values, histograms, stale, startTimes }: SampleSeries,
  fromMs: number,
  toMs: number,
): SampleSeries {
  const from = times.findIndex((time) => time > fromMs);
  const last = times.findLastIndex((time) => time <= toMs);
  const to = from < 0 ? 0 : Math.max(from, last + 1);
  const start = Math.max(from, 0);
  return {
    ...{ labels, times: times.subarray(start, to), values: values.subarray(start, to) },
    ...(histograms === undefined ? {} : { histograms: histograms.slice(start, to) }),
    ...(stale === undefined ? {} : { stale: stale.subarray(start, to) }),
    ...(startTimes === undefined ? {} : { startTimes: startTimes.subarray(start, to) }),
  };
}

/** Evaluation times in seconds; without a step it is an instant query. */
export interface EvaluationTimes {
  readonly atS?: number;
  readonly endS?: number;
  readonly stepS?: number;
}

/** Runs a query over series, by default at time 0. */
export function runPromql(
  all: readonly SampleSeries[],
  query: string,
  { atS = 0, endS = atS, stepS = 0 }: EvaluationTimes = {},
  limits: Partial<QueryLimitOptions> = {},
): Promise<PromResult> {
  const times = { startMs: atS * 1000, endMs: endS * 1000, stepMs: stepS * 1000 };
  const promQuery = { query, ...times, lookbackMs: 300_000, defaultStepMs: 60_000, stepsMax: 11_000 };
  const { signal } = new AbortController();
  const options = { samplesMax: 50_000_000, timeoutMs: 120_000, signal, clock: systemClock, ...limits };
  return runQuery(promQuery, memorySource(all), new QueryLimits(options));
}

/** Runs a query and returns labels with values, `undefined` for no sample; histograms as their count. */
export async function evaluatePromql(
  all: readonly SampleSeries[],
  query: string,
  at?: EvaluationTimes,
): Promise<Record<string, unknown>> {
  const { value } = await runPromql(all, query, at);
  if (value.kind === 'scalar') return { scalar: [...value.values] };
  if (value.kind === 'string') return { string: value.value };
  if (value.kind === 'matrix') {
    return Object.fromEntries(value.series.map((one) => [printLabels(one.labels), pairs(one)]));
  }
  const rows = value.series.map(({ labels, kinds, values, histograms }) => {
    const at = (_: number, step: number): unknown =>
      kinds[step] === 0 ? undefined : kinds[step] === 1 ? values[step] : { count: histograms?.[step]?.count };
    return [printLabels(labels), Array.from(kinds, at)];
  });
  return Object.fromEntries(rows) as Record<string, unknown>;
}

function pairs({ times, values, histograms }: SampleSeries): unknown[] {
  return Array.from(times, (time, i) => [time / 1000, histograms?.[i]?.count ?? values[i]]);
}
