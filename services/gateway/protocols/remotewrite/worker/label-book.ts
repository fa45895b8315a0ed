import { ByteStore, hashBytes, KnownBytes, type Place } from '../../common/known-bytes.js';
import { LABEL_TAG, SAMPLE_TAG, SERIES_TAG } from '../tags.js';
import { SampleReader } from '../sample.js';
import { WireReader } from '#shared/protobuf/wire-reader';
import { ROW_WORDS } from './messages.js';

const FIRST_ROWS = 1024;

class KnownLabels extends KnownBytes {
  readonly number: number;
  readonly sameHash: KnownLabels | undefined;
  /** The series that came behind this one last time. */
  next: KnownLabels | undefined = undefined;

  constructor({ view, from, length }: Place, number: number, sameHash: KnownLabels | undefined) {
    super(view, from, length);
    this.number = number;
    this.sameHash = sameHash;
  }
}

/** Rows of a body, as words of the messages. */
export interface MatchedRows {
  readonly words: Int32Array<ArrayBuffer>;
  readonly rowCount: number;
}

/** Series by their labels as a sender writes them; each has a number. */
export class LabelBook {
  readonly #byHash = new Map<number, KnownLabels>();
  readonly #store = new ByteStore();
  #guess: KnownLabels | undefined = undefined;

  add(number: number, labels: Buffer): void {
    const place = this.#store.add(labels, 0, labels.length);
    const hash = hashBytes(place.view, place.from, place.from + place.length);
    this.#byHash.set(hash, new KnownLabels(place, number, this.#byHash.get(hash)));
  }

  /**
   * The rows of a body that has nothing but known series with one sample each; undefined for any other.
   *
   * @throws `invalid_arguments` for some bodies that are malformed.
   */
  match(bytes: Buffer): MatchedRows | undefined {
    const scanner = new WireReader(bytes);
    const sample = new SampleReader(scanner);
    const { length } = bytes;
    let words = new Int32Array(FIRST_ROWS * ROW_WORDS);
    let used = 0;
    let guess = this.#guess;
    let previous: KnownLabels | undefined = undefined;
    for (let at = 0; at < length;) {
      if (bytes[at] !== SERIES_TAG) return undefined;
      const end = scanner.lengthEnd(at + 1, length);
      const from = scanner.at;
      const isNext =
        guess !== undefined && isOneSample(bytes, from + guess.length, end) && guess.equals(scanner.view, from);
      const known: KnownLabels | undefined = isNext ? guess : this.#find(scanner, from, end);
      if (known === undefined) return undefined;
      sample.read(from + known.length + 2, end);
      if (sample.startMs !== 0) return undefined;
      if (used === words.length) words = doubled(words);
      words[used] = known.number;
      words[used + 1] = sample.valueLow;
      words[used + 2] = sample.valueHigh;
      words[used + 3] = sample.timeLow;
      words[used + 4] = sample.timeHigh;
      used += ROW_WORDS;
      if (previous !== undefined && previous.next !== known) previous.next = known;
      previous = known;
      guess = known.next;
      at = end;
    }
    this.#guess = guess;
    return used === 0 ? undefined : { words, rowCount: used / ROW_WORDS };
  }

  #find(scanner: WireReader, from: number, end: number): KnownLabels | undefined {
    const { bytes, view } = scanner;
    let to = from;
    while (to < end && bytes[to] === LABEL_TAG) to = scanner.lengthEnd(to + 1, end);
    if (!isOneSample(bytes, to, end)) return undefined;
    let known = this.#byHash.get(hashBytes(view, from, to));
    while (known !== undefined && !(known.length === to - from && known.equals(view, from))) known = known.sameHash;
    return known;
  }
}

/** Whether one sample, shorter than 128 bytes, is all that stands in `[at, end)`. */
function isOneSample(bytes: Buffer, at: number, end: number): boolean {
  return bytes[at] === SAMPLE_TAG && bytes[at + 1] < 0x80 && at + 2 + bytes[at + 1] === end;
}

function doubled(words: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(words.length * 2);
  larger.set(words);
  return larger;
}
