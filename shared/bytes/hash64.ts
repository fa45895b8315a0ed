/**
 * A 64-bit hash of bytes as two lanes of 32 bits, without BigInt.
 *
 * Each lane is a multiply-rotate hash over little-endian words with its own constants (the families of MurmurHash3
 * and xxHash32, public domain and BSD); the lanes are stirred together at the end. The result is part of the storage
 * format: its test vectors never change.
 */

const A1 = 0xcc9e2d51;
const A2 = 0x1b873593;
const B1 = 0x85ebca77;
const B2 = 0xc2b2ae3d;

/** Hashes `bytes[from, to)`; writes the low lane to `out[0]` and the high lane to `out[1]`. */
export function hash64(bytes: Uint8Array, from: number, to: number, out: Uint32Array): void {
  let low = 0x9747b28c;
  let high = 0x165667b1;
  let at = from;
  for (const end = to - 3; at < end; at += 4) {
    const word = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    low = mixLow(low, word);
    high = mixHigh(high, word);
  }
  if (at < to) {
    let word = 0;
    for (let shift = 0; at < to; at++, shift += 8) word |= bytes[at] << shift;
    low = mixLow(low, word);
    high = mixHigh(high, word);
  }
  const length = to - from;
  low = finish(low ^ length ^ Math.imul(high, 0x27d4eb2f));
  high = finish(high ^ length ^ Math.imul(low, 0x9e3779b1));
  out[0] = low;
  out[1] = high;
}

/** A faster 32-bit hash, for tables in memory only: it may change. */
export function hash32(bytes: Uint8Array, from: number, to: number): number {
  let hash = SEED_32;
  let at = from;
  for (const end = to - 3; at < end; at += 4) {
    const word = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    hash = mixWord32(hash, word);
  }
  for (; at < to; at++) hash = mixByte32(hash, bytes[at]);
  return finish32(hash, to - from);
}

/** Seed of `hash32` for callers that hash word by word: mix the little-endian words, then the remaining bytes, then finish. */
export const SEED_32 = 0x9747b28c;

/** Adds one little-endian 32-bit word to a `hash32` state. */
export function mixWord32(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, A1);
  return mixed ^ (mixed >>> 15);
}

/** Adds one trailing byte to a `hash32` state. */
export function mixByte32(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, B1);
}

/** Completes a `hash32` state. @param length number of bytes that were hashed. */
export function finish32(hash: number, length: number): number {
  return finish(hash ^ length) >>> 0;
}

function mixLow(lane: number, word: number): number {
  let mixed = Math.imul(word, A1);
  mixed = (mixed << 15) | (mixed >>> 17);
  const next = lane ^ Math.imul(mixed, A2);
  return Math.imul((next << 13) | (next >>> 19), 5) + 0xe6546b64;
}

function mixHigh(lane: number, word: number): number {
  const next = lane + Math.imul(word, B1);
  return Math.imul((next << 13) | (next >>> 19), B2);
}

function finish(lane: number): number {
  let mixed = lane ^ (lane >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
