import { START_SECONDS, STEP_SECONDS, type TsbsData, type TsbsShape } from './generator.js';
import { HIGH_CPU_ABOVE, isoTime, LAST_MINUTES, type QuestionShape, type TsbsQuery } from './queries.js';
import { answer } from './reference.js';
import type { Question } from '../server.js';

/** The query for InfluxDB 1.x. */
export function toInfluxQl(query: TsbsQuery): Question {
  return { path: '/query?db=bench&epoch=ns', form: { q: INFLUXQL_OF_SHAPE[query.shape](query) } };
}

const INFLUXQL_OF_SHAPE: Readonly<Record<QuestionShape, (query: TsbsQuery) => string>> = {
  'max-per-minute': (query) =>
    `SELECT ${calls('max', query)} FROM cpu WHERE ${influxWhere(query)} GROUP BY time(1m) fill(none)`,
  'max-per-hour': (query) =>
    `SELECT ${calls('max', query)} FROM cpu WHERE ${influxWhere(query)} GROUP BY time(1h) fill(none)`,
  'mean-per-host-and-hour': (query) =>
    `SELECT ${calls('mean', query)} FROM cpu WHERE ${influxWhere(query)} GROUP BY time(1h), hostname fill(none)`,
  'high-cpu': (query) => `SELECT * FROM cpu WHERE usage_user > ${HIGH_CPU_ABOVE} AND ${influxWhere(query)}`,
  'last-row': () => 'SELECT * FROM cpu GROUP BY hostname ORDER BY time DESC LIMIT 1',
  'last-five-minutes': (query) =>
    `SELECT ${calls('max', query)} FROM cpu WHERE time < '${isoTime(query.to)}'` +
    ` GROUP BY time(1m) fill(none) ORDER BY time DESC LIMIT ${LAST_MINUTES}`,
};

function calls(name: string, query: TsbsQuery): string {
  return query.fields.map((field) => `${name}(${field})`).join(', ');
}

function influxWhere(query: TsbsQuery): string {
  const hosts = query.hosts.map((host) => `hostname = 'host_${host}'`).join(' OR ');
  const range = `time >= '${isoTime(query.from)}' AND time < '${isoTime(query.to)}'`;
  return query.choosesHosts ? `(${hosts}) AND ${range}` : range;
}

/** The query in MetricsQL. Windows end at each step there, so buckets are shifted against the SQL version. */
export function toMetricsQl(query: TsbsQuery, shape: TsbsShape): Question {
  const dataEnd = START_SECONDS + (shape.steps - 1) * STEP_SECONDS;
  const names = metricSelector(query);
  switch (query.shape) {
    case 'max-per-minute':
      return metricsRange(`max(max_over_time(${names}[1m])) by (__name__)`, query.from, query.to, 60);
    case 'max-per-hour':
      return metricsRange(`max(max_over_time(${names}[1h])) by (__name__)`, query.from, query.to, 3600);
    case 'mean-per-host-and-hour':
      return metricsRange(`avg(avg_over_time(${names}[1h])) by (__name__, hostname)`, query.from, query.to, 3600);
    case 'high-cpu': {
      const hosts = query.choosesHosts ? `{${hostMatcher(query)}}` : '';
      const text = `${names} and on(hostname) (cpu_usage_user${hosts} > ${HIGH_CPU_ABOVE})`;
      const first = Math.ceil(query.from / STEP_SECONDS) * STEP_SECONDS;
      return metricsRange(text, first, Math.min(query.to - 1, dataEnd), STEP_SECONDS);
    }
    case 'last-row':
      return { path: '/api/v1/query', form: { query: names, time: String(dataEnd) } };
    case 'last-five-minutes':
      return metricsRange(`max(max_over_time(${names}[1m]))`, query.to - 60 * (LAST_MINUTES - 1), query.to, 60);
  }
}

function metricsRange(text: string, from: number, to: number, step: number): Question {
  return { path: '/api/v1/query_range', form: { query: text, start: String(from), end: String(to), step: `${step}s` } };
}

function metricSelector(query: TsbsQuery): string {
  const names = `__name__=~"cpu_(${query.fields.join('|')})"`;
  return query.choosesHosts ? `{${names},${hostMatcher(query)}}` : `{${names}}`;
}

function hostMatcher(query: TsbsQuery): string {
  return `hostname=~"${query.hosts.map((host) => `host_${host}`).join('|')}"`;
}

interface InfluxAnswer {
  readonly error?: string;
  readonly results?: readonly {
    readonly error?: string;
    readonly series?: readonly { readonly values: readonly unknown[] }[];
  }[];
}

/** InfluxDB's buckets are those of the reference, so the number of rows has to agree. */
export function checkInflux(query: TsbsQuery, data: TsbsData, answerText: string): string {
  const body = JSON.parse(answerText) as InfluxAnswer;
  const result = body.results?.[0];
  const error = body.error ?? result?.error;
  if (error !== undefined) return error;
  const rows = (result?.series ?? []).reduce((sum, series) => sum + series.values.length, 0);
  const expected = answer(query, data).rows.length;
  return rows === expected ? '' : `${rows} rows instead of ${expected}`;
}

interface MetricsAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data?: { readonly result: readonly unknown[] };
}

/** VictoriaMetrics' steps are not the reference's buckets: only the number of series is looked at. */
export function checkMetrics(query: TsbsQuery, data: TsbsData, answerText: string): string {
  const body = JSON.parse(answerText) as MetricsAnswer;
  if (body.status !== 'success') return body.error ?? body.status;
  const isPerHost = query.shape === 'mean-per-host-and-hour' || query.shape === 'last-row';
  const expected = query.fields.length * (isPerHost ? data.shape.hosts : 1);
  const series = body.data?.result.length ?? 0;
  if (query.shape === 'high-cpu') {
    const isEmpty = answer(query, data).rows.length === 0;
    return isEmpty === (series === 0) ? '' : `${series} series`;
  }
  return series === expected ? '' : `${series} series instead of ${expected}`;
}
