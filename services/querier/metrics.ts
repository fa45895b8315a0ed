import type { Counter, Metrics } from '#shared/telemetry/metrics';

/** Metrics of the querier. */
export interface QuerierMetrics {
  /** A statement ended after so many seconds; `outcome` is `ok` or the name of an error code. */
  statementEnded(seconds: number, outcome: string): void;
  rowsSent(rows: number): void;
  /** A PromQL query, or a question about series, ended; as `statementEnded`. */
  promEnded(seconds: number, outcome: string): void;
}

export function querierMetrics(metrics: Metrics): QuerierMetrics {
  const seconds = metrics.histogram({
    name: 'querier_statement_duration_seconds',
    help: 'time from the start of a SQL statement to its last row',
    labelNames: ['outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const promSeconds = metrics.histogram({
    name: 'querier_promql_duration_seconds',
    help: 'time from a PromQL query or a question about series to the last byte of its answer',
    labelNames: ['outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const rows = metrics.counter({ name: 'querier_rows_sent_total', help: 'rows of SQL results' });
  return {
    statementEnded: (elapsed, outcome) => seconds.observe({ outcome }, elapsed),
    rowsSent: (count) => rows.inc(count),
    promEnded: (elapsed, outcome) => promSeconds.observe({ outcome }, elapsed),
  };
}

export function damagedFiles(metrics: Metrics): Counter {
  return metrics.counter({
    name: 'querier_damaged_files_total',
    help: 'files of the store found damaged or missing when they were needed, each counted once',
  });
}
