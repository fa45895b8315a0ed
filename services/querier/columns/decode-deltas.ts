import { UnknownLayout } from './compact-protocol.js';

/** Widest difference that is added as a double: sums of wider ones are not exact. */
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
 * @param out receives `count` values from `at`; words: their low 32 bits, which takes half of the time.
 */
export function decodeDeltas(
  bytes: Uint8Array,
  { from, to }: { readonly from: number; readonly to: number },
  base: bigint,
  { out, at, count }: { readonly out: Float64Array | Int32Array; readonly at: number; readonly count: number },
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
      if (width > 64) throw new UnknownLayout(`differences of ${width} bits`);
      const n = Math.min(values, count - done);
      const dataAt = reader.at;
      reader.skip((values * width) / 8);
      const miniblock = { bytes, dataAt, width, least };
      const [first, end] = [at + done, at + done + n];
      last =
        out instanceof Int32Array
          ? addWords(miniblock, last, out, first, end)
          : addDeltas(miniblock, last, out, first, end);
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
  const lowMask = width >= 32 ? -1 : (1 << width) - 1;
  const highMask = width > 32 ? (1 << (width - 32)) - 1 : 0;
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
  const mask = (1 << width) - 1;
  let last = first;
  let bit = 0;
  for (let i = from; i < to; i++, bit += width) {
    last += least + ((wordAt(bytes, dataAt + (bit >>> 3)) >>> (bit & 7)) & mask);
    out[i] = last;
  }
  return last;
}

/** As `addDeltas`, with the low 32 bits of all numbers. `| 0` before the loops tells V8 that these are integers. */
function addWords(miniblock: Miniblock, first: number, out: Int32Array, from: number, to: number): number {
  const { bytes, dataAt, width } = miniblock;
  const least = miniblock.least | 0;
  let last = first | 0;
  if (width === 0) {
    for (let i = from; i < to; i++) out[i] = last = (last + least) | 0;
    return last;
  }
  // Eight differences take whole bytes.
  const whole = width <= 8 ? (to - from) & ~7 : 0;
  if (width <= 4) last = addEights(miniblock, last, out, from, from + whole);
  else if (whole > 0) last = addFours(miniblock, last, out, from, from + whole);
  const mask = width >= 32 ? -1 : (1 << width) - 1;
  let bit = whole * width;
  for (let i = from + whole; i < to; i++, bit += width) {
    const byte = dataAt + (bit >>> 3);
    const shift = bit & 7;
    let word = wordAt(bytes, byte) >>> shift;
    if (shift > 0) word |= bytes[byte + 4] << (32 - shift);
    out[i] = last = (last + least + (word & mask)) | 0;
  }
  return last;
}

/** As `addWords`, for differences of which a word has eight: unrolled, this takes a third of the time. */
function addEights(miniblock: Miniblock, first: number, out: Int32Array, from: number, to: number): number {
  const { bytes, dataAt, width } = miniblock;
  const least = miniblock.least | 0;
  const mask = (1 << width) - 1;
  const [two, three, four, five, six, seven] = [2 * width, 3 * width, 4 * width, 5 * width, 6 * width, 7 * width];
  let last = first | 0;
  for (let i = from, at = dataAt; i < to; i += 8, at += width) {
    const word = wordAt(bytes, at);
    out[i] = last = (last + least + (word & mask)) | 0;
    out[i + 1] = last = (last + least + ((word >>> width) & mask)) | 0;
    out[i + 2] = last = (last + least + ((word >>> two) & mask)) | 0;
    out[i + 3] = last = (last + least + ((word >>> three) & mask)) | 0;
    out[i + 4] = last = (last + least + ((word >>> four) & mask)) | 0;
    out[i + 5] = last = (last + least + ((word >>> five) & mask)) | 0;
    out[i + 6] = last = (last + least + ((word >>> six) & mask)) | 0;
    out[i + 7] = last = (last + least + ((word >>> seven) & mask)) | 0;
  }
  return last;
}

/** The same for differences of which a word has four; every eighth begins at a whole byte. */
function addFours(miniblock: Miniblock, first: number, out: Int32Array, from: number, to: number): number {
  const { bytes, dataAt, width } = miniblock;
  const least = miniblock.least | 0;
  const mask = (1 << width) - 1;
  const halfBytes = width >>> 1;
  // The second half begins within a byte.
  const halfBits = (width & 1) * 4;
  let last = first | 0;
  let at = dataAt;
  for (let i = from; i < to; at += width) {
    let word = wordAt(bytes, at);
    for (const end = i + 4; i < end; i++, word >>>= width) out[i] = last = (last + least + (word & mask)) | 0;
    word = wordAt(bytes, at + halfBytes) >>> halfBits;
    for (const end = i + 4; i < end; i++, word >>>= width) out[i] = last = (last + least + (word & mask)) | 0;
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
