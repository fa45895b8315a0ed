import { requestJson } from '../../../core/http.js';
import { queryInstant, seriesText, type PromSeries } from '../../../data/promql.js';
import { queryParts, type QueryPart, type TreeNode } from './promql-parts.js';

/** What a part of a query returns at one instant. */
export interface PartResult {
  readonly seriesCount: number;
  /** Value of a number; undefined: there are series. */
  readonly value: number | undefined;
  /** Labels and how many values each has, those with most values first. */
  readonly labels: readonly (readonly [label: string, count: number])[];
  /** Whether there are more series than those whose labels were counted. */
  readonly isPartial: boolean;
  /** The first series and its value; undefined if there is none. */
  readonly sample: { readonly series: string; readonly value: number | undefined } | undefined;
  readonly samplesRead: number | undefined;
  readonly seconds: number | undefined;
}

const SERIES_MAX = 1000;

/** Lets the server parse a query. @throws RequestError, also for a query that cannot be parsed. */
export async function loadParts(query: string, signal: AbortSignal): Promise<QueryPart> {
  const form = { query, positions: 'true' };
  const { data } = await requestJson<{ readonly data: TreeNode }>('v1/prometheus/api/v1/parse_query', { form, signal });
  return queryParts(data, query);
}

/** Evaluates a part of a query at one instant. @throws RequestError. */
export async function evaluatePart(
  { text, isRange }: QueryPart,
  atMs: number,
  signal: AbortSignal,
): Promise<PartResult> {
  // The newest sample of each series: all of them may be very many.
  const query = isRange ? `last_over_time(${text}\n)` : text;
  const { series, resultType, stats } = await queryInstant(query, atMs, {
    signal,
    limit: SERIES_MAX + 1,
    hasStats: true,
  });
  const isPartial = series.length > SERIES_MAX;
  const isNumber = resultType === 'scalar';
  const first = series[0] as PromSeries | undefined;
  return {
    seriesCount: isPartial ? await countSeries(query, atMs, signal) : series.length,
    value: isNumber ? first?.values[0] : undefined,
    labels: labelCounts(series),
    isPartial,
    sample: isNumber || first === undefined ? undefined : { series: seriesText(first.labels), value: first.values[0] },
    samplesRead: stats?.samples.samplesRead,
    seconds: stats?.timings['evalTotalTime'],
  };
}

async function countSeries(query: string, atMs: number, signal: AbortSignal): Promise<number> {
  const { series } = await queryInstant(`count(${query}\n)`, atMs, { signal });
  return series[0]?.values[0] ?? 0;
}

function labelCounts(series: readonly PromSeries[]): readonly (readonly [label: string, count: number])[] {
  const values = new Map<string, Set<string>>();
  for (const { labels } of series) {
    for (const [label, value] of Object.entries(labels)) {
      if (label === '__name__') continue;
      const found = values.get(label);
      if (found === undefined) values.set(label, new Set([value]));
      else found.add(value);
    }
  }
  const counts = Array.from(values, ([label, found]) => [label, found.size] as const);
  return counts.sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}
