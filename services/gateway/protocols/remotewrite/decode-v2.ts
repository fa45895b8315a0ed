/**
 * Decodes remote write 2.0 to columns (messages: docs/protocols/prometheus-remote-write.md).
 *
 * Labels refer to texts in a symbol table of the request. A text is looked up when it is used for the first time; from
 * then on it is an object, and a series that was sent before is recognised by comparing references.
 */
import { AlmanacError } from '#shared/errors/almanac-error';
import { BYTES, VARINT, WireReader } from '#shared/protobuf/wire-reader';
import { WireWriter } from '#shared/protobuf/wire-writer';
import { METRIC_NAME } from '#shared/schema/metric-table';
import { COLUMNS_MAX } from '#shared/schema/names';

import type { MetricRows } from '../common/metric-rows.js';
import { MESSAGE_V1, MESSAGE_V2, SeriesDecoder, typeWord, type DecoderOptions } from './decoder.js';
import { JSON_BYTES_MAX, wireLabelsJson, START_CHARACTERS } from './labels.js';
import type { KnownSymbol, SeriesOfSymbols } from './remote-write-cache.js';
import { LABEL_TAG, SAMPLE_TAG } from './sample.js';

const SYMBOL_TAG = 0x22;
const SERIES_TAG = 0x2a;
const REFS_FIELD = 1;
const PACKED_REFS_TAG = 0x0a;
const METADATA_TAG = 0x2a;
const METADATA_FIELDS = { type: 1, help: 3, unit: 4 } as const;
/** References whose texts a reply may show. */
const SHOWN_REFS = 128;
const SYMBOLS_MAX = 1024 * 1024;
const REFS_MAX = 2 * COLUMNS_MAX;
/** Labels of one series, and of all new series of a request: each may repeat the longest texts. */
const SERIES_BYTES_MAX = 1024 * 1024;
const LABEL_BYTES_MAX = 64 * 1024 * 1024;

/** Decodes one body of version 2: first the symbol table, then the series. */
export class DecoderV2 extends SeriesDecoder {
  /** Positions of the texts of the symbol table: start and end, alternating. */
  readonly #ranges: number[] = [];
  #symbols: (KnownSymbol | undefined)[] = [];
  #lastSymbol: KnownSymbol | undefined = undefined;
  #hasAllSymbols = false;
  /** Bytes of the labels that were parsed so far. */
  #parsedBytes = 0;
  /** The symbols of the current series. */
  readonly #refs: KnownSymbol[] = [];
  readonly #labelWriter = new WireWriter();
  #guess: SeriesOfSymbols | undefined;
  #previous: SeriesOfSymbols | undefined = undefined;
  #epoch: number;

  constructor(bytes: Buffer, rows: MetricRows, options: DecoderOptions) {
    super(bytes, rows, options, { exemplars: 4, histograms: 3, metadata: 5 });
    this.#guess = options.cache.symbolGuess;
    this.#epoch = options.cache.epoch;
  }

  decode(budgetBytes: number): boolean {
    const { cache } = this.options;
    const { length } = this.reader.bytes;
    const stop = Math.min(this.at + budgetBytes, length);
    this.#dropOldGuesses();
    while (this.at < stop) {
      this.at = this.#hasAllSymbols ? this.#decodeField(this.at, length) : this.#findSymbol(this.at, length);
    }
    this.checkSize();
    if (this.at < length) return false;
    if (!this.#hasAllSymbols) return this.#beginSeries();
    this.checkMessage(MESSAGE_V2, MESSAGE_V1);
    if (this.#epoch === cache.epoch) cache.symbolGuess = this.#guess;
    return true;
  }

  /** Reads a field of the symbol table, which may follow the series that use it. */
  #findSymbol(from: number, length: number): number {
    const { reader } = this;
    const tag = reader.varint(from, length);
    const next = reader.skip(tag, reader.at, length);
    if (tag !== SYMBOL_TAG) {
      if (tag === SERIES_TAG) this.hasKnownField = true;
      return next;
    }
    this.hasKnownField = true;
    if (this.#ranges.length === 0 && next > reader.at) {
      throw new AlmanacError('invalid_arguments', 'the first symbol must be the empty text');
    }
    this.#ranges.push(reader.at, next);
    if (this.#ranges.length > 2 * SYMBOLS_MAX) {
      throw new AlmanacError('invalid_arguments', `request has more than ${SYMBOLS_MAX} symbols`, { http: 413 });
    }
    return next;
  }

  #beginSeries(): boolean {
    this.#hasAllSymbols = true;
    this.at = 0;
    this.#symbols = new Array<KnownSymbol | undefined>(this.#ranges.length / 2).fill(undefined);
    return this.reader.bytes.length === 0;
  }

  #decodeField(from: number, length: number): number {
    const { reader } = this;
    const tag = reader.varint(from, length);
    const next = reader.skip(tag, reader.at, length);
    if (tag === SERIES_TAG) this.#decodeSeries(reader.at, next);
    return next;
  }

  #decodeSeries(from: number, end: number): void {
    const guess = this.#guess;
    const { bytes } = this.reader;
    const refsLength = bytes[from + 1];
    const at = from + 2 + refsLength;
    const sampleEnd = at + 2 + bytes[at + 1];
    // Labels, one sample and optional metadata, each shorter than 128 bytes.
    if (guess !== undefined && bytes[from] === PACKED_REFS_TAG && refsLength < 0x80 && bytes[at] === SAMPLE_TAG) {
      const hasMetadata = sampleEnd + 2 <= end && bytes[sampleEnd] === METADATA_TAG;
      const isWhole = hasMetadata ? sampleEnd + 2 + bytes[sampleEnd + 1] === end : sampleEnd === end;
      if (isWhole && bytes[at + 1] < 0x80 && this.#isGuess(guess, from + 2, at)) {
        this.sample.read(at + 2, sampleEnd);
        this.rows.addSample(guess.series, this.sample);
        if (hasMetadata) this.#decodeMetadata(guess, sampleEnd + 2, end);
        this.#follow(guess);
        return;
      }
    }
    this.#decodeAnySeries(from, end);
  }

  /** Whether `[from, to)` refers to the symbols of the series that is expected. */
  #isGuess({ symbols }: SeriesOfSymbols, from: number, to: number): boolean {
    const { bytes } = this.reader;
    let at = from;
    for (let i = 0; i < symbols.length; i++) {
      let ref = bytes[at++];
      if (ref >= 0x80) {
        const more = bytes[at++];
        // References of three and more bytes are left to the complete decoder.
        if (more >= 0x80) return false;
        ref = (ref & 0x7f) | (more << 7);
      }
      if (at > to || this.#symbolOf(ref) !== symbols[i]) return false;
    }
    return at === to;
  }

  #decodeAnySeries(from: number, end: number): void {
    const { reader, parts } = this;
    parts.clear();
    const refs: number[] = [];
    this.collectParts(from, end, (start, stop) => this.#readRefs(refs, start, stop));
    if (parts.samples.length + parts.histograms.length + parts.exemplars.length === 0) return;
    const known = this.#seriesOf(refs);
    this.#dropOldGuesses();
    const reason = typeof known === 'string' ? known : this.addParts(known.series);
    if (reason !== '') return this.#rejectRefs(reason, refs);
    if (typeof known === 'string') return;
    for (let i = 0; i < parts.metadata.length; i += 2) {
      this.#decodeMetadata(known, parts.metadata[i], parts.metadata[i + 1]);
    }
    this.#follow(known);
    reader.at = end;
  }

  /** Adds the references of the field `[start, end)`, packed or single. */
  #readRefs(refs: number[], start: number, end: number): void {
    const { reader } = this;
    const after = reader.at;
    const tag = reader.varint(start, end);
    const isPacked = (tag & 7) === BYTES;
    if (isPacked) reader.lengthEnd(reader.at, end);
    if (isPacked || (tag & 7) === VARINT) {
      while (reader.at < end && refs.length <= REFS_MAX) refs.push(reader.varint(reader.at, end));
    }
    reader.at = after;
  }

  #seriesOf(refs: readonly number[]): SeriesOfSymbols | string {
    if (refs.length > REFS_MAX) return `more than ${COLUMNS_MAX} labels`;
    if (refs.length % 2 !== 0) return 'odd number of label references';
    const symbols = this.#refs;
    symbols.length = 0;
    for (const ref of refs) {
      const symbol = this.#symbolOf(ref);
      if (symbol === undefined) return `label reference ${ref} is out of range`;
      symbols.push(symbol);
    }
    const { cache, defaultTable } = this.options;
    const known = cache.findBySymbols(symbols, symbols.length);
    if (known !== undefined) return known;
    const length = this.#labelLength(refs);
    if (length > SERIES_BYTES_MAX) return `labels of more than ${SERIES_BYTES_MAX} bytes`;
    this.#parsedBytes += length;
    if (this.#parsedBytes > LABEL_BYTES_MAX) {
      throw new AlmanacError('invalid_arguments', `labels have more than ${LABEL_BYTES_MAX} bytes`, { http: 413 });
    }
    const labels = this.#labelBytes(refs);
    const series = cache.series(new WireReader(labels), 0, labels.length, defaultTable);
    return typeof series === 'string' ? series : cache.addBySymbols([...symbols], series);
  }

  /** Returns the bytes of all texts together. */
  #labelLength(refs: readonly number[]): number {
    return refs.reduce((sum, ref) => sum + (this.#symbolOf(ref)?.length ?? 0), 0);
  }

  /** Rejects a series; of very many or long labels, the reply shows the metric and the first labels. */
  #rejectRefs(reason: string, refs: readonly number[]): void {
    if (refs.length <= REFS_MAX && this.#labelLength(refs) <= JSON_BYTES_MAX) {
      return this.reject(reason, () => this.#labelBytes(refs));
    }
    const isMetric = (ref: number, i: number): boolean => {
      const { length, bytes } = this.#symbolOf(ref) ?? { length: 0, bytes: undefined };
      return i % 2 === 0 && length === METRIC_NAME.length && bytes?.toString() === METRIC_NAME;
    };
    const at = refs.findIndex(isMetric);
    const metric = at < 0 ? [] : refs.slice(at, at + 2);
    const others = refs.slice(0, SHOWN_REFS).filter((_, i) => at < 0 || (i !== at && i !== at + 1));
    this.reject(reason, () => this.#labelBytes([...metric, ...others], START_CHARACTERS), false);
  }

  /**
   * Returns the labels in the encoding of version 1; invalid references are left out.
   *
   * @param bytesMax length at which each text is cut.
   */
  #labelBytes(refs: readonly number[], bytesMax = Infinity): Buffer {
    const out = this.#labelWriter;
    for (let i = 0; i + 1 < refs.length; i += 2) {
      const [name, value] = [this.#symbolOf(refs[i]), this.#symbolOf(refs[i + 1])];
      if (name === undefined || value === undefined) continue;
      out.message(LABEL_TAG, () => {
        out.bytes(LABEL_NAME_TAG, name.bytes.subarray(0, bytesMax));
        out.bytes(LABEL_VALUE_TAG, value.bytes.subarray(0, bytesMax));
      });
    }
    return out.take();
  }

  #symbolOf(ref: number): KnownSymbol | undefined {
    return this.#symbols[ref] ?? this.#resolve(ref);
  }

  #resolve(ref: number): KnownSymbol | undefined {
    if (ref >= this.#symbols.length) return undefined;
    const { reader } = this;
    const { cache } = this.options;
    const [from, to] = [this.#ranges[2 * ref], this.#ranges[2 * ref + 1]];
    const last = this.#lastSymbol;
    const guess = last === undefined ? cache.firstSymbol : last.next;
    const isGuess = guess?.length === to - from && guess.equals(reader.view, from);
    const symbol = isGuess ? guess : cache.symbol(reader, from, to);
    if (last === undefined) cache.firstSymbol = symbol;
    else if (last.next !== symbol) last.next = symbol;
    this.#lastSymbol = symbol;
    this.#symbols[ref] = symbol;
    return symbol;
  }

  protected exemplarLabels(from: number, end: number): string | undefined {
    const { reader } = this;
    const refs: number[] = [];
    for (let at = from; at < end;) {
      const start = at;
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      if (tag >>> 3 === REFS_FIELD) this.#readRefs(refs, start, at);
    }
    if (refs.length % 2 !== 0 || refs.some((ref) => ref >= this.#symbols.length)) return undefined;
    if (refs.length > REFS_MAX || this.#labelLength(refs) > JSON_BYTES_MAX) return undefined;
    const labels = this.#labelBytes(refs);
    return wireLabelsJson(new WireReader(labels), 0, labels.length, this.options.rules);
  }

  #decodeMetadata(known: SeriesOfSymbols, from: number, end: number): void {
    const { reader } = this;
    let [type, helpRef, unitRef] = [0, 0, 0];
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      at = reader.skip(tag, reader.at, end);
      if ((tag & 7) !== VARINT) continue;
      if (tag >>> 3 === METADATA_FIELDS.type) type = reader.low;
      else if (tag >>> 3 === METADATA_FIELDS.help) helpRef = reader.low >>> 0;
      else if (tag >>> 3 === METADATA_FIELDS.unit) unitRef = reader.low >>> 0;
    }
    if (type === 0 && helpRef === 0 && unitRef === 0) return;
    const [help, unit] = [this.#symbolOf(helpRef), this.#symbolOf(unitRef)];
    if (help === undefined || unit === undefined) return;
    if (known.type === type && known.help === help && known.unit === unit) return;
    const word = typeWord(type);
    const metric = familyOf(known.series.metric, word);
    this.addMetadata(
      { metric, type: word, unit: unit.bytes.toString(), help: help.bytes.toString() },
      known.series,
      () => {
        known.type = type;
        known.help = help;
        known.unit = unit;
      },
    );
  }

  #follow(known: SeriesOfSymbols): void {
    const previous = this.#previous;
    if (previous !== undefined && previous.next !== known) previous.next = known;
    this.#previous = known;
    this.#guess = known.next;
  }

  /** Objects that the cache has dropped would never equal those that it returns now. */
  #dropOldGuesses(): void {
    if (this.#epoch === this.options.cache.epoch) return;
    this.#epoch = this.options.cache.epoch;
    this.#guess = undefined;
    this.#previous = undefined;
    this.#lastSymbol = undefined;
    this.#symbols.fill(undefined);
  }
}

const LABEL_NAME_TAG = 0x0a;
const LABEL_VALUE_TAG = 0x12;

const PARTS: Readonly<Record<string, RegExp>> = {
  histogram: /_(?:bucket|count|sum)$/,
  gaugehistogram: /_(?:bucket|count|sum|gcount|gsum)$/,
  summary: /_(?:count|sum)$/,
};

/** Returns the family of a metric, since each series of a family has the metadata. */
function familyOf(metric: string, type: string): string {
  const parts = PARTS[type];
  return parts === undefined ? metric : metric.replace(parts, '');
}
