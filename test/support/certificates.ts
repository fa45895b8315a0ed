import { execFileSync } from 'node:child_process';
import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import type { PeerTls } from '#shared/grpc/options';
import { Metrics } from '#shared/telemetry/metrics';
import { CertificateSource } from '#shared/tls/certificate-source';

import { KeptLog } from './quiet-log.js';

/** Paths of a certificate and its private key. */
export interface KeyPairFiles {
  readonly cert: string;
  readonly key: string;
}

/** What a process needs for mutual TLS. */
export interface PeerFiles {
  readonly pair: KeyPairFiles;
  readonly caCert: string;
}

export interface IssueOptions {
  /** Names of the server, as OpenSSL writes them. */
  readonly names?: string;
  /** Days until the certificate expires; negative: it has expired. */
  readonly days?: number;
}

const LOCAL_NAMES = 'DNS:localhost,IP:127.0.0.1';
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** A CA that issues certificates by OpenSSL, into files of a folder. */
export class TestCa {
  readonly cert: string;
  readonly #folder: string;
  readonly #key: string;

  constructor(folder: string, name = 'ca') {
    this.#folder = folder;
    this.cert = join(folder, `${name}.crt`);
    this.#key = join(folder, `${name}.key`);
    openssl('req', '-x509', ...NEW_KEY, '-days', '2', '-subj', `/CN=${name}`, '-keyout', this.#key, '-out', this.cert);
  }

  /** Writes NAME.crt and NAME.key. */
  issue(name: string, { names = LOCAL_NAMES, days = 2 }: IssueOptions = {}): KeyPairFiles {
    const [cert = '', key = '', request = ''] = ['crt', 'key', 'csr'].map((end) =>
      join(this.#folder, `${name}.${end}`),
    );
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`];
    openssl('req', ...NEW_KEY, ...subject, '-keyout', key, '-out', request);
    const signer = ['-CA', this.cert, '-CAkey', this.#key, '-copy_extensions', 'copy', '-days', `${days}`];
    openssl('x509', '-req', '-in', request, ...signer, '-out', cert);
    return { cert, key };
  }
}

/** TLS of a client in this process. */
export function peerTls({ pair, caCert }: PeerFiles, verifiesAddress = false): PeerTls {
  const paths = { certPath: pair.cert, keyPath: pair.key, caCertPath: caCert };
  const deps = { clock: systemClock, log: new KeptLog(), metrics: new Metrics({ unprefixedProcess: false }) };
  return { certificates: new CertificateSource('grpc.tls', { ...paths, watch: false }, deps), verifiesAddress };
}

/** Configuration of mutual TLS between processes. */
export function peerTlsEnvironment({ pair, caCert }: PeerFiles, mode = 'verify-full'): Record<string, string> {
  return {
    ALMANAC_GRPC__TLS__MODE: mode,
    ALMANAC_GRPC__TLS__CERT_PATH: pair.cert,
    ALMANAC_GRPC__TLS__KEY_PATH: pair.key,
    ALMANAC_GRPC__TLS__CA_CERT_PATH: caCert,
  };
}

/** Replaces a file by a copy of another, as programs that renew certificates do. */
export function replaceByCopy(path: string, source: string): void {
  copyFileSync(source, `${path}.new`);
  renameSync(`${path}.new`, path);
}

/** Replaces both files of a pair. */
export function replacePair(pair: KeyPairFiles, source: KeyPairFiles): void {
  replaceByCopy(pair.cert, source.cert);
  replaceByCopy(pair.key, source.key);
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
