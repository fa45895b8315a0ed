import { utf8Bytes } from '#shared/bytes/utf8';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

import { atEndOfRound, systemClock } from '#shared/clock/clock';
import type { AlmanacError } from '#shared/errors/almanac-error';

/** Shorter bodies are not compressed. */
export const COMPRESS_BYTES_MIN = 1024;
/** Compressing more at once would block the event loop for too long. */
const COMPRESS_AT_ONCE_BYTES_MAX = 256 * 1024;

/** Content encodings of replies. */
export type ReplyEncoding = 'br' | 'gzip';

/** The parts of a request that its reply depends on. */
export interface RepliedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Headers of every response for its path. */
  readonly commonHeaders: Readonly<Record<string, string>>;
  /** Whole milliseconds since it arrived. */
  readonly elapsedMs: number;
}

/** A whole HTTP response. */
export interface HttpReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Sends a reply, compressed if the client accepts that and it is worthwhile. */
export function send(context: RepliedRequest, { status, headers, body }: HttpReply): void {
  const { response } = context;
  if (response.headersSent || response.destroyed) return;
  const all: Record<string, string | number> = {};
  addHeaders(all, context.commonHeaders);
  addHeaders(all, headers);
  if (body === undefined) {
    if (status !== 204 && status !== 304) all['content-length'] = 0;
    response.writeHead(status, all);
    response.end();
    return;
  }
  let bytes = utf8Bytes(body);
  if (bytes.length >= COMPRESS_BYTES_MIN) {
    all['vary'] = withEncoding(context.commonHeaders['vary']);
    const encoding = acceptedEncoding(context);
    if (encoding !== undefined && bytes.length <= COMPRESS_AT_ONCE_BYTES_MAX) {
      bytes = encoding === 'br' ? brotliCompressSync(bytes, { params: FAST_BROTLI }) : gzipSync(bytes, { level: 1 });
      all['content-encoding'] = encoding;
    }
  }
  all['content-length'] = bytes.length;
  response.writeHead(status, all);
  if (response.shouldKeepAlive) endTogether(response, bytes);
  else if (!isBodyComing(context)) response.end(bytes);
  else endAfterBody(context, bytes);
}

/** Replies that wait for the end of the round of the event loop. */
const ending: { readonly response: ServerResponse; readonly bytes: Uint8Array }[] = [];
/** Since when the first of them waits. */
let waitingSinceMs = 0;
/** Replies do not wait before this time. */
let noWaitUntilMs = 0;
/** Connection of the last reply. */
let lastSocket: Socket | null = null;

/** After a longer wait, replies do not wait for some time: the process does long work. */
const WAIT_MS_MAX = 2;
const NO_WAIT_MS = 50;

/**
 * Ends a response; beside those of other connections, at the end of the round of the event loop. A program with several
 * connections that waits for replies is woken by the first one, and finds the others while it is awake: waking it for each
 * takes a tenth of the time of a small query, and eight clients get half as many more replies.
 */
function endTogether(response: ServerResponse, bytes: Uint8Array): void {
  const { socket } = response;
  const nowMs = systemClock.monotonicMs();
  if (ending.length === 0 && (socket === lastSocket || nowMs < noWaitUntilMs)) {
    response.end(bytes);
    return;
  }
  lastSocket = socket;
  if (ending.push({ response, bytes }) > 1) return;
  waitingSinceMs = nowMs;
  atEndOfRound(endAll);
}

function endAll(): void {
  const nowMs = systemClock.monotonicMs();
  if (nowMs - waitingSinceMs > WAIT_MS_MAX) noWaitUntilMs = nowMs + NO_WAIT_MS;
  for (const { response, bytes } of ending.splice(0)) if (!response.destroyed) response.end(bytes);
}

/** Whether the client is still sending its body. */
function isBodyComing({ request }: RepliedRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  return !request.complete && (coding !== undefined || length !== '0');
}

/**
 * Ends the response, and with it the connection, when the rest of the body has come and been dropped. A connection that
 * is closed earlier is reset, and a client that is still sending does not see the response.
 */
function endAfterBody({ request, response }: RepliedRequest, bytes: Uint8Array): void {
  response.write(bytes);
  request.once('close', () => response.end());
  request.resume();
}

/** Makes a reply with a JSON body. */
export function jsonReply(status: number, value: unknown, headers?: HttpReply['headers']): HttpReply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** Makes a reply with a text body. */
export function textReply(status: number, text: string, headers?: HttpReply['headers']): HttpReply {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers }, body: text };
}

/** Adds headers to a reply. */
export function withHeaders(reply: HttpReply, headers: Readonly<Record<string, string>>): HttpReply {
  return { ...reply, headers: { ...reply.headers, ...headers } };
}

/** Makes the error reply of all routes without error replies of their own. @param extra further members of the body. */
export function errorReply(
  context: RepliedRequest,
  error: AlmanacError,
  status = error.httpStatus,
  extra?: Readonly<Record<string, unknown>>,
): HttpReply {
  const message = error.publicMessage;
  const body = { code: error.number, error: message, execution_time_ms: context.elapsedMs, ...extra };
  const text = `error: ${message}, execution_time_ms: ${context.elapsedMs}`;
  return jsonReply(status, body, { ...errorHeaders(error, status), ...inBothNames('err-msg', visibleAscii(text)) });
}

/** Returns the headers of every reply that reports an error. */
export function errorHeaders(error: AlmanacError, status = error.httpStatus): Record<string, string> {
  const headers = {
    ...inBothNames('err-code', String(error.number)),
    ...inBothNames('err-retry-hint', error.retry ? 'retryable' : 'non_retryable'),
  };
  if (!error.retry || (!isBusy(error.httpStatus) && !isBusy(status))) return headers;
  return { ...headers, 'retry-after': String(error.retryAfterSeconds ?? 1) };
}

function isBusy(status: number): boolean {
  return status === 429 || status === 503;
}

/** Returns a header under Almanac's own name, and under the one that clients of GreptimeDB read. */
export function inBothNames(name: string, value: string): Record<string, string> {
  return addInBothNames({}, name, value);
}

/** Adds a header under both names. @returns `headers`. */
export function addInBothNames(headers: Record<string, string>, name: string, value: string): Record<string, string> {
  let names = BOTH_NAMES.get(name);
  if (names === undefined) BOTH_NAMES.set(name, (names = [`x-greptime-${name}`, `x-almanac-${name}`]));
  headers[names[0]] = value;
  headers[names[1]] = value;
  return headers;
}

/**
 * Adds the headers of another object. Replies to queries are made so, and not by spreads: V8 takes about 1 us for each
 * name that an object literal adds to the members of another object.
 */
export function addHeaders(headers: Record<string, string | number>, others: HttpReply['headers'] = {}): void {
  for (const name in others) headers[name] = others[name];
}

/** Both names of each header that is sent: joining them for every reply would be slower. */
const BOTH_NAMES = new Map<string, readonly [string, string]>();

/** Options of fast brotli compression. */
export const FAST_BROTLI: Readonly<Record<number, number>> = { [constants.BROTLI_PARAM_QUALITY]: 1 };

/** Returns the preferred encoding of those that the client accepts. */
export function acceptedEncoding({ request }: RepliedRequest): ReplyEncoding | undefined {
  const accepted = request.headers['accept-encoding'];
  if (accepted === undefined || accepted === '') return undefined;
  const weights = new Map<string, number>();
  for (const item of accepted.toLowerCase().split(',')) {
    const [name, ...parameters] = item.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  return (['br', 'gzip'] as const).find((name) => (weights.get(name) ?? weights.get('*') ?? 0) > 0);
}

/** Adds `accept-encoding` to a `vary` header. */
export function withEncoding(vary: string | undefined): string {
  return vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`;
}

/** Returns at most 1,024 bytes of a text as a header value, with bytes outside of visible ASCII as escapes. */
export function visibleAscii(text: string): string {
  let out = '';
  for (const byte of Buffer.from(text).subarray(0, 1024)) {
    if (byte === 0x0a) out += '\\n';
    else if (byte < 0x20 || byte > 0x7e) out += `\\x${byte.toString(16).padStart(2, '0')}`;
    else out += String.fromCharCode(byte);
  }
  return out;
}
