import { systemRandom } from '#shared/clock/random';

const CHUNK_BYTES_MIN = 4 * 1024;
const CHUNK_BYTES_MAX = 256 * 1024;

/**
 * Entries with the same hash have to be searched one by one: nobody shall know which those are. A seed alone would not
 * do, as the topmost bit of a word passes every multiplication by an odd number; the second factor, behind a shift,
 * spreads it in a way that is not known.
 */
export const [SEED, FACTOR, SECOND_FACTOR] = secretWords();

function secretWords(): [number, number, number] {
  const bytes = Buffer.from(systemRandom.bytes(12));
  // Only multiplications by odd numbers lose nothing.
  return [bytes.readInt32LE(0), bytes.readInt32LE(4) | 1, bytes.readInt32LE(8) | 1];
}

export interface Place {
  readonly view: DataView;
  readonly from: number;
  readonly length: number;
}

/** Bytes that are compared with others. */
export class KnownBytes {
  readonly length: number;
  readonly view: DataView;
  readonly from: number;

  constructor(view: DataView, from: number, length: number) {
    this.view = view;
    this.from = from;
    this.length = length;
  }

  /**
   * Whether the bytes at `at` are the same; the caller has made sure that there are enough of them.
   *
   * Words of eight bytes are compared as doubles, which halves the time. Among doubles only 0 and -0 are equal and have
   * other bits, so words of zeros are looked at again; and so are words that are no number, which equal nothing.
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

/** Whether the eight bytes at the two places are the same. */
function areSameBits(a: DataView, atA: number, b: DataView, atB: number): boolean {
  return a.getInt32(atA) === b.getInt32(atB) && a.getInt32(atA + 4) === b.getInt32(atB + 4);
}

interface Chunk {
  readonly bytes: Buffer;
  readonly view: DataView;
  used: number;
}

/** Copies of bytes, many in one piece of memory. Who holds a place keeps its piece alive. */
export class ByteStore {
  #chunk: Chunk = newChunk(0);

  add(source: Buffer, from: number, to: number): Place {
    const length = to - from;
    const size = this.#chunk.bytes.length;
    if (this.#chunk.used + length > size) {
      this.#chunk = newChunk(Math.max(length, CHUNK_BYTES_MIN, Math.min(CHUNK_BYTES_MAX, size * 2)));
    }
    return place(this.#chunk, source, from, to);
  }
}

/** A copy of the bytes by itself. */
export function copied(source: Buffer, from: number, to: number): Place {
  return place(newChunk(to - from), source, from, to);
}

function place(chunk: Chunk, source: Buffer, from: number, to: number): Place {
  const at = chunk.used;
  source.copy(chunk.bytes, at, from, to);
  chunk.used += to - from;
  return { view: chunk.view, from: at, length: to - from };
}

function newChunk(length: number): Chunk {
  const bytes = Buffer.allocUnsafeSlow(length);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length), used: 0 };
}

export function bytesOf({ view, from, length }: Place): Buffer {
  return Buffer.from(view.buffer as ArrayBuffer, view.byteOffset + from, length);
}

export function hashBytes(view: DataView, from: number, to: number): number {
  // Two hashes of every second word each: a processor works on both at the same time.
  let hash = SEED;
  let other = SEED;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    hash = mixed(hash ^ view.getInt32(at, true));
    other = mixed(other ^ view.getInt32(at + 4, true));
  }
  hash = mixed(hash ^ (to - from)) ^ other;
  for (; at < to; at++) hash = Math.imul(hash ^ view.getUint8(at), FACTOR);
  return hash ^ (hash >>> 13);
}

export function mixed(word: number): number {
  const product = Math.imul(word, FACTOR);
  return Math.imul(product ^ (product >>> 16), SECOND_FACTOR);
}
