import { AlmanacError } from '#shared/errors/almanac-error';
import { WireWriter } from '#shared/protobuf/wire-writer';

import { isJsonObject, parseJson, type JsonObject, type JsonValue } from '../common/json.js';

/** How a field is encoded; the names are those of protocol buffers, `hex` is `bytes` that JSON writes as digits. */
type Scalar =
  | 'string'
  | 'bytes'
  | 'hex'
  | 'bool'
  | 'enum'
  | 'int64'
  | 'uint32'
  | 'uint64'
  | 'sint32'
  | 'fixed32'
  | 'fixed64'
  | 'sfixed64'
  | 'double';

interface Field {
  readonly number: number;
  readonly type: Scalar | (() => MessageForm);
  readonly isRepeated: boolean;
  /** Whether the value 0 is written, since the presence of the field has a meaning. */
  readonly isOptional: boolean;
}

/** A message by the names of its fields in JSON. */
export type MessageForm = ReadonlyMap<string, Field>;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const WIRE_TYPES: Readonly<Record<Scalar, number>> = {
  string: BYTES,
  bytes: BYTES,
  hex: BYTES,
  bool: VARINT,
  enum: VARINT,
  int64: VARINT,
  uint32: VARINT,
  uint64: VARINT,
  sint32: VARINT,
  fixed32: FIXED32,
  fixed64: FIXED64,
  sfixed64: FIXED64,
  double: FIXED64,
};
const RANGES: Readonly<Partial<Record<Scalar, readonly [bigint, bigint]>>> = {
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  sfixed64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  fixed64: [0n, 2n ** 64n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  fixed32: [0n, 2n ** 32n - 1n],
  sint32: [-(2n ** 31n), 2n ** 31n - 1n],
};

/** Numbers of the enumerations of all messages by name. */
const ENUMS: Readonly<Record<string, number>> = {
  AGGREGATION_TEMPORALITY_UNSPECIFIED: 0,
  AGGREGATION_TEMPORALITY_DELTA: 1,
  AGGREGATION_TEMPORALITY_CUMULATIVE: 2,
  SPAN_KIND_UNSPECIFIED: 0,
  SPAN_KIND_INTERNAL: 1,
  SPAN_KIND_SERVER: 2,
  SPAN_KIND_CLIENT: 3,
  SPAN_KIND_PRODUCER: 4,
  SPAN_KIND_CONSUMER: 5,
  STATUS_CODE_UNSET: 0,
  STATUS_CODE_OK: 1,
  STATUS_CODE_ERROR: 2,
  SEVERITY_NUMBER_UNSPECIFIED: 0,
};
const SEVERITIES = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'];
const SEVERITY = /^SEVERITY_NUMBER_([A-Z]+)([234]?)$/;

/**
 * Converts the JSON form of a request to protocol buffers, so that there is one decoder for both.
 *
 * @throws `invalid_arguments` if the text is not JSON, or a field has a value of another type.
 */
export function protobufOfJson(bytes: Buffer, form: MessageForm): Buffer {
  const body = parseJson(bytes, { bytesMax: Infinity, depthMax: DEPTH_MAX });
  if (!isJsonObject(body)) throw new AlmanacError('invalid_arguments', 'JSON body must be an object');
  const out = new WireWriter();
  writeMessage(out, body, form);
  return out.take();
}

/** A value inside another takes up to three levels. */
const DEPTH_MAX = 256;

function writeMessage(out: WireWriter, message: JsonObject, form: MessageForm): void {
  for (const name of Object.keys(message)) {
    const value = message[name];
    const field = form.get(name);
    if (field === undefined || value === null) continue;
    if (!field.isRepeated) writeField(out, field, name, value);
    else if (!Array.isArray(value)) throw unfit(name, 'a list');
    else if (typeof field.type === 'string' && WIRE_TYPES[field.type] !== BYTES) {
      writePacked(out, field, name, value as readonly JsonValue[]);
    } else {
      for (const item of value as readonly JsonValue[]) writeField(out, field, name, item);
    }
  }
}

function writeField(out: WireWriter, { number, type, isOptional }: Field, name: string, value: JsonValue): void {
  if (typeof type === 'function') {
    if (!isJsonObject(value)) throw unfit(name, 'an object');
    return out.message((number << 3) | BYTES, () => writeMessage(out, value, type()));
  }
  const wireType = WIRE_TYPES[type];
  const tag = (number << 3) | wireType;
  if (wireType === BYTES) return writeBytes(out, tag, type, name, value);
  if (!isOptional && value === 0) return;
  out.varint(tag);
  writeScalar(out, type, name, value);
}

function writePacked(out: WireWriter, { number, type }: Field, name: string, values: readonly JsonValue[]): void {
  out.message((number << 3) | BYTES, () => {
    for (const value of values) writeScalar(out, type as Scalar, name, value);
  });
}

const HEX = /^(?:[0-9a-fA-F]{2})*$/;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

function writeBytes(out: WireWriter, tag: number, type: Scalar, name: string, value: JsonValue): void {
  if (typeof value !== 'string') throw unfit(name, 'a string');
  if (type === 'string') return out.text(tag, value);
  if (type === 'hex') {
    if (!HEX.test(value)) throw unfit(name, 'hexadecimal digits');
    return out.bytes(tag, Buffer.from(value, 'hex'));
  }
  if (!BASE64.test(value)) throw unfit(name, 'base64');
  out.bytes(tag, Buffer.from(value, 'base64'));
}

function writeScalar(out: WireWriter, type: Scalar, name: string, value: JsonValue): void {
  switch (type) {
    case 'bool':
      if (typeof value !== 'boolean') throw unfit(name, 'true or false');
      return out.varint(value ? 1 : 0);
    case 'double':
      return out.double(doubleOf(name, value));
    case 'enum':
      return out.varint(enumOf(name, value));
    case 'sint32':
      return out.zigzag(Number(integerOf(type, name, value)));
    case 'fixed32':
      return out.fixed32(Number(integerOf(type, name, value)));
    case 'fixed64':
    case 'sfixed64': {
      const integer = integerOf(type, name, value);
      return out.words(Number(BigInt.asIntN(32, integer)), Number(BigInt.asIntN(32, integer >> 32n)));
    }
    default:
      return out.bigVarint(BigInt.asIntN(64, integerOf(type, name, value)));
  }
}

const INTEGER = /^-?[0-9]{1,20}$/;

function integerOf(type: Scalar, name: string, value: JsonValue): bigint {
  let integer: bigint | undefined;
  if (typeof value === 'bigint') integer = value;
  else if (typeof value === 'number' && Number.isInteger(value)) integer = BigInt(value);
  else if (typeof value === 'string' && INTEGER.test(value)) integer = BigInt(value);
  const [min, max] = RANGES[type] ?? [0n, 0n];
  if (integer === undefined || integer < min || integer > max) throw unfit(name, `an integer of type ${type}`);
  return integer;
}

const SPECIAL_DOUBLES: Readonly<Record<string, number>> = { NaN, Infinity, '-Infinity': -Infinity };
const DOUBLE = /^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$/;

function doubleOf(name: string, value: JsonValue): number {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value);
  if (typeof value === 'string') {
    const special = Object.hasOwn(SPECIAL_DOUBLES, value) ? SPECIAL_DOUBLES[value] : undefined;
    if (special !== undefined) return special;
    if (DOUBLE.test(value)) return Number(value);
  }
  throw unfit(name, 'a number');
}

function enumOf(name: string, value: JsonValue): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31) return value;
  if (typeof value === 'string') {
    const known = Object.hasOwn(ENUMS, value) ? ENUMS[value] : severityOf(value);
    if (known !== undefined) return known;
  }
  throw unfit(name, 'the number or the name of an enumeration value');
}

function severityOf(text: string): number | undefined {
  const match = SEVERITY.exec(text);
  const index = match === null ? -1 : SEVERITIES.indexOf(match[1]);
  if (match === null || index < 0) return undefined;
  return index * 4 + (match[2] === '' ? 1 : Number(match[2]));
}

function unfit(name: string, expected: string): AlmanacError {
  return new AlmanacError('invalid_arguments', `field "${name}" must be ${expected}`);
}

/** Definition of a field: its number and type; lists are repeated fields. */
type FieldForm = readonly [number: number, type: Scalar | (() => MessageForm), kind?: 'repeated' | 'optional'];

function message(fields: Readonly<Record<string, FieldForm>>): () => MessageForm {
  let form: Map<string, Field> | undefined;
  // Built when it is used first, since messages contain each other.
  return () => {
    if (form !== undefined) return form;
    form = new Map();
    for (const [name, [number, type, kind]] of Object.entries(fields)) {
      const field = { number, type, isRepeated: kind === 'repeated', isOptional: kind === 'optional' };
      form.set(name, field);
      form.set(
        name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        field,
      );
    }
    return form;
  };
}

const anyValue = message({
  stringValue: [1, 'string'],
  boolValue: [2, 'bool'],
  intValue: [3, 'int64', 'optional'],
  doubleValue: [4, 'double', 'optional'],
  arrayValue: [5, () => arrayValue()],
  kvlistValue: [6, () => keyValueList()],
  bytesValue: [7, 'bytes'],
});
const arrayValue = message({ values: [1, anyValue, 'repeated'] });
const keyValue = message({ key: [1, 'string'], value: [2, anyValue] });
const keyValueList = message({ values: [1, keyValue, 'repeated'] });
const attributes = (number: number): FieldForm => [number, keyValue, 'repeated'];
const resource = message({ attributes: attributes(1), droppedAttributesCount: [2, 'uint32'] });
const scope = message({
  name: [1, 'string'],
  version: [2, 'string'],
  attributes: attributes(3),
  droppedAttributesCount: [4, 'uint32'],
});

const exemplar = message({
  timeUnixNano: [2, 'fixed64'],
  asDouble: [3, 'double', 'optional'],
  asInt: [6, 'sfixed64', 'optional'],
  spanId: [4, 'hex'],
  traceId: [5, 'hex'],
  filteredAttributes: attributes(7),
});
const numberDataPoint = message({
  startTimeUnixNano: [2, 'fixed64'],
  timeUnixNano: [3, 'fixed64'],
  asDouble: [4, 'double', 'optional'],
  asInt: [6, 'sfixed64', 'optional'],
  exemplars: [5, exemplar, 'repeated'],
  attributes: attributes(7),
  flags: [8, 'uint32'],
});
const histogramDataPoint = message({
  startTimeUnixNano: [2, 'fixed64'],
  timeUnixNano: [3, 'fixed64'],
  count: [4, 'fixed64'],
  sum: [5, 'double', 'optional'],
  bucketCounts: [6, 'fixed64', 'repeated'],
  explicitBounds: [7, 'double', 'repeated'],
  exemplars: [8, exemplar, 'repeated'],
  attributes: attributes(9),
  flags: [10, 'uint32'],
  min: [11, 'double', 'optional'],
  max: [12, 'double', 'optional'],
});
const exponentialBuckets = message({ offset: [1, 'sint32'], bucketCounts: [2, 'uint64', 'repeated'] });
const exponentialDataPoint = message({
  attributes: attributes(1),
  startTimeUnixNano: [2, 'fixed64'],
  timeUnixNano: [3, 'fixed64'],
  count: [4, 'fixed64'],
  sum: [5, 'double', 'optional'],
  scale: [6, 'sint32'],
  zeroCount: [7, 'fixed64'],
  positive: [8, exponentialBuckets],
  negative: [9, exponentialBuckets],
  flags: [10, 'uint32'],
  exemplars: [11, exemplar, 'repeated'],
  min: [12, 'double', 'optional'],
  max: [13, 'double', 'optional'],
  zeroThreshold: [14, 'double'],
});
const summaryDataPoint = message({
  startTimeUnixNano: [2, 'fixed64'],
  timeUnixNano: [3, 'fixed64'],
  count: [4, 'fixed64'],
  sum: [5, 'double'],
  quantileValues: [6, message({ quantile: [1, 'double'], value: [2, 'double'] }), 'repeated'],
  attributes: attributes(7),
  flags: [8, 'uint32'],
});
const metric = message({
  name: [1, 'string'],
  description: [2, 'string'],
  unit: [3, 'string'],
  gauge: [5, message({ dataPoints: [1, numberDataPoint, 'repeated'] })],
  sum: [
    7,
    message({
      dataPoints: [1, numberDataPoint, 'repeated'],
      aggregationTemporality: [2, 'enum'],
      isMonotonic: [3, 'bool'],
    }),
  ],
  histogram: [9, message({ dataPoints: [1, histogramDataPoint, 'repeated'], aggregationTemporality: [2, 'enum'] })],
  exponentialHistogram: [
    10,
    message({ dataPoints: [1, exponentialDataPoint, 'repeated'], aggregationTemporality: [2, 'enum'] }),
  ],
  summary: [11, message({ dataPoints: [1, summaryDataPoint, 'repeated'] })],
});

const event = message({
  timeUnixNano: [1, 'fixed64'],
  name: [2, 'string'],
  attributes: attributes(3),
  droppedAttributesCount: [4, 'uint32'],
});
const link = message({
  traceId: [1, 'hex'],
  spanId: [2, 'hex'],
  traceState: [3, 'string'],
  attributes: attributes(4),
  droppedAttributesCount: [5, 'uint32'],
  flags: [6, 'fixed32'],
});
const span = message({
  traceId: [1, 'hex'],
  spanId: [2, 'hex'],
  traceState: [3, 'string'],
  parentSpanId: [4, 'hex'],
  name: [5, 'string'],
  kind: [6, 'enum'],
  startTimeUnixNano: [7, 'fixed64'],
  endTimeUnixNano: [8, 'fixed64'],
  attributes: attributes(9),
  droppedAttributesCount: [10, 'uint32'],
  events: [11, event, 'repeated'],
  droppedEventsCount: [12, 'uint32'],
  links: [13, link, 'repeated'],
  droppedLinksCount: [14, 'uint32'],
  status: [15, message({ message: [2, 'string'], code: [3, 'enum'] })],
  flags: [16, 'fixed32'],
});

const logRecord = message({
  timeUnixNano: [1, 'fixed64'],
  severityNumber: [2, 'enum'],
  severityText: [3, 'string'],
  body: [5, anyValue],
  attributes: attributes(6),
  droppedAttributesCount: [7, 'uint32'],
  flags: [8, 'fixed32'],
  traceId: [9, 'hex'],
  spanId: [10, 'hex'],
  observedTimeUnixNano: [11, 'fixed64'],
  eventName: [12, 'string'],
});

/** A request: resources with scopes with items. */
function request(names: readonly [string, string, string], item: () => MessageForm): () => MessageForm {
  const [resources, scopes, items] = names;
  const inScope = message({ scope: [1, scope], [items]: [2, item, 'repeated'], schemaUrl: [3, 'string'] });
  const inResource = message({ resource: [1, resource], [scopes]: [2, inScope, 'repeated'], schemaUrl: [3, 'string'] });
  return message({ [resources]: [1, inResource, 'repeated'] });
}

/** The requests of all signals. */
export const REQUEST_FORMS = {
  metrics: request(['resourceMetrics', 'scopeMetrics', 'metrics'], metric),
  traces: request(['resourceSpans', 'scopeSpans', 'spans'], span),
  logs: request(['resourceLogs', 'scopeLogs', 'logRecords'], logRecord),
} as const;
