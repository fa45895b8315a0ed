import { request, Agent, type RequestOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';

import type { Fetch } from './almanac.js';

export interface SecureResponse {
  readonly status: number;
  readonly text: string;
  /** Subject's common name of the server's certificate. */
  readonly subject: string;
  /** Protocol of the TLS connection: `TLSv1.3`. */
  readonly protocol: string | null;
}

/** Calls a server over TLS and verifies its certificate. */
export class SecureApi {
  readonly url: string;
  readonly #options: RequestOptions;

  /** @param options `ca` and others of `https.request`; without an agent each request has a connection of its own. */
  constructor(url: string, options: RequestOptions) {
    this.url = url;
    this.#options = { agent: false, ...options };
  }

  /** The same server with one connection that is reused. */
  keepingAlive(): { readonly api: SecureApi; close(): void } {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    return { api: new SecureApi(this.url, { ...this.#options, agent }), close: () => agent.destroy() };
  }

  /** The same server with other options. */
  with(options: RequestOptions): SecureApi {
    return new SecureApi(this.url, { ...this.#options, ...options });
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<SecureResponse> {
    return this.#send('GET', path, headers, undefined);
  }

  post(path: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<SecureResponse> {
    return this.#send('POST', path, headers, body);
  }

  #send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string | undefined,
  ): Promise<SecureResponse> {
    return new Promise((resolve, reject) => {
      const sent = request(new URL(path, this.url), { ...this.#options, method, headers }, (response) => {
        const socket = response.socket as TLSSocket;
        const seen = { subject: String(socket.getPeerCertificate().subject.CN), protocol: socket.getProtocol() };
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, ...seen }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

/** Returns a `fetch` for servers whose certificates a CA has signed. @param headers of every request. */
export function secureFetch(options: RequestOptions, headers: Readonly<Record<string, string>>): Fetch {
  return (url, { method = 'GET', body, headers: own } = {}) =>
    new Promise((resolve, reject) => {
      const all = { ...headers, ...(own as Record<string, string> | undefined) };
      const sent = request(url, { ...options, method, headers: all }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part)).on('error', reject);
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          resolve(new Response(status === 204 ? null : Buffer.concat(parts), { status }));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
}
