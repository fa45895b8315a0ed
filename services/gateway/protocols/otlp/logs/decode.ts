import { isUtf8Range } from '#shared/bytes/utf8';
import type { BatchSet, SeriesEntry, TableBuilder } from '#shared/rowbatch/builder';
import type { FieldBuilder } from '#shared/rowbatch/field-builder';
import type { Tag } from '#shared/rowbatch/series-key';

import { JsonWriter, notUtf8 } from '../../common/json-writer.js';
import type { TagSeriesCache } from '../../common/tag-series.js';
import { AnyValue, AnyValueKind, writeAttributes, writeValue } from '../any-value.js';
import { ItemDecoder } from '../item-decoder.js';
import { attributesJson, readResource, readScope, type TelemetryOrigin } from '../origin.js';
import { logRecordFields, SCOPE_COLUMN, type LogRecordFields } from './columns.js';
import type { ExtractedKeys } from './extracted-keys.js';
import { LogField, OtlpLogRecord } from './record.js';

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
  readonly origin: TelemetryOrigin;
  readonly attributes: Buffer;
  readonly name: string;
}

/** Decodes a request with logs to rows. */
export class LogDecoder extends ItemDecoder {
  readonly #options: LogDecodeOptions;
  readonly #builder: TableBuilder;
  readonly #fields: LogRecordFields;
  readonly #json = new JsonWriter();
  readonly #record = new OtlpLogRecord();
  readonly #value = new AnyValue();
  #resource: TelemetryOrigin | undefined = undefined;
  #resourceAttributes: Buffer = Buffer.alloc(0);
  #scope: ScopeRows | undefined = undefined;
  #scopeSeries: SeriesEntry | undefined = undefined;
  #count = 0;

  /** @param bytes the request as protobuf. */
  constructor(bytes: Buffer, batches: BatchSet, options: LogDecodeOptions) {
    super(bytes);
    this.#builder = batches.table(options.table);
    this.#fields = logRecordFields(this.#builder);
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
    this.#scopeSeries = this.#seriesOf(name === '' ? [] : [{ name: SCOPE_COLUMN, value: origin.name }]);
  }

  protected item(from: number, end: number): void {
    const record = this.#record;
    record.read(this.reader, from, end);
    this.#count++;
    // Unsigned times from 2262 on do not fit.
    if (record.timeHigh < 0) return this.#reject('timestamp is out of range');
    const series = this.#seriesOfRecord();
    if (typeof series === 'string') return this.#reject(series);
    const fields = this.#fields;
    const builder = this.#builder;
    const row = builder.rowCount;
    builder.startRow(series);
    this.#setHex(fields.traceId, row, record.from(LogField.traceId), record.to(LogField.traceId));
    this.#setHex(fields.spanId, row, record.from(LogField.spanId), record.to(LogField.spanId));
    this.#setText(fields.severityText, row, record.from(LogField.severityText), record.to(LogField.severityText));
    fields.severityNumber.setNumber(row, record.severityNumber);
    this.#setBody(fields.body, row, record.from(LogField.body), record.to(LogField.body));
    this.#json.clear();
    writeAttributes(this.reader, record.attributes, this.#json);
    fields.logAttributes.setBytes(row, this.#json.bytes, 0, this.#json.length);
    fields.traceFlags.setNumber(row, record.flags);
    const [eventFrom, eventTo] = [record.from(LogField.eventName), record.to(LogField.eventName)];
    if (eventTo > eventFrom) this.#setText(fields.eventName, row, eventFrom, eventTo);
    this.#setShared(fields, row);
    if (record.timeLow === 0 && record.timeHigh === 0) builder.endRowAt(this.#options.nowNs);
    else builder.endRow(record.timeLow, record.timeHigh);
  }

  /** Sets what the record has from its scope and resource. */
  #setShared(fields: LogRecordFields, row: number): void {
    const scope = this.#scope;
    const resource = this.#resource;
    if (scope === undefined || resource === undefined) return;
    const { origin, attributes } = scope;
    if (origin.isPresent) fields.scopeVersion.setBytes(row, origin.version, 0, origin.version.length);
    fields.scopeAttributes.setBytes(row, attributes, 0, attributes.length);
    fields.scopeSchemaUrl.setBytes(row, origin.schemaUrl, 0, origin.schemaUrl.length);
    fields.resourceAttributes.setBytes(row, this.#resourceAttributes, 0, this.#resourceAttributes.length);
    fields.resourceSchemaUrl.setBytes(row, resource.schemaUrl, 0, resource.schemaUrl.length);
    this.#options.extracted?.setFields(this.#builder, row);
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
    if (value.kind === AnyValueKind.none) return;
    if (value.kind === AnyValueKind.text) return this.#setText(field, row, value.from, value.to);
    if (value.kind === AnyValueKind.bytes) return this.#setHex(field, row, value.from, value.to);
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
    const found = extracted.find(this.reader, [
      this.#record.attributes,
      scope.origin.attributes,
      this.#resource.attributes,
    ]);
    if (typeof found === 'string') return found;
    if (found.length === 0) return this.#scopeSeries;
    const own: Tag[] = scope.name === '' ? [] : [{ name: SCOPE_COLUMN, value: scope.origin.name }];
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
