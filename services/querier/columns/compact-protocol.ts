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
