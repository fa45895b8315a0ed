import { decodeHistogram } from '#shared/histogram/histogram-bytes';
import { STALE_HIGH, STALE_LOW, type BucketSpan, type NativeHistogram } from '#shared/histogram/native-histogram';
import { varintLength } from '#shared/bytes/varint';
import { WireWriter } from '#shared/protobuf/wire-writer';

import type { Labels } from '../series/labels.js';
import type { SampleSlice } from '../samples/sample-slice.js';
import type { StoredSeries } from '../samples/sample-source.js';
import { valueWords } from './chunks.js';

/** Field tags. The lowest bits are 2 for messages, texts and packed numbers, and 1 for doubles. */
const SERIES = 0x0a;
const LABEL = 0x0a;
const NAME = 0x0a;
const VALUE = 0x12;
const SAMPLE = 0x12;
const SAMPLE_VALUE = 0x09;
const SAMPLE_TIME = 0x10;
const HISTOGRAM = 0x22;

/** Size of a value with its tag. */
const VALUE_BYTES = 9;
/** Size of a sample's tag and length, and of the tag of its time. */
const SAMPLE_HEAD_BYTES = 3;
/** Size in bytes from which buffered output is yielded. */
export const PART_BYTES = 256 * 1024;

/**
 * Writes the series of a response that is not streamed.
 *
 * @see https://github.com/prometheus/prometheus/blob/main/prompb/types.proto
 */
export class TimeSeriesWriter {
  readonly #head = new WireWriter();
  readonly #histograms = new WireWriter();

  /** Writes a series as a field of QueryResult. Yields full buffers and leaves the rest in `out`. */
  *parts({ labels, slice }: StoredSeries, out: WireWriter): Iterable<Uint8Array> {
    const { times } = slice;
    writeLabels(labels, this.#head);
    const floats = new Uint8Array(times.length);
    let length = this.#head.length;
    for (let i = 0; i < times.length; i++) {
      const bytes = slice.histograms?.[i];
      if (bytes === undefined) {
        floats[i] = 1;
        length += SAMPLE_HEAD_BYTES + VALUE_BYTES + varintLength(times[i]);
      } else {
        writeHistogram(decodeHistogram(bytes), times[i], this.#histograms);
      }
    }
    out.byte(SERIES);
    out.varint(length + this.#histograms.length);
    out.raw(this.#head.take());
    yield* writeSamples(slice, floats, out);
    out.raw(this.#histograms.take());
    if (out.length >= PART_BYTES) yield out.take();
  }
}

/** Writes labels as fields of a series; both kinds of response use the same fields. */
export function writeLabels(labels: Labels, out: WireWriter): void {
  for (const [name, value] of labels.pairs()) {
    out.message(LABEL, () => {
      out.text(NAME, name);
      out.text(VALUE, value);
    });
  }
}

/** @param floats 1 for each sample that is a float. */
function* writeSamples({ times, values }: SampleSlice, floats: Uint8Array, out: WireWriter): Iterable<Uint8Array> {
  const words = valueWords(values);
  for (let i = 0; i < times.length; i++) {
    if (floats[i] === 0) continue;
    out.byte(SAMPLE);
    out.byte(VALUE_BYTES + 1 + varintLength(times[i]));
    out.byte(SAMPLE_VALUE);
    out.words(words[2 * i], words[2 * i + 1]);
    out.byte(SAMPLE_TIME);
    out.varint(times[i]);
    if (out.length >= PART_BYTES) yield out.take();
  }
}

/** Tags of a histogram's fields. */
const H = {
  ...{ countInt: 0x08, countFloat: 0x11, sum: 0x19, schema: 0x20, zeroThreshold: 0x29, zeroInt: 0x30, zeroFloat: 0x39 },
  ...{ negativeSpans: 0x42, negativeDeltas: 0x4a, negativeCounts: 0x52 },
  ...{ positiveSpans: 0x5a, positiveDeltas: 0x62, positiveCounts: 0x6a },
  ...{ resetHint: 0x70, time: 0x78 },
} as const;
/** Tag of field 16, which takes two bytes. */
const CUSTOM_VALUES_TAG = [0x82, 0x01];
const SPAN_OFFSET = 0x08;
const SPAN_LENGTH = 0x10;

function writeHistogram(histogram: NativeHistogram, timeMs: number, out: WireWriter): void {
  const { isFloat, schema, zeroThreshold, resetHint, customValues } = histogram;
  out.message(HISTOGRAM, () => {
    writeCount(out, isFloat ? H.countFloat : H.countInt, histogram.count, isFloat);
    out.byte(H.sum);
    if (histogram.isStale) out.words(STALE_LOW, STALE_HIGH);
    else out.double(histogram.sum);
    out.byte(H.schema);
    out.zigzag(schema);
    out.byte(H.zeroThreshold);
    out.double(zeroThreshold);
    writeCount(out, isFloat ? H.zeroFloat : H.zeroInt, histogram.zeroCount, isFloat);
    writeSpans(out, H.negativeSpans, histogram.negativeSpans);
    writeBuckets(out, isFloat ? H.negativeCounts : H.negativeDeltas, histogram.negativeBuckets, isFloat);
    writeSpans(out, H.positiveSpans, histogram.positiveSpans);
    writeBuckets(out, isFloat ? H.positiveCounts : H.positiveDeltas, histogram.positiveBuckets, isFloat);
    out.byte(H.resetHint);
    out.varint(resetHint);
    out.byte(H.time);
    out.varint(timeMs);
    if (customValues.length === 0) return;
    for (const byte of CUSTOM_VALUES_TAG) out.byte(byte);
    out.varint(8 * customValues.length);
    for (const bound of customValues) out.double(bound);
  });
}

function writeCount(out: WireWriter, tag: number, count: number, isFloat: boolean): void {
  out.byte(tag);
  if (isFloat) out.double(count);
  else out.varint(count);
}

function writeSpans(out: WireWriter, tag: number, spans: readonly BucketSpan[]): void {
  for (const { offset, length } of spans) {
    out.message(tag, () => {
      out.byte(SPAN_OFFSET);
      out.zigzag(offset);
      out.byte(SPAN_LENGTH);
      out.varint(length);
    });
  }
}

/** Writes packed buckets: float counts as they are, integer counts as differences from the previous bucket. */
function writeBuckets(out: WireWriter, tag: number, buckets: readonly number[], isFloat: boolean): void {
  if (buckets.length === 0) return;
  out.message(tag, () => {
    let before = 0;
    for (const bucket of buckets) {
      if (isFloat) out.double(bucket);
      else out.zigzag(bucket - before);
      before = bucket;
    }
  });
}
