/** Native histograms as values of a binary column (format: docs/formats/native-histogram.md). */
import { AlmanacError } from '#shared/errors/almanac-error';

import { STALE_HIGH, STALE_LOW, type BucketSpan, type NativeHistogram, type ResetHint } from './native-histogram.js';

const VERSION = 1;
const IS_FLOAT = 1;
const IS_STALE = 2;
const HAS_START = 4;
const HAS_ZERO_THRESHOLD = 8;
const HINT_SHIFT = 4;
/** Version, flags, schema, sum. */
const HEAD_BYTES = 11;
const VARINT_BYTES_MAX = 10;
const TWO_TO_32 = 4_294_967_296;

/** Encodes a histogram. @param histogram valid (`histogramProblem`). */
export function encodeHistogram(histogram: NativeHistogram): Uint8Array {
  const writer = new HistogramWriter(bytesMax(histogram));
  const { isFloat, isStale, schema, zeroThreshold, sum, resetHint, startMs } = histogram;
  writer.byte(VERSION);
  writer.byte(
    (isFloat ? IS_FLOAT : 0) |
      (isStale ? IS_STALE : 0) |
      (startMs === 0 ? 0 : HAS_START) |
      (zeroThreshold === 0 ? 0 : HAS_ZERO_THRESHOLD) |
      (resetHint << HINT_SHIFT),
  );
  writer.byte(schema & 0xff);
  if (isStale) writer.words(STALE_LOW, STALE_HIGH);
  else writer.double(sum);
  if (startMs !== 0) {
    writer.words(startMs - Math.floor(startMs / TWO_TO_32) * TWO_TO_32, Math.floor(startMs / TWO_TO_32));
  }
  if (zeroThreshold !== 0) writer.double(zeroThreshold);
  writer.count(histogram.count, isFloat);
  writer.count(histogram.zeroCount, isFloat);
  writer.varint(histogram.customValues.length);
  for (const value of histogram.customValues) writer.double(value);
  writer.side(histogram.positiveSpans, histogram.positiveBuckets, isFloat);
  writer.side(histogram.negativeSpans, histogram.negativeBuckets, isFloat);
  return writer.written();
}

/** Decodes a histogram. @throws `unexpected` if the bytes are malformed. */
export function decodeHistogram(bytes: Uint8Array): NativeHistogram {
  const reader = new HistogramReader(bytes);
  if (reader.byte() !== VERSION) throw damaged();
  const flags = reader.byte();
  const isFloat = (flags & IS_FLOAT) !== 0;
  const schema = (reader.byte() << 24) >> 24;
  const sum = reader.double();
  const startMs = (flags & HAS_START) === 0 ? 0 : reader.integer();
  const zeroThreshold = (flags & HAS_ZERO_THRESHOLD) === 0 ? 0 : reader.double();
  const count = reader.count(isFloat);
  const zeroCount = reader.count(isFloat);
  const customValues = reader.list(() => reader.double());
  const positive = reader.side(isFloat);
  const negative = reader.side(isFloat);
  if (!reader.done) throw damaged();
  return {
    isFloat,
    isStale: (flags & IS_STALE) !== 0,
    schema,
    zeroThreshold,
    sum,
    resetHint: ((flags >> HINT_SHIFT) & 3) as ResetHint,
    startMs,
    count,
    zeroCount,
    customValues,
    positiveSpans: positive.spans,
    negativeSpans: negative.spans,
    positiveBuckets: positive.buckets,
    negativeBuckets: negative.buckets,
  };
}

function bytesMax({ customValues, ...rest }: NativeHistogram): number {
  const buckets = rest.positiveBuckets.length + rest.negativeBuckets.length;
  const spans = rest.positiveSpans.length + rest.negativeSpans.length;
  return HEAD_BYTES + 16 + VARINT_BYTES_MAX * (5 + buckets + 2 * spans) + 8 * customValues.length;
}

class HistogramWriter {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytesMax: number) {
    this.#bytes = new Uint8Array(bytesMax);
    this.#view = new DataView(this.#bytes.buffer);
  }

  byte(value: number): void {
    this.#bytes[this.#at++] = value;
  }

  words(low: number, high: number): void {
    this.#view.setInt32(this.#at, low, true);
    this.#view.setInt32(this.#at + 4, high, true);
    this.#at += 8;
  }

  double(value: number): void {
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** Writes an integer of up to 64 bits; beyond 2^53 it is a multiple of a power of two, so halving it is exact. */
  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.byte(rest);
  }

  count(value: number, isFloat: boolean): void {
    if (isFloat) this.double(value);
    else this.varint(value);
  }

  side(spans: readonly BucketSpan[], buckets: readonly number[], isFloat: boolean): void {
    this.varint(spans.length);
    for (const { offset, length } of spans) {
      this.varint(offset < 0 ? -2 * offset - 1 : 2 * offset);
      this.varint(length);
    }
    for (const bucket of buckets) this.count(bucket, isFloat);
  }

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#at);
  }
}

class HistogramReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get done(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    this.#need(1);
    return this.#bytes[this.#at++];
  }

  double(): number {
    this.#need(8);
    this.#at += 8;
    return this.#view.getFloat64(this.#at - 8, true);
  }

  integer(): number {
    this.#need(8);
    this.#at += 8;
    return this.#view.getInt32(this.#at - 4, true) * TWO_TO_32 + this.#view.getUint32(this.#at - 8, true);
  }

  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      if (factor > TWO_TO_32 * TWO_TO_32) throw damaged();
    }
  }

  count(isFloat: boolean): number {
    return isFloat ? this.double() : this.varint();
  }

  list<T>(read: () => T): T[] {
    const length = this.#length();
    const items: T[] = [];
    for (let i = 0; i < length; i++) items.push(read());
    return items;
  }

  side(isFloat: boolean): { spans: BucketSpan[]; buckets: number[] } {
    let bucketCount = 0;
    const spans = this.list(() => {
      const zigzag = this.varint();
      const length = this.varint();
      bucketCount += length;
      return { offset: zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2, length };
    });
    if (bucketCount > this.#bytes.length - this.#at) throw damaged();
    const buckets: number[] = [];
    for (let i = 0; i < bucketCount; i++) buckets.push(this.count(isFloat));
    return { spans, buckets };
  }

  /** Reads the length of a list whose items take at least one byte each. */
  #length(): number {
    const length = this.varint();
    if (length > this.#bytes.length - this.#at) throw damaged();
    return length;
  }

  #need(length: number): void {
    if (this.#at + length > this.#bytes.length) throw damaged();
  }
}

function damaged(): AlmanacError {
  return new AlmanacError('unexpected', 'native histogram is damaged');
}
