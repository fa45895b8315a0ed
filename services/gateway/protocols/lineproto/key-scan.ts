import { BACKSLASH, LF, SPACE } from '#shared/bytes/ascii';
import { finish32, mixByte32, mixWord32, SEED_32 } from '#shared/bytes/hash64';

const LOW_BITS = 0x01010101;
const HIGH_BITS = 0x80808080;
const SPACES = SPACE * LOW_BITS;
const BACKSLASHES = BACKSLASH * LOW_BITS;
const LINE_BREAKS = LF * LOW_BITS;

/** Finds the end of a key and hashes it in one pass, four bytes at a time. */
export class KeyScan {
  /** Position of the space that ends the key. */
  end = 0;
  /** `hash32` of the key. */
  hash = 0;

  /**
   * Scans the key at `from`; there is a line break before `limit`.
   *
   * @returns whether it is a key without escapes.
   */
  scan(view: DataView, from: number, limit: number): boolean {
    let hash = SEED_32;
    let at = from;
    for (; at + 4 <= limit; at += 4) {
      const word = view.getInt32(at, true);
      if ((zeroBytes(word ^ SPACES) | zeroBytes(word ^ BACKSLASHES) | zeroBytes(word ^ LINE_BREAKS)) !== 0) break;
      hash = mixWord32(hash, word);
    }
    for (; ; at++) {
      const byte = view.getUint8(at);
      if (byte === SPACE) break;
      if (byte === LF || byte === BACKSLASH) return false;
      hash = mixByte32(hash, byte);
    }
    this.end = at;
    this.hash = finish32(hash, at - from);
    return true;
  }
}

/** Returns a number that is not zero if one of the four bytes is zero (H. S. Warren, Hacker's Delight, 6-1). */
function zeroBytes(word: number): number {
  return (word - LOW_BITS) & ~word & HIGH_BITS;
}
