import { promisify } from 'node:util';
import * as zlib from 'node:zlib';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { BodyEncoding } from '../protocols/protocol.js';

/** No deflate stream grows by more than this factor. */
const DEFLATE_RATIO_MAX = 1_032;
/** Up to here decompressing at once is cheaper than handing it to a thread; it makes 8 MiB at most, in 8 ms. */
const AT_ONCE_BYTES_MAX = 8 * 1024;

interface Method {
  readonly atOnce: (bytes: Uint8Array, options: zlib.ZlibOptions) => Buffer;
  readonly inThread: (bytes: Uint8Array, options: zlib.ZlibOptions) => Promise<Buffer>;
}

const GZIP: Method = {
  atOnce: zlib.gunzipSync,
  inThread: promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip),
};
const ZLIB: Method = {
  atOnce: zlib.inflateSync,
  inThread: promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflate),
};
const RAW: Method = {
  atOnce: zlib.inflateRawSync,
  inThread: promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflateRaw),
};
const BROTLI: Method = {
  atOnce: zlib.brotliDecompressSync,
  inThread: promisify<Uint8Array, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress),
};

/** The encoding that a header names. @throws `unsupported` with status 415 if it is none of `allowed`. */
export function bodyEncoding(header: string | undefined, allowed: readonly BodyEncoding[]): BodyEncoding | undefined {
  const name = (header ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  const found = allowed.find((encoding) => encoding === name || (encoding === 'gzip' && name === 'x-gzip'));
  if (found !== undefined) return found;
  const text = `content encoding "${name}" is not supported: use ${allowed.join(', ')} or none`;
  throw new AlmanacError('unsupported', text, { http: 415 });
}

/** The most bytes that `byteCount` compressed ones can become, limited to `limitBytes`. */
export function decompressedBytesMax(encoding: BodyEncoding, byteCount: number, limitBytes: number): number {
  return encoding === 'br' ? limitBytes : Math.min(limitBytes, byteCount * DEFLATE_RATIO_MAX);
}

/**
 * Undoes one content encoding.
 *
 * @param limitBytes of the result.
 * @throws `invalid_arguments` if the bytes are damaged, with status 413 if they become too many.
 */
export async function decompress(bytes: Buffer, encoding: BodyEncoding, limitBytes: number): Promise<Buffer> {
  const { atOnce, inThread } = methodOf(bytes, encoding);
  const options = { maxOutputLength: limitBytes };
  try {
    const isSmall = bytes.length <= AT_ONCE_BYTES_MAX && encoding !== 'br';
    return isSmall ? atOnce(bytes, options) : await inThread(bytes, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(limitBytes);
    throw new AlmanacError('invalid_arguments', `body is not valid ${encoding}`, { cause: error });
  }
}

export function bodyTooLarge(limitBytes: number): AlmanacError {
  return new AlmanacError('invalid_arguments', `body is larger than the limit of ${limitBytes} bytes`, { http: 413 });
}

function methodOf(bytes: Buffer, encoding: BodyEncoding): Method {
  if (encoding === 'gzip') return GZIP;
  if (encoding === 'br') return BROTLI;
  // Clients disagree on whether "deflate" has a zlib header.
  const hasHeader = bytes.length >= 2 && bytes[0] === 0x78 && bytes.readUInt16BE(0) % 31 === 0;
  return hasHeader ? ZLIB : RAW;
}
