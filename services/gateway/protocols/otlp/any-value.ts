import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET } from '#shared/bytes/ascii';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BYTES, FIXED64, malformedBody, VARINT, type WireReader } from '#shared/protobuf/wire-reader';

import type { JsonWriter } from '../common/json-writer.js';

/** Lists and maps inside each other. */
const DEPTH_MAX = 64;
/** Up to this many attributes, equal keys are found by comparison of all pairs. */
const PAIRS_MAX = 48;

/** Which member of an `AnyValue` is set; the numbers are those of its fields. */
export const AnyValueKind = { none: 0, text: 1, boolean: 2, integer: 3, double: 4, list: 5, map: 6, bytes: 7 } as const;
/** A kind of value, as the number of its field. */
export type AnyValueKind = (typeof AnyValueKind)[keyof typeof AnyValueKind];

const WIRE_TYPES = [-1, BYTES, VARINT, VARINT, FIXED64, BYTES, BYTES, BYTES];

/** The `AnyValue` that was read last. */
export class AnyValue {
  kind: AnyValueKind = AnyValueKind.none;
  /** Content of texts, bytes, lists and maps. */
  from = 0;
  to = 0;
  /** Two halves of integers, booleans and doubles. */
  low = 0;
  high = 0;
  double = 0;

  /** Reads the message in `[from, to)`. @throws `invalid_arguments` if it is malformed. */
  read(reader: WireReader, from: number, to: number): void {
    this.kind = AnyValueKind.none;
    for (let at = from; at < to;) {
      const tag = reader.varint(at, to);
      const start = reader.at;
      const field = tag >>> 3;
      at = reader.skip(tag, start, to);
      if (field > AnyValueKind.bytes) continue;
      if ((tag & 7) !== WIRE_TYPES[field]) throw malformedBody();
      this.kind = field as AnyValueKind;
      this.from = reader.at;
      this.to = at;
      if ((tag & 7) === VARINT) {
        this.low = reader.low;
        this.high = reader.high;
      } else if ((tag & 7) === FIXED64) {
        this.double = reader.view.getFloat64(start, true);
      }
    }
  }
}

/** Attributes of one message, as positions: start and end of each key, and of each value. */
export class AttributePositions {
  /** Four for each attribute. Attributes without a value have an empty one. */
  readonly at: number[] = [];

  get count(): number {
    return this.at.length / 4;
  }

  clear(): void {
    this.at.length = 0;
  }

  /** Adds the `KeyValue` in `[from, to)`. @throws `invalid_arguments` if it is malformed. */
  add(reader: WireReader, from: number, to: number): void {
    let keyFrom = from;
    let keyTo = from;
    let valueFrom = from;
    let valueTo = from;
    for (let at = from; at < to;) {
      const tag = reader.varint(at, to);
      at = reader.skip(tag, reader.at, to);
      const field = tag >>> 3;
      if (field !== 1 && field !== 2) continue;
      if ((tag & 7) !== BYTES) throw malformedBody();
      if (field === 1) {
        keyFrom = reader.at;
        keyTo = at;
      } else {
        valueFrom = reader.at;
        valueTo = at;
      }
    }
    this.at.push(keyFrom, keyTo, valueFrom, valueTo);
  }

  /** Removes all but the last attribute of each key. */
  dropRepeated({ bytes }: WireReader): void {
    const { at } = this;
    if (at.length > 4 * PAIRS_MAX) return this.#dropRepeatedOfMany(bytes);
    let kept = 0;
    for (let i = 0; i < at.length; i += 4) {
      if (this.#isRepeated(bytes, i)) continue;
      if (kept !== i) for (let k = 0; k < 4; k++) at[kept + k] = at[i + k];
      kept += 4;
    }
    at.length = kept;
  }

  #isRepeated(bytes: Buffer, i: number): boolean {
    const { at } = this;
    const length = at[i + 1] - at[i];
    for (let j = i + 4; j < at.length; j += 4) {
      if (at[j + 1] - at[j] === length && areSame(bytes, at[i], at[j], length)) return true;
    }
    return false;
  }

  #dropRepeatedOfMany(bytes: Buffer): void {
    const last = new Map<string, number>();
    for (let i = 0; i < this.at.length; i += 4) last.set(bytes.toString('latin1', this.at[i], this.at[i + 1]), i);
    const kept = [...last.values()].sort((a, b) => a - b).flatMap((i) => this.at.slice(i, i + 4));
    this.at.length = 0;
    for (const position of kept) this.at.push(position);
  }
}

function areSame(bytes: Buffer, a: number, b: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

/** Writes attributes as a JSON object; of several with the same key the last. */
export function writeAttributes(reader: WireReader, attributes: AttributePositions, out: JsonWriter, depth = 0): void {
  attributes.dropRepeated(reader);
  const { at } = attributes;
  const value = new AnyValue();
  out.byte(OPEN_BRACE);
  for (let i = 0; i < at.length; i += 4) {
    if (i > 0) out.byte(COMMA);
    out.string(reader.bytes, at[i], at[i + 1]);
    out.byte(COLON);
    value.read(reader, at[i + 2], at[i + 3]);
    writeValue(reader, value, out, depth);
  }
  out.byte(CLOSE_BRACE);
}

/**
 * Writes a value as JSON; bytes as hexadecimal digits. Uses `value` for the members of a list.
 *
 * @throws `invalid_arguments` for text that is not UTF-8, or too many levels.
 */
export function writeValue(reader: WireReader, value: AnyValue, out: JsonWriter, depth = 0): void {
  switch (value.kind) {
    case AnyValueKind.none:
      return out.token('null');
    case AnyValueKind.text:
      return out.string(reader.bytes, value.from, value.to);
    case AnyValueKind.boolean:
      return out.token((value.low | value.high) === 0 ? 'false' : 'true');
    case AnyValueKind.integer:
      return out.integer(value.low, value.high);
    case AnyValueKind.double:
      return out.double(value.double);
    case AnyValueKind.bytes:
      return out.hex(reader.bytes, value.from, value.to);
    default:
      return writeNested(reader, value, out, depth + 1);
  }
}

function writeNested(reader: WireReader, value: AnyValue, out: JsonWriter, depth: number): void {
  if (depth > DEPTH_MAX) {
    throw new AlmanacError('invalid_arguments', `attribute value has more than ${DEPTH_MAX} levels`);
  }
  const { kind, to } = value;
  const members = new AttributePositions();
  if (kind === AnyValueKind.list) out.byte(OPEN_BRACKET);
  for (let at = value.from, count = 0; at < to;) {
    const tag = reader.varint(at, to);
    at = reader.skip(tag, reader.at, to);
    if (tag >>> 3 !== 1) continue;
    if ((tag & 7) !== BYTES) throw malformedBody();
    if (kind === AnyValueKind.map) {
      members.add(reader, reader.at, at);
    } else {
      if (count++ > 0) out.byte(COMMA);
      value.read(reader, reader.at, at);
      writeValue(reader, value, out, depth);
    }
  }
  if (kind === AnyValueKind.list) out.byte(CLOSE_BRACKET);
  else writeAttributes(reader, members, out, depth);
}
