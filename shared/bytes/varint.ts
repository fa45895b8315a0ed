import { AlmanacError } from '#shared/errors/almanac-error';

/** Returns the bytes that an integer takes as a varint (LEB128); a negative one takes ten. */
export function varintLength(value: number): number {
  if (value < 0) return 10;
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  if (value < 0x10000000) return 4;
  let length = 5;
  for (let rest = Math.floor(value / 2 ** 35); rest > 0; rest = Math.floor(rest / 0x80)) length++;
  return length;
}

/** Writes `value`, which is below 2^32, as a varint at `at`. Returns the position after it. */
export function writeVarint(target: Uint8Array, at: number, value: number): number {
  let rest = value;
  let position = at;
  while (rest >= 0x80) {
    target[position++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[position++] = rest;
  return position;
}

/** Reads Almanac's own binary layouts front to back. @throws `invalid_arguments` for a read past the end. */
export class ByteReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, from = 0, to = bytes.length) {
    this.bytes = bytes;
    this.at = from;
    this.#end = to;
  }

  get done(): boolean {
    return this.at >= this.#end;
  }

  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#next();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw truncated();
  }

  uint32(): number {
    this.#need(4);
    const { bytes, at } = this;
    this.at += 4;
    return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
  }

  /** Returns a view of the next `length` bytes. */
  slice(length: number): Uint8Array {
    this.#need(length);
    const view = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return view;
  }

  #next(): number {
    this.#need(1);
    return this.bytes[this.at++];
  }

  #need(length: number): void {
    if (this.at + length > this.#end) throw truncated();
  }
}

function truncated(): AlmanacError {
  return new AlmanacError('invalid_arguments', 'bytes end in the middle of a value');
}
