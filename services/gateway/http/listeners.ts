import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { AlmanacError } from '#shared/errors/almanac-error';

import { HEADERS_MAX, type Lifecycle, type ListenerKind } from './lifecycle.js';

const HEADER_BYTES_MAX = 64 * 1024;
/** Longer than the pause between the batches of usual agents, so that they find their connection open. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 15_000;
/** For a whole request: a body of 64 MiB over 2 Mbit/s. */
const REQUEST_TIMEOUT_MS = 300_000;

/** One open listener. */
export interface Listener {
  readonly url: string;
  /** Takes no new connections; closes those that wait for nothing. */
  close(): Promise<void>;
  /** Closes connections that wait for nothing; after `close`, those that were busy then. */
  closeIdle(): void;
  /** Ends what is still open. */
  destroy(): void;
}

/** @param address `host:port`, port 0 for a free one. @throws `unexpected` if it cannot be listened on. */
export async function openListener(address: string, kind: ListenerKind, lifecycle: Lifecycle): Promise<Listener> {
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      noDelay: true,
    },
    (request, response) => lifecycle.handle(request, response, kind),
  );
  server.maxHeadersCount = HEADERS_MAX + 1;
  await listen(server, address);
  return {
    url: urlOf(server, address),
    close: () => closeGently(server),
    closeIdle: () => server.closeIdleConnections(),
    destroy: () => server.closeAllConnections(),
  };
}

function listen(server: Server, address: string): Promise<void> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      const reason = error.code === 'EADDRINUSE' ? 'the port is in use' : (error.code ?? error.message);
      const text = `cannot listen on ${address}: ${reason}; another address can be set by --http-addr or http.addr`;
      reject(new AlmanacError('illegal_state', text, { cause: error }));
    };
    server.once('error', onError);
    server.listen(Number(address.slice(colon + 1)), host, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

/** Resolves at once when there is nothing to wait for; idle connections are closed by Node.js itself. */
function closeGently(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.close(() => resolve());
  });
}

function urlOf(server: Server, address: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${address.slice(0, address.lastIndexOf(':'))}:${port}`;
}
