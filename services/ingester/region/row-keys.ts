import type { RowBatch } from '#shared/rowbatch/row-batch';

import type { SeriesRegistry } from '../memtable/series-registry.js';

/**
 * Series and times of a batch's rows in a hash table with open addressing. Adding and finding 50,000 takes
 * milliseconds.
 */
export class RowKeys {
  /** Slot -> row of the batch, plus 1. */
  readonly #rows: Int32Array;
  readonly #sids: Int32Array;
  readonly #words: Int32Array;
  readonly #series = new Set<number>();

  /** Rows of series that the registry does not know are ignored. */
  constructor({ tsids, seriesIndex, times, rowCount }: RowBatch, registry: SeriesRegistry) {
    const halves = new Uint32Array(tsids.buffer, tsids.byteOffset, tsids.length * 2);
    const sids = Array.from(tsids, (_, i) => registry.find(halves[2 * i], halves[2 * i + 1]));
    this.#words = wordsOf(times);
    this.#sids = Int32Array.from(seriesIndex, (series) => sids[series]);
    this.#rows = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2, rowCount)) + 1));
    for (let row = 0; row < rowCount; row++) {
      if (this.#sids[row] < 0) continue;
      this.#series.add(this.#sids[row]);
      this.#rows[this.#placeOf(this.#sids[row], this.#words[2 * row], this.#words[2 * row + 1])] = row + 1;
    }
  }

  /**
   * Returns whether a row has one of these keys.
   * @param sids series number of each row.
   */
  intersects(sids: Uint32Array, times: BigInt64Array): boolean {
    const words = wordsOf(times);
    for (let row = 0; row < sids.length; row++) {
      if (!this.#series.has(sids[row])) continue;
      if (this.#rows[this.#placeOf(sids[row], words[2 * row], words[2 * row + 1])] !== 0) return true;
    }
    return false;
  }

  /** Returns the slot of the key, or the free slot where it belongs. */
  #placeOf(sid: number, low: number, high: number): number {
    const mask = this.#rows.length - 1;
    let hash = Math.imul(sid, 0x9e3779b1) ^ Math.imul(low, 0x85ebca6b) ^ Math.imul(high, 0xc2b2ae35);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    for (let place = (hash ^ (hash >>> 13)) & mask; ; place = (place + 1) & mask) {
      const row = this.#rows[place] - 1;
      if (row < 0) return place;
      if (this.#sids[row] === sid && this.#words[2 * row] === low && this.#words[2 * row + 1] === high) return place;
    }
  }
}

function wordsOf({ buffer, byteOffset, length }: BigInt64Array): Int32Array {
  return new Int32Array(buffer, byteOffset, length * 2);
}
