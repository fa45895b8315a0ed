import { varintLength } from '#shared/bytes/varint';

const GROWN_BYTES_MIN = 64 * 1024;
const VARINT_BYTES_MAX = 10;
const TWO_TO_32 = 4_294_967_296;
const NO_BYTES = Buffer.alloc(0);
/** A 64-bit integer becomes two words here; its content is not used across calls. */
const WORDS = new DataView(new ArrayBuffer(8));

/**
 * Writes the wire format of protocol buffers front to back.
 *
 * @see https://protobuf.dev/programming-guides/encoding
 */
export class WireWriter {
  #bytes: Buffer;
  #at = 0;

  /** @param length bytes that will be written, where that is known: then the buffer has exactly this length. */
  constructor(length = 0) {
    this.#bytes = length === 0 ? NO_BYTES : Buffer.allocUnsafe(length);
  }

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.#at;
  }

  /** Writes one byte, such as the tag of a field below 16. */
  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  /** Writes an integer below 2^53; a negative one takes ten bytes. */
  varint(value: number): void {
    this.#varintWords(value >>> 0, Math.floor(value / TWO_TO_32) >>> 0);
  }

  /** Writes a 64-bit integer. */
  bigVarint(value: bigint): void {
    WORDS.setBigInt64(0, value, true);
    this.#varintWords(WORDS.getUint32(0, true), WORDS.getUint32(4, true));
  }

  /** Writes a zigzag-encoded integer, which is short when it is close to 0. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Writes eight bytes, the low word first. */
  words(low: number, high: number): void {
    this.#reserve(8);
    this.#bytes.writeInt32LE(low, this.#at);
    this.#at = this.#bytes.writeInt32LE(high, this.#at + 4);
  }

  /** Writes four bytes. */
  fixed32(value: number): void {
    this.#reserve(4);
    this.#at = this.#bytes.writeUInt32LE(value >>> 0, this.#at);
  }

  uint32BE(value: number): void {
    this.#reserve(4);
    this.#at = this.#bytes.writeUInt32BE(value, this.#at);
  }

  /** Writes bytes without a length. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Writes a length and the bytes. */
  lengthAndBytes(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.raw(bytes);
  }

  /** Writes a length and the text as UTF-8. */
  lengthAndText(text: string): void {
    const length = Buffer.byteLength(text);
    this.varint(length);
    this.#reserve(length);
    this.#at += this.#bytes.write(text, this.#at);
  }

  /** Writes a field of bytes. @param tag below 128. */
  bytes(tag: number, bytes: Uint8Array): void {
    this.byte(tag);
    this.lengthAndBytes(bytes);
  }

  /** Writes a field of text. @param tag below 128. */
  text(tag: number, text: string): void {
    this.byte(tag);
    this.lengthAndText(text);
  }

  /** Writes a field with a message: the length of what `write` writes, then that. @param tag below 128. */
  message(tag: number, write: () => void): void {
    this.byte(tag);
    const start = this.#at;
    write();
    const length = this.#at - start;
    const lengthBytes = varintLength(length);
    this.#reserve(lengthBytes);
    this.#bytes.copyWithin(start + lengthBytes, start, this.#at);
    this.#at = start;
    this.varint(length);
    this.#at = start + lengthBytes + length;
  }

  /** Returns what was written, and starts from scratch. */
  take(): Buffer {
    const written = this.#bytes.subarray(0, this.#at);
    this.#at = 0;
    // The buffer is kept if it is mostly empty: then the caller gets a copy.
    if (written.length * 2 < this.#bytes.length) return Buffer.from(written);
    this.#bytes = NO_BYTES;
    return written;
  }

  #varintWords(first: number, second: number): void {
    // Longer than needed only at the end of a buffer of exact length, which must not grow.
    if (this.#at + VARINT_BYTES_MAX > this.#bytes.length) this.#reserve(wordsLength(first, second));
    const bytes = this.#bytes;
    let low = first;
    let high = second;
    let at = this.#at;
    while (high !== 0) {
      bytes[at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    while (low > 0x7f) {
      bytes[at++] = (low & 0x7f) | 0x80;
      low >>>= 7;
    }
    bytes[at++] = low;
    this.#at = at;
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(GROWN_BYTES_MIN, this.#bytes.length * 2, this.#at + length));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}

/** Returns the bytes that `bigVarint` writes. */
export function bigVarintLength(value: bigint): number {
  WORDS.setBigInt64(0, value, true);
  return wordsLength(WORDS.getUint32(0, true), WORDS.getUint32(4, true));
}

function wordsLength(low: number, high: number): number {
  return high === 0 ? varintLength(low) : Math.ceil((64 - Math.clz32(high)) / 7);
}
