import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

import type { AlmanacError } from '#shared/errors/almanac-error';

import type { RequestContext } from './request-context.js';

/** Below this an answer is sent as it is. */
export const COMPRESS_BYTES_MIN = 1024;
/** Above this, compressing at once would hold the event loop for too long. */
const COMPRESS_AT_ONCE_BYTES_MAX = 256 * 1024;

export type AnswerEncoding = 'br' | 'gzip';

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Sends a whole answer, compressed if the client takes that and it is worth it. */
export function send(context: RequestContext, { status, headers, body }: Answer): void {
  const { response } = context;
  if (response.headersSent || response.destroyed) return;
  if (body === undefined) {
    response.writeHead(status, { ...context.commonHeaders, ...headers, ...emptyLength(status) });
    response.end();
    return;
  }
  let bytes: Uint8Array = typeof body === 'string' ? Buffer.from(body) : body;
  const all: Record<string, string | number> = { ...context.commonHeaders, ...headers };
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
  if (response.shouldKeepAlive || !isBodyComing(context)) response.end(bytes);
  else endBehindBody(context, bytes);
}

/** Whether the client is still sending its body. */
function isBodyComing({ request }: RequestContext): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  return !request.complete && (coding !== undefined || length !== '0');
}

/**
 * Ends the answer, and with it the connection, when the body is over, which nobody reads. A connection that is closed
 * before is reset, and the client, busy with sending, does not see the answer.
 */
function endBehindBody({ request, response }: RequestContext, bytes: Uint8Array): void {
  response.write(bytes);
  request.once('close', () => response.end());
  request.resume();
}

export function sendJson(context: RequestContext, status: number, value: unknown, headers?: Answer['headers']): void {
  send(context, { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) });
}

export function sendText(context: RequestContext, status: number, text: string): void {
  send(context, { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: text });
}

/** The error body of all routes that have none of their own. */
export function sendError(
  context: RequestContext,
  error: AlmanacError,
  extra?: Readonly<Record<string, unknown>>,
): void {
  const message = error.publicMessage;
  const body = { code: error.number, error: message, execution_time_ms: context.elapsedMs, ...extra };
  const text = `error: ${message}, execution_time_ms: ${context.elapsedMs}`;
  sendJson(context, error.httpStatus, body, {
    ...errorHeaders(error),
    ...inBothNames('err-msg', visibleAscii(text)),
  });
}

/** Headers of every answer that reports an error. */
export function errorHeaders(error: AlmanacError): Record<string, string> {
  const headers = {
    ...inBothNames('err-code', String(error.number)),
    ...inBothNames('err-retry-hint', error.retry ? 'retryable' : 'non_retryable'),
  };
  const { httpStatus } = error;
  if (httpStatus !== 429 && httpStatus !== 503) return headers;
  return { ...headers, 'retry-after': String(error.retryAfterSeconds ?? 1) };
}

/** A header under the product's own name and under the one that clients from elsewhere look for. */
export function inBothNames(name: string, value: string): Record<string, string> {
  return { [`x-greptime-${name}`]: value, [`x-almanac-${name}`]: value };
}

export const FAST_BROTLI: Readonly<Record<number, number>> = { [constants.BROTLI_PARAM_QUALITY]: 1 };

/** The encoding that the client takes and that is preferred among those. */
export function acceptedEncoding({ request }: RequestContext): AnswerEncoding | undefined {
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

export function withEncoding(vary: string | undefined): string {
  return vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`;
}

/** A text as a header value: bytes outside visible ASCII become escapes, and it is not long. */
export function visibleAscii(text: string): string {
  let out = '';
  for (const byte of Buffer.from(text).subarray(0, 1024)) {
    if (byte === 0x0a) out += '\\n';
    else if (byte < 0x20 || byte > 0x7e) out += `\\x${byte.toString(16).padStart(2, '0')}`;
    else out += String.fromCharCode(byte);
  }
  return out;
}

function emptyLength(status: number): Record<string, number> {
  return status === 204 || status === 304 ? {} : { 'content-length': 0 };
}
