import { isJsonObject, stringifyJson, type JsonObject, type JsonValue } from '../../protocols/common/json.js';
import { FIXED_COUNT, type AttributeColumn } from '../jaeger/span-columns.js';
import type { SqlRow } from '../sql-rows.js';
import { SERVICE_NAME } from './conditions.js';

/** An attribute of OTLP; the value is plain. */
export interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

/** A value of OTLP. Whole numbers are bigints. */
export type OtlpValue = string | boolean | number | bigint | Uint8Array | readonly OtlpValue[] | OtlpMap;

/** A map of OTLP. */
export interface OtlpMap {
  readonly members: readonly OtlpAttribute[];
}

/** An event of a span. */
export interface OtlpEvent {
  readonly timeNs: bigint;
  readonly name: string;
  readonly attributes: readonly OtlpAttribute[];
}

/** A link of a span; IDs are hexadecimal. */
export interface OtlpLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState: string;
  readonly attributes: readonly OtlpAttribute[];
}

/** A span; IDs are hexadecimal. */
export interface OtlpTraceSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** Word of the enumeration. */
  readonly kind: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly OtlpEvent[];
  readonly links: readonly OtlpLink[];
  readonly statusCode: string;
  readonly statusMessage: string;
}

/** Spans of one scope. */
export interface OtlpScopeSpans {
  readonly name: string;
  readonly version: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly spans: OtlpTraceSpan[];
}

/** Spans of one resource. */
export interface OtlpResourceSpans {
  readonly attributes: readonly OtlpAttribute[];
  readonly scopes: Map<string, OtlpScopeSpans>;
}

/** The spans of a trace by their resources and scopes, which are found by their attributes. */
export class OtlpTrace {
  readonly #resources = new Map<string, OtlpResourceSpans>();
  readonly #columns: readonly AttributeColumn[];

  constructor(columns: readonly AttributeColumn[]) {
    this.#columns = columns;
  }

  get resources(): Iterable<OtlpResourceSpans> {
    return this.#resources.values();
  }

  /** Adds a row of `spanColumns` in nanoseconds. */
  add(row: SqlRow): void {
    const [scopeName, scopeVersion, events, links] = row.slice(11, FIXED_COUNT);
    const attributes = row.slice(FIXED_COUNT);
    const service = row[4];
    const own = this.#attributes(attributes, 'resource');
    const resource = typeof service === 'string' ? [{ key: SERVICE_NAME, value: service }, ...own] : own;
    const resourceKey = keyOf(resource);
    const found = this.#resources.get(resourceKey) ?? {
      attributes: resource,
      scopes: new Map<string, OtlpScopeSpans>(),
    };
    this.#resources.set(resourceKey, found);
    const ofScope = this.#attributes(attributes, 'scope');
    const scopeKey = `${text(scopeName)}\n${text(scopeVersion)}\n${keyOf(ofScope)}`;
    const scope = found.scopes.get(scopeKey) ?? {
      name: text(scopeName),
      version: text(scopeVersion),
      attributes: ofScope,
      spans: [],
    };
    found.scopes.set(scopeKey, scope);
    scope.spans.push(spanOf(row, this.#attributes(attributes, 'span'), events, links));
  }

  #attributes(values: readonly JsonValue[], owner: AttributeColumn['owner']): OtlpAttribute[] {
    return this.#columns.flatMap((column, i) => {
      const value = values[i];
      if (column.owner !== owner || value === null) return [];
      if (column.key === undefined) return isJsonObject(value) ? members(value) : [];
      return [{ key: column.key, value: typedValue(value, column.type) }];
    });
  }
}

function spanOf(row: SqlRow, attributes: readonly OtlpAttribute[], events: JsonValue, links: JsonValue): OtlpTraceSpan {
  const [traceId, spanId, parentId, name, , start, duration, kind, code, message, state] = row;
  const startNs = BigInt(start as number | bigint);
  return {
    traceId: text(traceId),
    spanId: text(spanId),
    parentSpanId: text(parentId),
    traceState: text(state),
    name: text(name),
    kind: text(kind),
    startNs,
    endNs: startNs + BigInt((duration ?? 0) as number | bigint),
    attributes,
    events: objects(events).map((event) => ({
      timeNs: eventTimeNs(event['time']),
      name: text(event['name']),
      attributes: nested(event['attributes']),
    })),
    links: objects(links).map((link) => ({
      traceId: text(link['trace_id']),
      spanId: text(link['span_id']),
      traceState: text(link['trace_state']),
      attributes: nested(link['attributes']),
    })),
    statusCode: text(code),
    statusMessage: text(message),
  };
}

/** @param type native type name of the column. */
function typedValue(value: JsonValue, type: string): OtlpValue {
  if (type === 'Float64' && typeof value === 'number') return value;
  if (type === 'Binary' && Array.isArray(value)) return Buffer.from(value as number[]);
  return plainValue(value);
}

function plainValue(value: JsonValue): OtlpValue {
  if (value === null) return '';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(plainValue);
  return { members: members(value as JsonObject) };
}

function members(object: JsonObject): OtlpAttribute[] {
  return Object.entries(object)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => ({ key, value: plainValue(value) }));
}

function nested(value: JsonValue | undefined): OtlpAttribute[] {
  return isJsonObject(value) ? members(value) : [];
}

function objects(value: JsonValue): JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]).filter(isJsonObject) : [];
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function keyOf(attributes: readonly OtlpAttribute[]): string {
  return stringifyJson(attributes.map(attributeJson));
}

/** Returns the nanoseconds of a time such as `2025-01-10 03:49:02.444376+0000`; 0 if it is none. */
function eventTimeNs(value: JsonValue | undefined): bigint {
  const match = typeof value === 'string' ? /^(\d+-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?\+0000$/.exec(value) : null;
  if (match === null) return 0n;
  const [, date, clock, fraction = ''] = match;
  return BigInt(Date.parse(`${date}T${clock}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9));
}

/** Returns an attribute in the JSON of OTLP. */
export function attributeJson({ key, value }: OtlpAttribute): JsonObject {
  return { key, value: valueJson(value) };
}

function valueJson(value: OtlpValue): JsonObject {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'bigint') return { intValue: String(value) };
  if (typeof value === 'number') return { doubleValue: value };
  if (value instanceof Uint8Array) return { bytesValue: Buffer.from(value).toString('base64') };
  if ('members' in value) return { kvlistValue: { values: value.members.map(attributeJson) } };
  return { arrayValue: { values: value.map(valueJson) } };
}

/** Returns the resource spans of a trace in the JSON of Tempo, whose IDs are base64. */
export function resourceSpansJson(trace: OtlpTrace): JsonValue[] {
  return Array.from(trace.resources, ({ attributes, scopes }) => ({
    resource: { attributes: attributes.map(attributeJson) },
    scopeSpans: Array.from(scopes.values(), (scope) => ({
      scope: { name: scope.name, version: scope.version, attributes: scope.attributes.map(attributeJson) },
      spans: scope.spans.map(spanJson),
    })),
  }));
}

function spanJson(span: OtlpTraceSpan): JsonObject {
  const { statusCode, statusMessage } = span;
  return {
    traceId: base64(span.traceId),
    spanId: base64(span.spanId),
    ...(span.parentSpanId === '' ? {} : { parentSpanId: base64(span.parentSpanId) }),
    ...(span.traceState === '' ? {} : { traceState: span.traceState }),
    name: span.name,
    kind: span.kind,
    startTimeUnixNano: String(span.startNs),
    endTimeUnixNano: String(span.endNs),
    attributes: span.attributes.map(attributeJson),
    events: span.events.map(({ timeNs, name, attributes }) => ({
      timeUnixNano: String(timeNs),
      name,
      attributes: attributes.map(attributeJson),
    })),
    links: span.links.map(({ traceId, spanId, traceState, attributes }) => ({
      traceId: base64(traceId),
      spanId: base64(spanId),
      ...(traceState === '' ? {} : { traceState }),
      attributes: attributes.map(attributeJson),
    })),
    status: {
      ...(statusCode === '' ? {} : { code: statusCode }),
      ...(statusMessage === '' ? {} : { message: statusMessage }),
    },
  };
}

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}
