import { AlmanacError } from '#shared/errors/almanac-error';

/** Wire type of integers of variable length. */
export const VARINT = 0;
/** Wire type of doubles and 64-bit integers of fixed length. */
export const FIXED64 = 1;
/** Wire type of texts, bytes, messages and packed numbers: a length and as many bytes. */
export const BYTES = 2;
const FIXED32 = 5;

const VARINT_BYTES_MAX = 10;
const TWO_TO_32 = 4_294_967_296;
/** An empty message takes two bytes on the wire and an object of a hundred in memory. */
const MESSAGES_MAX = 1_048_576;

/** Visits one field. Of a field of `BYTES` the range is its content, without the length. */
export type VisitField = (field: number, type: number, from: number, end: number) => void;

/**
 * Reads the wire format of protocol buffers from a buffer, without copies.
 *
 * Methods take the position to read at and the end of the enclosing message, and leave the position after the value in
 * `at`, so that decoders can compare and skip bytes on their own between two reads.
 *
 * @see https://protobuf.dev/programming-guides/encoding
 */
export class WireReader {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** The position after the value that was read last. */
  at = 0;
  /** The two halves of the 64-bit value that was read last, as signed 32-bit integers. */
  low = 0;
  high = 0;
  readonly #malformed: () => AlmanacError;
  #messageCount = 0;

  /** @param malformed makes the error that every read throws for bytes that are cut off or not valid. */
  constructor(bytes: Buffer, malformed: () => AlmanacError = malformedBody) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#malformed = malformed;
  }

  /** Counts a nested message. @throws `invalid_arguments` if there are more than a million of them. */
  beginMessage(): void {
    if (++this.#messageCount <= MESSAGES_MAX) return;
    throw new AlmanacError('invalid_arguments', `a message has more than ${MESSAGES_MAX} parts`);
  }

  /** Returns the unsigned 32-bit integer at `at`; of a longer one the low half, as other decoders do. */
  varint(at: number, end: number): number {
    const byte = this.bytes[at];
    if (at < end && byte < 0x80) {
      this.at = at + 1;
      return byte;
    }
    this.varint64(at, end);
    return this.low >>> 0;
  }

  /** Reads a 64-bit integer of variable length into `low` and `high`. */
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
    throw this.#malformed();
  }

  /** Reads eight bytes into `low` and `high`. */
  fixed64(at: number, end: number): void {
    if (at + 8 > end) throw this.#malformed();
    this.low = this.view.getInt32(at, true);
    this.high = this.view.getInt32(at + 4, true);
    this.at = at + 8;
  }

  /** Returns the double at `at`. */
  double(at: number, end: number): number {
    if (at + 8 > end) throw this.#malformed();
    this.at = at + 8;
    return this.view.getFloat64(at, true);
  }

  /** Reads the length at `at` and returns where the bytes end that it counts; they begin at `this.at`. */
  lengthEnd(at: number, end: number): number {
    let length = this.bytes[at];
    if (at < end && length < 0x80) {
      this.at = at + 1;
    } else {
      this.varint64(at, end);
      if (this.high !== 0) throw this.#malformed();
      length = this.low >>> 0;
    }
    if (length > end - this.at) throw this.#malformed();
    return this.at + length;
  }

  /** Returns the text at `at`, which a length precedes. */
  text(at: number, end: number): string {
    const textEnd = this.lengthEnd(at, end);
    const text = this.bytes.toString('utf8', this.at, textEnd);
    this.at = textEnd;
    return text;
  }

  /**
   * Returns the position after the field whose tag is `tag` and whose value begins at `at`. Of a field of `BYTES` the
   * content begins at `this.at` then; an integer is in `low` and `high`.
   */
  skip(tag: number, at: number, end: number): number {
    if (tag >>> 3 === 0) throw this.#malformed();
    switch (tag & 7) {
      case VARINT:
        this.varint64(at, end);
        return this.at;
      case BYTES:
        return this.lengthEnd(at, end);
      case FIXED64:
      case FIXED32: {
        const next = at + ((tag & 7) === FIXED64 ? 8 : 4);
        if (next > end) throw this.#malformed();
        return next;
      }
      default:
        // Groups are deprecated, and other types are not defined.
        throw this.#malformed();
    }
  }

  /** Visits the fields of the message in `[from, to)`. */
  eachField(from: number, to: number, visit: VisitField): void {
    for (let at = from; at < to;) {
      const tag = this.varint(at, to);
      const start = this.at;
      at = this.skip(tag, start, to);
      visit(tag >>> 3, tag & 7, (tag & 7) === BYTES ? this.at : start, at);
    }
  }

  /** `low` and `high` as a signed integer, rounded beyond 2^53. */
  get signed(): number {
    return this.high * TWO_TO_32 + (this.low >>> 0);
  }

  /** `low` and `high` as an unsigned integer, rounded beyond 2^53. */
  get unsigned(): number {
    return (this.high >>> 0) * TWO_TO_32 + (this.low >>> 0);
  }

  /** `low` and `high` as a zigzag-encoded integer, rounded beyond 2^53. */
  get zigzag(): number {
    const half = (this.high >>> 0) * (TWO_TO_32 / 2) + (this.low >>> 1);
    return (this.low & 1) === 0 ? half : -half - 1;
  }

  /** `low` and `high` as an exact unsigned integer. */
  get bigUnsigned(): bigint {
    return (BigInt(this.high >>> 0) << 32n) | BigInt(this.low >>> 0);
  }
}

/** Makes the error for a request body that is cut off or not valid, in the words of Go's decoders. */
export function malformedBody(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'unexpected EOF');
}
