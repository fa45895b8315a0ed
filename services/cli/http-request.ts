import { request as requestPlain, type OutgoingHttpHeaders } from 'node:http';
import { request as requestSecure } from 'node:https';

import type { ServerTrust } from './server-target.js';

/** A request to a server. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  /** Longest time in which neither side sends anything, in milliseconds; undefined: no limit. */
  readonly timeoutMs?: number;
  /** What a certificate is checked against; default: the CAs that Node.js trusts. */
  readonly trust?: ServerTrust;
  readonly signal?: AbortSignal;
}

/** A whole response. */
export interface HttpResponse {
  readonly status: number;
  readonly text: string;
}

/** Sends a request. Rejects with the error of Node.js if there is no whole response; `requestProblem` explains it. */
export function httpRequest(url: URL, { body, trust, timeoutMs, ...options }: HttpRequest): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestSecure : requestPlain;
    const request = send(url, { ...options, ...trust, timeout: timeoutMs }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    request.on('timeout', () => request.destroy(new Error(`no reply within ${(timeoutMs ?? 0) / 1000} s`)));
    request.on('error', reject);
    request.end(body);
  });
}

const NOT_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'EPROTO',
]);
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);

/** Explains why a request to a URL failed. */
export function requestProblem(error: unknown, url: string): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (UNTRUSTED.has(code)) return `its certificate is not trusted (${code}): name the file of its CA by --ca-cert`;
  if (code === 'CERT_HAS_EXPIRED') return `its certificate has expired (${code})`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const { reason } = error as { readonly reason?: string };
    return `its certificate does not name this host (${code}): ${reason ?? message}`;
  }
  if (NOT_TLS.has(code)) return `it does not use TLS (${code}): try http://`;
  if (code === 'ECONNRESET' && url.startsWith('http:')) return `${code}: a server that uses TLS needs https://`;
  return code === '' ? message : code;
}
