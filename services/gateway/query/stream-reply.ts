import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { createBrotliCompress, createGzip } from 'node:zlib';

import { callError, type Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { acceptedEncoding, FAST_BROTLI, send, withEncoding, type ReplyEncoding } from '../reply.js';
import type { RequestContext } from '../request-context.js';

/** A reply up to this size is sent as a whole, so that a failure before its end still becomes an error reply. */
export const HELD_BYTES_MAX = 256 * 1024;
/** Bytes that are written at once. */
const SLICE_BYTES = 64 * 1024;
/**
 * Longest time in which a client takes none of these bytes. Replies hold memory and an admission slot until they are
 * sent. It suffices for clients that read several replies in turn, and for the kernel, which reports free space only
 * when a third of its buffer is empty.
 */
const STALL_MS = 20_000;

/** A reply that is sent while it is made. */
export interface StreamedReply {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Called when the first byte is sent. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly bytesMax: number;
  /** Whether the chunks are compressed already. */
  readonly isPacked: boolean;
}

/** A whole reply in parts, compressed already. */
export interface ReplyParts {
  readonly parts: readonly Uint8Array[];
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends a reply while it is made, no faster than the client reads it.
 *
 * @throws what the chunks throw, `invalid_arguments` if they are too large, and `cancelled` if the client stops reading.
 *   If bytes were sent before, the caller must close the connection.
 */
export async function sendStream(context: RequestContext, call: Call, reply: StreamedReply): Promise<void> {
  const held: Uint8Array[] = [];
  let byteCount = 0;
  let out: Writable | undefined;
  for await (const chunk of reply.chunks) {
    byteCount += chunk.length;
    if (byteCount > reply.bytesMax) throw tooLarge(reply.bytesMax);
    if (out !== undefined) {
      await write(context, out, chunk, call.signal);
      continue;
    }
    held.push(chunk);
    if (byteCount <= HELD_BYTES_MAX) continue;
    out = open(context, reply);
    await write(context, out, Buffer.concat(held), call.signal);
  }
  if (out !== undefined) {
    out.end();
    return;
  }
  const headers = reply.headers();
  if (reply.isPacked) return sendParts(context, call, { headers, parts: held });
  send(context, { status: 200, headers, body: held.length === 1 ? held[0] : Buffer.concat(held) });
}

/** Sends parts without compression, no faster than the client reads them. @throws `cancelled` if it stops reading. */
export async function sendParts(context: RequestContext, call: Call, { parts, headers }: ReplyParts): Promise<void> {
  const { response, commonHeaders } = context;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(200, { ...commonHeaders, ...headers, 'content-length': length });
  for (const part of parts) await write(context, response, part, call.signal);
  response.end();
}

function open(context: RequestContext, reply: StreamedReply): Writable {
  const { response, commonHeaders } = context;
  const headers = reply.headers();
  if (reply.isPacked) {
    response.writeHead(200, { ...commonHeaders, ...headers });
    return response;
  }
  const encoding = acceptedEncoding(context);
  const all = { ...commonHeaders, ...headers, vary: withEncoding(commonHeaders['vary']) };
  if (encoding === undefined) {
    response.writeHead(200, all);
    return response;
  }
  response.writeHead(200, { ...all, 'content-encoding': encoding });
  const compressor = compressorOf(encoding);
  compressor.pipe(response);
  response.once('close', () => compressor.destroy());
  return compressor;
}

function compressorOf(encoding: ReplyEncoding): ReturnType<typeof createGzip> {
  return encoding === 'br' ? createBrotliCompress({ params: FAST_BROTLI }) : createGzip({ level: 1 });
}

async function write(context: RequestContext, out: Writable, chunk: Uint8Array, signal: AbortSignal): Promise<void> {
  for (let from = 0; from < chunk.length; from += SLICE_BYTES) {
    if (signal.aborted) throw callError(signal);
    if (out.write(chunk.subarray(from, from + SLICE_BYTES))) continue;
    const stall = context.endsIn(STALL_MS, stalled);
    try {
      await once(out, 'drain', { signal });
    } catch (error) {
      if (signal.aborted) throw callError(signal);
      throw new AlmanacError('cancelled', 'the client went away', { cause: error });
    } finally {
      stall.cancel();
    }
  }
}

function stalled(): AlmanacError {
  return new AlmanacError('cancelled', `the client took nothing of the answer for ${STALL_MS / 1000} s`);
}

/** Error for a result that is larger than `http.max_result_bytes`. */
export function tooLarge(bytesMax: number): AlmanacError {
  const text = `result is larger than http.max_result_bytes, ${bytesMax} bytes: request less, or add LIMIT`;
  return new AlmanacError('invalid_arguments', text);
}
