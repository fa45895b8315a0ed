import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACKET } from '#shared/bytes/ascii';
import { BYTES, FIXED64, malformedBody, type WireReader } from '#shared/protobuf/wire-reader';

import type { JsonWriter } from '../../common/json-writer.js';
import { AttributePositions, writeAttributes } from '../any-value.js';

const SECOND_NS = 1_000_000_000n;

/** Writes the events of a span as `[{"name","time","attributes"}]`. @param ranges start and end of each. */
export function writeEvents(reader: WireReader, ranges: readonly number[], out: JsonWriter): void {
  writeList(ranges, out, (from, end) => {
    const parts = readParts(reader, from, end, EVENT);
    out.token('{"name":');
    out.string(reader.bytes, parts.from[2], parts.to[2]);
    out.token(
      `,"time":"${timeText(parts.to[1] === 0 ? 0n : reader.view.getBigUint64(parts.from[1], true))}","attributes":`,
    );
    writeAttributes(reader, parts.attributes, out);
    out.byte(CLOSE_BRACE);
  });
}

/** Writes the links of a span as `[{"trace_id","span_id","trace_state","attributes"}]`. */
export function writeLinks(reader: WireReader, ranges: readonly number[], out: JsonWriter): void {
  writeList(ranges, out, (from, end) => {
    const parts = readParts(reader, from, end, LINK);
    out.token('{"trace_id":');
    out.hex(reader.bytes, parts.from[1], parts.to[1]);
    out.token(',"span_id":');
    out.hex(reader.bytes, parts.from[2], parts.to[2]);
    out.token(',"trace_state":');
    out.string(reader.bytes, parts.from[3], parts.to[3]);
    out.token(',"attributes":');
    writeAttributes(reader, parts.attributes, out);
    out.byte(CLOSE_BRACE);
  });
}

function writeList(ranges: readonly number[], out: JsonWriter, write: (from: number, end: number) => void): void {
  out.byte(OPEN_BRACKET);
  for (let i = 0; i < ranges.length; i += 2) {
    if (i > 0) out.byte(COMMA);
    write(ranges[i], ranges[i + 1]);
  }
  out.byte(CLOSE_BRACKET);
}

/** Wire types of the fields of a message, and the number of its attributes. */
interface PartTypes {
  readonly types: readonly (number | undefined)[];
  readonly attributes: number;
}

const EVENT: PartTypes = { types: [undefined, FIXED64, BYTES, BYTES], attributes: 3 };
const LINK: PartTypes = { types: [undefined, BYTES, BYTES, BYTES, BYTES], attributes: 4 };

interface Parts {
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly attributes: AttributePositions;
}

function readParts(reader: WireReader, from: number, end: number, { types, attributes }: PartTypes): Parts {
  const parts = { from: [0, 0, 0, 0, 0], to: [0, 0, 0, 0, 0], attributes: new AttributePositions() };
  reader.eachField(from, end, (field, type, start, to) => {
    const wanted = types[field];
    if (wanted === undefined) return;
    if (type !== wanted) throw malformedBody();
    if (field === attributes) {
      parts.attributes.add(reader, start, to);
    } else {
      parts.from[field] = start;
      parts.to[field] = to;
    }
  });
  return parts;
}

/** Returns a time such as `2025-01-10 03:49:02.444376+0000`, with as many digits as needed. */
function timeText(ns: bigint): string {
  const seconds = ns / SECOND_NS;
  const date = new Date(Number(seconds) * 1000).toISOString();
  const fraction = String(ns % SECOND_NS)
    .padStart(9, '0')
    .replace(/0+$/, '');
  return `${date.slice(0, 10)} ${date.slice(11, 19)}${fraction === '' ? '' : `.${fraction}`}+0000`;
}
