import { UnknownLayout } from './compact-protocol.js';

/** Widest difference that is decoded: sums of wider ones are not exact as doubles. */
const WIDTH_MAX = 53;
const BLOCK_VALUES_MAX = 1 << 16;

/**
 * Decodes integers in the encoding DELTA_BINARY_PACKED:
 *
 * ```
 * header     varint values per block, varint miniblocks per block, varint count, zigzag varint first value
 * block      zigzag varint least difference, a byte for the width of each miniblock, miniblocks
 * miniblock  differences less the least one, each as `width` bits
 * ```
 *
 * @param bytes followed by the padding of a page
 * @param base is subtracted from each value; the results are safe integers.
 * @param out receives `count` values from `at`
 */
export function decodeDeltas(
  bytes: Uint8Array,
  { from, to }: { readonly from: number; readonly to: number },
  base: bigint,
  { out, at, count }: { readonly out: Float64Array; readonly at: number; readonly count: number },
): void {
  const reader = new Varints(bytes, from, to);
  const blockValues = reader.number();
  const miniblocks = reader.number();
  if (reader.number() !== count) throw new UnknownLayout('page with another number of values');
  const values = miniblocks === 0 ? 0 : blockValues / miniblocks;
  if (!Number.isInteger(values / 32) || values === 0 || blockValues > BLOCK_VALUES_MAX) {
    throw new UnknownLayout(`blocks of ${blockValues} values`);
  }
  let last = Number(reader.zigzag() - base);
  if (count > 0) out[at] = last;
  for (let done = 1; done < count;) {
    const least = Number(reader.zigzag());
    const widthsAt = reader.at;
    reader.skip(miniblocks);
    for (let i = 0; i < miniblocks && done < count; i++) {
      const width = bytes[widthsAt + i];
      const n = Math.min(values, count - done);
      const dataAt = reader.at;
      reader.skip((values * width) / 8);
      last = addDeltas({ bytes, dataAt, width, least }, last, out, at + done, at + done + n);
      done += n;
    }
  }
}

interface Miniblock {
  readonly bytes: Uint8Array;
  readonly dataAt: number;
  readonly width: number;
  readonly least: number;
}

/** Writes the sums of differences to `out[from, to)`. @returns the last one. */
function addDeltas(
  { bytes, dataAt, width, least }: Miniblock,
  first: number,
  out: Float64Array,
  from: number,
  to: number,
): number {
  let last = first;
  if (width === 0 && least === 0) {
    out.fill(last, from, to);
    return last;
  }
  if (width === 0) {
    for (let i = from; i < to; i++) {
      last += least;
      out[i] = last;
    }
    return last;
  }
  if (width <= 25) return addNarrow({ bytes, dataAt, width, least }, first, out, from, to);
  if (width > WIDTH_MAX) throw new UnknownLayout(`differences of ${width} bits`);
  const lowMask = width >= 32 ? 0xffffffff : 2 ** width - 1;
  const highMask = width > 32 ? 2 ** (width - 32) - 1 : 0;
  let bit = 0;
  for (let i = from; i < to; i++, bit += width) {
    const byte = dataAt + (bit >>> 3);
    const shift = bit & 7;
    const one = wordAt(bytes, byte);
    const two = wordAt(bytes, byte + 4);
    const low = shift === 0 ? one : (one >>> shift) | (two << (32 - shift));
    const high = shift === 0 ? two : (two >>> shift) | (bytes[byte + 8] << (32 - shift));
    last += least + ((low & lowMask) >>> 0) + ((high & highMask) >>> 0) * 2 ** 32;
    out[i] = last;
  }
  return last;
}

/** As `addDeltas`, for differences that a word has, whatever the bit in which they begin. */
function addNarrow(
  { bytes, dataAt, width, least }: Miniblock,
  first: number,
  out: Float64Array,
  from: number,
  to: number,
): number {
  const mask = 2 ** width - 1;
  let last = first;
  let bit = 0;
  for (let i = from; i < to; i++, bit += width) {
    const word = wordAt(bytes, dataAt + (bit >>> 3));
    last += least + ((word >>> (bit & 7)) & mask);
    out[i] = last;
  }
  return last;
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
}

class Varints {
  readonly #bytes: Uint8Array;
  readonly #to: number;
  at: number;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.#bytes = bytes;
    this.at = from;
    this.#to = to;
  }

  skip(bytes: number): void {
    this.at += bytes;
    if (this.at > this.#to) throw new UnknownLayout('page is cut off');
  }

  number(): number {
    const value = this.#varint();
    if (value > 0x7fffffffn) throw new UnknownLayout('integer is too large');
    return Number(value);
  }

  zigzag(): bigint {
    const value = this.#varint();
    return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.at >= this.#to) break;
      const byte = this.#bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new UnknownLayout('page is cut off');
  }
}
