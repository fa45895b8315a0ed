import type { WireReader } from '#shared/protobuf/wire-reader';

import type { MetricSample } from '../common/metric-rows.js';

/** Tag byte of a series in a body. */
export const SERIES_TAG = 0x0a;
/** Tag byte of a label in a series. */
export const LABEL_TAG = 0x0a;
/** Tag byte of a sample in a series. */
export const SAMPLE_TAG = 0x12;

const VALUE_TAG = 0x09;
const TIME_TAG = 0x10;
const START_TAG = 0x18;
const EXEMPLAR_VALUE_TAG = 0x11;
const EXEMPLAR_TIME_TAG = 0x18;

/** Reads samples of both versions, and the value and time of exemplars. Its members are the sample that was read last. */
export class SampleReader implements MetricSample {
  valueLow = 0;
  valueHigh = 0;
  timeLow = 0;
  timeHigh = 0;
  startMs = 0;
  readonly #reader: WireReader;

  constructor(reader: WireReader) {
    this.#reader = reader;
  }

  /** Reads the message in `[from, end)`. @throws `invalid_arguments` if it is malformed. */
  read(from: number, end: number): void {
    const { bytes, view } = this.#reader;
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
    // Times from 1971 to 2109 take six bytes.
    if (at + 7 === end && bytes[at] === TIME_TAG && this.#sixBytes(bytes, at + 1)) return;
    this.#readAny(from, end, VALUE_TAG, TIME_TAG);
  }

  /** Reads the value and the time of an exemplar, but not its labels. */
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
    const reader = this.#reader;
    this.valueLow = this.valueHigh = this.timeLow = this.timeHigh = this.startMs = 0;
    let at = from;
    while (at < end) {
      const tag = reader.varint(at, end);
      at = reader.at;
      if (tag === valueTag) {
        reader.fixed64(at, end);
        this.valueLow = reader.low;
        this.valueHigh = reader.high;
        at = reader.at;
      } else if (tag === timeTag) {
        reader.varint64(at, end);
        this.timeLow = reader.low;
        this.timeHigh = reader.high;
        at = reader.at;
      } else if (tag === START_TAG) {
        reader.varint64(at, end);
        this.startMs = reader.signed;
        at = reader.at;
      } else {
        at = reader.skip(tag, at, end);
      }
    }
  }
}
