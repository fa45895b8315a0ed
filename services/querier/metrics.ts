import { childrenBy, type Counter, type Metrics } from '#shared/telemetry/metrics';

import type { ColumnCounts } from './columns/query-columns.js';
import type { QueryPath } from './kernels/run.js';

/** Metrics of the querier. */
export interface QuerierMetrics {
  /** Records the end of a statement; `outcome` is `ok` or an error code. */
  statementEnded(seconds: number, outcome: string): void;
  rowsSent(rows: number): void;
  /** Counts a query by what ran it. */
  queryRun(path: QueryPath): void;
  /** Counts what kernels read for a query. */
  columnsRead(counts: ColumnCounts): void;
  /** Counts a large query that worker threads read. */
  scanned(): void;
  /** Records the end of a PromQL query or a request for series, as `statementEnded`. */
  promEnded(seconds: number, outcome: string): void;
  /** Records that samples were read from a segment, by the querier's own decoder (`columns`) or by the `engine`. */
  segmentRead(reader: string): void;
  /** Records the end of a run of a flow, as `statementEnded`. @param rows written to its sink or deleted from it. */
  flowEnded(seconds: number, outcome: string, rows: number): void;
}

/** Registers the metrics of the querier. */
export function querierMetrics(metrics: Metrics): QuerierMetrics {
  const seconds = metrics.histogram({
    name: 'querier_statement_duration_seconds',
    help: 'duration of SQL statements in seconds, from start to last row',
    labelNames: ['outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const secondsOf = childrenBy((outcome: string) => seconds.labels({ outcome }));
  const promSeconds = metrics.histogram({
    name: 'querier_promql_duration_seconds',
    help: 'duration of PromQL queries and requests for series in seconds, from start to the last byte of the result',
    labelNames: ['outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const promSecondsOf = childrenBy((outcome: string) => promSeconds.labels({ outcome }));
  const segments = metrics.counter({
    name: 'querier_promql_segments_read_total',
    help: 'segments from which PromQL queries read samples: columns were decoded by the querier, others by the SQL engine',
    labelNames: ['reader'],
  });
  const rows = metrics.counter({ name: 'querier_rows_sent_total', help: 'rows sent in SQL results' });
  const paths = metrics.counter({
    name: 'querier_query_paths_total',
    help: 'SQL queries by what ran them: `kernels` read decoded columns, `engine` is the query engine, `cache` has results of kernels',
    labelNames: ['path'],
  });
  const pathOf = childrenBy((path: QueryPath) => paths.labels({ path }));
  const groups = metrics.counter({
    name: 'querier_kernel_row_groups_total',
    help: 'row groups that kernels read, by where their columns were: in `memory`, or in `segments`',
    labelNames: ['source'],
  });
  const groupsOf = childrenBy((source: string) => groups.labels({ source }));
  const decoded = metrics.counter({
    name: 'querier_kernel_decoded_bytes_total',
    help: 'size of the columns that kernels decoded, in bytes',
  });
  const scans = metrics.counter({
    name: 'querier_kernel_thread_scans_total',
    help: 'large queries of kernels whose segments worker threads read',
  });
  return {
    flowEnded: flowEnded(metrics),
    statementEnded: (elapsed, outcome) => secondsOf(outcome).observe(elapsed),
    rowsSent: (count) => rows.inc(count),
    segmentRead: (reader) => segments.inc({ reader }),
    queryRun: (path) => pathOf(path).inc(),
    scanned: () => scans.inc(),
    columnsRead({ knownGroups, readGroups, decodedBytes }) {
      groupsOf('memory').inc(knownGroups);
      groupsOf('segments').inc(readGroups);
      decoded.inc(decodedBytes);
    },
    promEnded(elapsed, outcome) {
      promSecondsOf(outcome).observe(elapsed);
    },
  };
}

function flowEnded(metrics: Metrics): QuerierMetrics['flowEnded'] {
  const flowSeconds = metrics.histogram({
    name: 'querier_flow_run_duration_seconds',
    help: 'duration of runs of flows in seconds, of those that found changes or failed',
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600],
  });
  const flowRows = metrics.counter({
    name: 'querier_flow_rows_total',
    help: 'rows that flows wrote to their sinks or deleted from them',
  });
  return (elapsed, outcome, count) => {
    flowSeconds.observe({ outcome }, elapsed);
    flowRows.inc(count);
  };
}

/** Registers the counter of damaged store files. */
export function damagedFiles(metrics: Metrics): Counter {
  return metrics.counter({
    name: 'querier_damaged_files_total',
    help: 'store files found damaged or missing, each counted once',
  });
}

/**
 * Registers the gauge of the age of the oldest result of a flow.
 *
 * @param ageSeconds since the end of the last successful run of the flow for which it is longest ago.
 * @returns a function that removes it.
 */
export function flowAge(metrics: Metrics, ageSeconds: () => number): () => void {
  const gauge = metrics.gauge({
    name: 'querier_flow_oldest_run_seconds',
    help: 'time since the last successful check of a flow of this process for changes, of the flow that waits longest',
  });
  return metrics.beforePrint(() => gauge.set(ageSeconds()));
}

/**
 * Registers the gauges of the indexes of series.
 *
 * @returns a function that removes them.
 */
export function indexGauges(
  metrics: Metrics,
  indexes: { readonly bytes: number; readonly seriesCount: number },
): () => void {
  const bytes = metrics.gauge({
    name: 'querier_series_index_bytes',
    help: 'memory of the indexes of series, which SQL and PromQL share, in bytes',
  });
  const series = metrics.gauge({ name: 'querier_series_index_series', help: 'series in the indexes of series' });
  return metrics.beforePrint(() => {
    bytes.set(indexes.bytes);
    series.set(indexes.seriesCount);
  });
}
