import { AlmanacError } from '#shared/errors/almanac-error';
import { BYTES, WireReader } from '#shared/protobuf/wire-reader';

import type { LabelRules } from '../common/metric-labels.js';
import type { HistogramSample, MetricFamily, MetricRows } from '../common/metric-rows.js';
import type { KnownSeries } from '../common/metric-series.js';
import { RejectedRows } from '../common/rejected-rows.js';
import type { AdditionalWrite, Decoding } from '../protocol.js';
import { readWireHistogram } from './histogram.js';
import { wireLabelsJson, labelsStart } from './labels.js';
import type { RemoteWriteCache } from './remote-write-cache.js';
import { SampleReader } from './sample.js';

/** Samples of a request. Bodies of the default size limit have fewer unless they are made to exceed it. */
const ROWS_MAX = 4 * 1024 * 1024;
/** Metric families of a request whose metadata is stored. */
const METADATA_MAX = 100_000;
/** Longest metadata, whose texts become tags. */
const METADATA_CHARACTERS_MAX = 16 * 1024;
/** Characters of a reason, and of labels, in a reply. */
const SHOWN_CHARACTERS_MAX = 256;
/** The messages of both versions, as a content type names them. */
export const MESSAGE_V1 = 'prometheus.WriteRequest (remote write 1.0)';
/** The message of remote write 2.0. */
export const MESSAGE_V2 = 'io.prometheus.write.v2.Request (remote write 2.0)';

const TYPE_WORDS = ['unknown', 'counter', 'gauge', 'histogram', 'gaugehistogram', 'summary', 'info', 'stateset'];

/** Options of the decoders of both versions. */
export interface DecoderOptions {
  readonly cache: RemoteWriteCache;
  readonly rules: LabelRules;
  /** Physical table of series whose labels name none. */
  readonly defaultTable: string;
}

/** Numbers of the fields of a series that differ between the versions. */
interface SeriesFields {
  readonly exemplars: number;
  readonly histograms: number;
  readonly metadata: number | undefined;
}

/** Positions of the messages of one series: start and end, alternating. */
class SeriesParts {
  readonly samples: number[] = [];
  readonly histograms: number[] = [];
  readonly exemplars: number[] = [];
  readonly metadata: number[] = [];

  clear(): void {
    this.samples.length = 0;
    this.histograms.length = 0;
    this.exemplars.length = 0;
    this.metadata.length = 0;
  }

  /** Twice the number of messages. */
  get length(): number {
    return this.samples.length + this.histograms.length + this.exemplars.length + this.metadata.length;
  }
}

/** Decodes what both versions have in common: everything of a series but its labels. */
export abstract class SeriesDecoder implements Decoding {
  readonly rejected = new RejectedRows();
  readonly rows: MetricRows;
  protected readonly reader: WireReader;
  protected readonly options: DecoderOptions;
  protected readonly sample: SampleReader;
  protected readonly parts = new SeriesParts();
  protected at = 0;
  /** Whether the body has any field of its message. */
  protected hasKnownField = false;
  readonly #fields: SeriesFields;
  /** Callbacks for metadata of this request that is not stored yet, by its key in the cache. */
  readonly #metadata = new Map<string, (() => void)[]>();

  /** @param bytes must not change until the body is decoded. */
  constructor(bytes: Buffer, rows: MetricRows, options: DecoderOptions, fields: SeriesFields) {
    this.rows = rows;
    this.options = options;
    this.reader = new WireReader(bytes);
    this.sample = new SampleReader(this.reader);
    this.#fields = fields;
  }

  /** @throws `invalid_arguments` if the body is malformed or has too many samples. */
  abstract decode(budgetBytes: number): boolean;

  additionalWrites(): readonly AdditionalWrite[] {
    return this.rows.additionalWrites();
  }

  /** Remembers that the metadata of this request is stored. */
  metadataKept(): void {
    for (const [key, callbacks] of this.#metadata) {
      this.options.cache.addMetadata(key);
      for (const remember of callbacks) remember();
    }
  }

  /** @throws `invalid_arguments` if the body has fields, but none of the message: then it is another message. */
  protected checkMessage(message: string, other: string): void {
    if (this.hasKnownField || this.reader.bytes.length === 0) return;
    const text = `the body is not a ${message}: it has none of its fields; a sender of ${other} says so in its Content-Type`;
    throw new AlmanacError('invalid_arguments', text);
  }

  protected checkSize(): void {
    if (this.rows.rowCount > ROWS_MAX) throw tooManySamples();
  }

  /** Collects the positions of the messages of a series, but for its labels, in `parts`. */
  protected collectParts(from: number, end: number, onLabels: (start: number, end: number) => void): void {
    const { reader, parts } = this;
    const { histograms, exemplars, metadata } = this.#fields;
    for (let at = from; at < end;) {
      const start = at;
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      const field = tag >>> 3;
      if (field === LABELS_FIELD) onLabels(start, at);
      if ((tag & 7) !== BYTES) continue;
      if (field === SAMPLES_FIELD) parts.samples.push(reader.at, at);
      else if (field === histograms) parts.histograms.push(reader.at, at);
      else if (field === exemplars) parts.exemplars.push(reader.at, at);
      else if (field === metadata) parts.metadata.push(reader.at, at);
      if (parts.length > 2 * ROWS_MAX) throw tooManySamples();
    }
    if (this.rows.rowCount + parts.length / 2 > ROWS_MAX) throw tooManySamples();
  }

  /** Appends the rows of `parts`; returns the reason if the whole series is rejected. */
  protected addParts(series: KnownSeries): string {
    const { parts, reader, sample, rows } = this;
    const histograms: HistogramSample[] = [];
    for (let i = 0; i < parts.histograms.length; i += 2) {
      const read = readWireHistogram(reader, parts.histograms[i], parts.histograms[i + 1]);
      if (typeof read === 'string') return read;
      histograms.push(read);
    }
    for (let i = 0; i < parts.samples.length; i += 2) {
      sample.read(parts.samples[i], parts.samples[i + 1]);
      rows.addSample(series, sample);
    }
    for (const histogram of histograms) rows.addHistogram(series, histogram);
    if (parts.exemplars.length > 0) this.#addExemplars(series, parts.exemplars);
    return '';
  }

  /** Returns the labels of an exemplar as JSON; undefined if they are not allowed. */
  protected abstract exemplarLabels(from: number, end: number): string | undefined;

  /** @param remember is called once the metadata is stored. */
  protected addMetadata(metadata: MetricFamily, series: KnownSeries | undefined, remember: () => void): void {
    const { metric, type, unit, help } = metadata;
    if (metric === '' || metric.length + unit.length + help.length > METADATA_CHARACTERS_MAX) return;
    const { cache } = this.options;
    const key = [series?.target.database ?? '', metric, type, unit, help].join('\n');
    if (cache.hasMetadata(key)) return remember();
    const callbacks = this.#metadata.get(key);
    if (callbacks !== undefined) return void callbacks.push(remember);
    if (this.#metadata.size >= METADATA_MAX) return;
    this.#metadata.set(key, [remember]);
    this.rows.addMetadata(metadata, series?.target);
  }

  /** @param isWhole whether these are all labels of the series. */
  protected reject(reason: string, labels: () => Buffer, isWhole = true): void {
    this.rejected.addMalformed(() => {
      const shown = this.#shown(labels(), isWhole);
      const series = shown.length > SHOWN_CHARACTERS_MAX ? `${shown.slice(0, SHOWN_CHARACTERS_MAX)}..` : shown;
      return `${reason.slice(0, SHOWN_CHARACTERS_MAX)}: series ${series}`;
    });
  }

  /** @param positions start and end of each exemplar, alternating. */
  #addExemplars(series: KnownSeries, positions: readonly number[]): void {
    const { labels } = series;
    const own = wireLabelsJson(new WireReader(labels), 0, labels.length, this.options.rules);
    if (own === undefined) return;
    for (let i = 0; i < positions.length; i += 2) {
      this.sample.readExemplar(positions[i], positions[i + 1]);
      const exemplar = this.exemplarLabels(positions[i], positions[i + 1]);
      if (exemplar !== undefined) this.rows.addExemplar(series, this.sample, { series: own, exemplar });
    }
  }

  /** Returns labels for a message, valid or not. */
  #shown(labels: Buffer, isWhole: boolean): string {
    const reader = new WireReader(labels);
    const whole = isWhole
      ? wireLabelsJson(reader, 0, labels.length, { ...this.options.rules, isLossy: true })
      : undefined;
    return whole ?? labelsStart(reader, 0, labels.length);
  }
}

const LABELS_FIELD = 1;
const SAMPLES_FIELD = 2;

function tooManySamples(): AlmanacError {
  const text = `request has more than ${ROWS_MAX} samples: send fewer at once`;
  return new AlmanacError('invalid_arguments', text, { http: 413 });
}

/** Returns the name of a metric type. */
export function typeWord(type: number): string {
  return TYPE_WORDS[type] ?? TYPE_WORDS[0];
}
