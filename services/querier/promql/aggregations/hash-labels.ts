import type { Labels } from '../../series/labels.js';

/**
 * A number in [0, 1) that follows from the labels: their FNV-1a hash of 64 bits over 2^64, mixed so that names that differ
 * in one character are far apart.
 */
export function hashLabels(labels: Labels): number {
  const bytes = Buffer.from(labels.key);
  let low = 0x84222325;
  let high = 0xcbf29ce4;
  for (const byte of bytes) {
    low = (low ^ byte) >>> 0;
    // Times 2^40 + 0x1b3, in two halves.
    const product = low * 0x1b3;
    const carry = Math.floor(product / 2 ** 32);
    high = (Math.imul(high, 0x1b3) + carry + (low << 8)) >>> 0;
    low = product >>> 0;
  }
  return mixed(high ^ mixed(low)) / 2 ** 32;
}

/** Murmur's finaliser of 32 bits. */
function mixed(value: number): number {
  let bits = value >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
