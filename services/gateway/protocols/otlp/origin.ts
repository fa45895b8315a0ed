import { isUtf8Range } from '#shared/bytes/utf8';
import { BYTES, malformedBody, type WireReader } from '#shared/protobuf/wire-reader';

import { JsonWriter, notUtf8 } from '../common/json-writer.js';
import { AttributePositions, writeAttributes } from './any-value.js';

const EMPTY = Buffer.alloc(0);
const EMPTY_OBJECT = Buffer.from('{}');

/** A resource, or an instrumentation scope, with the schema that its parent message names. */
export interface TelemetryOrigin {
  /** Whether the message is there at all. */
  readonly isPresent: boolean;
  /** Name and version of a scope. */
  readonly name: Buffer;
  readonly version: Buffer;
  readonly schemaUrl: Buffer;
  /** Attributes in the bytes of the request. */
  readonly attributes: AttributePositions;
}

/** Field numbers of what an origin has. */
interface OriginFields {
  readonly name: number;
  readonly version: number;
  readonly attributes: number;
}

const SCOPE: OriginFields = { name: 1, version: 2, attributes: 3 };
const RESOURCE: OriginFields = { name: -1, version: -1, attributes: 1 };
const ORIGIN_FIELD = 1;
const SCHEMA_URL_FIELD = 3;

/** Reads the resource of the message in `[from, end)`, whose other fields are scopes. */
export function readResource(reader: WireReader, from: number, end: number): TelemetryOrigin {
  return readOrigin(reader, from, end, RESOURCE);
}

/** Reads the scope of the message in `[from, end)`, whose other fields are items. */
export function readScope(reader: WireReader, from: number, end: number): TelemetryOrigin {
  return readOrigin(reader, from, end, SCOPE);
}

function readOrigin(reader: WireReader, from: number, end: number, fields: OriginFields): TelemetryOrigin {
  const attributes = new AttributePositions();
  const texts: Record<'name' | 'version' | 'schemaUrl', Buffer> = { name: EMPTY, version: EMPTY, schemaUrl: EMPTY };
  let isPresent = false;
  reader.eachField(from, end, (field, type, start, to) => {
    if (field !== ORIGIN_FIELD && field !== SCHEMA_URL_FIELD) return;
    if (type !== BYTES) throw malformedBody();
    if (field === SCHEMA_URL_FIELD) {
      texts.schemaUrl = textAt(reader, start, to);
      return;
    }
    isPresent = true;
    reader.eachField(start, to, (part, partType, partFrom, partTo) => {
      if (part !== fields.name && part !== fields.version && part !== fields.attributes) return;
      if (partType !== BYTES) throw malformedBody();
      if (part === fields.attributes) attributes.add(reader, partFrom, partTo);
      else texts[part === fields.name ? 'name' : 'version'] = textAt(reader, partFrom, partTo);
    });
  });
  attributes.dropRepeated(reader);
  return { isPresent, ...texts, attributes };
}

function textAt({ bytes }: WireReader, from: number, to: number): Buffer {
  if (!isUtf8Range(bytes, from, to)) throw notUtf8();
  return bytes.subarray(from, to);
}

/** Returns the attributes as a JSON object. */
export function attributesJson(reader: WireReader, { attributes }: TelemetryOrigin): Buffer {
  if (attributes.count === 0) return EMPTY_OBJECT;
  const out = new JsonWriter();
  writeAttributes(reader, attributes, out);
  return out.bytes.subarray(0, out.length);
}
