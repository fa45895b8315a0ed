import { isUtf8Range } from '#shared/bytes/utf8';

import { canonicalJson, type ObjectValue } from '../../../pipelines/values/value.js';
import { notUtf8 } from '../../common/json-writer.js';
import type { PipelineSink } from '../../common/pipeline/sink.js';
import { AnyValue, AnyValueKind } from '../any-value.js';
import { ItemDecoder } from '../item-decoder.js';
import { readResource, readScope, type TelemetryOrigin } from '../origin.js';
import { LogField, OtlpLogRecord } from './record.js';
import { attributeTree, valueTree } from './value-tree.js';

/** Keys of an item, as GreptimeDB names them (spec: pipelines 14). */
const KEYS = [
  'Timestamp',
  'ObservedTimestamp',
  'TraceId',
  'SpanId',
  'TraceFlags',
  'SeverityText',
  'SeverityNumber',
  'Body',
  'ResourceSchemaUrl',
  'ResourceAttributes',
  'ScopeSchemaUrl',
  'ScopeName',
  'ScopeVersion',
  'ScopeAttributes',
  'LogAttributes',
] as const;

type Slots = Readonly<Record<(typeof KEYS)[number], number>>;

interface OriginTree {
  readonly origin: TelemetryOrigin;
  readonly attributes: ObjectValue;
}

/** Makes an item for a pipeline of each log record. */
export class LogItemDecoder extends ItemDecoder {
  readonly #sink: PipelineSink;
  readonly #table: string;
  readonly #slots: Slots;
  readonly #record = new OtlpLogRecord();
  readonly #value = new AnyValue();
  #resource: OriginTree | undefined = undefined;
  #scope: OriginTree | undefined = undefined;

  /** @param bytes the request as protobuf. */
  constructor(bytes: Buffer, sink: PipelineSink, table: string) {
    super(bytes);
    this.#sink = sink;
    this.#table = table;
    this.#slots = Object.fromEntries(KEYS.map((key) => [key, sink.slotOf(key)])) as Slots;
  }

  protected beginResource(from: number, end: number): void {
    const origin = readResource(this.reader, from, end);
    this.#resource = { origin, attributes: attributeTree(this.reader, origin.attributes) };
  }

  protected beginScope(from: number, end: number): void {
    const origin = readScope(this.reader, from, end);
    this.#scope = { origin, attributes: attributeTree(this.reader, origin.attributes) };
  }

  protected item(from: number, end: number): void {
    const record = this.#record;
    const slots = this.#slots;
    const { item } = this.#sink;
    record.read(this.reader, from, end);
    item.setInteger(slots.Timestamp, this.#time(LogField.time));
    item.setInteger(slots.ObservedTimestamp, this.#time(LogField.observedTime));
    item.setText(slots.TraceId, this.#hex(LogField.traceId));
    item.setText(slots.SpanId, this.#hex(LogField.spanId));
    item.setInteger(slots.TraceFlags, record.flags);
    this.#setText(slots.SeverityText, record.from(LogField.severityText), record.to(LogField.severityText));
    item.setInteger(slots.SeverityNumber, record.severityNumber);
    this.#setBody(record.from(LogField.body), record.to(LogField.body));
    item.set(slots.LogAttributes, attributeTree(this.reader, record.attributes));
    this.#setOrigins();
    this.#sink.run.run(this.#table);
  }

  #setOrigins(): void {
    const { item } = this.#sink;
    const slots = this.#slots;
    const [resource, scope] = [this.#resource, this.#scope];
    if (resource === undefined || scope === undefined) return;
    item.setText(slots.ResourceSchemaUrl, resource.origin.schemaUrl.toString());
    item.set(slots.ResourceAttributes, resource.attributes);
    item.setText(slots.ScopeSchemaUrl, scope.origin.schemaUrl.toString());
    item.setText(slots.ScopeName, scope.origin.name.toString());
    item.setText(slots.ScopeVersion, scope.origin.version.toString());
    item.set(slots.ScopeAttributes, scope.attributes);
  }

  #time(field: number): bigint {
    if (this.#record.to(field) === 0) return 0n;
    return this.reader.view.getBigInt64(this.#record.from(field), true);
  }

  #hex(field: number): string {
    return this.reader.bytes.toString('hex', this.#record.from(field), this.#record.to(field));
  }

  #setText(slot: number, from: number, to: number): void {
    const { bytes } = this.reader;
    if (!isUtf8Range(bytes, from, to)) throw notUtf8();
    this.#sink.item.setBytes(slot, bytes, from, to);
  }

  /** Texts stay as they are, bytes become hexadecimal digits, and everything else JSON. */
  #setBody(from: number, to: number): void {
    const value = this.#value;
    const { item } = this.#sink;
    const slot = this.#slots.Body;
    value.read(this.reader, from, to);
    if (value.kind === AnyValueKind.text) return this.#setText(slot, value.from, value.to);
    if (value.kind === AnyValueKind.none) return item.setText(slot, '');
    const tree = valueTree(this.reader, value);
    item.setText(slot, typeof tree === 'string' ? tree : canonicalJson(tree));
  }
}
