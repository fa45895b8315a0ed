import { type WireReader } from '#shared/protobuf/wire-reader';

const VALUE_TAG = 0x09;
const TIME_TAG = 0x10;
const START_TAG = 0x18;
const EXEMPLAR_VALUE_TAG = 0x11;
const EXEMPLAR_TIME_TAG = 0x18;

/** Value and time as words. */
export interface Sample {
  readonly valueLow: number;
  readonly valueHigh: number;
  readonly timeLow: number;
  readonly timeHigh: number;
  /** Milliseconds since 1970; 0: none. */
  readonly startMs: number;
}

/** Reads samples of either version, and value and time of exemplars. Its members are what was read last. */
export class SampleReader implements Sample {
  valueLow = 0;
  valueHigh = 0;
  timeLow = 0;
  timeHigh = 0;
  /** Milliseconds since 1970; 0: none. */
  startMs = 0;
  readonly #scanner: WireReader;

  constructor(scanner: WireReader) {
    this.#scanner = scanner;
  }

  /** Reads the message in `[from, end)`. @throws `invalid_arguments` if it is malformed. */
  read(from: number, end: number): void {
    const { bytes, view } = this.#scanner;
    let at = from;
    this.startMs = 0;
    if (at + 9 <= end && bytes[at] === VALUE_TAG) {
      this.valueLow = view.getInt32(at + 1, true);
      this.valueHigh = view.getInt32(at + 5, true);
      at += 9;
    } else {
      this.valueLow = 0;
      this.valueHigh = 0;
    }
    // Times of this century take six bytes.
    if (at + 7 === end && bytes[at] === TIME_TAG && this.#sixBytes(bytes, at + 1)) return;
    this.#readAny(from, end, VALUE_TAG, TIME_TAG);
  }

  /** Reads value and time of an exemplar, whose labels are not looked at. */
  readExemplar(from: number, end: number): void {
    this.#readAny(from, end, EXEMPLAR_VALUE_TAG, EXEMPLAR_TIME_TAG);
  }

  #sixBytes(bytes: Buffer, at: number): boolean {
    const [b0, b1, b2, b3, b4, b5] = [
      bytes[at],
      bytes[at + 1],
      bytes[at + 2],
      bytes[at + 3],
      bytes[at + 4],
      bytes[at + 5],
    ];
    if ((b0 & b1 & b2 & b3 & b4 & 0x80) === 0 || b5 >= 0x80) return false;
    this.timeLow = (b0 & 0x7f) | ((b1 & 0x7f) << 7) | ((b2 & 0x7f) << 14) | ((b3 & 0x7f) << 21) | ((b4 & 0x0f) << 28);
    this.timeHigh = ((b4 & 0x7f) >>> 4) | (b5 << 3);
    return true;
  }

  #readAny(from: number, end: number, valueTag: number, timeTag: number): void {
    const scanner = this.#scanner;
    this.valueLow = this.valueHigh = this.timeLow = this.timeHigh = this.startMs = 0;
    let at = from;
    while (at < end) {
      const tag = scanner.varint(at, end);
      at = scanner.at;
      if (tag === valueTag) {
        scanner.fixed64(at, end);
        this.valueLow = scanner.low;
        this.valueHigh = scanner.high;
        at = scanner.at;
      } else if (tag === timeTag) {
        scanner.varint64(at, end);
        this.timeLow = scanner.low;
        this.timeHigh = scanner.high;
        at = scanner.at;
      } else if (tag === START_TAG) {
        scanner.varint64(at, end);
        this.startMs = scanner.signed;
        at = scanner.at;
      } else {
        at = scanner.skip(tag, at, end);
      }
    }
  }
}
