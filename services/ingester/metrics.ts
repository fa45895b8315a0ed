import type { Counter, Gauge, Histogram, Metrics } from '#shared/telemetry/metrics';

/** Metrics of the ingester. */
export interface IngesterMetrics {
  readonly writtenRows: Counter;
  readonly repeatedBatches: Counter;
  readonly forgottenKeys: Counter;
  readonly flushes: Counter;
  readonly flushFailures: Counter;
  readonly flushedBytes: Counter;
  readonly flushSeconds: Histogram;
  readonly compactions: Counter;
  readonly compactionFailures: Counter;
  readonly runningCompactions: Gauge;
  readonly compactedBytes: Counter;
  readonly compactionSeconds: Histogram;
  readonly termIndexBytes: Counter;
  readonly termIndexFailures: Counter;
  readonly expiredSegments: Counter;
  readonly damagedFiles: Counter;
  readonly memtableBytes: Gauge;
  readonly regions: Gauge;
  readonly series: Gauge;
  readonly refusedSeries: Counter;
  readonly walBytes: Gauge;
  readonly walFiles: Gauge;
  readonly walSyncs: Gauge;
  readonly walFull: Gauge;
}

/** Registers the ingester's metrics. */
export function ingesterMetrics(metrics: Metrics): IngesterMetrics {
  return {
    writtenRows: metrics.counter({ name: 'ingester_written_rows_total', help: 'rows written durably' }),
    repeatedBatches: metrics.counter({
      name: 'ingester_repeated_batches_total',
      help: 'repeated batches that were not applied again',
    }),
    forgottenKeys: metrics.counter({
      name: 'ingester_forgotten_keys_total',
      help: 'idempotency keys evicted within the retry window because a region had too many',
    }),
    flushes: metrics.counter({ name: 'ingester_flushes_total', help: 'flushes of rows in memory to segments' }),
    flushFailures: metrics.counter({ name: 'ingester_flush_failures_total', help: 'failed flushes' }),
    flushedBytes: metrics.counter({
      name: 'ingester_flushed_bytes_total',
      help: 'bytes of flushed segments and series files',
    }),
    flushSeconds: metrics.histogram({
      name: 'ingester_flush_seconds',
      help: 'duration of flushes in seconds',
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    }),
    compactions: metrics.counter({ name: 'ingester_compactions_total', help: 'merges of segments' }),
    compactionFailures: metrics.counter({ name: 'ingester_compaction_failures_total', help: 'failed merges' }),
    runningCompactions: metrics.gauge({ name: 'ingester_compactions_running', help: 'merges of segments in progress' }),
    compactedBytes: metrics.counter({ name: 'ingester_compacted_bytes_total', help: 'bytes of merged segments' }),
    compactionSeconds: metrics.histogram({
      name: 'ingester_compaction_seconds',
      help: 'duration of merges of segments in seconds',
      buckets: [0.1, 1, 5, 10, 30, 60, 300, 1800],
    }),
    termIndexBytes: metrics.counter({
      name: 'ingester_term_index_bytes_total',
      help: 'bytes of term indexes in new segments',
    }),
    termIndexFailures: metrics.counter({
      name: 'ingester_term_index_failures_total',
      help: 'segments that were stored without the term index that their table wants',
    }),
    expiredSegments: metrics.counter({
      name: 'ingester_expired_segments_total',
      help: 'segments removed because all their rows had expired',
    }),
    damagedFiles: metrics.counter({
      name: 'ingester_damaged_files_total',
      help: 'store files found damaged or missing, each counted once',
    }),
    memtableBytes: metrics.gauge({ name: 'ingester_memtable_bytes', help: 'memory of unflushed writes in bytes' }),
    regions: metrics.gauge({ name: 'ingester_regions', help: 'open regions' }),
    series: metrics.gauge({ name: 'ingester_series', help: 'series of the open regions' }),
    refusedSeries: metrics.counter({
      name: 'ingester_refused_series_total',
      help: 'new series in batches that were refused because of limits.max_series_per_table, counted each time',
    }),
    walBytes: metrics.gauge({ name: 'ingester_wal_bytes', help: 'size of the write-ahead log in bytes' }),
    walFiles: metrics.gauge({ name: 'ingester_wal_files', help: 'files of the write-ahead log' }),
    walSyncs: metrics.gauge({ name: 'ingester_wal_syncs', help: 'syncs of the write-ahead log since the start' }),
    walFull: metrics.gauge({
      name: 'ingester_wal_full',
      help: '1 while writes are rejected because the disk of the write-ahead log is full or read-only, otherwise 0',
    }),
  };
}
