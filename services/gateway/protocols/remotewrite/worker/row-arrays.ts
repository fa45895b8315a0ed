import type { NumberedSamples } from '../../common/metric-rows.js';

/** Bytes of a row: its time, its value and the number of its series. */
export const ROW_BYTES = 20;

/** The rows of a body, in memory that both threads see. */
export class RowArrays {
  /** Greatest number of rows. */
  readonly capacity: number;
  readonly numbers: Uint32Array<SharedArrayBuffer>;
  /** Doubles, and times in milliseconds since 1970: two words a row, the low one first. */
  readonly values: Int32Array<SharedArrayBuffer>;
  readonly times: Int32Array<SharedArrayBuffer>;

  /** @param memory whose contents are overwritten. */
  constructor(memory: SharedArrayBuffer) {
    this.capacity = Math.floor(memory.byteLength / ROW_BYTES);
    this.times = new Int32Array(memory, 0, 2 * this.capacity);
    this.values = new Int32Array(memory, 8 * this.capacity, 2 * this.capacity);
    this.numbers = new Uint32Array(memory, 16 * this.capacity, this.capacity);
  }

  /** Returns the first rows as views. */
  first(rowCount: number): NumberedSamples {
    const { buffer } = this.times;
    return {
      rowCount,
      times: new BigInt64Array(buffer, this.times.byteOffset, rowCount),
      values: new Float64Array(buffer, this.values.byteOffset, rowCount),
      numbers: this.numbers.subarray(0, rowCount),
    };
  }
}
