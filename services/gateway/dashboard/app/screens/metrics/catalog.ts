import { promData } from '../../data/promql.js';
import { listMetrics, type ListedMetric, type MetadataReply } from './search-metrics.js';

/** Statistics about the series of a database, as the Prometheus API replies. */
export interface TsdbStatus {
  readonly headStats: { readonly numSeries: number; readonly numLabelPairs: number };
  readonly seriesCountByMetricName: readonly NamedCount[];
  readonly labelValueCountByLabelName: readonly NamedCount[];
  readonly seriesCountByLabelValuePair: readonly NamedCount[];
}

/** A row of statistics. */
export interface NamedCount {
  readonly name: string;
  readonly value: number;
}

/** All metrics of the database. */
export interface MetricCatalog {
  readonly metrics: readonly ListedMetric[];
  /** Why types, help or counts are missing; empty if they are not. */
  readonly fault: string;
}

/** More metrics than this cannot be searched by typing. */
const METRICS_MAX = 100_000;
const COUNTED_MAX = 10_000;

/** Loads names, types, help and numbers of series. */
export async function loadCatalog(signal: AbortSignal): Promise<MetricCatalog> {
  let fault = '';
  const optional = async <T>(loading: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await loading;
    } catch (error) {
      signal.throwIfAborted();
      fault = error instanceof Error ? error.message : String(error);
      return otherwise;
    }
  };
  const names = new URLSearchParams({ limit: String(METRICS_MAX) });
  const [all, metadata, counted] = await Promise.all([
    promData<readonly string[]>('label/__name__/values', names, signal),
    optional(promData<MetadataReply>('metadata', new URLSearchParams({ limit_per_metric: '1' }), signal), {}),
    optional<readonly NamedCount[]>(
      loadTsdbStatus(COUNTED_MAX, signal).then((status) => status.seriesCountByMetricName),
      [],
    ),
  ]);
  const counts = new Map(counted.map(({ name, value }) => [name, value]));
  return { metrics: listMetrics(all, metadata, counts), fault };
}

/** Loads statistics, with lists of at most `limit` rows. */
export function loadTsdbStatus(limit: number, signal: AbortSignal): Promise<TsdbStatus> {
  return promData('status/tsdb', new URLSearchParams({ limit: String(limit) }), signal);
}
