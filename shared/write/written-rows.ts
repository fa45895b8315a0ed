import type { Metrics } from '#shared/telemetry/metrics';

/** Counts acknowledged rows of all kinds of writes. */
export class WrittenRows {
  readonly #counter;
  readonly #deleted;

  constructor(metrics: Metrics) {
    this.#counter = metrics.counter({
      name: 'writer_rows_total',
      help: 'acknowledged rows written, by database',
      labelNames: ['database'],
    });
    this.#deleted = metrics.counter({
      name: 'writer_deleted_rows_total',
      help: 'rows deleted by DELETE statements, by database',
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
