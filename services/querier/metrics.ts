import type { Counter, Metrics } from '#shared/telemetry/metrics';

/** Metrics of the querier. */
export interface QuerierMetrics {
  /** Records the end of a statement; `outcome` is `ok` or an error code. */
  statementEnded(seconds: number, outcome: string): void;
  rowsSent(rows: number): void;
  /** Records the end of a PromQL query or a request for series, as `statementEnded`. */
  promEnded(seconds: number, outcome: string): void;
}

/** Registers the metrics of the querier. */
export function querierMetrics(metrics: Metrics): QuerierMetrics {
  const seconds = metrics.histogram({
    name: 'querier_statement_duration_seconds',
    help: 'duration of SQL statements in seconds, from start to last row',
    labelNames: ['outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const promSeconds = metrics.histogram({
    name: 'querier_promql_duration_seconds',
    help: 'duration of PromQL queries and requests for series in seconds, from start to the last byte of the result',
    labelNames: ['outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const rows = metrics.counter({ name: 'querier_rows_sent_total', help: 'rows sent in SQL results' });
  return {
    statementEnded: (elapsed, outcome) => seconds.observe({ outcome }, elapsed),
    rowsSent: (count) => rows.inc(count),
    promEnded: (elapsed, outcome) => promSeconds.observe({ outcome }, elapsed),
  };
}

/** Registers the counter of damaged store files. */
export function damagedFiles(metrics: Metrics): Counter {
  return metrics.counter({
    name: 'querier_damaged_files_total',
    help: 'store files found damaged or missing, each counted once',
  });
}
