import { isUtf8 } from 'node:buffer';

/** Whether the bytes `[from, to)` are valid UTF-8; for ASCII four times as fast as a call for a view of the bytes. */
export function isUtf8Range(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    if (bytes[at] >= 0x80) return isUtf8(bytes.subarray(at, to));
  }
  return true;
}

/** Size of the block that small results are slices of, and of the largest of these. */
const BLOCK_BYTES = 32 * 1024;
const SLICE_BYTES_MAX = 4 * 1024;
let block = Buffer.alloc(0);
let usedBytes = 0;

/** Returns new memory: a slice of a block if it is small, because an allocation takes as long as the copy of a text. */
function take(bytes: number): Buffer {
  if (bytes > SLICE_BYTES_MAX) return Buffer.allocUnsafe(bytes);
  if (usedBytes + bytes > block.length) {
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    usedBytes = 0;
  }
  return block.subarray(usedBytes, (usedBytes += bytes));
}

/** Joins texts as UTF-8. Two strings are written straight to the result: a buffer for each would take longer than the copy. */
export function joinUtf8(before: string | Uint8Array, text: Uint8Array, after: string | Uint8Array): Uint8Array {
  if (typeof before !== 'string' || typeof after !== 'string') {
    return Buffer.concat([utf8Bytes(before), text, utf8Bytes(after)]);
  }
  const length = Buffer.byteLength(before);
  const bytes = take(length + text.length + Buffer.byteLength(after));
  bytes.write(before);
  bytes.set(text, length);
  bytes.write(after, length + text.length);
  return bytes;
}

/** Returns text as UTF-8, if it is not that already. */
export function utf8Bytes(text: string | Uint8Array): Uint8Array {
  return typeof text === 'string' ? Buffer.from(text) : text;
}
