import { uncompress, uncompressSync } from 'snappy';

import { AlmanacError } from '#shared/errors/almanac-error';

const LENGTH_BYTES_MAX = 5;
/** No valid block grows by more than a factor of 22. */
const RATIO_MAX = 64;
/** Larger blocks are decompressed in a thread; this much takes 2 ms. */
const SNAPPY_AT_ONCE_BYTES_MAX = 8 * 1024 * 1024;
/** Results in memory of the library are several times slower to read. */
const SNAPPY_OPTIONS = { copyOutputData: true, asBuffer: true } as const;

/** Returns the decompressed length that a snappy block claims; undefined if it cannot be true. */
export function snappyBytes(bytes: Buffer): number | undefined {
  let length = 0;
  for (let i = 0; i < LENGTH_BYTES_MAX && i < bytes.length; i++) {
    length += (bytes[i] & 0x7f) * 2 ** (7 * i);
    if (bytes[i] >= 0x80) continue;
    return length >= 2 ** 32 || length > RATIO_MAX * bytes.length ? undefined : length;
  }
  return undefined;
}

/** Decompresses a snappy block. @throws `invalid_arguments`, with status 413 if the result is too large. */
export async function decompressSnappy(bytes: Buffer, limitBytes: number): Promise<Buffer> {
  // The claim is checked first, since the library allocates that much memory before it detects a false one.
  const length = snappyBytes(bytes);
  if (length === undefined) throw corruptSnappy();
  if (length > limitBytes) throw bodyTooLarge(limitBytes);
  let plain: Buffer | string;
  try {
    plain =
      length <= SNAPPY_AT_ONCE_BYTES_MAX
        ? uncompressSync(bytes, SNAPPY_OPTIONS)
        : await uncompress(bytes, SNAPPY_OPTIONS);
  } catch (cause) {
    throw corruptSnappy(cause);
  }
  if (typeof plain === 'string' || plain.length !== length) throw corruptSnappy();
  return plain;
}

function corruptSnappy(cause?: unknown): AlmanacError {
  return new AlmanacError('invalid_arguments', 'snappy: corrupt input', { cause });
}

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const WINDOW_LOG_MAX = 27;
/** The memory of the library can hold only a few times as much. */
const RESULT_BYTES_MAX = 512 * 1024 * 1024;
const RLE_BLOCK = 1;
const RESERVED_BLOCK = 3;
const LAST_BLOCK = 1;
/** Largest decompressed block. */
const BLOCK_BYTES_MAX = 128 * 1024;

/**
 * Returns the largest decompressed length of zstd frames; undefined if the bytes are no frames.
 *
 * The size in a frame may be missing or false, so the size of its blocks limits it.
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

/** Decompresses zstd frames. @throws `invalid_arguments`, with status 413 if the result is too large. */
export async function decompressZstd(bytes: Buffer, limitBytes: number): Promise<Buffer> {
  const most = zstdBytes(bytes);
  if (most === undefined) throw corruptZstd();
  if (Math.min(most, limitBytes) > RESULT_BYTES_MAX) throw bodyTooLarge(RESULT_BYTES_MAX);
  // Loaded for the first body of this encoding: few installations receive one.
  const { decompress, isLoaded } = await import('@foxglove/wasm-zstd');
  await isLoaded;
  try {
    return decompress(bytes, Math.max(1, Math.min(most, limitBytes)));
  } catch (cause) {
    throw most > limitBytes ? bodyTooLarge(limitBytes) : corruptZstd(cause);
  }
}

interface Frame {
  readonly bytesMax: number;
  readonly end: number;
}

function frameAt(bytes: Buffer, at: number): Frame | undefined {
  if (at + 8 > bytes.length) return undefined;
  const magic = bytes.readUInt32LE(at);
  // The last four bits of this magic number are arbitrary.
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

function corruptZstd(cause?: unknown): AlmanacError {
  return new AlmanacError('invalid_arguments', 'zstd: corrupt input', { cause });
}

/** Makes the error for a body that is too large. */
export function bodyTooLarge(limitBytes: number): AlmanacError {
  return new AlmanacError('invalid_arguments', `body is larger than the limit of ${limitBytes} bytes`, { http: 413 });
}
