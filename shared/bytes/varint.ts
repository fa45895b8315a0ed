import { AlmanacError } from '#shared/errors/almanac-error';

/** Bytes that `value` takes as an unsigned LEB128 varint; `value` is below 2^32. */
export function varintLength(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}

/** Writes `value` at `at` and returns the position behind it. */
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

/** Reads bytes front to back. Every read is bounds-checked. @throws `invalid_arguments` behind the end. */
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

  /** The next `length` bytes, as a view. */
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
