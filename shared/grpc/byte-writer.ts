/** A 64-bit integer becomes two words here; never read across calls. */
const WORDS = new DataView(new ArrayBuffer(8));

/** Writes the wire types of protobuf into a buffer whose length was worked out before. */
export class ByteWriter {
  readonly bytes: Buffer;
  #pos = 0;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafe(length);
  }

  get pos(): number {
    return this.#pos;
  }

  uint32(value: number): void {
    this.#varint(value >>> 0, 0);
  }

  int32(value: number): void {
    this.#varint(value >>> 0, value < 0 ? 0xffff_ffff : 0);
  }

  /** A 64-bit integer that is below 2^53. */
  int64AsNumber(value: number): void {
    this.#varint(value >>> 0, Math.floor(value / 0x1_0000_0000) >>> 0);
  }

  int64(value: bigint): void {
    WORDS.setBigInt64(0, value, true);
    this.#varint(WORDS.getUint32(0, true), WORDS.getUint32(4, true));
  }

  double(value: number): void {
    this.#pos = this.bytes.writeDoubleLE(value, this.#pos);
  }

  string(value: string): void {
    this.uint32(Buffer.byteLength(value));
    this.#pos += this.bytes.write(value, this.#pos);
  }

  /** The one copy of a payload on this side. */
  copy(value: Uint8Array): void {
    this.uint32(value.length);
    this.bytes.set(value, this.#pos);
    this.#pos += value.length;
  }

  #varint(first: number, second: number): void {
    let low = first;
    let high = second;
    while (high !== 0) {
      this.bytes[this.#pos++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    while (low > 0x7f) {
      this.bytes[this.#pos++] = (low & 0x7f) | 0x80;
      low >>>= 7;
    }
    this.bytes[this.#pos++] = low;
  }
}

/** Bytes that `uint32` writes. */
export function uint32Size(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  return value < 0x1000_0000 ? 4 : 5;
}

/** Bytes that `int64` writes. */
export function int64Size(value: bigint): number {
  WORDS.setBigInt64(0, value, true);
  return wordsSize(WORDS.getUint32(0, true), WORDS.getUint32(4, true));
}

/** Bytes that `int64AsNumber` writes. */
export function int64AsNumberSize(value: number): number {
  return wordsSize(value >>> 0, Math.floor(value / 0x1_0000_0000) >>> 0);
}

function wordsSize(low: number, high: number): number {
  if (high === 0) return uint32Size(low);
  return Math.ceil((64 - Math.clz32(high)) / 7);
}
