import { isUtf8Range } from '#shared/bytes/utf8';
import { malformedBody } from '#shared/protobuf/wire-reader';
import type { BatchSet, SeriesEntry } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import type { Tag } from '#shared/rowbatch/series-key';

import { JsonWriter, notUtf8 } from '../../common/json-writer.js';
import type { TagSeriesCache } from '../../common/tag-series.js';
import { AnyValue, AttributePositions, ValueKind, writeAttributes, writeValue } from '../any-value.js';
import { ItemDecoder } from '../item-decoder.js';
import { attributesJson, readResource, readScope, type Origin } from '../origin.js';
import { LOG_COLUMNS, LogFields } from './columns.js';
import type { ExtractedKeys } from './extracted-keys.js';

/** Tags of the fields of a log record. */
const TIME = 0x09;
const SEVERITY_NUMBER = 0x10;
const SEVERITY_TEXT = 0x1a;
const BODY = 0x2a;
const ATTRIBUTE = 0x32;
const FLAGS = 0x45;
const TRACE_ID = 0x4a;
const SPAN_ID = 0x52;
const OBSERVED_TIME = 0x59;
const EVENT_NAME = 0x62;
const FIELDS = new Set(
  [TIME, SEVERITY_NUMBER, SEVERITY_TEXT, BODY, ATTRIBUTE, FLAGS, TRACE_ID, SPAN_ID, OBSERVED_TIME, EVENT_NAME].map(
    (tag) => tag >>> 3,
  ),
);

/** Options of a `LogDecoder`. */
export interface LogDecodeOptions {
  readonly table: string;
  readonly nowNs: bigint;
  readonly series: TagSeriesCache;
  /** Attributes that become columns; undefined for none. */
  readonly extracted: ExtractedKeys | undefined;
}

/** What all records of a scope share. */
interface ScopeRows {
  readonly origin: Origin;
  readonly attributes: Buffer;
  readonly name: string;
}

/** Decodes a request with logs to rows. */
export class LogDecoder extends ItemDecoder {
  readonly #options: LogDecodeOptions;
  readonly #batches: BatchSet;
  readonly #json = new JsonWriter();
  readonly #attributes = new AttributePositions();
  readonly #value = new AnyValue();
  #fields: LogFields | undefined = undefined;
  #resource: Origin | undefined = undefined;
  #resourceAttributes: Buffer = Buffer.alloc(0);
  #scope: ScopeRows | undefined = undefined;
  #scopeSeries: SeriesEntry | undefined = undefined;
  #count = 0;

  /** @param bytes the request as protobuf. */
  constructor(bytes: Buffer, batches: BatchSet, options: LogDecodeOptions) {
    super(bytes);
    this.#batches = batches;
    this.#options = options;
  }

  protected beginResource(from: number, end: number): void {
    this.#resource = readResource(this.reader, from, end);
    this.#resourceAttributes = attributesJson(this.reader, this.#resource);
  }

  protected beginScope(from: number, end: number): void {
    const origin = readScope(this.reader, from, end);
    const name = origin.name.toString();
    this.#scope = { origin, attributes: attributesJson(this.reader, origin), name };
    this.#scopeSeries = this.#seriesOf(name === '' ? [] : [{ name: LOG_COLUMNS.scopeName, value: origin.name }]);
  }

  protected item(from: number, end: number): void {
    const { reader } = this;
    const { view } = reader;
    const fields = (this.#fields ??= new LogFields(this.#batches, this.#options.table));
    const row = fields.table.rowCount;
    const attributes = this.#attributes;
    attributes.clear();
    let [timeLow, timeHigh, observedLow, observedHigh] = [0, 0, 0, 0];
    let [severity, flags] = [0, 0];
    let [severityFrom, severityTo, bodyFrom, bodyTo, eventFrom, eventTo] = [0, 0, 0, 0, 0, 0];
    let [traceFrom, traceTo, spanFrom, spanTo] = [0, 0, 0, 0];
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      const start = reader.at;
      at = reader.skip(tag, start, end);
      switch (tag) {
        case TIME:
          timeLow = view.getInt32(start, true);
          timeHigh = view.getInt32(start + 4, true);
          break;
        case OBSERVED_TIME:
          observedLow = view.getInt32(start, true);
          observedHigh = view.getInt32(start + 4, true);
          break;
        case SEVERITY_NUMBER:
          severity = reader.low;
          break;
        case FLAGS:
          flags = view.getUint32(start, true);
          break;
        case SEVERITY_TEXT:
          severityFrom = reader.at;
          severityTo = at;
          break;
        case BODY:
          bodyFrom = reader.at;
          bodyTo = at;
          break;
        case ATTRIBUTE:
          attributes.add(reader, reader.at, at);
          break;
        case TRACE_ID:
          traceFrom = reader.at;
          traceTo = at;
          break;
        case SPAN_ID:
          spanFrom = reader.at;
          spanTo = at;
          break;
        case EVENT_NAME:
          eventFrom = reader.at;
          eventTo = at;
          break;
        default:
          if (FIELDS.has(tag >>> 3)) throw malformedBody();
      }
    }
    this.#count++;
    if (timeLow === 0 && timeHigh === 0) [timeLow, timeHigh] = [observedLow, observedHigh];
    // Unsigned times from 2262 on do not fit.
    if (timeHigh < 0) return this.#reject('timestamp is out of range');
    attributes.dropRepeated(reader);
    const series = this.#seriesOfRecord();
    if (typeof series === 'string') return this.#reject(series);
    fields.table.startRow(series);
    this.#setHex(fields.traceId, row, traceFrom, traceTo);
    this.#setHex(fields.spanId, row, spanFrom, spanTo);
    this.#setText(fields.severityText, row, severityFrom, severityTo);
    fields.severityNumber.setNumber(row, severity);
    if (bodyTo > bodyFrom) this.#setBody(fields.body, row, bodyFrom, bodyTo);
    this.#json.clear();
    writeAttributes(reader, attributes, this.#json);
    fields.logAttributes.setBytes(row, this.#json.bytes, 0, this.#json.length);
    fields.traceFlags.setNumber(row, flags);
    if (eventTo > eventFrom) this.#setText(fields.eventName, row, eventFrom, eventTo);
    this.#setShared(fields, row);
    if (timeLow === 0 && timeHigh === 0) fields.table.endRowAt(this.#options.nowNs);
    else fields.table.endRow(timeLow, timeHigh);
  }

  /** Sets what the record has from its scope and resource. */
  #setShared(fields: LogFields, row: number): void {
    const scope = this.#scope;
    const resource = this.#resource;
    if (scope === undefined || resource === undefined) return;
    const { origin, attributes } = scope;
    if (origin.isPresent) fields.scopeVersion.setBytes(row, origin.version, 0, origin.version.length);
    fields.scopeAttributes.setBytes(row, attributes, 0, attributes.length);
    fields.scopeSchemaUrl.setBytes(row, origin.schemaUrl, 0, origin.schemaUrl.length);
    fields.resourceAttributes.setBytes(row, this.#resourceAttributes, 0, this.#resourceAttributes.length);
    fields.resourceSchemaUrl.setBytes(row, resource.schemaUrl, 0, resource.schemaUrl.length);
    this.#options.extracted?.setFields(fields.table, row);
  }

  #setText(field: FieldBuilder, row: number, from: number, to: number): void {
    const { bytes } = this.reader;
    if (!isUtf8Range(bytes, from, to)) throw notUtf8();
    field.setBytes(row, bytes, from, to);
  }

  #setHex(field: FieldBuilder, row: number, from: number, to: number): void {
    const json = this.#json;
    json.clear();
    json.hex(this.reader.bytes, from, to);
    field.setBytes(row, json.bytes, 1, json.length - 1);
  }

  /** Texts stay as they are, bytes become hexadecimal digits, and everything else JSON. */
  #setBody(field: FieldBuilder, row: number, from: number, to: number): void {
    const value = this.#value;
    value.read(this.reader, from, to);
    if (value.kind === ValueKind.none) return;
    if (value.kind === ValueKind.text) return this.#setText(field, row, value.from, value.to);
    if (value.kind === ValueKind.bytes) return this.#setHex(field, row, value.from, value.to);
    this.#json.clear();
    writeValue(this.reader, value, this.#json);
    field.setBytes(row, this.#json.bytes, 0, this.#json.length);
  }

  /** Returns the series of a record; a text is the reason to reject the record. */
  #seriesOfRecord(): SeriesEntry | string {
    const { extracted } = this.#options;
    const scope = this.#scope;
    if (scope === undefined || this.#scopeSeries === undefined || this.#resource === undefined) return 'no scope';
    if (extracted === undefined) return this.#scopeSeries;
    const found = extracted.find(this.reader, [this.#attributes, scope.origin.attributes, this.#resource.attributes]);
    if (typeof found === 'string') return found;
    if (found.length === 0) return this.#scopeSeries;
    const own: Tag[] = scope.name === '' ? [] : [{ name: LOG_COLUMNS.scopeName, value: scope.origin.name }];
    const tags = [...own, ...found];
    return this.#seriesOf(tags);
  }

  #seriesOf(tags: readonly Tag[]): SeriesEntry {
    const { series, table } = this.#options;
    const key = JSON.stringify(tags.map(({ name, value }) => [name, Buffer.from(value).toString()]));
    // Entries stay longer than the body that the values are part of.
    return (
      series.find(table, key) ??
      series.add(
        table,
        key,
        tags.map(({ name, value }) => ({ name, value: Uint8Array.from(value) })),
      )
    );
  }

  #reject(reason: string): void {
    const number = this.#count;
    this.rejected.addMalformed(() => `log record ${number}: ${reason}`);
  }
}
