import { freeBuffer } from '#shared/bytes/free-buffer';

import type { MetricRows } from '../../common/metric-rows.js';
import type { KnownSeries } from '../../common/metric-series.js';
import { RejectedRows } from '../../common/rejected-rows.js';
import type { AdditionalWrite, Decoding } from '../../protocol.js';
import type { MatchedRows } from './label-book.js';
import { ROW_WORDS } from './messages.js';

/** Appends the rows that the worker thread has matched to columns. */
export class MatchedRowsDecoding implements Decoding {
  readonly rejected = new RejectedRows();
  readonly #series: readonly KnownSeries[];
  readonly #matched: MatchedRows;
  readonly #rows: MetricRows;
  readonly #sample = { valueLow: 0, valueHigh: 0, timeLow: 0, timeHigh: 0, startMs: 0 };
  #at = 0;

  /** @param series series by number. */
  constructor(series: readonly KnownSeries[], matched: MatchedRows, rows: MetricRows) {
    this.#series = series;
    this.#matched = matched;
    this.#rows = rows;
  }

  decode(budgetBytes: number): boolean {
    const { words, rowCount } = this.#matched;
    const sample = this.#sample;
    const end = Math.min(rowCount * ROW_WORDS, this.#at + ROW_WORDS * Math.ceil(budgetBytes / (4 * ROW_WORDS)));
    for (let at = this.#at; at < end; at += ROW_WORDS) {
      sample.valueLow = words[at + 1];
      sample.valueHigh = words[at + 2];
      sample.timeLow = words[at + 3];
      sample.timeHigh = words[at + 4];
      this.#rows.addSample(this.#series[words[at]], sample);
    }
    this.#at = end;
    if (end < rowCount * ROW_WORDS) return false;
    freeBuffer(Buffer.from(words.buffer));
    return true;
  }

  additionalWrites(): readonly AdditionalWrite[] {
    return this.#rows.additionalWrites();
  }
}
