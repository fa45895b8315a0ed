import { WireReader } from '#shared/protobuf/wire-reader';

import { ByteStore, hashBytes, KnownBytes, type ByteRange } from '../../common/known-bytes.js';
import { LABEL_TAG, SAMPLE_TAG, SampleReader, SERIES_TAG } from '../sample.js';
import type { MatchedRows } from './messages.js';

const FIRST_ROWS = 4_096;
/** Arrays for more rows than this are not kept for the next body. */
const KEPT_ROWS_MAX = 65_536;

class KnownLabels extends KnownBytes {
  readonly number: number;
  readonly sameHash: KnownLabels | undefined;
  /** The series that followed this one in an earlier body. */
  next: KnownLabels | undefined = undefined;

  constructor({ view, from, length }: ByteRange, number: number, sameHash: KnownLabels | undefined) {
    super(view, from, length);
    this.number = number;
    this.sameHash = sameHash;
  }
}

/** Arrays in which the rows of a body are collected while their number is unknown. */
class RowArrays {
  readonly capacity: number;
  readonly numbers: Uint32Array<ArrayBuffer>;
  /** Two words a row, the low one first. */
  readonly values: Int32Array<ArrayBuffer>;
  readonly times: Int32Array<ArrayBuffer>;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.numbers = new Uint32Array(capacity);
    this.values = new Int32Array(2 * capacity);
    this.times = new Int32Array(2 * capacity);
  }

  grown(): RowArrays {
    const larger = new RowArrays(2 * this.capacity);
    larger.numbers.set(this.numbers);
    larger.values.set(this.values);
    larger.times.set(this.times);
    return larger;
  }

  /** Returns a copy of the first rows in a buffer of its own. */
  copy(rowCount: number): MatchedRows {
    const buffer = new ArrayBuffer(20 * rowCount);
    const numbers = new Uint32Array(buffer, 16 * rowCount, rowCount);
    numbers.set(this.numbers.subarray(0, rowCount));
    new Int32Array(buffer, 0, 2 * rowCount).set(this.times.subarray(0, 2 * rowCount));
    new Int32Array(buffer, 8 * rowCount, 2 * rowCount).set(this.values.subarray(0, 2 * rowCount));
    const times = new BigInt64Array(buffer, 0, rowCount);
    return { rowCount, times, values: new Float64Array(buffer, 8 * rowCount, rowCount), numbers };
  }
}

/** Numbers of series by the bytes of their labels. */
export class LabelBook {
  readonly #byHash = new Map<number, KnownLabels>();
  readonly #store = new ByteStore();
  #guess: KnownLabels | undefined = undefined;
  #rows = new RowArrays(FIRST_ROWS);

  add(number: number, labels: Buffer): void {
    const stored = this.#store.add(labels, 0, labels.length);
    const hash = hashBytes(stored.view, stored.from, stored.from + stored.length);
    this.#byHash.set(hash, new KnownLabels(stored, number, this.#byHash.get(hash)));
  }

  /**
   * Returns the rows of a body that has nothing but known series with one sample each; undefined for any other.
   *
   * @throws `invalid_arguments` for some bodies that are malformed.
   */
  match(bytes: Buffer): MatchedRows | undefined {
    const reader = new WireReader(bytes);
    const sample = new SampleReader(reader);
    const { length } = bytes;
    let rows = this.#rows;
    let rowCount = 0;
    let guess = this.#guess;
    let previous: KnownLabels | undefined = undefined;
    for (let at = 0; at < length;) {
      if (bytes[at] !== SERIES_TAG) return undefined;
      const end = reader.lengthEnd(at + 1, length);
      const from = reader.at;
      const isNext =
        guess !== undefined && isOneSample(bytes, from + guess.length, end) && guess.equals(reader.view, from);
      const known: KnownLabels | undefined = isNext ? guess : this.#find(reader, from, end);
      if (known === undefined) return undefined;
      sample.read(from + known.length + 2, end);
      if (sample.startMs !== 0) return undefined;
      if (rowCount === rows.capacity) rows = rows.grown();
      rows.numbers[rowCount] = known.number;
      rows.values[2 * rowCount] = sample.valueLow;
      rows.values[2 * rowCount + 1] = sample.valueHigh;
      rows.times[2 * rowCount] = sample.timeLow;
      rows.times[2 * rowCount + 1] = sample.timeHigh;
      rowCount++;
      if (previous !== undefined && previous.next !== known) previous.next = known;
      previous = known;
      guess = known.next;
      at = end;
    }
    this.#guess = guess;
    if (rows.capacity <= KEPT_ROWS_MAX) this.#rows = rows;
    return rowCount === 0 ? undefined : rows.copy(rowCount);
  }

  #find(reader: WireReader, from: number, end: number): KnownLabels | undefined {
    const { bytes, view } = reader;
    let to = from;
    while (to < end && bytes[to] === LABEL_TAG) to = reader.lengthEnd(to + 1, end);
    if (!isOneSample(bytes, to, end)) return undefined;
    let known = this.#byHash.get(hashBytes(view, from, to));
    while (known !== undefined && !(known.length === to - from && known.equals(view, from))) known = known.sameHash;
    return known;
  }
}

/** Whether `[at, end)` is one sample that is shorter than 128 bytes. */
function isOneSample(bytes: Buffer, at: number, end: number): boolean {
  return bytes[at] === SAMPLE_TAG && bytes[at + 1] < 0x80 && at + 2 + bytes[at + 1] === end;
}
