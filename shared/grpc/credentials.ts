import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import { checkServerIdentity, connect, type SecureContextOptions, type TLSSocket } from 'node:tls';

import { CallCredentials, ChannelCredentials, ServerCredentials, type experimental } from '@grpc/grpc-js';

import type { CertificateSet } from '#shared/tls/certificate';
import type { CertificateSource } from '#shared/tls/certificate-source';

import type { PeerTls } from './options.js';

/** Longest time for a handshake; grpc-js has no limit for clients and one of two minutes for servers. */
const HANDSHAKE_MS = 10_000;
const TLS_VERSION_MIN = 'TLSv1.2';

/** Credentials of a client, and what they say of connections that fail. */
export interface ClientCredentials {
  readonly credentials: ChannelCredentials;
  /** Returns why the last handshake failed, which grpc-js tells only in part; undefined if it succeeded. */
  readonly tlsFailure: () => string | undefined;
}

/** Returns the credentials of a server. New connections get the certificate that is current then. */
export function serverCredentials(tls: PeerTls | undefined): ServerCredentials {
  return tls === undefined ? ServerCredentials.createInsecure() : new PeerServerCredentials(tls.certificates);
}

/** Returns the credentials of a client. @param address `host:port` of the server. */
export function clientCredentials(tls: PeerTls | undefined, address: string): ClientCredentials {
  if (tls === undefined) return { credentials: ChannelCredentials.createInsecure(), tlsFailure: () => undefined };
  const connector = new PeerConnector(tls, address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, ''));
  return { credentials: new PeerChannelCredentials(connector), tlsFailure: () => connector.failure };
}

/** Server credentials whose handshakes are limited in time, and whose certificate can change. */
class PeerServerCredentials extends ServerCredentials {
  constructor(certificates: CertificateSource) {
    const context = contextOf(certificates.current);
    super({ requestCert: true, rejectUnauthorized: true, handshakeTimeout: HANDSHAKE_MS }, context);
    certificates.onChange((changed) => this.updateSecureContextOptions(contextOf(changed)));
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

/** Client credentials whose certificate can change. Those of grpc-js fail connections while files are being replaced. */
class PeerChannelCredentials extends ChannelCredentials {
  readonly #connector: PeerConnector;

  constructor(connector: PeerConnector) {
    super();
    this.#connector = connector;
  }

  _isSecure(): boolean {
    return true;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(): experimental.SecureConnector {
    return this.#connector;
  }
}

const REFUSED = 'it closed the connection after the handshake, as if it did not accept the certificate of this process';

class PeerConnector implements experimental.SecureConnector {
  /** Why the last connection was of no use; undefined after one that was. */
  failure: string | undefined;
  readonly #tls: PeerTls;
  readonly #host: string;

  constructor(tls: PeerTls, host: string) {
    this.#tls = tls;
    this.#host = host;
  }

  async connect(socket: Socket): Promise<experimental.SecureConnectResult> {
    const secure = connect({
      socket,
      ...contextOf(this.#tls.certificates.current),
      ALPNProtocols: ['h2'],
      // TLS allows no IP address as a server name. Servers of Almanac do not read it.
      servername: isIP(this.#host) === 0 ? this.#host : '',
      checkServerIdentity: (_, certificate) =>
        this.#tls.verifiesAddress ? checkServerIdentity(this.#host, certificate) : undefined,
    });
    secure.on('error', (error: Error) => (this.failure = failureText(error)));
    await handshake(secure);
    // With TLS 1.3 the handshake of a client ends before the server has checked its certificate.
    secure.once('close', () => (this.failure = secure.bytesRead === 0 ? REFUSED : undefined));
    return { socket: secure, secure: true };
  }

  waitForReady(): Promise<void> {
    return Promise.resolve();
  }

  getCallCredentials(): CallCredentials {
    return CallCredentials.createEmpty();
  }

  destroy(): void {
    // Nothing is kept between connections.
  }
}

function handshake(socket: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy(new Error(`no handshake within ${HANDSHAKE_MS} ms`)));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the peer closed the connection during the handshake')));
    socket.once('secureConnect', () => {
      socket.setTimeout(0);
      resolve();
    });
  });
}

/** Texts of OpenSSL name its source files; their reason is enough. */
function failureText(error: Error): string {
  const { code, reason } = error as { readonly code?: string; readonly reason?: string };
  return code === undefined ? error.message : `${(reason ?? error.message).trim()} (${code})`;
}

function contextOf({ cert, key, ca }: CertificateSet): SecureContextOptions {
  return { cert, key, ca, minVersion: TLS_VERSION_MIN };
}
