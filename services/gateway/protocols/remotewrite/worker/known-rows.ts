import { freeBuffer } from '#shared/bytes/free-buffer';

import type { Decoding, FurtherWrite, Rejected } from '../../protocol.js';
import type { MetricRows } from '../../common/metric-rows.js';
import type { KnownSeries } from '../series-cache.js';
import type { MatchedRows } from './label-book.js';
import { ROW_WORDS } from './messages.js';

/** Rows that the helper has read, on their way into columns. */
export class KnownRows implements Decoding {
  readonly rejections: Rejected = { lineCount: 0, texts: [], conflicts: [] };
  readonly #series: readonly KnownSeries[];
  readonly #matched: MatchedRows;
  readonly #rows: MetricRows;
  readonly #sample = { valueLow: 0, valueHigh: 0, timeLow: 0, timeHigh: 0, startMs: 0 };
  #at = 0;

  /** @param series by number. */
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

  further(): readonly FurtherWrite[] {
    return this.#rows.further();
  }
}
