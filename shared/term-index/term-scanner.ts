/** Bytes of a term that are indexed; of a longer one its beginning. */
export const TERM_BYTES_MAX = 128;

/** The byte in lower case for ASCII letters and digits; 0 for others. */
const FOLDED = new Uint8Array(256);
for (let byte = 0x30; byte <= 0x39; byte++) FOLDED[byte] = byte;
for (let byte = 0x61; byte <= 0x7a; byte++) {
  FOLDED[byte] = byte;
  FOLDED[byte - 0x20] = byte;
}

/** Returns whether a byte is an ASCII letter or digit. */
export function isWordByte(byte: number): boolean {
  return FOLDED[byte] !== 0;
}

/** Returns a byte with ASCII letters in lower case. */
export function foldByte(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

/**
 * Finds the terms of texts: longest runs of ASCII letters and digits, and each pair of adjacent characters outside ASCII, so
 * that languages without spaces are searchable.
 *
 * After `scan`, term `i < count` is `bytes[starts[i], ends[i])` and its 64-bit hash is (`low[i]`, `high[i]`). The hash is part
 * of the format of stored indexes: it never changes.
 */
export class TermScanner {
  count = 0;
  starts = new Uint32Array(256);
  ends = new Uint32Array(256);
  low = new Uint32Array(256);
  high = new Uint32Array(256);
  /** Whether a scanned text had a character outside ASCII whose lower case is, or begins, with an ASCII letter. */
  hasFoldingToAscii = false;
  readonly #folded: Uint8Array;

  /** @param folds whether hashes ignore the case of ASCII letters. */
  constructor(folds: boolean) {
    this.#folded = folds ? FOLDED : FOLDED.map((folded, byte) => (folded === 0 ? 0 : byte));
  }

  /** Finds the terms of a text in UTF-8. */
  scan(bytes: Uint8Array, from: number, to: number): void {
    this.count = 0;
    // A term and its delimiter take two bytes, a character outside ASCII at least as many.
    this.#reserve(((to - from) >> 1) + 1);
    const folded = this.#folded;
    let at = from;
    while (at < to) {
      const byte = bytes[at];
      if (byte >= 0x80) {
        at = this.#scanPairs(bytes, at, to);
        continue;
      }
      if (folded[byte] === 0) {
        at++;
        continue;
      }
      const start = at;
      const hashTo = Math.min(to, start + TERM_BYTES_MAX);
      let low = 0x9747b28c;
      let high = 0x165667b1;
      for (; at < hashTo; at++) {
        const next = folded[bytes[at]];
        if (next === 0) break;
        low = Math.imul(low ^ next, 0x01000193);
        high = Math.imul(high + next, 0x85ebca6b);
      }
      this.#add(start, at, low ^ (low >>> 15), high);
      while (at < to && folded[bytes[at]] !== 0) at++;
    }
  }

  /** Scans a run of characters outside ASCII. @returns its end. */
  #scanPairs(bytes: Uint8Array, from: number, to: number): number {
    let before = -1;
    let at = from;
    while (at < to && bytes[at] >= 0x80) {
      const start = at++;
      while (at < to && (bytes[at] & 0xc0) === 0x80) at++;
      if (before >= 0 && at - before <= TERM_BYTES_MAX) this.#addPair(bytes, before, at);
      if (isFoldedToAscii(bytes, start)) this.hasFoldingToAscii = true;
      before = start;
    }
    return at;
  }

  #addPair(bytes: Uint8Array, start: number, end: number): void {
    let low = 0x9747b28c;
    let high = 0x165667b1;
    for (let at = start; at < end; at++) {
      low = Math.imul(low ^ bytes[at], 0x01000193);
      high = Math.imul(high + bytes[at], 0x85ebca6b);
    }
    this.#add(start, end, low ^ (low >>> 15), high);
  }

  #add(start: number, end: number, low: number, high: number): void {
    const i = this.count++;
    this.starts[i] = start;
    this.ends[i] = end;
    const mixed = finish(low ^ (end - start) ^ Math.imul(high, 0x27d4eb2f));
    this.low[i] = mixed;
    this.high[i] = finish(high ^ Math.imul(mixed, 0x9e3779b1));
  }

  #reserve(count: number): void {
    if (count <= this.starts.length) return;
    const capacity = 2 ** Math.ceil(Math.log2(count));
    this.starts = new Uint32Array(capacity);
    this.ends = new Uint32Array(capacity);
    this.low = new Uint32Array(capacity);
    this.high = new Uint32Array(capacity);
  }
}

/** The Kelvin sign folds to `k`, the capital I with a dot to `i` and a dot. */
function isFoldedToAscii(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] === 0xe2) return bytes[at + 1] === 0x84 && bytes[at + 2] === 0xaa;
  return bytes[at] === 0xc4 && bytes[at + 1] === 0xb0;
}

function finish(lane: number): number {
  let mixed = lane ^ (lane >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
