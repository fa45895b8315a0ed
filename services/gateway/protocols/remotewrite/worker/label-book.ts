import { WireReader } from '#shared/protobuf/wire-reader';

import { ByteStore, hashBytes, KnownBytes, type ByteRange } from '../../common/known-bytes.js';
import { LABEL_TAG, SAMPLE_TAG, SampleReader, SERIES_TAG } from '../sample.js';
import type { RowArrays } from './row-arrays.js';

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

/** Numbers of series by the bytes of their labels. */
export class LabelBook {
  readonly #byHash = new Map<number, KnownLabels>();
  readonly #store = new ByteStore();
  #guess: KnownLabels | undefined = undefined;

  add(number: number, labels: Buffer): void {
    const stored = this.#store.add(labels, 0, labels.length);
    const hash = hashBytes(stored.view, stored.from, stored.from + stored.length);
    this.#byHash.set(hash, new KnownLabels(stored, number, this.#byHash.get(hash)));
  }

  /**
   * Writes the rows of a body that has nothing but known series with one sample each.
   *
   * @returns the number of rows; 0 for any other body, and for one of more rows than the arrays have.
   * @throws `invalid_arguments` for some bodies that are malformed.
   */
  match(bytes: Buffer, rows: RowArrays): number {
    const reader = new WireReader(bytes);
    const sample = new SampleReader(reader);
    const { length } = bytes;
    const { capacity, numbers, values, times } = rows;
    let rowCount = 0;
    let guess = this.#guess;
    let previous: KnownLabels | undefined = undefined;
    for (let at = 0; at < length;) {
      if (bytes[at] !== SERIES_TAG || rowCount === capacity) return 0;
      const end = reader.lengthEnd(at + 1, length);
      const from = reader.at;
      const isNext =
        guess !== undefined && isOneSample(bytes, from + guess.length, end) && guess.equals(reader.view, from);
      const known: KnownLabels | undefined = isNext ? guess : this.#find(reader, from, end);
      if (known === undefined) return 0;
      sample.read(from + known.length + 2, end);
      if (sample.startMs !== 0) return 0;
      numbers[rowCount] = known.number;
      values[2 * rowCount] = sample.valueLow;
      values[2 * rowCount + 1] = sample.valueHigh;
      times[2 * rowCount] = sample.timeLow;
      times[2 * rowCount + 1] = sample.timeHigh;
      rowCount++;
      if (previous !== undefined && previous.next !== known) previous.next = known;
      previous = known;
      guess = known.next;
      at = end;
    }
    this.#guess = guess;
    return rowCount;
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
