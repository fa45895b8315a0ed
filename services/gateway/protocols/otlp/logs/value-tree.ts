import { isUtf8Range } from '#shared/bytes/utf8';
import { AlmanacError } from '#shared/errors/almanac-error';
import { BYTES, malformedBody, type WireReader } from '#shared/protobuf/wire-reader';

import type { ObjectValue, PipelineValue } from '../../../pipelines/values/value.js';
import { notUtf8 } from '../../common/json-writer.js';
import { AnyValue, AnyValueKind, AttributePositions } from '../any-value.js';

/** Lists and maps inside each other. */
const DEPTH_MAX = 64;

/** Returns attributes as an object; of several with the same key the last. @throws `invalid_arguments`. */
export function attributeTree(reader: WireReader, { at }: AttributePositions, depth = 0): ObjectValue {
  const tree: ObjectValue = new Map();
  for (let i = 0; i < at.length; i += 4) {
    const value = new AnyValue();
    value.read(reader, at[i + 2], at[i + 3]);
    tree.set(textOf(reader, at[i], at[i + 1]), valueTree(reader, value, depth));
  }
  return tree;
}

/** Returns a value; bytes as hexadecimal digits, and numbers that are none as text. @throws `invalid_arguments`. */
export function valueTree(reader: WireReader, value: AnyValue, depth = 0): PipelineValue {
  switch (value.kind) {
    case AnyValueKind.none:
      return null;
    case AnyValueKind.text:
      return textOf(reader, value.from, value.to);
    case AnyValueKind.boolean:
      return (value.low | value.high) !== 0;
    case AnyValueKind.integer:
      return (BigInt(value.high) << 32n) | BigInt(value.low >>> 0);
    case AnyValueKind.double:
      return Number.isFinite(value.double) ? value.double : String(value.double);
    case AnyValueKind.bytes:
      return reader.bytes.toString('hex', value.from, value.to);
    default:
      return nestedTree(reader, value, depth + 1);
  }
}

function nestedTree(reader: WireReader, value: AnyValue, depth: number): PipelineValue {
  if (depth > DEPTH_MAX) {
    throw new AlmanacError('invalid_arguments', `attribute value has more than ${DEPTH_MAX} levels`);
  }
  const isMap = value.kind === AnyValueKind.map;
  const members = new AttributePositions();
  const elements: PipelineValue[] = [];
  for (let at = value.from; at < value.to;) {
    const tag = reader.varint(at, value.to);
    at = reader.skip(tag, reader.at, value.to);
    if (tag >>> 3 !== 1) continue;
    if ((tag & 7) !== BYTES) throw malformedBody();
    if (isMap) members.add(reader, reader.at, at);
    else elements.push(elementTree(reader, reader.at, at, depth));
  }
  return isMap ? attributeTree(reader, members, depth) : elements;
}

function elementTree(reader: WireReader, from: number, to: number, depth: number): PipelineValue {
  const element = new AnyValue();
  element.read(reader, from, to);
  return valueTree(reader, element, depth);
}

function textOf({ bytes }: WireReader, from: number, to: number): string {
  if (!isUtf8Range(bytes, from, to)) throw notUtf8();
  return bytes.toString('utf8', from, to);
}
