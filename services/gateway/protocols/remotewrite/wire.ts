import { AlmanacError } from '#shared/errors/almanac-error';

/** Wire types of protocol buffers. */
export const VARINT = 0;
const FIXED64 = 1;
export const BYTES = 2;
const FIXED32 = 5;
const VARINT_BYTES_MAX = 10;
const TWO_TO_32 = 4_294_967_296;

/** Reads protocol buffers front to back; nothing is copied. Every read is checked against the end of its message. */
export class WireScanner {
  bytes: Buffer;
  view: DataView;
  /** The position behind what was read last. */
  at = 0;
  /** The two halves of the 64-bit value that was read last, as signed words. */
  low = 0;
  high = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** The unsigned 32-bit value at `at`; of a longer one its low half, as decoders of protocol buffers have it. */
  varint(at: number, end: number): number {
    const byte = this.bytes[at];
    if (at < end && byte < 0x80) {
      this.at = at + 1;
      return byte;
    }
    this.varint64(at, end);
    return this.low >>> 0;
  }

  /** Reads a 64-bit varint into `low` and `high`. */
  varint64(from: number, end: number): void {
    const { bytes } = this;
    let low = 0;
    let high = 0;
    for (let at = from, shift = 0; at < end && at < from + VARINT_BYTES_MAX; at++, shift += 7) {
      const byte = bytes[at];
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift === 28) high |= bits >>> 4;
      else if (shift > 28) high |= bits << (shift - 32);
      if (byte >= 0x80) continue;
      this.at = at + 1;
      this.low = low;
      this.high = high;
      return;
    }
    throw malformed();
  }

  /** Reads eight bytes into `low` and `high`. */
  fixed64(at: number, end: number): void {
    if (at + 8 > end) throw malformed();
    this.low = this.view.getInt32(at, true);
    this.high = this.view.getInt32(at + 4, true);
    this.at = at + 8;
  }

  double(at: number, end: number): number {
    if (at + 8 > end) throw malformed();
    this.at = at + 8;
    return this.view.getFloat64(at, true);
  }

  /** Reads a length at `at`; returns where the bytes behind it end. They begin at `this.at`. */
  lengthEnd(at: number, end: number): number {
    let length = this.bytes[at];
    if (at < end && length < 0x80) {
      this.at = at + 1;
    } else {
      this.varint64(at, end);
      if (this.high !== 0) throw malformed();
      length = this.low >>> 0;
    }
    if (length > end - this.at) throw malformed();
    return this.at + length;
  }

  /** The position behind a field whose tag is `tag` and whose value begins at `at`. */
  skip(tag: number, at: number, end: number): number {
    if (tag >>> 3 === 0) throw malformed();
    switch (tag & 7) {
      case VARINT:
        this.varint64(at, end);
        return this.at;
      case BYTES:
        return this.lengthEnd(at, end);
      case FIXED64:
      case FIXED32: {
        const next = at + ((tag & 7) === FIXED64 ? 8 : 4);
        if (next > end) throw malformed();
        return next;
      }
      default:
        // Groups are not in use, and other types are not defined.
        throw malformed();
    }
  }

  /** `low` and `high` as a number; beyond 2^53 it is only near. */
  get signed(): number {
    return this.high * TWO_TO_32 + (this.low >>> 0);
  }

  get unsigned(): number {
    return (this.high >>> 0) * TWO_TO_32 + (this.low >>> 0);
  }

  /** `low` and `high` as a zigzag-encoded number. */
  get zigzag(): number {
    const half = (this.high >>> 0) * (TWO_TO_32 / 2) + (this.low >>> 1);
    return (this.low & 1) === 0 ? half : -half - 1;
  }
}

/** What a length, a tag or a number that is cut off or too long leads to. */
export function malformed(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'unexpected EOF');
}
