import type { Metrics } from '#shared/telemetry/metrics';

/** Counts acknowledged rows, for all who write. */
export class WrittenRows {
  readonly #counter;
  readonly #deleted;

  constructor(metrics: Metrics) {
    this.#counter = metrics.counter({
      name: 'writer_rows_total',
      help: 'rows that were acknowledged, by database',
      labelNames: ['database'],
    });
    this.#deleted = metrics.counter({
      name: 'writer_deleted_rows_total',
      help: 'rows that were deleted one by one, by database',
      labelNames: ['database'],
    });
  }

  add(database: string, rowCount: number): void {
    this.#counter.inc({ database }, rowCount);
  }

  addDeleted(database: string, rowCount: number): void {
    this.#deleted.inc({ database }, rowCount);
  }
}
