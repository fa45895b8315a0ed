import type { RequestListener, ServerOptions } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

import type { CertificateSet } from '#shared/tls/certificate';
import type { CertificateSource } from '#shared/tls/certificate-source';

/** An HTTP server over TLS. */
export interface SecureServer {
  readonly server: Server;
  /** Disconnects clients whose handshake is not finished, which the server does not count as connections yet. */
  readonly dropHandshakes: () => void;
}

/** Longest time for a handshake; the default of Node.js is two minutes. */
const HANDSHAKE_MS = 10_000;
const TLS_VERSION_MIN = 'TLSv1.2';

/** Options of a server over TLS. */
export interface SecureServerOptions {
  readonly certificates: CertificateSource;
  /** Largest number of handshakes at once; a further connection disconnects the client that has taken longest. */
  readonly handshakesMax: number;
  /** Called for each handshake that fails: the client does not trust the certificate, speaks no TLS or is too slow. */
  readonly onHandshakeFailure: (code: string, address: string | undefined) => void;
}

/** Creates a server over TLS that has not begun to listen. New connections get the certificate that is current then. */
export function createSecureServer(
  options: ServerOptions,
  { certificates, handshakesMax, onHandshakeFailure }: SecureServerOptions,
  handle: RequestListener,
): SecureServer {
  const handshakes = new Map<string, Socket>();
  const server = createServer(
    { ...options, ...contextOf(certificates.current), handshakeTimeout: HANDSHAKE_MS, ALPNProtocols: ['http/1.1'] },
    handle,
  );
  const stopWatching = certificates.onChange((changed) => server.setSecureContext(contextOf(changed)));
  server.once('close', stopWatching);
  server.prependListener('connection', (socket: Socket) => {
    // The TLS layer has no limit of its own. Not the new client: silent connections would keep all others out.
    for (const [ends, oldest] of handshakes) {
      if (handshakes.size < handshakesMax) break;
      handshakes.delete(ends);
      oldest.destroy();
    }
    const ends = endsOf(socket);
    handshakes.set(ends, socket);
    socket.once('close', () => {
      if (handshakes.get(ends) === socket) handshakes.delete(ends);
    });
  });
  server.on('secureConnection', (socket: TLSSocket) => handshakes.delete(endsOf(socket)));
  server.on('tlsClientError', (error: NodeJS.ErrnoException, { remoteAddress }: TLSSocket) => {
    onHandshakeFailure(error.code ?? error.message, remoteAddress);
  });
  return {
    server,
    dropHandshakes() {
      for (const socket of handshakes.values()) socket.destroy();
    },
  };
}

function contextOf({ cert, key }: CertificateSet) {
  return { cert, key, minVersion: TLS_VERSION_MIN } as const;
}

/** Identifies a connection: Node.js passes one socket before the handshake and another one after it. */
function endsOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
