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

  /**
   * Whether the bytes at `at` are the same; the caller has checked that there are enough of them.
   *
   * Words of eight bytes are compared as doubles, which halves the time. Only 0 and -0 are equal doubles with different
   * bits, so words of zeros are checked again; so are NaNs, which equal nothing.
   */
  equals(view: DataView, at: number): boolean {
    const known = this.view;
    const { from, length } = this;
    let i = 0;
    for (; i + 8 <= length; i += 8) {
      const word = view.getFloat64(at + i, true);
      if (word !== known.getFloat64(from + i, true)) {
        if (!Number.isNaN(word) || !areSameBits(view, at + i, known, from + i)) return false;
      }
      if (word === 0 && view.getUint8(at + i + 7) !== known.getUint8(from + i + 7)) return false;
    }
    for (; i < length; i++) if (view.getUint8(at + i) !== known.getUint8(from + i)) return false;
    return true;
  }
}

/** Whether the eight bytes at the two positions are the same. */
function areSameBits(a: DataView, atA: number, b: DataView, atB: number): boolean {
  return a.getInt32(atA) === b.getInt32(atB) && a.getInt32(atA + 4) === b.getInt32(atB + 4);
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
