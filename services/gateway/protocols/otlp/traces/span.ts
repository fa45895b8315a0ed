import { BYTES, FIXED64, malformedBody, VARINT, type WireReader } from '#shared/protobuf/wire-reader';

import { AttributePositions } from '../any-value.js';

/** Numbers of the fields of a span. */
export const SpanField = {
  traceId: 1,
  spanId: 2,
  traceState: 3,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  startTime: 7,
  endTime: 8,
  attributes: 9,
  events: 11,
  links: 13,
  status: 15,
} as const;

const FIELDS_END = 16;
const WIRE_TYPES = new Int8Array(FIELDS_END).fill(-1);
for (const field of [1, 2, 3, 4, 5, 9, 11, 13, 15]) WIRE_TYPES[field] = BYTES;
WIRE_TYPES[SpanField.kind] = VARINT;
WIRE_TYPES[SpanField.startTime] = WIRE_TYPES[SpanField.endTime] = FIXED64;

/** The span that was read last. */
export class OtlpSpan {
  kind = 0;
  readonly attributes = new AttributePositions();
  /** Start and end of each event, and of each link. */
  readonly events: number[] = [];
  readonly links: number[] = [];
  readonly #from = new Int32Array(FIELDS_END);
  readonly #to = new Int32Array(FIELDS_END);

  /** Returns where the content of a field begins. */
  from(field: number): number {
    return this.#from[field];
  }

  /** Returns where the content of a field ends; where it begins if the field is absent. */
  to(field: number): number {
    return this.#to[field];
  }

  /** Reads the message in `[from, end)`. @throws `invalid_arguments` if it is malformed. */
  read(reader: WireReader, from: number, end: number): void {
    this.#from.fill(0);
    this.#to.fill(0);
    this.attributes.clear();
    this.events.length = 0;
    this.links.length = 0;
    this.kind = 0;
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      const start = reader.at;
      at = reader.skip(tag, start, end);
      const field = tag >>> 3;
      const type = field < FIELDS_END ? WIRE_TYPES[field] : -1;
      if (type === -1) continue;
      if ((tag & 7) !== type) throw malformedBody();
      this.#keep(reader, field, start, at);
    }
    this.attributes.dropRepeated(reader);
  }

  #keep(reader: WireReader, field: number, start: number, end: number): void {
    if (field === SpanField.attributes) this.attributes.add(reader, reader.at, end);
    else if (field === SpanField.events) this.events.push(reader.at, end);
    else if (field === SpanField.links) this.links.push(reader.at, end);
    else if (field === SpanField.kind) this.kind = reader.low;
    else {
      this.#from[field] = WIRE_TYPES[field] === BYTES ? reader.at : start;
      this.#to[field] = end;
    }
  }
}
