import { isIP } from 'node:net';
import { checkServerIdentity, type SecureContextOptions } from 'node:tls';

import { credentials, experimental, ServerCredentials, type ChannelCredentials } from '@grpc/grpc-js';

import type { CertificateSet } from '#shared/tls/certificate';
import type { CertificateSource } from '#shared/tls/certificate-source';

import type { PeerTls } from './options.js';

/** Longest time for a handshake; the default of Node.js is two minutes. */
const HANDSHAKE_MS = 10_000;
const TLS_VERSION_MIN = 'TLSv1.2';

/** Returns the credentials of a server. New connections get the certificate that is current then. */
export function serverCredentials(tls: PeerTls | undefined): ServerCredentials {
  return tls === undefined ? ServerCredentials.createInsecure() : new WatchedServerCredentials(tls.certificates);
}

/** Server credentials of grpc-js cannot limit the time of a handshake. */
class WatchedServerCredentials extends ServerCredentials {
  constructor(certificates: CertificateSource) {
    super(
      { requestCert: true, rejectUnauthorized: true, handshakeTimeout: HANDSHAKE_MS },
      contextOf(certificates.current),
    );
    certificates.onChange((changed) => this.updateSecureContextOptions(contextOf(changed)));
  }

  _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

function contextOf({ cert, key, ca }: CertificateSet): SecureContextOptions {
  return { cert, key, ca, minVersion: TLS_VERSION_MIN };
}

/** Returns the credentials of a client. @param address `host:port` of the server. */
export function channelCredentials(tls: PeerTls | undefined, address: string): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const provider = new CertificateProvider(tls.certificates);
  const host = hostOf(address);
  return experimental.createCertificateProviderChannelCredentials(provider, provider, {
    checkServerIdentity: (_, certificate) =>
      tls.verifiesAddress ? checkServerIdentity(host, certificate) : undefined,
  });
}

/** Returns the name of the server in the handshake; undefined: that of its address, unless that is an IP address. */
export function serverNameOf(tls: PeerTls | undefined, address: string): string | undefined {
  // TLS allows no IP address as a server name. Servers of Almanac do not read it.
  return tls !== undefined && isIP(hostOf(address)) !== 0 ? 'almanac' : undefined;
}

function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '');
}

type CaListener = experimental.CaCertificateUpdateListener;
type IdentityListener = experimental.IdentityCertificateUpdateListener;

/** Adapts a `CertificateSource` to grpc-js, whose own watcher fails connections while files are being replaced. */
class CertificateProvider implements experimental.CertificateProvider {
  readonly #certificates: CertificateSource;
  readonly #ends = new Map<CaListener | IdentityListener, () => void>();

  constructor(certificates: CertificateSource) {
    this.#certificates = certificates;
  }

  addCaCertificateListener(listener: CaListener): void {
    this.#add(listener, ({ ca = '' }) => listener({ caCertificate: Buffer.from(ca) }));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.#remove(listener);
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.#add(listener, ({ cert, key }) => listener({ certificate: Buffer.from(cert), privateKey: Buffer.from(key) }));
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.#remove(listener);
  }

  #add(listener: CaListener | IdentityListener, notify: (certificates: CertificateSet) => void): void {
    this.#ends.set(listener, this.#certificates.onChange(notify));
    notify(this.#certificates.current);
  }

  #remove(listener: CaListener | IdentityListener): void {
    this.#ends.get(listener)?.();
    this.#ends.delete(listener);
  }
}
