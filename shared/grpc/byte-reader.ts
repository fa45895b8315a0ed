import { AlmanacError } from '#shared/errors/almanac-error';

/** Two words of a varint become a 64-bit integer here; never read across calls. */
const WORDS = new DataView(new ArrayBuffer(8));
/** From this length on bytes may stay a view into their message. */
const VIEW_BYTES_MIN = 4096;

/** An empty message is two bytes, and an object of a hundred in memory. */
const MESSAGES_MAX = 1_048_576;

/** Reads the wire types of protobuf from one message. All methods throw `unexpected` when it ends too early. */
export class ByteReader {
  pos = 0;
  #messageCount = 0;
  readonly #bytes: Buffer;
  /** Low and high word of the varint that was read last. */
  #low = 0;
  #high = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Counts a message inside of the one that is read. @throws `invalid_arguments` if there are too many. */
  beginMessage(): void {
    if (++this.#messageCount <= MESSAGES_MAX) return;
    throw new AlmanacError('invalid_arguments', `a message has more than ${MESSAGES_MAX} parts`);
  }

  get length(): number {
    return this.#bytes.length;
  }

  uint32(): number {
    this.#varint();
    return this.#low;
  }

  int32(): number {
    this.#varint();
    return this.#low | 0;
  }

  bool(): boolean {
    this.#varint();
    return this.#low !== 0 || this.#high !== 0;
  }

  /** A 64-bit integer that is below 2^53. */
  int64AsNumber(): number {
    this.#varint();
    return (this.#high | 0) * 0x1_0000_0000 + this.#low;
  }

  uint64AsNumber(): number {
    this.#varint();
    return this.#high * 0x1_0000_0000 + this.#low;
  }

  int64(): bigint {
    this.#load();
    return WORDS.getBigInt64(0, true);
  }

  uint64(): bigint {
    this.#load();
    return WORDS.getBigUint64(0, true);
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#skip(8));
  }

  string(): string {
    const from = this.#skip(this.uint32());
    return this.#bytes.toString('utf8', from, this.pos);
  }

  /**
   * A view into the message if the bytes are most of it. All else is copied, so that who keeps a batch's id does not
   * keep its rows as well.
   */
  bytes(): Uint8Array {
    const length = this.uint32();
    const from = this.#skip(length);
    const view = new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + from, length);
    return length >= VIEW_BYTES_MIN && length * 2 >= this.#bytes.length ? view : view.slice();
  }

  /** Reads a length, and gives the position where what follows ends. */
  end(): number {
    const length = this.uint32();
    if (this.pos + length > this.#bytes.length) throw malformed();
    return this.pos + length;
  }

  /** Passes over a field that is not known here. */
  skip(wire: number): void {
    if (wire === 0) this.#varint();
    else if (wire === 1) this.#skip(8);
    else if (wire === 2) this.#skip(this.uint32());
    else if (wire === 5) this.#skip(4);
    else throw malformed();
  }

  #skip(length: number): number {
    const from = this.pos;
    if (from + length > this.#bytes.length) throw malformed();
    this.pos = from + length;
    return from;
  }

  #load(): void {
    this.#varint();
    WORDS.setUint32(0, this.#low, true);
    WORDS.setUint32(4, this.#high, true);
  }

  /** Most varints are numbers of fields, short lengths and small values: one byte. */
  #varint(): void {
    const first = this.#bytes[this.pos++];
    if (first < 0x80) {
      this.#low = first;
      this.#high = 0;
      return;
    }
    this.#longVarint(first);
  }

  #longVarint(first: number): void {
    let low = first & 0x7f;
    let high = 0;
    for (let shift = 7; shift < 70; shift += 7) {
      const byte = this.#bytes[this.pos++];
      if (byte === undefined) break;
      const bits = byte & 0x7f;
      if (shift < 32) low |= bits << shift;
      if (shift === 28) high |= bits >>> 4;
      if (shift > 32) high |= bits << (shift - 32);
      if (byte < 0x80) {
        this.#low = low >>> 0;
        this.#high = high >>> 0;
        return;
      }
    }
    throw malformed();
  }
}

export function malformed(): AlmanacError {
  return new AlmanacError('unexpected', 'the message is malformed');
}
