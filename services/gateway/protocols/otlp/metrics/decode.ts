import { coarsened } from '#shared/histogram/coarsen';
import { histogramProblem, STALE_HIGH, STALE_LOW } from '#shared/histogram/native-histogram';
import { BYTES, FIXED64, malformedBody, VARINT } from '#shared/protobuf/wire-reader';
import { AlmanacError } from '#shared/errors/almanac-error';

import type { LabelRules } from '../../common/metric-labels.js';
import type { MetricRows, MetricSample } from '../../common/metric-rows.js';
import type { KnownSeries } from '../../common/metric-series.js';
import type { AdditionalWrite } from '../../protocol.js';
import { attributeText } from '../attribute-text.js';
import { ItemDecoder } from '../item-decoder.js';
import { readResource, readScope, type TelemetryOrigin } from '../origin.js';
import { doubleText, MetricContext, OriginLabels, type SentMetric } from './context.js';
import { readExponentialPoint } from './exponential.js';
import { nextContextNumber, type OtlpMetricsCache } from './metrics-cache.js';
import type { MetricTranslation } from './options.js';
import { EXPONENTIAL_FIELDS, HISTOGRAM_FIELDS, INTEGER_VALUE_TAG, NUMBER_FIELDS, PointReader } from './points.js';
import { metricNameOf } from './translation.js';

/** Samples of a request, as for remote write. */
const ROWS_MAX = 4 * 1024 * 1024;
/** Buckets or quantiles of one point. */
const PARTS_MAX = 10_000;
/** Longer texts are not stored as metadata. */
const METADATA_CHARACTERS_MAX = 16 * 1024;
/** Bytes of a key before the attributes: the number of the metric, the kind of series, and the bound of a bucket. */
const PREFIX_BYTES = 16;

/** Numbers of the fields of a metric that hold data. */
const Data = { gauge: 5, sum: 7, histogram: 9, exponential: 10, summary: 11 } as const;
const NAME = 1;
const DESCRIPTION = 2;
const UNIT = 3;
const POINTS_TAG = 0x0a;
const TEMPORALITY_TAG = 0x10;
const MONOTONIC_TAG = 0x18;
const DELTA = 1;

/** What a series of a point with several series holds; part of its key. */
const Kind = { value: 0, bucket: 1, sum: 2, count: 3, quantile: 4 } as const;
type Kind = (typeof Kind)[keyof typeof Kind];
const SUFFIXES = ['', '_bucket', '_sum', '_count', ''];
const BOUND_LABELS = [undefined, 'le', undefined, undefined, 'quantile'];

const scratch = new DataView(new ArrayBuffer(8));

/** Options of an `OtlpMetricsDecoder`. */
export interface MetricsDecodeOptions {
  readonly cache: OtlpMetricsCache;
  readonly rules: LabelRules;
  readonly defaultTable: string;
  readonly translation: MetricTranslation;
}

/** A sample that is filled again for each point. */
class PointSample implements MetricSample {
  valueLow = 0;
  valueHigh = 0;
  timeLow = 0;
  timeHigh = 0;
  readonly startMs = 0;

  setValue(value: number): void {
    scratch.setFloat64(0, value, true);
    this.valueLow = scratch.getInt32(0, true);
    this.valueHigh = scratch.getInt32(4, true);
  }

  setStale(): void {
    this.valueLow = STALE_LOW;
    this.valueHigh = STALE_HIGH;
  }
}

/** A series with the value that a point gives it. */
interface SeriesValue {
  readonly series: KnownSeries;
  readonly value: number;
}

/** Decodes a request with metrics to samples. */
export class OtlpMetricsDecoder extends ItemDecoder {
  readonly rows: MetricRows;
  readonly #options: MetricsDecodeOptions;
  readonly #point = new PointReader(PREFIX_BYTES);
  readonly #sample = new PointSample();
  readonly #unstored = new Map<string, MetricContext[]>();
  #resource: TelemetryOrigin | undefined = undefined;
  #resourceKey = '';
  #origin: OriginLabels | undefined = undefined;
  /** The metric whose points are read. */
  #context: MetricContext | undefined = undefined;
  /** The metric before, of the same resource and scope. */
  #lastContext: MetricContext | undefined = undefined;
  #data = 0;
  #isDelta = false;
  #previous: KnownSeries | undefined = undefined;
  #epoch: number;

  /** @param bytes the request as protobuf. */
  constructor(bytes: Buffer, rows: MetricRows, options: MetricsDecodeOptions) {
    super(bytes);
    this.rows = rows;
    this.#options = options;
    this.#epoch = options.cache.epoch;
  }

  override decode(budgetBytes: number): boolean {
    // Series that the cache has dropped must not be followed.
    if (this.#epoch !== this.#options.cache.epoch) this.#previous = undefined;
    this.#epoch = this.#options.cache.epoch;
    const isDone = super.decode(budgetBytes);
    if (this.rows.rowCount > ROWS_MAX) throw tooManySamples();
    return isDone;
  }

  additionalWrites(): readonly AdditionalWrite[] {
    return this.rows.additionalWrites();
  }

  /** Remembers that the metadata of this request is stored. */
  metadataKept(): void {
    for (const [key, contexts] of this.#unstored) {
      this.#options.cache.addMetadata(key);
      for (const context of contexts) context.isMetadataStored = true;
    }
  }

  protected beginResource(from: number, end: number): void {
    this.#resource = readResource(this.reader, from, end);
    this.#resourceKey = originKey(this.#resource, this.reader.bytes);
  }

  protected beginScope(from: number, end: number): void {
    const { reader } = this;
    const { cache, translation } = this.#options;
    const scope = readScope(reader, from, end);
    const resource = this.#resource ?? scope;
    const scopeKey = translation.promotesScope ? originKey(scope, reader.bytes) : '';
    const key = `${translation.key}\n${this.#resourceKey.length}\n${this.#resourceKey}${scopeKey}`;
    this.#lastContext = undefined;
    this.#origin = cache.origin(key, () => new OriginLabels(reader, resource, scope, translation));
  }

  protected item(from: number, end: number): void {
    const { reader } = this;
    const texts = [from, from, from, from, from, from, from, from];
    let [data, dataFrom, dataEnd] = [0, from, from];
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      const field = tag >>> 3;
      const isText = field === NAME || field === DESCRIPTION || field === UNIT;
      const isData = field === Data.gauge || field === Data.sum || (field >= Data.histogram && field <= Data.summary);
      if (!isText && !isData) continue;
      if ((tag & 7) !== BYTES) throw malformedBody();
      if (isData) [data, dataFrom, dataEnd] = [field, reader.at, at];
      else [texts[2 * field], texts[2 * field + 1]] = [reader.at, at];
    }
    if (data === 0) return;
    const isMonotonic = this.#readData(dataFrom, dataEnd) && data === Data.sum;
    this.#data = data;
    this.#context = this.#contextOf(texts, isMonotonic);
    this.#previous = undefined;
    this.readParts(dataFrom, dataEnd);
  }

  protected override part(from: number, end: number): number {
    const { reader } = this;
    const tag = reader.varint(from, end);
    const next = reader.skip(tag, reader.at, end);
    if (tag !== POINTS_TAG) {
      if (tag >>> 3 === 1) throw malformedBody();
      return next;
    }
    const reason = this.#addPoint(reader.at, next);
    if (reason !== '') {
      const name = this.#context?.name ?? '';
      this.rejected.addMalformed(() => `metric "${name.slice(0, 256)}": ${reason}`);
    }
    return next;
  }

  /** Reads what the data of a metric has besides its points. @returns whether it is monotonic. */
  #readData(from: number, end: number): boolean {
    const { reader } = this;
    let isMonotonic = false;
    this.#isDelta = false;
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      if (tag === TEMPORALITY_TAG) this.#isDelta = reader.low === DELTA;
      else if (tag === MONOTONIC_TAG) isMonotonic = reader.low !== 0;
    }
    return isMonotonic;
  }

  /** @param texts start and end of the fields of text. */
  #contextOf(texts: readonly number[], isMonotonic: boolean): MetricContext {
    const { reader } = this;
    const origin = this.#origin;
    if (origin === undefined) throw malformedBody();
    const { bytes } = reader;
    const sent: SentMetric = {
      data: this.#data,
      isMonotonic,
      name: bytes.subarray(texts[2 * NAME], texts[2 * NAME + 1]),
      unit: bytes.subarray(texts[2 * UNIT], texts[2 * UNIT + 1]),
    };
    const last = this.#lastContext;
    const expected = last === undefined ? origin.first : last.next;
    const isExpected = expected?.isMetadataStored === true && isSame(expected.sent, sent);
    const context = isExpected ? expected : this.#findContext(origin, sent);
    this.#lastContext = context;
    if (isExpected) return context;
    if (last === undefined) origin.first = context;
    else last.next = context;
    if (!context.isMetadataStored) {
      const help = attributeText(reader, texts[2 * DESCRIPTION], texts[2 * DESCRIPTION + 1]);
      this.#addMetadata(context, sent.unit.toString(), help, isMonotonic);
    }
    return context;
  }

  #findContext(origin: OriginLabels, sent: SentMetric): MetricContext {
    const { cache, translation } = this.#options;
    const { data, isMonotonic } = sent;
    const unitKey = sent.unit.toString('latin1');
    const key = `${data}${isMonotonic ? 'm' : ''}\n${unitKey.length}\n${unitKey}${sent.name.toString('latin1')}`;
    return cache.context(origin, key, () => {
      const [name, unit] = [sent.name, sent.unit].map((bytes) => attributeText({ bytes }, 0, bytes.length));
      const identity = { name, unit, isMonotonicSum: isMonotonic, isGauge: data === Data.gauge };
      const translated = name === '' ? '' : metricNameOf(identity, translation.strategy);
      const own = { data, isMonotonic, name: Buffer.from(sent.name), unit: Buffer.from(sent.unit) };
      return new MetricContext(nextContextNumber(), own, translated, origin, translation);
    });
  }

  #addMetadata(context: MetricContext, unit: string, help: string, isMonotonic: boolean): void {
    const { cache } = this.#options;
    const metric = context.name;
    if (metric === '' || metric.length + unit.length + help.length > METADATA_CHARACTERS_MAX) return;
    const type = typeWordOf(this.#data, isMonotonic);
    const key = ['', metric, type, unit, help].join('\n');
    if (cache.hasMetadata(key)) {
      context.isMetadataStored = true;
      return;
    }
    const contexts = this.#unstored.get(key);
    if (contexts !== undefined) return void contexts.push(context);
    this.#unstored.set(key, [context]);
    this.rows.addMetadata({ metric, type, unit, help }, undefined);
  }

  /** Adds the rows of the point in `[from, end)`; returns the reason if it is rejected. */
  #addPoint(from: number, end: number): string {
    const context = this.#context;
    if (context === undefined) return '';
    const fields =
      this.#data === Data.histogram
        ? HISTOGRAM_FIELDS
        : this.#data === Data.exponential
          ? EXPONENTIAL_FIELDS
          : NUMBER_FIELDS;
    const point = this.#point;
    point.read(this.reader, from, end, fields);
    if (context.name === '') return 'missing metric name';
    if (!point.isTimed) return 'time is missing or out of range';
    this.#sample.timeLow = point.timeLow;
    this.#sample.timeHigh = point.timeHigh;
    switch (this.#data) {
      case Data.histogram:
        return this.#addHistogram(context, from, end);
      case Data.exponential:
        return this.#addExponential(context, from, end);
      case Data.summary:
        return this.#addSummary(context, from, end);
      default:
        return this.#addNumber(context);
    }
  }

  #addNumber(context: MetricContext): string {
    const { reader } = this;
    const sample = this.#sample;
    const { valueTag, valueAt, hasMistypedValue } = this.#point;
    if (hasMistypedValue) throw malformedBody();
    const low = valueTag === 0 ? 0 : reader.view.getInt32(valueAt, true);
    const high = valueTag === 0 ? 0 : reader.view.getInt32(valueAt + 4, true);
    if (valueTag === INTEGER_VALUE_TAG) sample.setValue(high * TWO_TO_32 + (low >>> 0));
    else {
      sample.valueLow = low;
      sample.valueHigh = high;
    }
    if (this.#point.hasNoValue) sample.setStale();
    else if (valueTag === 0) return '';
    const series = this.#series(context, Kind.value, 0);
    if (typeof series === 'string') return series;
    this.rows.addSample(series, sample);
    return '';
  }

  #addHistogram(context: MetricContext, from: number, end: number): string {
    const { reader } = this;
    const [counts, bounds]: [number[], number[]] = [[], []];
    let [count, sum] = [0, 0];
    let hasSum = false;
    reader.eachField(from, end, (field, type, start, to) => {
      if (field === 4) count = this.#unsigned(type, start, to);
      else if (field === 5) [sum, hasSum] = [this.#double(type, start, to), true];
      else if (field === 6) this.#fixed(type, start, to, (at) => counts.push(this.#unsigned(FIXED64, at, at + 8)));
      else if (field === 7) this.#fixed(type, start, to, (at) => bounds.push(reader.view.getFloat64(at, true)));
    });
    if (counts.length > PARTS_MAX) return `histogram has more than ${PARTS_MAX} buckets`;
    const isBare = counts.length === 0 && bounds.length === 0;
    if (!isBare && counts.length !== bounds.length + 1) {
      return `histogram has ${counts.length} buckets and ${bounds.length} bounds`;
    }
    const values: SeriesValue[] = [];
    let total = 0;
    for (let i = 0; i <= bounds.length; i++) {
      total = isBare ? count : total + counts[i];
      const series = this.#series(context, Kind.bucket, i < bounds.length ? bounds[i] : Infinity);
      if (typeof series === 'string') return series;
      values.push({ series, value: total });
    }
    return this.#addTotals(context, values, hasSum ? sum : undefined, count);
  }

  #addSummary(context: MetricContext, from: number, end: number): string {
    const { reader } = this;
    const values: SeriesValue[] = [];
    let [count, sum] = [0, 0];
    let reason = '';
    reader.eachField(from, end, (field, type, start, to) => {
      if (field === 4) count = this.#unsigned(type, start, to);
      else if (field === 5) sum = this.#double(type, start, to);
      if (field !== 6 || reason !== '') return;
      if (type !== BYTES) throw malformedBody();
      let [quantile, value] = [0, 0];
      reader.eachField(start, to, (part, partType, partFrom, partTo) => {
        if (part === 1) quantile = this.#double(partType, partFrom, partTo);
        else if (part === 2) value = this.#double(partType, partFrom, partTo);
      });
      const series = this.#series(context, Kind.quantile, quantile);
      if (typeof series === 'string') reason = series;
      else if (values.push({ series, value }) > PARTS_MAX) reason = `summary has more than ${PARTS_MAX} quantiles`;
    });
    return reason === '' ? this.#addTotals(context, values, sum, count) : reason;
  }

  /** Adds the samples of a point with several series, unless one of them is rejected. */
  #addTotals(context: MetricContext, values: SeriesValue[], sum: number | undefined, count: number): string {
    if (sum !== undefined) {
      const series = this.#series(context, Kind.sum, 0);
      if (typeof series === 'string') return series;
      values.push({ series, value: sum });
    }
    const counts = this.#series(context, Kind.count, 0);
    if (typeof counts === 'string') return counts;
    values.push({ series: counts, value: count });
    for (const { series, value } of values) {
      if (this.#point.hasNoValue) this.#sample.setStale();
      else this.#sample.setValue(value);
      this.rows.addSample(series, this.#sample);
    }
    return '';
  }

  #addExponential(context: MetricContext, from: number, end: number): string {
    const point = this.#point;
    const series = this.#series(context, Kind.value, 0);
    if (typeof series === 'string') return series;
    if (point.hasNoValue) {
      this.#sample.setStale();
      this.rows.addSample(series, this.#sample);
      return '';
    }
    const histogram = readExponentialPoint(this.reader, from, end, this.#isDelta);
    if (typeof histogram === 'string') return histogram;
    const problem = histogramProblem(histogram);
    if (problem !== '') return problem;
    const { timeLow, timeHigh } = point;
    this.rows.addHistogram(series, { histogram: coarsened(histogram), timeLow, timeHigh });
    return '';
  }

  /** Returns the series of the current point; a text is the reason to reject it. @param bound of a bucket. */
  #series(context: MetricContext, kind: Kind, bound: number): KnownSeries | string {
    const { cache, rules, defaultTable } = this.#options;
    const { key, keyView, keyTo } = this.#point;
    keyView.setUint32(0, context.number, true);
    keyView.setUint32(4, kind, true);
    keyView.setFloat64(8, bound, true);
    const previous = this.#previous;
    const guess = previous === undefined ? context.first : previous.next;
    if (guess?.length === keyTo && guess.equals(keyView, 0)) {
      this.#previous = guess;
      return guess;
    }
    const label = BOUND_LABELS[kind];
    const extra = label === undefined ? undefined : ([label, Buffer.from(doubleText(bound))] as const);
    const parser = context.parser(rules, PREFIX_BYTES, SUFFIXES[kind], extra);
    const series = cache.series({ bytes: key, view: keyView }, 0, keyTo, defaultTable, parser);
    if (this.#epoch !== cache.epoch) {
      this.#epoch = cache.epoch;
      this.#previous = undefined;
    }
    if (typeof series === 'string') return series;
    if (this.#previous === undefined) context.first = series;
    else this.#previous.next = series;
    this.#previous = series;
    return series;
  }

  #unsigned(type: number, from: number, to: number): number {
    if (type !== FIXED64) throw malformedBody();
    this.reader.fixed64(from, to);
    return this.reader.unsigned;
  }

  #double(type: number, from: number, to: number): number {
    if (type !== FIXED64) throw malformedBody();
    return this.reader.double(from, to);
  }

  /** Visits numbers of eight bytes, packed or not. */
  #fixed(type: number, from: number, to: number, visit: (at: number) => void): void {
    if (type === VARINT || (to - from) % 8 !== 0) throw malformedBody();
    if (to - from > 8 * (PARTS_MAX + 1)) throw tooManySamples();
    for (let at = from; at < to; at += 8) visit(at);
  }
}

const TWO_TO_32 = 4_294_967_296;

function typeWordOf(data: number, isMonotonic: boolean): string {
  if (data === Data.gauge) return 'gauge';
  if (data === Data.sum) return isMonotonic ? 'counter' : 'gauge';
  return data === Data.summary ? 'summary' : 'histogram';
}

/** Returns the bytes of a resource or scope that determine its labels. */
function isSame(a: SentMetric, b: SentMetric): boolean {
  return a.data === b.data && a.isMonotonic === b.isMonotonic && a.name.equals(b.name) && a.unit.equals(b.unit);
}

function originKey({ name, version, schemaUrl, attributes }: TelemetryOrigin, bytes: Buffer): string {
  const texts = [name, version, schemaUrl].map((text) => text.toString('latin1'));
  const { at } = attributes;
  for (let i = 0; i < at.length; i += 4) {
    texts.push(bytes.toString('latin1', at[i], at[i + 1]), bytes.toString('latin1', at[i + 2], at[i + 3]));
  }
  return texts.map((text) => `${text.length}:${text}`).join('');
}

function tooManySamples(): AlmanacError {
  const text = `request has more than ${ROWS_MAX} samples: send fewer at once`;
  return new AlmanacError('invalid_arguments', text, { http: 413 });
}
