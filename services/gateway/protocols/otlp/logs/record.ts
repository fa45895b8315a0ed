import { BYTES, FIXED64, malformedBody, VARINT, type WireReader } from '#shared/protobuf/wire-reader';

import { AttributePositions } from '../any-value.js';

/** Numbers of the fields of a log record. */
export const LogField = {
  time: 1,
  severityNumber: 2,
  severityText: 3,
  body: 5,
  attributes: 6,
  flags: 8,
  traceId: 9,
  spanId: 10,
  observedTime: 11,
  eventName: 12,
} as const;

const FIXED32 = 5;
const FIELDS_END = 13;
const WIRE_TYPES = new Int8Array(FIELDS_END).fill(-1);
WIRE_TYPES[LogField.time] = WIRE_TYPES[LogField.observedTime] = FIXED64;
WIRE_TYPES[LogField.severityNumber] = VARINT;
WIRE_TYPES[LogField.flags] = FIXED32;
for (const field of [3, 5, 6, 9, 10, 12]) WIRE_TYPES[field] = BYTES;

/** The log record that was read last. */
export class OtlpLogRecord {
  severityNumber = 0;
  flags = 0;
  /** Nanoseconds since 1970 as two words: of the record, else the observed time, else 0. */
  timeLow = 0;
  timeHigh = 0;
  readonly attributes = new AttributePositions();
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
    this.severityNumber = 0;
    for (let at = from; at < end;) {
      const tag = reader.varint(at, end);
      const start = reader.at;
      at = reader.skip(tag, start, end);
      const field = tag >>> 3;
      const type = field < FIELDS_END ? WIRE_TYPES[field] : -1;
      if (type === -1) continue;
      if ((tag & 7) !== type) throw malformedBody();
      if (field === LogField.attributes) {
        this.attributes.add(reader, reader.at, at);
      } else {
        if (type === VARINT) this.severityNumber = reader.low;
        this.#from[field] = type === BYTES ? reader.at : start;
        this.#to[field] = at;
      }
    }
    this.attributes.dropRepeated(reader);
    this.flags = this.#to[LogField.flags] === 0 ? 0 : reader.view.getUint32(this.#from[LogField.flags], true);
    if (!this.#readTime(reader, LogField.time)) this.#readTime(reader, LogField.observedTime);
  }

  #readTime({ view }: WireReader, field: number): boolean {
    const isPresent = this.#to[field] > 0;
    this.timeLow = isPresent ? view.getInt32(this.#from[field], true) : 0;
    this.timeHigh = isPresent ? view.getInt32(this.#from[field] + 4, true) : 0;
    return this.timeLow !== 0 || this.timeHigh !== 0;
  }
}
