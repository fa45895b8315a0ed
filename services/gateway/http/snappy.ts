import { uncompress, uncompressSync } from 'snappy';

import { AlmanacError } from '#shared/errors/almanac-error';

import { bodyTooLarge } from './too-large.js';

const LENGTH_BYTES_MAX = 5;
/** No valid block becomes more than 22 times as long. */
const RATIO_MAX = 64;
/** Above this a thread does it: this much takes 2 ms. */
const AT_ONCE_BYTES_MAX = 8 * 1024 * 1024;
/** Results that lie in memory of the library are several times slower. */
const OPTIONS = { copyOutputData: true, asBuffer: true } as const;

/** The length that a block of the format claims to become; undefined if it cannot be right. */
export function snappyBytes(bytes: Buffer): number | undefined {
  let length = 0;
  for (let i = 0; i < LENGTH_BYTES_MAX && i < bytes.length; i++) {
    length += (bytes[i] & 0x7f) * 2 ** (7 * i);
    if (bytes[i] >= 0x80) continue;
    return length >= 2 ** 32 || length > RATIO_MAX * bytes.length ? undefined : length;
  }
  return undefined;
}

/** Undoes the block format of snappy. @throws `invalid_arguments`, with status 413 if it becomes too much. */
export async function uncompressSnappy(bytes: Buffer, limitBytes: number): Promise<Buffer> {
  // The claim is tested first: memory for it is taken before the library finds out that it is wrong.
  const length = snappyBytes(bytes);
  if (length === undefined) throw corrupt();
  if (length > limitBytes) throw bodyTooLarge(limitBytes);
  let plain: Buffer | string;
  try {
    plain = length <= AT_ONCE_BYTES_MAX ? uncompressSync(bytes, OPTIONS) : await uncompress(bytes, OPTIONS);
  } catch (cause) {
    throw corrupt(cause);
  }
  if (typeof plain === 'string' || plain.length !== length) throw corrupt();
  return plain;
}

function corrupt(cause?: unknown): AlmanacError {
  return new AlmanacError('invalid_arguments', 'snappy: corrupt input', { cause });
}
