/**
 * Encodes and decodes messages of the contracts (https://protobuf.dev/programming-guides/encoding).
 *
 * Does two things that general libraries do not combine: exactly the shapes of the generated interfaces (bigint, defaults
 * filled in, plain objects), and one copy of a payload, into a buffer of the right length.
 */
import { varintLength } from '#shared/bytes/varint';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { BYTES, WireReader } from '#shared/protobuf/wire-reader';
import { WireWriter } from '#shared/protobuf/wire-writer';
import { lengthSize, type Scalar } from './scalars.js';

/** One field of a message. */
export interface MessageField {
  readonly name: string;
  readonly number: number;
  readonly shape: 'single' | 'list' | 'map';
  /** Whether the field is undefined when it was not set, instead of a default. */
  readonly isOptional: boolean;
  /** Type of the value; of a list its items, of a map (with string keys) its values. */
  readonly value: Scalar | MessageType;
}

type Values = Record<string, unknown>;

/** One message of a contract. Fields are added before first use, since messages may refer to each other. */
export class MessageType {
  readonly name: string;
  readonly fields: MessageField[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Encodes a value of the generated interface. */
  encode(value: object): Buffer {
    const sizes: number[] = [];
    const length = measure(this, value as Values, sizes);
    const out = new WireWriter(length);
    writeMessage(out, this, value as Values, sizes.values());
    invariant(out.length === length, `message ${this.name} differs from its measured length`);
    return out.take();
  }

  /**
   * Decodes a value of the generated interface. Large `bytes` are views into the input.
   *
   * @throws `unexpected` if the bytes are malformed.
   */
  decode(bytes: Buffer): object {
    return readMessage(new WireReader(bytes, malformed), this, bytes.length);
  }
}

// --- encode ----------------------------------------------------------------------------------------------------------

/** Returns the encoded size; `sizes` collects the lengths of nested values in the order in which they are written. */
function measure(type: MessageType, values: Values, sizes: number[]): number {
  let size = 0;
  for (const field of type.fields) {
    const value = values[field.name];
    if (value === undefined) continue;
    const tag = varintLength(field.number << 3);
    if (field.shape === 'single') size += isLeftOut(field, value) ? 0 : tag + valueSize(field, value, sizes);
    else if (field.shape === 'map') size += mapSize(field, value as Values, tag, sizes);
    else size += listSize(field, value as readonly unknown[], tag, sizes);
  }
  return size;
}

function isLeftOut(field: MessageField, value: unknown): boolean {
  return !field.isOptional && !(field.value instanceof MessageType) && field.value.isZero(value);
}

function valueSize({ value: type }: MessageField, value: unknown, sizes: number[]): number {
  if (!(type instanceof MessageType)) return type.size(value);
  const at = sizes.push(0) - 1;
  sizes[at] = measure(type, value as Values, sizes);
  return lengthSize(sizes[at]);
}

function listSize(field: MessageField, list: readonly unknown[], tag: number, sizes: number[]): number {
  if (list.length === 0) return 0;
  const { value: type } = field;
  let size = 0;
  if (isPacked(type)) {
    for (const item of list) size += type.size(item);
    sizes.push(size);
    return tag + lengthSize(size);
  }
  for (const item of list) size += tag + valueSize(field, item, sizes);
  return size;
}

/** A map is a list of messages with the fields 1 (key) and 2 (value). */
function mapSize(field: MessageField, map: Values, tag: number, sizes: number[]): number {
  let size = 0;
  for (const [key, value] of Object.entries(map)) {
    const at = sizes.push(0) - 1;
    sizes[at] = 1 + lengthSize(Buffer.byteLength(key)) + 1 + valueSize(field, value, sizes);
    size += tag + lengthSize(sizes[at]);
  }
  return size;
}

function isPacked(type: Scalar | MessageType): type is Scalar {
  return !(type instanceof MessageType) && type.wire !== BYTES;
}

function wireOf(type: Scalar | MessageType): number {
  return type instanceof MessageType ? BYTES : type.wire;
}

type Sizes = Iterator<number, undefined>;

function writeMessage(out: WireWriter, type: MessageType, values: Values, sizes: Sizes): void {
  for (const field of type.fields) {
    const value = values[field.name];
    if (value === undefined) continue;
    if (field.shape === 'single') {
      if (!isLeftOut(field, value)) writeTagged(out, field.number, field.value, value, sizes);
    } else if (field.shape === 'map') {
      for (const [key, item] of Object.entries(value as Values)) {
        out.varint((field.number << 3) | 2);
        out.varint(sizes.next().value ?? 0);
        out.varint((1 << 3) | 2);
        out.lengthAndText(key);
        writeTagged(out, 2, field.value, item, sizes);
      }
    } else writeList(out, field, value as readonly unknown[], sizes);
  }
}

function writeList(
  out: WireWriter,
  { number, value: type }: MessageField,
  list: readonly unknown[],
  sizes: Sizes,
): void {
  if (list.length === 0) return;
  if (!isPacked(type)) {
    for (const item of list) writeTagged(out, number, type, item, sizes);
    return;
  }
  out.varint((number << 3) | 2);
  out.varint(sizes.next().value ?? 0);
  for (const item of list) type.write(out, item);
}

function writeTagged(out: WireWriter, number: number, type: Scalar | MessageType, value: unknown, sizes: Sizes): void {
  out.varint((number << 3) | wireOf(type));
  if (type instanceof MessageType) {
    out.varint(sizes.next().value ?? 0);
    writeMessage(out, type, value as Values, sizes);
  } else type.write(out, value);
}

// --- decode ----------------------------------------------------------------------------------------------------------

function readMessage(from: WireReader, type: MessageType, end: number): Values {
  from.beginMessage();
  const values = defaults(type);
  while (from.at < end) {
    const tag = from.varint(from.at, from.bytes.length);
    const wire = tag & 7;
    const field = fieldOf(type, tag >>> 3);
    // A newer peer may send fields that this release does not know.
    if (field === undefined || !isExpected(field, wire)) skip(from, tag);
    else if (field.shape === 'map') readEntry(from, field, values[field.name] as Values);
    else if (field.shape === 'list') readItems(from, field, wire, values[field.name] as unknown[]);
    else values[field.name] = readValue(from, field.value);
  }
  // Also catches a message that ended inside a number, whose missing bytes were read from what follows.
  if (from.at !== end) throw malformed();
  return values;
}

function defaults(type: MessageType): Values {
  const values: Values = {};
  for (const { name, shape, isOptional, value } of type.fields) {
    if (shape === 'list') values[name] = [];
    else if (shape === 'map') values[name] = {};
    else if (!isOptional && !(value instanceof MessageType)) values[name] = value.zero;
  }
  return values;
}

/** Most fields have a number equal to their position in the list. */
function fieldOf(type: MessageType, number: number): MessageField | undefined {
  const guess = type.fields[number - 1];
  return guess?.number === number ? guess : type.fields.find((field) => field.number === number);
}

function isExpected({ shape, value }: MessageField, wire: number): boolean {
  return wire === (shape === 'map' ? BYTES : wireOf(value)) || (shape === 'list' && wire === BYTES && isPacked(value));
}

function readValue(from: WireReader, type: Scalar | MessageType): unknown {
  return type instanceof MessageType ? readMessage(from, type, lengthEnd(from)) : type.read(from);
}

/** Reads one item, or several in packed encoding. */
function readItems(from: WireReader, { value: type }: MessageField, wire: number, list: unknown[]): void {
  if (!isPacked(type) || wire !== BYTES) {
    list.push(readValue(from, type));
    return;
  }
  const end = lengthEnd(from);
  while (from.at < end) list.push(type.read(from));
  if (from.at !== end) throw malformed();
}

function readEntry(from: WireReader, field: MessageField, map: Values): void {
  const end = lengthEnd(from);
  let key = '';
  let value: unknown = field.value instanceof MessageType ? defaults(field.value) : field.value.zero;
  while (from.at < end) {
    const tag = from.varint(from.at, from.bytes.length);
    if (tag === ((1 << 3) | 2)) key = from.text(from.at, from.bytes.length);
    else if (tag === ((2 << 3) | wireOf(field.value))) value = readValue(from, field.value);
    else skip(from, tag);
  }
  if (from.at !== end) throw malformed();
  // Defined rather than assigned: the key may be `__proto__`.
  Object.defineProperty(map, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Reads a length at the cursor, and returns where the content ends. */
function lengthEnd(from: WireReader): number {
  return from.lengthEnd(from.at, from.bytes.length);
}

function skip(from: WireReader, tag: number): void {
  from.at = from.skip(tag, from.at, from.bytes.length);
}

function malformed(): AlmanacError {
  return new AlmanacError('unexpected', 'the message is malformed');
}
