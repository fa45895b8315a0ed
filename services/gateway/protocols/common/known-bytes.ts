import { systemRandom } from '#shared/clock/random';

const CHUNK_BYTES_MIN = 4 * 1024;
const CHUNK_BYTES_MAX = 256 * 1024;

/**
 * Secret words of `hashBytes`. Entries with the same hash are searched one by one, so no client may be able to choose
 * them. A seed alone does not suffice: the topmost bit of a word passes every multiplication by an odd number. The
 * second factor, after a shift, spreads that bit in a way that is not known.
 */
export const [SEED, FACTOR, SECOND_FACTOR] = secretWords();

function secretWords(): [number, number, number] {
  const bytes = Buffer.from(systemRandom.bytes(12));
  // Multiplication by an even number would lose bits.
  return [bytes.readInt32LE(0), bytes.readInt32LE(4) | 1, bytes.readInt32LE(8) | 1];
}

/** Bytes inside a larger buffer. */
export interface ByteRange {
  readonly view: DataView;
  readonly from: number;
  readonly length: number;
}

/** Bytes that a cache compares with those of requests. */
export class KnownBytes implements ByteRange {
  readonly length: number;
  readonly view: DataView;
  readonly from: number;

  constructor(view: DataView, from: number, length: number) {
    this.view = view;
    this.from = from;
    this.length = length;
  }

  /** Whether the bytes at `at` are the same; the caller has checked that there are enough of them. */
  equals(view: DataView, at: number): boolean {
    const { view: known, from, length } = this;
    const last = length - BLOCK_BYTES;
    if (last < 0) return areSame(view, at, known, from, length);
    // Nearly all are the same, so all are read before the first branch. The last block overlaps the one before.
    let difference = 0;
    for (let i = 0; i < last; i += BLOCK_BYTES) difference |= differenceOfBlocks(view, at + i, known, from + i);
    return (difference | differenceOfBlocks(view, at + last, known, from + last)) === 0;
  }
}

const BLOCK_BYTES = 32;

function areSame(a: DataView, atA: number, b: DataView, atB: number, length: number): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) if (a.getInt32(atA + i) !== b.getInt32(atB + i)) return false;
  for (; i < length; i++) if (a.getUint8(atA + i) !== b.getUint8(atB + i)) return false;
  return true;
}

/** Returns 0 if the blocks at the two positions are the same. */
function differenceOfBlocks(a: DataView, atA: number, b: DataView, atB: number): number {
  // Two chains of operations: a processor works on both at the same time.
  const first = differenceOfWords(a, atA, b, atB) | differenceOfWords(a, atA + 8, b, atB + 8);
  return first | (differenceOfWords(a, atA + 16, b, atB + 16) | differenceOfWords(a, atA + 24, b, atB + 24));
}

/** Compares eight bytes. */
function differenceOfWords(a: DataView, atA: number, b: DataView, atB: number): number {
  const low = a.getInt32(atA, true) ^ b.getInt32(atB, true);
  return low | (a.getInt32(atA + 4, true) ^ b.getInt32(atB + 4, true));
}

interface Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;
  used: number;
}

/** Copies of bytes, many in one chunk of memory. A range keeps its chunk alive. */
export class ByteStore {
  #chunk: Chunk = newChunk(0);

  /** Copies the bytes `[from, to)`. */
  add(source: Buffer, from: number, to: number): ByteRange {
    const length = to - from;
    const size = this.#chunk.bytes.length;
    if (this.#chunk.used + length > size) {
      this.#chunk = newChunk(Math.max(length, CHUNK_BYTES_MIN, Math.min(CHUNK_BYTES_MAX, size * 2)));
    }
    return append(this.#chunk, source, from, to);
  }
}

/** Copies the bytes `[from, to)` into a chunk of their own. */
export function copyRange(source: Buffer, from: number, to: number): ByteRange {
  return append(newChunk(to - from), source, from, to);
}

function append(chunk: Chunk, source: Buffer, from: number, to: number): ByteRange {
  const at = chunk.used;
  source.copy(chunk.bytes, at, from, to);
  chunk.used += to - from;
  return { view: chunk.view, from: at, length: to - from };
}

function newChunk(length: number): Chunk {
  const bytes = Buffer.allocUnsafeSlow(length);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length), used: 0 };
}

/** Returns the bytes as a buffer, without a copy. */
export function bytesOfRange({ view, from, length }: ByteRange): Buffer {
  return Buffer.from(view.buffer as ArrayBuffer, view.byteOffset + from, length);
}

/** Hashes the bytes `[from, to)` to 32 bits. */
export function hashBytes(view: DataView, from: number, to: number): number {
  // Two hashes of every second word each: a processor works on both at the same time.
  let hash = SEED;
  let other = SEED;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    hash = mixWord(hash ^ view.getInt32(at, true));
    other = mixWord(other ^ view.getInt32(at + 4, true));
  }
  hash = mixWord(hash ^ (to - from)) ^ other;
  for (; at < to; at++) hash = Math.imul(hash ^ view.getUint8(at), FACTOR);
  return hash ^ (hash >>> 13);
}

/** One step of a hash: spreads the bits of a 32-bit word. */
export function mixWord(word: number): number {
  const product = Math.imul(word, FACTOR);
  return Math.imul(product ^ (product >>> 16), SECOND_FACTOR);
}
