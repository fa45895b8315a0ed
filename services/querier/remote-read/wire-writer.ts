const FIRST_BYTES = 64 * 1024;
const TWO_TO_32 = 4_294_967_296;
const VARINT_BYTES_MAX = 10;

/** Writes protocol buffers front to back. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #at = 0;

  /** Bytes since the last `take`. */
  get length(): number {
    return this.#at;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  /** An integer; a negative one takes ten bytes. */
  varint(value: number): void {
    this.#reserve(VARINT_BYTES_MAX);
    let low = value >>> 0;
    let high = Math.floor(value / TWO_TO_32) >>> 0;
    for (; high > 0 || low >= 0x80; high >>>= 7) {
      this.#bytes[this.#at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
    }
    this.#bytes[this.#at++] = low;
  }

  /** A signed integer, small where it is near to 0. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Eight bytes, the low word first. */
  words(low: number, high: number): void {
    this.#reserve(8);
    this.#bytes.writeInt32LE(low, this.#at);
    this.#at = this.#bytes.writeInt32LE(high, this.#at + 4);
  }

  uint32BE(value: number): void {
    this.#reserve(4);
    this.#at = this.#bytes.writeUInt32BE(value, this.#at);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** A field of bytes. @param tag below 128. */
  bytes(tag: number, bytes: Uint8Array): void {
    this.byte(tag);
    this.varint(bytes.length);
    this.raw(bytes);
  }

  /** A field of text. */
  text(tag: number, text: string): void {
    this.bytes(tag, Buffer.from(text));
  }

  /** A message inside: what `write` writes, behind its length. */
  message(tag: number, write: () => void): void {
    this.byte(tag);
    const start = this.#at;
    write();
    const length = this.#at - start;
    const ahead = varintBytes(length);
    this.#reserve(ahead);
    this.#bytes.copyWithin(start + ahead, start, this.#at);
    this.#at = start;
    this.varint(length);
    this.#at = start + ahead + length;
  }

  /** What was written; then it begins anew. */
  take(): Uint8Array {
    const written = this.#bytes.subarray(0, this.#at);
    this.#at = 0;
    // Of a buffer that is mostly empty a copy is given away.
    if (written.length * 2 < this.#bytes.length) return Buffer.from(written);
    this.#bytes = Buffer.allocUnsafe(FIRST_BYTES);
    return written;
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + length));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}

/** Bytes of an integer as `varint` writes it. */
export function varintBytes(value: number): number {
  if (value < 0) return VARINT_BYTES_MAX;
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}
