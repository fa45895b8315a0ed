import { BYTES, FIXED64, malformedBody, VARINT, type WireReader } from '#shared/protobuf/wire-reader';

const NO_VALUE_FLAG = 1;

/** Field numbers that differ between the kinds of data points. */
export interface PointFields {
  readonly attributes: number;
  readonly flags: number;
}

/** Of numbers and summaries. */
export const NUMBER_FIELDS: PointFields = { attributes: 7, flags: 8 };
/** Of histograms. */
export const HISTOGRAM_FIELDS: PointFields = { attributes: 9, flags: 10 };
/** Of exponential histograms. */
export const EXPONENTIAL_FIELDS: PointFields = { attributes: 1, flags: 10 };

/** Time is field 3 of every data point. */
const TIME_TAG = (3 << 3) | FIXED64;

/** Value of a number as a double. In other kinds of points fields 4 and 6 are something else. */
const DOUBLE_VALUE_TAG = (4 << 3) | FIXED64;
/** Value of a number as an integer. */
export const INTEGER_VALUE_TAG = (6 << 3) | FIXED64;

/** What all kinds of data points have: time, flags and attributes; and the value of numbers. */
export class PointReader {
  /** Milliseconds since 1970, as two words; of a time that is not valid, `isTimed` is false. */
  timeLow = 0;
  timeHigh = 0;
  isTimed = false;
  hasNoValue = false;
  /** Tag and position of the value of a number; the tag is 0 if there is none. */
  valueTag = 0;
  valueAt = 0;
  hasMistypedValue = false;
  /** Attributes as they were sent, with their tags, in `key[keyFrom, keyTo)`. */
  keyTo = 0;
  key: Buffer;
  keyView: DataView;
  readonly keyFrom: number;

  /** @param keyFrom bytes of the key before the attributes, for the caller. */
  constructor(keyFrom: number) {
    this.keyFrom = keyFrom;
    this.key = Buffer.alloc(KEY_BYTES);
    this.keyView = new DataView(this.key.buffer, this.key.byteOffset, this.key.length);
  }

  /** Reads the point in `[from, end)`. @throws `invalid_arguments` if it is malformed. */
  read(reader: WireReader, from: number, end: number, fields: PointFields): void {
    const attributeTag = (fields.attributes << 3) | BYTES;
    const flagsTag = fields.flags << 3;
    this.keyTo = this.keyFrom;
    this.isTimed = false;
    this.hasNoValue = false;
    this.valueTag = 0;
    this.hasMistypedValue = false;
    for (let at = from; at < end;) {
      const start = at;
      const tag = reader.varint(at, end);
      const valueAt = reader.at;
      at = reader.skip(tag, valueAt, end);
      if (tag === attributeTag) this.#addToKey(reader.bytes, start, at);
      else if (tag === TIME_TAG) {
        this.#setTime(reader.view.getUint32(valueAt, true), reader.view.getInt32(valueAt + 4, true));
      } else if (tag === DOUBLE_VALUE_TAG || tag === INTEGER_VALUE_TAG) {
        this.valueTag = tag;
        this.valueAt = valueAt;
      } else if (tag === flagsTag) this.hasNoValue = (reader.low & NO_VALUE_FLAG) !== 0;
      else if (isMistyped(tag, fields)) throw malformedBody();
      else if (tag >>> 3 === 4 || tag >>> 3 === 6) this.hasMistypedValue = true;
    }
  }

  #addToKey(bytes: Buffer, from: number, to: number): void {
    const length = to - from;
    if (this.keyTo + length > this.key.length) this.#growKey(this.keyTo + length);
    const { key } = this;
    if (length < 48) for (let i = from, at = this.keyTo; i < to; i++, at++) key[at] = bytes[i];
    else bytes.copy(key, this.keyTo, from, to);
    this.keyTo += length;
  }

  #growKey(least: number): void {
    const grown = Buffer.alloc(Math.max(least, this.key.length * 2));
    this.key.copy(grown);
    this.key = grown;
    this.keyView = new DataView(grown.buffer, grown.byteOffset, grown.length);
  }

  /** Divides nanoseconds by a million, as a long division of 16-bit digits: exact, and without BigInt. */
  #setTime(low: number, high: number): void {
    this.isTimed = high >= 0 && (high > 0 || low > 0);
    const first = Math.floor(high / MILLION);
    let rest = (high % MILLION) * TWO_TO_16 + (low >>> 16);
    const second = Math.floor(rest / MILLION);
    rest = (rest % MILLION) * TWO_TO_16 + (low & 0xffff);
    const ms = first * TWO_TO_32 + second * TWO_TO_16 + Math.floor(rest / MILLION);
    this.timeHigh = Math.floor(ms / TWO_TO_32);
    this.timeLow = ms | 0;
  }
}

const KEY_BYTES = 1024;
const MILLION = 1_000_000;
const TWO_TO_16 = 65_536;
const TWO_TO_32 = 4_294_967_296;

function isMistyped(tag: number, { attributes, flags }: PointFields): boolean {
  const field = tag >>> 3;
  return field === attributes || field === 3 || (field === flags && (tag & 7) !== VARINT);
}
