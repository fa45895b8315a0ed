import { BitWriter, fitsSigned, XorField } from './bit-writer.js';
import { XOR_CHUNK, type Chunk } from './chunk.js';

/** Bit widths of second differences of times, with the prefixes that announce them. */
const SIZES = [
  { size: 14, prefix: 0b10, prefixBits: 2 },
  { size: 17, prefix: 0b110, prefixBits: 3 },
  { size: 20, prefix: 0b1110, prefixBits: 4 },
] as const;

/**
 * Encodes the floats `[from, to)` of a series: times as second differences, values as XOR with the previous value.
 *
 * @see https://www.vldb.org/pvldb/vol8/p1816-teller.pdf
 * @param words values as 32-bit words, the low word of each value first
 */
export function xorChunk(times: Float64Array, words: Int32Array, from: number, to: number): Chunk {
  const bits = new BitWriter();
  bits.bits(to - from, 16);
  const field = new XorField();
  let before = 0;
  let distance = 0;
  for (let i = from; i < to; i++) {
    const time = times[i];
    const [low, high] = [words[2 * i], words[2 * i + 1]];
    if (i === from) {
      bits.varint(time);
      field.first(bits, high, low);
    } else {
      const next = time - before;
      if (i === from + 1) bits.uvarint(next);
      else writeChange(bits, next - distance);
      distance = next;
      field.next(bits, high, low);
    }
    before = time;
  }
  return { minMs: times[from], maxMs: times[to - 1], encoding: XOR_CHUNK, data: bits.bytes() };
}

function writeChange(bits: BitWriter, change: number): void {
  if (change === 0) return bits.bits(0, 1);
  for (const { size, prefix, prefixBits } of SIZES) {
    if (!fitsSigned(change, size)) continue;
    bits.bits(prefix, prefixBits);
    return bits.integer(change, size);
  }
  bits.bits(0b1111, 4);
  bits.integer(change, 64);
}
