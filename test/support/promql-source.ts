import { runQuery, type PromResult } from '#services/querier/promql/index';
import type { SeriesSource } from '#services/querier/promql/runtime/env';
import type { Histogram } from '#services/querier/promql/histogram/histogram';
import { Labels, printLabels } from '#services/querier/series/labels';
import { QueryLimits, type QueryLimitOptions } from '#services/querier/promql/runtime/limits';
import { compileMatcher } from '#services/querier/series/matcher';
import type { SampleSeries } from '#services/querier/promql/runtime/samples';
import { systemClock } from '#shared/clock/clock';

/** A sample of a test: a number, a histogram, the end of the series, or nothing. */
export type TestSample = number | Histogram | 'stale' | undefined;

/** A series with a sample every `everyS` seconds from 0 on; `name` is the metric's. */
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

/** A source of these series, which are all in memory. */
export function memorySource(all: readonly SampleSeries[]): SeriesSource {
  return {
    select(matchers, fromMs, toMs) {
      const tests = matchers.map((matcher) => ({ name: matcher.name, test: compileMatcher(matcher) }));
      const fits = ({ labels }: SampleSeries): boolean => tests.every(({ name, test }) => test(labels.get(name)));
      return Promise.resolve(all.filter(fits).map((one) => between(one, fromMs, toMs)));
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

/** When a test asks, in seconds; without a step it is an instant query. */
export interface AskedAt {
  readonly atS?: number;
  readonly endS?: number;
  readonly stepS?: number;
}

/** Asks a query of some series, by default at 0. */
export function ask(
  all: readonly SampleSeries[],
  query: string,
  { atS = 0, endS = atS, stepS = 0 }: AskedAt = {},
  limits: Partial<QueryLimitOptions> = {},
): Promise<PromResult> {
  const times = { startMs: atS * 1000, endMs: endS * 1000, stepMs: stepS * 1000 };
  const asked = { query, ...times, lookbackMs: 300_000, defaultStepMs: 60_000, stepsMax: 11_000 };
  const { signal } = new AbortController();
  const options = { samplesMax: 50_000_000, timeoutMs: 120_000, signal, clock: systemClock, ...limits };
  return runQuery(asked, memorySource(all), new QueryLimits(options));
}

/** The same as a plain record: labels to values, `undefined` where there is none; histograms by their count. */
export async function answer(
  all: readonly SampleSeries[],
  query: string,
  at?: AskedAt,
): Promise<Record<string, unknown>> {
  const { value } = await ask(all, query, at);
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
