/**
 * Remote write 1.0 to columns (messages: docs/protocols/prometheus-remote-write.md).
 *
 * Senders repeat themselves: the labels of a series are first compared with those of the series that came behind the
 * last one in an earlier request, then looked up by hash, and parsed when they are new.
 */
import { isUtf8 } from 'node:buffer';

import { labelsJson } from './labels.js';
import { MESSAGE_V1, MESSAGE_V2, SeriesDecoder, typeWord, type DecoderOptions } from './decoder.js';
import type { MetricRows } from '../common/metric-rows.js';
import type { KnownSeries } from './series-cache.js';
import { LABEL_TAG, SAMPLE_TAG, SERIES_TAG } from './tags.js';
import { BYTES, VARINT, WireReader } from '#shared/protobuf/wire-reader';

const METADATA_TAG = 0x1a;
const METADATA_FIELDS = { type: 1, metric: 2, help: 4, unit: 5 } as const;

/** Decodes one body of version 1, in slices. */
export class DecoderV1 extends SeriesDecoder {
  /** The series that is expected next, and the one before. */
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
    const { bytes } = this.scanner;
    const stop = Math.min(this.at + budgetBytes, bytes.length);
    this.#forgetOldGuesses();
    while (this.at < stop) this.at = this.#decodeField(this.at, bytes.length);
    this.checkSize();
    if (this.at < bytes.length) return false;
    this.checkMessage(MESSAGE_V1, MESSAGE_V2);
    if (this.#epoch === cache.epoch) cache.guess = this.#guess;
    return true;
  }

  #decodeField(from: number, length: number): number {
    const { scanner } = this;
    const tag = scanner.varint(from, length);
    const next = scanner.skip(tag, scanner.at, length);
    if (tag === SERIES_TAG) this.#decodeSeries(scanner.at, next);
    else if (tag === METADATA_TAG) this.#decodeMetadata(scanner.at, next);
    else return next;
    this.hasKnownField = true;
    return next;
  }

  #decodeSeries(from: number, end: number): void {
    const guess = this.#guess;
    const { bytes, view } = this.scanner;
    if (guess !== undefined) {
      // One sample and nothing else behind the labels: what nearly all series of all senders look like.
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
    const { scanner, parts } = this;
    const { cache, defaultTable } = this.options;
    parts.clear();
    // Labels are wanted in one piece; encoders write them so.
    let labelsTo = from;
    let scattered: Buffer[] | undefined = undefined;
    this.collectParts(from, end, (start, stop) => {
      const field = labelField(scanner.bytes, start, stop);
      if (field === undefined) return;
      const isNext = start === labelsTo && field.length === stop - start;
      if (isNext && scattered === undefined) labelsTo = stop;
      else (scattered ??= [scanner.bytes.subarray(from, labelsTo)]).push(field);
    });
    if (parts.length === 0) return;
    const labels = scattered === undefined ? undefined : Buffer.concat(scattered);
    const found =
      labels === undefined
        ? cache.series(scanner, from, labelsTo, defaultTable)
        : cache.series(new WireReader(labels), 0, labels.length, defaultTable);
    this.#forgetOldGuesses();
    const reason = typeof found === 'string' ? found : this.addParts(found);
    if (reason !== '') this.refuse(reason, labels ?? scanner.bytes.subarray(from, labelsTo));
    else if (typeof found !== 'string') this.#follow(found);
  }

  protected exemplarLabels(from: number, end: number): string | undefined {
    const { scanner } = this;
    const labels: Buffer[] = [];
    for (let at = from; at < end;) {
      const tag = scanner.varint(at, end);
      const next = scanner.skip(tag, scanner.at, end);
      const field = tag === LABEL_TAG ? labelField(scanner.bytes, at, next) : undefined;
      if (field !== undefined) labels.push(field);
      at = next;
    }
    const joined = Buffer.concat(labels);
    return labelsJson(new WireReader(joined), 0, joined.length, this.options.rules);
  }

  #decodeMetadata(from: number, end: number): void {
    const { scanner } = this;
    let type = 0;
    const texts: (string | undefined)[] = ['', '', '', '', '', ''];
    for (let at = from; at < end;) {
      const tag = scanner.varint(at, end);
      at = scanner.skip(tag, scanner.at, end);
      const field = tag >>> 3;
      if (field === METADATA_FIELDS.type && (tag & 7) === VARINT) type = scanner.low;
      else if (field < texts.length && (tag & 7) === BYTES) texts[field] = utf8(scanner.bytes.subarray(scanner.at, at));
    }
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

  /** A chain of guesses would keep series in memory that the cache has let go. */
  #forgetOldGuesses(): void {
    if (this.#epoch === this.options.cache.epoch) return;
    this.#epoch = this.options.cache.epoch;
    this.#guess = undefined;
    this.#previous = undefined;
  }
}

const LABEL_TAG_BYTE = Buffer.from([LABEL_TAG]);

/** The field `[start, end)` with a tag of one byte; undefined if it is no bytes. */
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
