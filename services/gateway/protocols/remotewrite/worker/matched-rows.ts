import type { MetricRows } from '../../common/metric-rows.js';
import { RejectedRows } from '../../common/rejected-rows.js';
import type { AdditionalWrite, Decoding } from '../../protocol.js';

/** A body whose rows the worker thread has matched to columns, and which are added already. */
export class MatchedRowsDecoding implements Decoding {
  readonly rejected = new RejectedRows();
  readonly #rows: MetricRows;

  constructor(rows: MetricRows) {
    this.#rows = rows;
  }

  decode(): boolean {
    return true;
  }

  additionalWrites(): readonly AdditionalWrite[] {
    return this.#rows.additionalWrites();
  }
}
