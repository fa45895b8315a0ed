import { AlmanacError } from '#shared/errors/almanac-error';

import { bodyTooLarge } from './too-large.js';

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const WINDOW_LOG_MAX = 27;
/** The library's memory does not grow beyond a few times of this. */
const RESULT_BYTES_MAX = 512 * 1024 * 1024;
const RLE_BLOCK = 1;
const RESERVED_BLOCK = 3;
const LAST_BLOCK = 1;
/** Blocks become 128 KiB at most. */
const BLOCK_BYTES_MAX = 128 * 1024;

/**
 * The most bytes that the frames become; undefined if they are no zstd frames.
 *
 * What a frame says of its size is taken only where its blocks can hold that: it may be missing, or a lie.
 */
export function zstdBytes(bytes: Buffer): number | undefined {
  let total = 0;
  let at = 0;
  while (at < bytes.length) {
    const frame = frameAt(bytes, at);
    if (frame === undefined) return undefined;
    total += frame.bytesMax;
    at = frame.end;
  }
  return at === bytes.length && at > 0 ? total : undefined;
}

/** Undoes frames of zstd. @throws `invalid_arguments`, with status 413 if they become too much. */
export async function uncompressZstd(bytes: Buffer, limitBytes: number): Promise<Buffer> {
  const most = zstdBytes(bytes);
  if (most === undefined) throw corrupt();
  if (Math.min(most, limitBytes) > RESULT_BYTES_MAX) throw bodyTooLarge(RESULT_BYTES_MAX);
  // Loaded by the first request that has such a body: few installations see one.
  const { decompress, isLoaded } = await import('@foxglove/wasm-zstd');
  await isLoaded;
  try {
    return decompress(bytes, Math.max(1, Math.min(most, limitBytes)));
  } catch (cause) {
    throw most > limitBytes ? bodyTooLarge(limitBytes) : corrupt(cause);
  }
}

interface Frame {
  readonly bytesMax: number;
  readonly end: number;
}

function frameAt(bytes: Buffer, at: number): Frame | undefined {
  if (at + 8 > bytes.length) return undefined;
  const magic = bytes.readUInt32LE(at);
  // The last four bits of this magic number are free.
  if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) return { bytesMax: 0, end: at + 8 + bytes.readUInt32LE(at + 4) };
  if (magic !== MAGIC) return undefined;
  const descriptor = bytes[at + 4];
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6];
  if (!isSingle && (bytes[at + 5] >> 3) + 10 > WINDOW_LOG_MAX) return undefined;
  const sizeAt = at + 5 + (isSingle ? 0 : 1) + [0, 1, 2, 4][descriptor & 3];
  const blocks = blocksAt(bytes, sizeAt + sizeBytes);
  if (blocks === undefined) return undefined;
  const size = sizeBytes === 0 ? blocks.bytesMax : contentSize(bytes, sizeAt, sizeBytes);
  const checksumBytes = (descriptor & 4) === 0 ? 0 : 4;
  return { bytesMax: Math.min(size, blocks.bytesMax), end: blocks.end + checksumBytes };
}

function contentSize(bytes: Buffer, at: number, byteCount: number): number {
  if (byteCount === 8) return bytes.readUInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at);
  return bytes.readUIntLE(at, byteCount) + (byteCount === 2 ? 256 : 0);
}

function blocksAt(bytes: Buffer, from: number): Frame | undefined {
  let bytesMax = 0;
  for (let at = from; at + 3 <= bytes.length;) {
    const header = bytes.readUIntLE(at, 3);
    const type = (header >> 1) & 3;
    if (type === RESERVED_BLOCK) return undefined;
    const size = header >> 3;
    bytesMax += type === 2 ? BLOCK_BYTES_MAX : size;
    at += 3 + (type === RLE_BLOCK ? 1 : size);
    if ((header & LAST_BLOCK) !== 0) return at > bytes.length ? undefined : { bytesMax, end: at };
  }
  return undefined;
}

function corrupt(cause?: unknown): AlmanacError {
  return new AlmanacError('invalid_arguments', 'zstd: corrupt input', { cause });
}
