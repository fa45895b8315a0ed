import type { Metrics } from '#shared/telemetry/metrics';

/** Counts acknowledged rows, for all who write. */
export class WrittenRows {
  readonly #counter;

  constructor(metrics: Metrics) {
    this.#counter = metrics.counter({
      name: 'writer_rows_total',
      help: 'rows that were acknowledged, by database',
      labelNames: ['database'],
    });
  }

  add(database: string, rowCount: number): void {
    this.#counter.inc({ database }, rowCount);
  }
}
