import { requestJson } from '../core/http.js';
import type { TimeRange } from '../time/range.js';
import { database } from './sql.js';

/** Labels of a series, the name among them as `__name__`. */
export type SeriesLabels = Readonly<Record<string, string>>;

/** A series of a range query. */
export interface PromSeries {
  readonly labels: SeriesLabels;
  /** Milliseconds since 1970. */
  readonly times: Float64Array;
  readonly values: Float64Array;
}

/** The result of a query, and what the server remarks on it. */
export interface PromResult {
  readonly series: readonly PromSeries[];
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  /** Of an instant query: `vector`, `scalar`, `string` or `matrix`. */
  readonly resultType: string;
  /** What the evaluation read, if that was requested. */
  readonly stats: PromStats | undefined;
}

/** What an evaluation read, and how long it took. */
export interface PromStats {
  /** Seconds of each part, by name. */
  readonly timings: Readonly<Record<string, number>>;
  readonly samples: {
    /** Samples that all steps together looked at. */
    readonly totalQueryableSamples: number;
    /** Samples that were read, those of several steps once. */
    readonly samplesRead: number;
    /** Largest number of samples in memory. */
    readonly peakSamples: number;
  };
}

/** How a query is evaluated. */
export interface PromOptions {
  readonly signal?: AbortSignal | undefined;
  /** Series that the reply has at most. */
  readonly limit?: number;
  /** Whether the server counts what it reads. */
  readonly hasStats?: boolean;
  /** ID under which the query can be found and killed while it runs. */
  readonly queryId?: string;
}

/** An example of what a series has counted, such as a request with the ID of its trace. */
export interface PromExemplar {
  readonly timeMs: number;
  readonly value: number;
  readonly labels: SeriesLabels;
  /** Labels of the series. */
  readonly series: SeriesLabels;
  /** Whether its value is one of the quantity that the query returns, and not of what that counts. */
  readonly isComparable: boolean;
}

interface PromReply {
  readonly data: { readonly resultType: string; readonly result: unknown; readonly stats?: PromStats };
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

type Sample = readonly [number, string];

interface ReplySeries {
  readonly metric: SeriesLabels;
  readonly value?: Sample;
  readonly values?: readonly Sample[];
}

/** Evaluates a query at each step of a range. @throws RequestError. */
export async function queryRange(
  query: string,
  { fromMs, toMs }: TimeRange,
  stepSeconds: number,
  options: PromOptions = {},
): Promise<PromResult> {
  const form = { query, start: String(fromMs / 1000), end: String(toMs / 1000), step: String(stepSeconds) };
  return evaluate('query_range', form, options);
}

/** Evaluates a query at one instant, milliseconds since 1970. @throws RequestError. */
export async function queryInstant(query: string, timeMs: number, options: PromOptions = {}): Promise<PromResult> {
  return evaluate('query', { query, time: String(timeMs / 1000) }, options);
}

/** Calls a path of the Prometheus API that replies with `data`. */
export async function promData<T>(path: string, parameters: URLSearchParams, signal?: AbortSignal): Promise<T> {
  if (!parameters.has('db')) parameters.set('db', database());
  return (await requestJson<{ readonly data: T }>(`v1/prometheus/api/v1/${path}`, { parameters, signal })).data;
}

interface ReplyExemplars {
  readonly seriesLabels: SeriesLabels;
  readonly exemplars: readonly { readonly labels: SeriesLabels; readonly value: string; readonly timestamp: number }[];
}

/** Functions of histograms whose results are values of observations. */
const VALUES = /\bhistogram_(?:quantile|avg)\s*\(/;
/** Functions whose results are numbers of observations, or changes. */
const COUNTS = /\b(?:i?rate|increase|i?delta|deriv|changes|resets|count\w*|histogram_count|histogram_fraction)\b/;

/** Returns the exemplars of all series that a query selects. @throws RequestError. */
export async function queryExemplars(
  query: string,
  { fromMs, toMs }: TimeRange,
  signal: AbortSignal,
): Promise<PromExemplar[]> {
  const form = { query, start: String(fromMs / 1000), end: String(toMs / 1000), db: database() };
  const path = 'v1/prometheus/api/v1/query_exemplars';
  const { data } = await requestJson<{ readonly data: readonly ReplyExemplars[] }>(path, { form, signal });
  const isComparable = VALUES.test(query) || !COUNTS.test(query);
  return data.flatMap(({ seriesLabels: series, exemplars }) =>
    exemplars.map(({ labels, value, timestamp }) => {
      return { timeMs: Math.round(timestamp * 1000), value: promNumber(value), labels, series, isComparable };
    }),
  );
}

/** Returns the labels of a series as a selector: `up{job="node"}`. */
export function seriesText(labels: SeriesLabels): string {
  const { __name__: name = '', ...rest } = labels;
  const pairs = Object.entries(rest).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return pairs.length === 0 && name !== '' ? name : `${name}{${pairs.join(', ')}}`;
}

async function evaluate(
  path: string,
  form: Record<string, string>,
  { signal, limit, queryId, hasStats = false }: PromOptions,
): Promise<PromResult> {
  const all = {
    ...form,
    db: database(),
    ...(limit === undefined ? {} : { limit: String(limit) }),
    ...(hasStats ? { stats: 'all' } : {}),
  };
  const headers = queryId === undefined ? {} : { 'x-almanac-query-id': queryId };
  const reply = await requestJson<PromReply>(`v1/prometheus/api/v1/${path}`, { form: all, headers, signal });
  const { data, warnings = [], infos = [] } = reply;
  return { series: seriesOf(data), warnings, infos, resultType: data.resultType, stats: data.stats };
}

function seriesOf({ resultType, result }: PromReply['data']): PromSeries[] {
  if (resultType === 'scalar' || resultType === 'string') return [samplesOf({ metric: {}, value: result as Sample })];
  return (result as readonly ReplySeries[]).map(samplesOf);
}

function samplesOf({ metric, value, values }: ReplySeries): PromSeries {
  const samples = values ?? (value === undefined ? [] : [value]);
  const times = new Float64Array(samples.length);
  const numbers = new Float64Array(samples.length);
  samples.forEach(([seconds, text], i) => {
    times[i] = Math.round(seconds * 1000);
    numbers[i] = promNumber(text);
  });
  return { labels: metric, times, values: numbers };
}

function promNumber(text: string): number {
  if (text === '+Inf') return Infinity;
  if (text === '-Inf') return -Infinity;
  return Number(text);
}
