import { isUtf8Range } from '#shared/bytes/utf8';
import type { Table } from '#shared/contracts/gen/common';
import { BYTES, malformedBody } from '#shared/protobuf/wire-reader';
import type { BatchSet, SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';

import { JsonWriter, notUtf8 } from '../../common/json-writer.js';
import type { RequestRows } from '../../common/request-rows.js';
import type { TagSeriesCache } from '../../common/tag-series.js';
import type { AttributePositions } from '../any-value.js';
import { AnyValue, AnyValueKind } from '../any-value.js';
import { ItemDecoder } from '../item-decoder.js';
import { attributesJson, readResource, readScope, type TelemetryOrigin } from '../origin.js';
import { AttributeColumns, type SharedAttribute } from './attribute-columns.js';
import { SERVICE_COLUMN, spanFields, type SpanFields } from './columns.js';
import { writeEvents, writeLinks } from './events-and-links.js';
import type { ServiceRows } from './service-rows.js';
import { OtlpSpan, SpanField } from './span.js';

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map(
  (kind) => `SPAN_KIND_${kind}`,
);
const STATUS_CODES = ['UNSET', 'OK', 'ERROR'].map((code) => `STATUS_CODE_${code}`);
const SERVICE_NAME = 'service.name';
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

/** Which model of columns a table of spans has: a column for each attribute, or one for all. */
export type TraceModel = 'v0' | 'v1';

/** Options of a `TraceDecoder`. */
export interface TraceDecodeOptions {
  readonly table: string;
  readonly model: TraceModel;
  readonly existing: Table | undefined;
  readonly series: TagSeriesCache;
  /** Types of columns of attributes, from an earlier attempt. */
  readonly types: Map<string, string>;
}

/** Decodes a request with spans to rows. */
export class TraceDecoder extends ItemDecoder {
  readonly columns: AttributeColumns;
  readonly #options: TraceDecodeOptions;
  readonly #services: ServiceRows;
  readonly #builder: TableBuilder;
  readonly #fixed: SpanFields;
  readonly #span = new OtlpSpan();
  readonly #json = new JsonWriter();
  #scope: TelemetryOrigin | undefined = undefined;
  #service: string | undefined = undefined;
  #series: SeriesEntry | undefined = undefined;
  #resourceAttributes: readonly SharedAttribute[] = [];
  #scopeAttributes: readonly SharedAttribute[] = [];
  #resourceJson: Buffer = Buffer.alloc(0);
  #scopeJson: Buffer = Buffer.alloc(0);
  #count = 0;

  /** @param bytes the request as protobuf. */
  constructor(bytes: Buffer, batches: BatchSet, rows: RequestRows, services: ServiceRows, options: TraceDecodeOptions) {
    super(bytes);
    this.#options = options;
    this.#services = services;
    this.#builder = batches.table(options.table);
    this.#fixed = spanFields(this.#builder);
    this.columns = new AttributeColumns(rows, this.#builder, options.existing, options.types);
  }

  protected beginResource(from: number, end: number): void {
    const resource = readResource(this.reader, from, end);
    this.#service = this.#serviceOf(resource.attributes);
    if (this.#options.model === 'v0') this.#resourceJson = Buffer.from(attributesJson(this.reader, resource));
    else this.#resourceAttributes = this.columns.shared(this.reader, 'resource', resource.attributes, SERVICE_NAME);
    this.#series = this.#seriesOf(this.#service);
  }

  protected beginScope(from: number, end: number): void {
    const scope = readScope(this.reader, from, end);
    this.#scope = scope;
    if (this.#options.model === 'v0') this.#scopeJson = Buffer.from(attributesJson(this.reader, scope));
    else this.#scopeAttributes = this.columns.shared(this.reader, 'scope', scope.attributes);
  }

  protected item(from: number, end: number): void {
    const span = this.#span;
    span.read(this.reader, from, end);
    const number = this.#count++;
    const problem = this.#problemOf(span) || this.#addRow(span);
    if (problem !== '') this.rejected.addMalformed(() => `span ${number}: ${problem}`);
  }

  /** Returns why a span is not valid; empty if it is. */
  #problemOf(span: OtlpSpan): string {
    if (!this.#isId(span, SpanField.traceId, TRACE_ID_BYTES)) return 'invalid trace_id';
    if (!this.#isId(span, SpanField.spanId, SPAN_ID_BYTES)) return 'invalid span_id';
    const { view } = this.reader;
    const start = span.from(SpanField.startTime);
    const isTimed = span.to(SpanField.startTime) > 0 && view.getBigInt64(start, true) > 0n;
    return isTimed ? '' : 'start time is missing or out of range';
  }

  #isId(span: OtlpSpan, field: number, length: number): boolean {
    const [from, to] = [span.from(field), span.to(field)];
    if (to - from !== length) return false;
    for (let at = from; at < to; at++) if (this.reader.bytes[at] !== 0) return true;
    return false;
  }

  /** Adds the row of a valid span; returns why it is rejected all the same. */
  #addRow(span: OtlpSpan): string {
    const { reader } = this;
    const builder = this.#builder;
    const fixed = this.#fixed;
    const scope = this.#scope;
    const series = this.#series;
    if (scope === undefined || series === undefined) return 'no scope';
    const row = builder.rowCount;
    builder.startRow(series);
    const start = reader.view.getBigInt64(span.from(SpanField.startTime), true);
    this.#setEnd(span, row, start);
    this.#setIds(span, row);
    fixed.spanKind.setText(row, KINDS[span.kind] ?? KINDS[0]);
    this.#setBytes(fixed.spanName, row, span.from(SpanField.name), span.to(SpanField.name));
    this.#setStatus(span, row);
    this.#setBytes(fixed.traceState, row, span.from(SpanField.traceState), span.to(SpanField.traceState));
    fixed.scopeName.setBytes(row, scope.name, 0, scope.name.length);
    fixed.scopeVersion.setBytes(row, scope.version, 0, scope.version.length);
    const problem = this.#options.model === 'v0' ? this.#setAsJson(span, row) : this.#setAttributes(span);
    if (problem !== '') {
      builder.undoRow();
      return problem;
    }
    this.#json.clear();
    writeEvents(reader, span.events, this.#json);
    this.#setJson(fixed.events, row);
    this.#json.clear();
    writeLinks(reader, span.links, this.#json);
    this.#setJson(fixed.links, row);
    builder.endRowAt(start);
    if (this.#service !== undefined) {
      const [from, to] = [span.from(SpanField.name), span.to(SpanField.name)];
      this.#services.add(this.#service, reader.bytes, from, to, KINDS[span.kind] ?? KINDS[0]);
    }
    return '';
  }

  #setEnd(span: OtlpSpan, row: number, start: bigint): void {
    const hasEnd = span.to(SpanField.endTime) > 0;
    const sent = hasEnd ? this.reader.view.getBigInt64(span.from(SpanField.endTime), true) : start;
    // Unsigned times from 2262 on do not fit.
    const end = sent < 0n ? start : sent;
    this.#fixed.timestampEnd.setBigInt(row, end);
    this.#fixed.durationNano.setBigInt(row, end > start ? end - start : 0n);
  }

  #setIds(span: OtlpSpan, row: number): void {
    const { parentSpanId, traceId, spanId } = SpanField;
    const fixed = this.#fixed;
    if (this.#isId(span, parentSpanId, SPAN_ID_BYTES)) this.#setHex(fixed.parentSpanId, row, span, parentSpanId);
    this.#setHex(fixed.traceId, row, span, traceId);
    this.#setHex(fixed.spanId, row, span, spanId);
  }

  #setStatus(span: OtlpSpan, row: number): void {
    const { reader } = this;
    const [from, to] = [span.from(SpanField.status), span.to(SpanField.status)];
    let code = 0;
    let [textFrom, textTo] = [from, from];
    for (let at = from; at < to;) {
      const tag = reader.varint(at, to);
      at = reader.skip(tag, reader.at, to);
      if (tag === STATUS_MESSAGE_TAG) [textFrom, textTo] = [reader.at, at];
      else if (tag === STATUS_CODE_TAG) code = reader.low;
      else if (tag >>> 3 === 2 || tag >>> 3 === 3) throw malformedBody();
    }
    this.#fixed.statusCode.setText(row, to === 0 ? '' : (STATUS_CODES[code] ?? STATUS_CODES[0]));
    this.#setBytes(this.#fixed.statusMessage, row, textFrom, textTo);
  }

  #setAttributes(span: OtlpSpan): string {
    const { columns, reader } = this;
    return (
      columns.setOwn(reader, span.attributes) ||
      columns.setShared(reader, this.#scopeAttributes) ||
      columns.setShared(reader, this.#resourceAttributes)
    );
  }

  #setAsJson(span: OtlpSpan, row: number): string {
    const attributes = {
      isPresent: true,
      name: NO_BYTES,
      version: NO_BYTES,
      schemaUrl: NO_BYTES,
      attributes: span.attributes,
    };
    const own = attributesJson(this.reader, attributes);
    for (const [name, json] of [
      ['span_attributes', own],
      ['scope_attributes', this.#scopeJson],
      ['resource_attributes', this.#resourceJson],
    ] as const) {
      this.#builder.field(name, 'Json').setBytes(row, json, 0, json.length);
    }
    return '';
  }

  #serviceOf({ at }: AttributePositions): string | undefined {
    const { reader } = this;
    const value = new AnyValue();
    for (let i = 0; i < at.length; i += 4) {
      if (reader.bytes.toString('latin1', at[i], at[i + 1]) !== SERVICE_NAME) continue;
      value.read(reader, at[i + 2], at[i + 3]);
      if (value.kind !== AnyValueKind.text) return undefined;
      this.#checkUtf8(value.from, value.to);
      return reader.bytes.toString('utf8', value.from, value.to);
    }
    return undefined;
  }

  #seriesOf(service: string | undefined): SeriesEntry {
    const { series, table } = this.#options;
    const name = service ?? '';
    const tags = name === '' ? [] : [{ name: SERVICE_COLUMN, value: Buffer.from(name) }];
    return series.find(table, name) ?? series.add(table, name, tags);
  }

  #setBytes(field: FieldBuilder, row: number, from: number, to: number): void {
    this.#checkUtf8(from, to);
    field.setBytes(row, this.reader.bytes, from, to);
  }

  #setHex(field: FieldBuilder, row: number, span: OtlpSpan, position: number): void {
    const json = this.#json;
    json.clear();
    json.hex(this.reader.bytes, span.from(position), span.to(position));
    field.setBytes(row, json.bytes, 1, json.length - 1);
  }

  /** Sets the JSON that was written. */
  #setJson(field: FieldBuilder, row: number): void {
    const { bytes, length } = this.#json;
    field.setBytes(row, bytes, 0, length);
  }

  #checkUtf8(from: number, to: number): void {
    if (!isUtf8Range(this.reader.bytes, from, to)) throw notUtf8();
  }
}

const NO_BYTES = Buffer.alloc(0);
const STATUS_MESSAGE_TAG = (2 << 3) | BYTES;
const STATUS_CODE_TAG = 3 << 3;
