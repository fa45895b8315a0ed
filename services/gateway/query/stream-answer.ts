import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { createBrotliCompress, createGzip } from 'node:zlib';

import { callError, type Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

import { acceptedEncoding, FAST_BROTLI, send, withEncoding, type AnswerEncoding } from '../answer.js';
import type { RequestContext } from '../request-context.js';

/** An answer up to this size is sent whole, so that a failure on the way to its end is still a clean one. */
const HELD_BYTES_MAX = 256 * 1024;
/** So much is written at once, and taken in the time below by whoever reads at all. */
const SLICE_BYTES = 64 * 1024;
/**
 * Answers hold memory and a place among the queries until they are sent. Long enough for a client that reads several
 * answers in turn, and for the kernel, which tells of room only when a third of its buffer is free.
 */
const STALL_MS = 20_000;

export interface StreamedAnswer {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Asked when the first byte is sent. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly bytesMax: number;
  /** Whether it is compressed already, and so is sent as it is. */
  readonly isPacked?: boolean;
}

/** An answer that is all there, packed, in parts. */
export interface AnswerParts {
  readonly parts: readonly Uint8Array[];
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sends an answer whose end is not known yet, no faster than the client takes it. It ends when the client takes nothing.
 *
 * @throws what the chunks throw, and `invalid_arguments` if they are too many. When bytes were sent before that, the
 *   caller has to break the connection.
 */
export async function streamAnswer(context: RequestContext, call: Call, answer: StreamedAnswer): Promise<void> {
  const held: Uint8Array[] = [];
  let byteCount = 0;
  let out: Writable | undefined;
  for await (const chunk of answer.chunks) {
    byteCount += chunk.length;
    if (byteCount > answer.bytesMax) throw tooLarge(answer.bytesMax);
    if (out !== undefined) {
      await write(context, out, chunk, call.signal);
      continue;
    }
    held.push(chunk);
    if (byteCount <= HELD_BYTES_MAX) continue;
    out = open(context, answer);
    await write(context, out, Buffer.concat(held), call.signal);
  }
  if (out !== undefined) {
    out.end();
    return;
  }
  const headers = answer.headers();
  if (answer.isPacked === true) return sendParts(context, call, { headers, parts: held });
  send(context, { status: 200, headers, body: Buffer.concat(held) });
}

/** Sends parts as they are, no faster than the client takes them. */
export async function sendParts(context: RequestContext, call: Call, { parts, headers }: AnswerParts): Promise<void> {
  const { response, commonHeaders } = context;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  response.writeHead(200, { ...commonHeaders, ...headers, 'content-length': length });
  for (const part of parts) await write(context, response, part, call.signal);
  response.end();
}

function open(context: RequestContext, answer: StreamedAnswer): Writable {
  const { response, commonHeaders } = context;
  const headers = answer.headers();
  if (answer.isPacked === true) {
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

function compressorOf(encoding: AnswerEncoding): ReturnType<typeof createGzip> {
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

function tooLarge(bytesMax: number): AlmanacError {
  const text = `result is larger than http.max_result_bytes, ${bytesMax} bytes: ask for less, or add LIMIT`;
  return new AlmanacError('invalid_arguments', text);
}
