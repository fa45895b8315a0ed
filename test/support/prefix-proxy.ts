import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { invariant } from '#shared/errors/invariant';

/** Path below which the proxy serves the server. */
const PREFIX = '/some/prefix';

/** What the proxy does with requests that are not for files of the dashboard. */
export type ProxyMode =
  | { readonly kind: 'pass' }
  /** No reply, until the mode changes. */
  | { readonly kind: 'hold' }
  /** A reply of the proxy. */
  | { readonly kind: 'fail'; readonly status: number; readonly body: string };

/** A reverse proxy that serves a server below a path prefix, replies 502 while it is away, and can hold requests up. */
export class PrefixProxy {
  /** Base of the server's paths. */
  readonly url: string;
  readonly #server: Server;
  readonly #target: string;
  #mode: ProxyMode = { kind: 'pass' };
  #held: (() => void)[] = [];

  private constructor(server: Server, port: number, target: string) {
    this.#server = server;
    this.#target = target;
    this.url = `http://127.0.0.1:${port}${PREFIX}`;
    server.on('request', (incoming: IncomingMessage, reply: ServerResponse) => this.#serve(incoming, reply));
  }

  /** @param target base URL of the server. */
  static open(target: string): Promise<PrefixProxy> {
    const server = createServer();
    return new Promise((resolve, reject) => {
      server.on('error', reject);
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        invariant(address !== null && typeof address === 'object', 'a listener without an address');
        resolve(new PrefixProxy(server, address.port, target));
      });
    });
  }

  /** What happens to requests from now on, and to those that were held. */
  set mode(mode: ProxyMode) {
    this.#mode = mode;
    for (const serve of this.#held.splice(0)) serve();
  }

  close(): void {
    this.mode = { kind: 'pass' };
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #serve(incoming: IncomingMessage, reply: ServerResponse): void {
    const path = incoming.url ?? '';
    const mode = this.#mode;
    if (!path.startsWith(`${PREFIX}/`)) reply.writeHead(404).end();
    else if (mode.kind === 'pass' || path.startsWith(`${PREFIX}/dashboard/`)) this.#pass(incoming, reply);
    else if (mode.kind === 'hold') this.#held.push(() => this.#serve(incoming, reply));
    else reply.writeHead(mode.status, { 'content-type': 'application/json' }).end(mode.body);
  }

  #pass(incoming: IncomingMessage, reply: ServerResponse): void {
    const { method, headers, url = '' } = incoming;
    const onward = request(this.#target + url.slice(PREFIX.length), { method, headers }, (response) => {
      reply.writeHead(response.statusCode ?? 502, response.headers);
      response.on('error', () => reply.destroy());
      response.pipe(reply);
    });
    onward.on('error', () => {
      if (reply.headersSent) reply.destroy();
      else reply.writeHead(502, { 'content-type': 'text/plain' }).end('bad gateway\n');
    });
    reply.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }
}
