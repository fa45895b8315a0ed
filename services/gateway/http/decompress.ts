import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { AcceptedEncodings, BodyEncoding } from '../protocols/protocol.js';
import { bodyTooLarge, decompressSnappy, decompressZstd, snappyBytes, zstdBytes } from './block-codecs.js';

/** No deflate stream grows by more than this factor. */
const DEFLATE_RATIO_MAX = 1_032;
/** Up to this size, decompressing at once is cheaper than in a thread; the result is 8 MiB at most, after 8 ms. */
const AT_ONCE_BYTES_MAX = 8 * 1024;

/** Bytes that a thread decompresses before the event loop receives them. */
const CHUNK_BYTES = 256 * 1024;

interface ZlibMethod {
  readonly atOnce: (bytes: Uint8Array, options: zlib.ZlibOptions) => Buffer;
  readonly stream: (options: zlib.ZlibOptions) => Transform;
}

const GZIP: ZlibMethod = { atOnce: zlib.gunzipSync, stream: zlib.createGunzip };
const ZLIB: ZlibMethod = { atOnce: zlib.inflateSync, stream: zlib.createInflate };
const RAW: ZlibMethod = { atOnce: zlib.inflateRawSync, stream: zlib.createInflateRaw };
const BROTLI: ZlibMethod = { atOnce: zlib.brotliDecompressSync, stream: zlib.createBrotliDecompress };

/** Returns the encoding that a header names. @throws `unsupported` with status 415 if the route does not accept it. */
export function bodyEncoding(
  header: string | undefined,
  { encodings, impliedEncoding, ignoredEncoding }: AcceptedEncodings,
): BodyEncoding | undefined {
  const name = (header ?? '').trim().toLowerCase();
  if (name === '' || (name === 'identity' && impliedEncoding === undefined)) return impliedEncoding;
  if (name === ignoredEncoding) return undefined;
  const found = encodings.find((encoding) => encoding === name || (encoding === 'gzip' && name === 'x-gzip'));
  if (found !== undefined) return found;
  const others = impliedEncoding === undefined ? ' or none' : '';
  const text = `content encoding "${name}" is not supported: use ${encodings.join(', ')}${others}`;
  throw new AlmanacError('unsupported', text, { http: 415 });
}

/** Returns the largest decompressed length of the bytes, at most `limitBytes`. */
export function decompressedBytesMax(encoding: BodyEncoding, bytes: Buffer, limitBytes: number): number {
  if (encoding === 'br') return limitBytes;
  if (encoding === 'snappy' || encoding === 'zstd') {
    // Some senders name the wrong one of the two, see `decompressBlock`.
    const most = Math.max(snappyBytes(bytes) ?? 0, zstdBytes(bytes) ?? 0);
    return Math.min(limitBytes, most);
  }
  return Math.min(limitBytes, bytes.length * DEFLATE_RATIO_MAX);
}

/**
 * Decompresses a body.
 *
 * @param limitBytes largest length of the result.
 * @throws `invalid_arguments` if the bytes are damaged, with status 413 if the result is too large.
 */
export async function decompressBody(bytes: Buffer, encoding: BodyEncoding, limitBytes: number): Promise<Buffer> {
  if (encoding === 'snappy' || encoding === 'zstd') return decompressBlock(bytes, encoding, limitBytes);
  const { atOnce, stream } = methodOf(bytes, encoding);
  try {
    const isSmall = bytes.length <= AT_ONCE_BYTES_MAX && encoding !== 'br';
    if (isSmall) return atOnce(bytes, { maxOutputLength: limitBytes });
    return await inChunks(
      stream({ chunkSize: CHUNK_BYTES }),
      bytes,
      expectedBytes(bytes, encoding, limitBytes),
      limitBytes,
    );
  } catch (error) {
    if (error instanceof AlmanacError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(limitBytes);
    throw new AlmanacError('invalid_arguments', `body is not valid ${encoding}`, { cause: error });
  }
}

/**
 * Decompresses in a thread and joins the chunks as they come: joining 60 MB of them at the end, as zlib's own functions
 * do, blocks the event loop for 60 ms and takes the memory twice.
 */
async function inChunks(stream: Transform, bytes: Buffer, firstBytes: number, limitBytes: number): Promise<Buffer> {
  let gathered = Buffer.allocUnsafe(firstBytes);
  let length = 0;
  stream.end(bytes);
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const needed = length + chunk.length;
    if (needed > limitBytes) throw bodyTooLarge(limitBytes);
    if (needed > gathered.length) {
      const grown = Buffer.allocUnsafe(Math.min(limitBytes, Math.max(needed, gathered.length * 2)));
      gathered.copy(grown, 0, 0, length);
      gathered = grown;
    }
    chunk.copy(gathered, length);
    length = needed;
  }
  return gathered.subarray(0, length);
}

/** Returns the length that the stream claims, limited to what is possible; it is only a guess. */
function expectedBytes(bytes: Buffer, encoding: BodyEncoding, limitBytes: number): number {
  const claimed = encoding === 'gzip' ? bytes.readUInt32LE(bytes.length - 4) : bytes.length * 4;
  return Math.min(claimed, decompressedBytesMax(encoding, bytes, limitBytes));
}

/** Decompresses a block. Some senders that support both encodings name the wrong one: then the other is tried. */
async function decompressBlock(bytes: Buffer, encoding: 'snappy' | 'zstd', limitBytes: number): Promise<Buffer> {
  const [named, other] =
    encoding === 'snappy' ? [decompressSnappy, decompressZstd] : [decompressZstd, decompressSnappy];
  try {
    return await named(bytes, limitBytes);
  } catch (error) {
    if (AlmanacError.from(error).httpStatus !== 400) throw error;
    return await other(bytes, limitBytes).catch(() => {
      throw error;
    });
  }
}

function methodOf(bytes: Buffer, encoding: BodyEncoding): ZlibMethod {
  if (encoding === 'gzip') return GZIP;
  if (encoding === 'br') return BROTLI;
  // Clients disagree on whether "deflate" has a zlib header.
  const hasHeader = bytes.length >= 2 && bytes[0] === 0x78 && bytes.readUInt16BE(0) % 31 === 0;
  return hasHeader ? ZLIB : RAW;
}
