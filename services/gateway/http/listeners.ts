import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

import { AlmanacError } from '#shared/errors/almanac-error';

import type { ListenerKind } from '../request-context.js';
import { HEADERS_MAX, type RequestLifecycle } from './lifecycle.js';
import { createSecureServer, type SecureServerOptions } from './secure-server.js';
import { withoutUpgrade } from './web-socket.js';

const HEADER_BYTES_MAX = 64 * 1024;
/** Longer than the pause between the batches of common agents, so that they can reuse their connection. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 15_000;
/** Time between two looks for connections that are too slow. */
const CHECK_INTERVAL_MS = 5_000;
/** Longest time for a whole request: a body of 64 MiB over 2 Mbit/s. */
const REQUEST_TIMEOUT_MS = 300_000;

/** One open listener. */
export interface Listener {
  readonly url: string;
  /** Accepts no new connections, and closes idle ones. */
  close(): Promise<void>;
  /** Closes idle connections; after `close`, those that were busy then. */
  closeIdle(): void;
  /** Closes all connections. */
  destroy(): void;
}

/** What a listener is opened for. */
export interface ListenerOptions {
  readonly kind: ListenerKind;
  readonly lifecycle: RequestLifecycle;
  /** Undefined: plain HTTP. */
  readonly tls: SecureServerOptions | undefined;
}

/** Opens a listener. @param address `host:port`, port 0 for a free one. @throws `illegal_state` if that is not possible. */
export async function openListener(address: string, options: ListenerOptions): Promise<Listener> {
  const { kind, lifecycle } = options;
  const { server, connectionEvent, dropHandshakes } = createHttpServer(options, (request, response) =>
    lifecycle.handle(request, response, kind),
  );
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const upgrade = { request, socket, head };
    if (lifecycle.upgrade(upgrade, kind)) return;
    socket.unshift(withoutUpgrade(upgrade));
    server.emit(connectionEvent, socket);
  });
  server.maxHeadersCount = HEADERS_MAX + 1;
  await listen(server, address);
  return {
    url: urlOf(server, address, options.tls === undefined ? 'http' : 'https'),
    close: () => {
      const closed = closeGently(server);
      dropHandshakes();
      return closed;
    },
    closeIdle: () => server.closeIdleConnections(),
    destroy: () => server.closeAllConnections(),
  };
}

interface HttpServer {
  readonly server: Server;
  /** The event by which the server receives a connection that it can read requests from. */
  readonly connectionEvent: 'connection' | 'secureConnection';
  /** Disconnects clients whose TLS handshake is not finished. */
  readonly dropHandshakes: () => void;
}

function createHttpServer({ tls }: ListenerOptions, handle: RequestListener): HttpServer {
  const options = {
    maxHeaderSize: HEADER_BYTES_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    noDelay: true,
  };
  if (tls === undefined) {
    const server = createServer(options, handle);
    return { server, connectionEvent: 'connection', dropHandshakes: () => undefined };
  }
  return {
    ...createSecureServer(options, tls, handle),
    connectionEvent: 'secureConnection',
  };
}

function listen(server: Server, address: string): Promise<void> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      const reason = error.code === 'EADDRINUSE' ? 'the port is in use' : (error.code ?? error.message);
      const text = `cannot listen on ${address}: ${reason}; set another address by --http-addr or http.addr`;
      reject(new AlmanacError('illegal_state', text, { cause: error }));
    };
    server.once('error', onError);
    server.listen(Number(address.slice(colon + 1)), host, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

/** Resolves when the last busy connection is closed; Node.js closes idle ones at once. */
function closeGently(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.close(() => resolve());
  });
}

function urlOf(server: Server, address: string, scheme: string): string {
  const { port } = server.address() as AddressInfo;
  return `${scheme}://${address.slice(0, address.lastIndexOf(':'))}:${port}`;
}
