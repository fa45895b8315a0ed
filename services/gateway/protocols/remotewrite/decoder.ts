import { AlmanacError } from '#shared/errors/almanac-error';

import type { Decoding } from '../protocol.js';
import { readHistogram, type HistogramSample } from './histogram.js';
import { labelsJson, labelsStart, type LabelRules } from './labels.js';
import { Rejections } from './rejections.js';
import type { MetricMetadata, MetricRows } from '../common/metric-rows.js';
import { SampleReader } from './sample.js';
import type { KnownSeries, SeriesCache } from './series-cache.js';
import { BYTES, WireReader } from '#shared/protobuf/wire-reader';

/** Samples of a request; a body of the default limit has no more unless it is made to have them. */
const ROWS_MAX = 4 * 1024 * 1024;
/** Families of metrics that are told of in one request. */
const METADATA_MAX = 100_000;
/** Texts of metadata become tags. */
const METADATA_CHARACTERS_MAX = 16 * 1024;
/** The messages of both versions, as a content type names them. */
export const MESSAGE_V1 = 'prometheus.WriteRequest (remote write 1.0)';
export const MESSAGE_V2 = 'io.prometheus.write.v2.Request (remote write 2.0)';

const TYPE_WORDS = ['unknown', 'counter', 'gauge', 'histogram', 'gaugehistogram', 'summary', 'info', 'stateset'];

export interface DecoderOptions {
  readonly cache: SeriesCache;
  readonly rules: LabelRules;
  readonly defaultTable: string;
}

/** Fields of a series besides its labels and its samples, which are the same in both versions. */
interface SeriesFields {
  readonly exemplars: number;
  readonly histograms: number;
  readonly metadata: number | undefined;
}

/** Where the messages of one series begin and end, in turn. */
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

/** What the decoders of both versions have in common: all of a series but its labels. */
export abstract class SeriesDecoder implements Decoding {
  readonly rejections = new Rejections();
  readonly rows: MetricRows;
  protected readonly scanner: WireReader;
  protected readonly options: DecoderOptions;
  protected readonly sample: SampleReader;
  protected readonly parts = new SeriesParts();
  protected at = 0;
  /** Whether the body has a field of its message. */
  protected hasKnownField = false;
  readonly #fields: SeriesFields;
  /** Metadata of this request, and the key under which it is remembered once it is kept. */
  readonly #metadata = new Map<string, (() => void)[]>();

  /** @param bytes must not change until the last slice is decoded. */
  constructor(bytes: Buffer, rows: MetricRows, options: DecoderOptions, fields: SeriesFields) {
    this.rows = rows;
    this.options = options;
    this.scanner = new WireReader(bytes);
    this.sample = new SampleReader(this.scanner);
    this.#fields = fields;
  }

  /** @throws `invalid_arguments` if the body is malformed or has too many samples. */
  abstract decode(budgetBytes: number): boolean;

  further(): ReturnType<MetricRows['further']> {
    return this.rows.further();
  }

  /** Remembers that the metadata of this request is kept. */
  metadataKept(): void {
    for (const [key, all] of this.#metadata) {
      this.options.cache.addMetadata(key);
      for (const remember of all) remember();
    }
  }

  /** @throws `invalid_arguments` if none of the fields of the body are those of the message, which is another then. */
  protected checkMessage(message: string, other: string): void {
    if (this.hasKnownField || this.scanner.bytes.length === 0) return;
    const text = `the body is no ${message}: it has none of its fields; a sender of ${other} says so in its Content-Type`;
    throw new AlmanacError('invalid_arguments', text);
  }

  protected checkSize(): void {
    if (this.rows.rowCount > ROWS_MAX) throw tooManySamples();
  }

  /** Notes where the messages behind the labels are. Fields that are no bytes, and `labelField`, are left out. */
  protected collectParts(from: number, end: number, onLabels: (start: number, end: number) => void): void {
    const { scanner, parts } = this;
    const { histograms, exemplars, metadata } = this.#fields;
    for (let at = from; at < end;) {
      const start = at;
      const tag = scanner.varint(at, end);
      at = scanner.skip(tag, scanner.at, end);
      const field = tag >>> 3;
      if (field === LABELS_FIELD) onLabels(start, at);
      if ((tag & 7) !== BYTES) continue;
      if (field === SAMPLES_FIELD) parts.samples.push(scanner.at, at);
      else if (field === histograms) parts.histograms.push(scanner.at, at);
      else if (field === exemplars) parts.exemplars.push(scanner.at, at);
      else if (field === metadata) parts.metadata.push(scanner.at, at);
      if (parts.length > 2 * ROWS_MAX) throw tooManySamples();
    }
    if (this.rows.rowCount + parts.length / 2 > ROWS_MAX) throw tooManySamples();
  }

  /** Appends what `parts` holds; returns the reason if the series is refused as a whole. */
  protected addParts(series: KnownSeries): string {
    const { parts, scanner, sample, rows } = this;
    const histograms: HistogramSample[] = [];
    for (let i = 0; i < parts.histograms.length; i += 2) {
      const read = readHistogram(scanner, parts.histograms[i], parts.histograms[i + 1]);
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

  /** The labels of an exemplar as JSON; undefined if they cannot be. */
  protected abstract exemplarLabels(from: number, end: number): string | undefined;

  /** @param remember is called once the metadata is kept. */
  protected addMetadata(metadata: MetricMetadata, series: KnownSeries | undefined, remember: () => void): void {
    const { metric, type, unit, help } = metadata;
    if (metric === '' || metric.length + unit.length + help.length > METADATA_CHARACTERS_MAX) return;
    const { cache } = this.options;
    const key = [series?.target.database ?? '', metric, type, unit, help].join('\n');
    if (cache.hasMetadata(key)) return remember();
    const waiting = this.#metadata.get(key);
    if (waiting !== undefined) return void waiting.push(remember);
    if (this.#metadata.size >= METADATA_MAX) return;
    this.#metadata.set(key, [remember]);
    this.rows.addMetadata(metadata, series?.target);
  }

  /** @param isWhole whether these are all labels of the series. */
  protected refuse(reason: string, labels: Buffer, isWhole = true): void {
    this.rejections.add(reason, this.rejections.hasRoom ? this.#shown(labels, isWhole) : '');
  }

  #addExemplars(series: KnownSeries, places: readonly number[]): void {
    const { labels } = series;
    const own = labelsJson(new WireReader(labels), 0, labels.length, this.options.rules);
    if (own === undefined) return;
    for (let i = 0; i < places.length; i += 2) {
      this.sample.readExemplar(places[i], places[i + 1]);
      const exemplar = this.exemplarLabels(places[i], places[i + 1]);
      if (exemplar !== undefined) this.rows.addExemplar(series, this.sample, { series: own, exemplar });
    }
  }

  /** Labels for a message, whatever is wrong with them. */
  #shown(labels: Buffer, isWhole: boolean): string {
    const scanner = new WireReader(labels);
    const whole = isWhole ? labelsJson(scanner, 0, labels.length, { ...this.options.rules, isLossy: true }) : undefined;
    return whole ?? labelsStart(scanner, 0, labels.length);
  }
}

const LABELS_FIELD = 1;
const SAMPLES_FIELD = 2;

function tooManySamples(): AlmanacError {
  const text = `request has more than ${ROWS_MAX} samples: send fewer at once`;
  return new AlmanacError('invalid_arguments', text, { http: 413 });
}

export function typeWord(type: number): string {
  return TYPE_WORDS[type] ?? TYPE_WORDS[0];
}
