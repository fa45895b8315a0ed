/**
 * Decodes remote write 1.0 to columns (messages: docs/protocols/prometheus-remote-write.md).
 *
 * Senders repeat themselves: the labels of a series are first compared with those of the series that followed the
 * previous one in an earlier request, then looked up by hash, and parsed only when they are new.
 */
import { isUtf8 } from 'node:buffer';

import { BYTES, VARINT, WireReader } from '#shared/protobuf/wire-reader';

import type { MetricRows } from '../common/metric-rows.js';
import type { KnownSeries } from '../common/metric-series.js';
import { MESSAGE_V1, MESSAGE_V2, SeriesDecoder, typeWord, type DecoderOptions } from './decoder.js';
import { wireLabelsJson } from './labels.js';
import { LABEL_TAG, SAMPLE_TAG, SERIES_TAG } from './sample.js';

const METADATA_TAG = 0x1a;
const METADATA_FIELDS = { type: 1, metric: 2, help: 4, unit: 5 } as const;

/** Decodes one body of version 1. */
export class DecoderV1 extends SeriesDecoder {
  /** The series that is expected next, and the previous one. */
  #guess: KnownSeries | undefined;
  #previous: KnownSeries | undefined = undefined;
  #epoch: number;

  constructor(bytes: Buffer, rows: MetricRows, options: DecoderOptions) {
    super(bytes, rows, options, { exemplars: 3, histograms: 4, metadata: undefined });
    this.#guess = options.cache.guess;
    this.#epoch = options.cache.epoch;
  }

  decode(budgetBytes: number): boolean {
    const { cache } = this.options;
    const { bytes } = this.reader;
    const stop = Math.min(this.at + budgetBytes, bytes.length);
    this.#dropOldGuesses();
    while (this.at < stop) this.at = this.#decodeField(this.at, bytes.length);
    this.checkSize();
    if (this.at < bytes.length) return false;
    this.checkMessage(MESSAGE_V1, MESSAGE_V2);
    if (this.#epoch === cache.epoch) cache.guess = this.#guess;
    return true;
  }

  #decodeField(from: number, length: number): number {
    const { reader } = this;
    const tag = reader.varint(from, length);
    const next = reader.skip(tag, reader.at, length);
    if (tag === SERIES_TAG) this.#decodeSeries(reader.at, next);
    else if (tag === METADATA_TAG) this.#decodeMetadata(reader.at, next);
    else return next;
    this.hasKnownField = true;
    return next;
  }

  #decodeSeries(from: number, end: number): void {
    const guess = this.#guess;
    const { bytes, view } = this.reader;
    if (guess !== undefined) {
      // One sample after the labels and nothing else, as in nearly all series of all senders.
      const at = from + guess.length;
      const length = bytes[at + 1];
      if (length < 0x80 && at + 2 + length === end && bytes[at] === SAMPLE_TAG && guess.equals(view, from)) {
        this.sample.read(at + 2, end);
        this.rows.addSample(guess, this.sample);
        this.#follow(guess);
        return;
      }
    }
    this.#decodeAnySeries(from, end);
  }

  #decodeAnySeries(from: number, end: number): void {
    const { reader, parts } = this;
    const { cache, defaultTable } = this.options;
    parts.clear();
    // Labels must be contiguous, and encoders write them so.
    let labelsTo = from;
    let scattered: Buffer[] | undefined = undefined;
    this.collectParts(from, end, (start, stop) => {
      const field = labelField(reader.bytes, start, stop);
      if (field === undefined) return;
      const isNext = start === labelsTo && field.length === stop - start;
      if (isNext && scattered === undefined) labelsTo = stop;
      else (scattered ??= [reader.bytes.subarray(from, labelsTo)]).push(field);
    });
    if (parts.length === 0) return;
    const labels = scattered === undefined ? undefined : Buffer.concat(scattered);
    const found =
      labels === undefined
        ? cache.series(reader, from, labelsTo, defaultTable)
        : cache.series(new WireReader(labels), 0, labels.length, defaultTable);
    this.#dropOldGuesses();
    const reason = typeof found === 'string' ? found : this.addParts(found);
    if (reason !== '') this.reject(reason, () => labels ?? reader.bytes.subarray(from, labelsTo));
    else if (typeof found !== 'string') this.#follow(found);
  }

  protected exemplarLabels(from: number, end: number): string | undefined {
    const { reader } = this;
    const labels: Buffer[] = [];
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      const next = reader.skip(tag, reader.at, end);
      const field = tag === LABEL_TAG ? labelField(reader.bytes, at, next) : undefined;
      if (field !== undefined) labels.push(field);
      at = next;
    }
    const joined = Buffer.concat(labels);
    return wireLabelsJson(new WireReader(joined), 0, joined.length, this.options.rules);
  }

  #decodeMetadata(from: number, end: number): void {
    const { reader } = this;
    let type = 0;
    const texts: (string | undefined)[] = ['', '', '', '', '', ''];
    reader.eachField(from, end, (field, wireType, start, stop) => {
      if (field === METADATA_FIELDS.type && wireType === VARINT) type = reader.low;
      else if (field < texts.length && wireType === BYTES) texts[field] = utf8(reader.bytes.subarray(start, stop));
    });
    const [metric, help, unit] = [
      texts[METADATA_FIELDS.metric],
      texts[METADATA_FIELDS.help],
      texts[METADATA_FIELDS.unit],
    ];
    // Metadata never fails a request.
    if (metric === undefined || help === undefined || unit === undefined) return;
    this.addMetadata({ metric, type: typeWord(type), unit, help }, undefined, () => undefined);
  }

  #follow(series: KnownSeries): void {
    const previous = this.#previous;
    if (previous !== undefined && previous.next !== series) previous.next = series;
    this.#previous = series;
    this.#guess = series.next;
  }

  /** A chain of guesses would keep series in memory that the cache has dropped. */
  #dropOldGuesses(): void {
    if (this.#epoch === this.options.cache.epoch) return;
    this.#epoch = this.options.cache.epoch;
    this.#guess = undefined;
    this.#previous = undefined;
  }
}

const LABEL_TAG_BYTE = Buffer.from([LABEL_TAG]);

/** Returns the field `[start, end)` with a tag of one byte; undefined if it is not of `BYTES`. */
function labelField(bytes: Buffer, start: number, end: number): Buffer | undefined {
  if ((bytes[start] & 7) !== BYTES) return undefined;
  if (bytes[start] < 0x80) return bytes.subarray(start, end);
  let at = start;
  while (bytes[at] >= 0x80) at++;
  return Buffer.concat([LABEL_TAG_BYTE, bytes.subarray(at + 1, end)]);
}

function utf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString() : undefined;
}
