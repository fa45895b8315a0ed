/** Types of fields and elements in Thrift's compact protocol. */
export const TYPE = {
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
} as const;

/** Structures of Parquet nest four deep. */
const DEPTH_MAX = 16;

/** The bytes are not what this reader knows; the engine may still be able to read them. */
export class UnknownLayout extends Error {}

/**
 * Reads structures in Thrift's compact protocol, as Parquet uses it:
 *
 * ```
 * struct   field header, value, .. , 0
 * field    u4 difference to the last ID, u4 type     (difference 0: the ID follows as a zigzag varint)
 * list     u4 count, u4 type                         (count 15: the count follows as a varint)
 * binary   varint length, bytes
 * ```
 */
export class CompactReader {
  readonly bytes: Uint8Array;
  at: number;
  #depth = 0;

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  /**
   * Reads a structure.
   *
   * @param read reads the value of a field and returns true, or returns false to skip it.
   */
  struct(read: (id: number, type: number) => boolean): void {
    if (++this.#depth > DEPTH_MAX) throw new UnknownLayout('structures are too deep');
    for (let id = 0; ;) {
      const header = this.#byte();
      if (header === 0) break;
      const difference = header >> 4;
      id = difference === 0 ? this.number() : id + difference;
      if (!read(id, header & 15)) this.skip(header & 15);
    }
    this.#depth--;
  }

  /** Reads the header of a list. Each element takes at least one byte. */
  list(): { readonly count: number; readonly type: number } {
    const header = this.#byte();
    const count = header >> 4 === 15 ? this.#varint() : header >> 4;
    if (count > this.bytes.length - this.at) throw new UnknownLayout('list is longer than the bytes');
    return { count, type: header & 15 };
  }

  /** Reads an integer of up to 53 bits. */
  number(): number {
    const value = this.#varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Reads bytes, which are a view. */
  binary(): Uint8Array {
    const length = this.#varint();
    const from = this.at;
    if (length > this.bytes.length - from) throw new UnknownLayout('field is longer than the bytes');
    this.at += length;
    return this.bytes.subarray(from, this.at);
  }

  /** Skips the value of a field. */
  skip(type: number): void {
    switch (type) {
      case TYPE.true:
      case TYPE.false:
        return;
      case TYPE.byte:
        this.at++;
        return;
      case TYPE.i16:
      case TYPE.i32:
      case TYPE.i64:
        this.#skipVarint();
        return;
      case TYPE.double:
        this.at += 8;
        return;
      case TYPE.binary:
        this.binary();
        return;
      case TYPE.list:
      case TYPE.set:
        this.#skipList();
        return;
      case TYPE.struct:
        this.struct(() => false);
        return;
      default:
        throw new UnknownLayout(`type ${type} of a field`);
    }
  }

  #skipList(): void {
    const { count, type } = this.list();
    // Booleans take a byte in lists, and none as fields.
    for (let i = 0; i < count; i++) this.skip(type === TYPE.true || type === TYPE.false ? TYPE.byte : type);
  }

  #skipVarint(): void {
    while (this.#byte() >= 128);
  }

  #varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      if (byte < 128) break;
    }
    if (value > Number.MAX_SAFE_INTEGER) throw new UnknownLayout('integer is too large');
    return value;
  }

  #byte(): number {
    if (this.at >= this.bytes.length) throw new UnknownLayout('structure is cut off');
    return this.bytes[this.at++];
  }
}

/** Bytes of a new writer: the header of a page takes fewer. */
const FIRST_BYTES = 256;

/** Writes structures in Thrift's compact protocol, whose fields are in the order of their IDs. */
export class CompactWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;
  /** ID of the last field of the structure that is being written. */
  #lastId = 0;

  /** Returns what was written: a view. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Writes a structure: the whole message, or an element of a list. */
  struct(write: () => void): void {
    const outerId = this.#lastId;
    this.#lastId = 0;
    write();
    this.#byte(0);
    this.#lastId = outerId;
  }

  structField(id: number, write: () => void): void {
    this.#field(id, TYPE.struct);
    this.struct(write);
  }

  booleanField(id: number, value: boolean): void {
    this.#field(id, value ? TYPE.true : TYPE.false);
  }

  /** Writes an integer from 0 to 2^52. */
  numberField(id: number, type: typeof TYPE.i32 | typeof TYPE.i64, value: number): void {
    this.#field(id, type);
    this.number(value);
  }

  textField(id: number, text: string): void {
    this.#field(id, TYPE.binary);
    this.text(text);
  }

  /** Begins a list, of which `count` elements must follow. */
  listField(id: number, type: number, count: number): void {
    this.#field(id, TYPE.list);
    if (count < 15) return this.#byte((count << 4) | type);
    this.#byte((15 << 4) | type);
    this.#varint(count);
  }

  /** Writes an integer from 0 to 2^52 as an element. */
  number(value: number): void {
    this.#varint(2 * value);
  }

  /** Writes a text as an element. */
  text(text: string): void {
    const bytes = Buffer.from(text);
    this.#varint(bytes.length);
    this.encoded(bytes);
  }

  /** Writes the bytes of what was encoded before. */
  encoded(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #field(id: number, type: number): void {
    const difference = id - this.#lastId;
    this.#lastId = id;
    this.#byte((difference << 4) | type);
  }

  #varint(value: number): void {
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#byte((rest % 128) | 128);
    this.#byte(rest);
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = byte;
  }

  #reserve(count: number): void {
    const length = this.#length + count;
    if (length <= this.#bytes.length) return;
    const bytes = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.length));
    bytes.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = bytes;
  }
}
