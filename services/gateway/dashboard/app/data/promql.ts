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
}

interface PromReply {
  readonly data: { readonly resultType: string; readonly result: unknown };
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

type Sample = readonly [number, string];

interface ReplySeries {
  readonly metric: SeriesLabels;
  readonly value?: Sample;
  readonly values?: readonly Sample[];
}

/** How a query is evaluated. */
interface PromOptions {
  readonly signal?: AbortSignal | undefined;
  /** Series that the reply has at most. */
  readonly limit?: number;
  /** ID under which the query can be found and killed while it runs. */
  readonly queryId?: string;
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

/** Returns the labels of a series as a selector: `up{job="node"}`. */
export function seriesText(labels: SeriesLabels): string {
  const { __name__: name = '', ...rest } = labels;
  const pairs = Object.entries(rest).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return pairs.length === 0 && name !== '' ? name : `${name}{${pairs.join(', ')}}`;
}

async function evaluate(
  path: string,
  form: Record<string, string>,
  { signal, limit, queryId }: PromOptions,
): Promise<PromResult> {
  const all = { ...form, db: database(), ...(limit === undefined ? {} : { limit: String(limit) }) };
  const headers = queryId === undefined ? {} : { 'x-almanac-query-id': queryId };
  const reply = await requestJson<PromReply>(`v1/prometheus/api/v1/${path}`, { form: all, headers, signal });
  const { data, warnings = [], infos = [] } = reply;
  return { series: seriesOf(data), warnings, infos, resultType: data.resultType };
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
