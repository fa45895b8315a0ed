import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

import { AlmanacError } from '#shared/errors/almanac-error';
import { readTextFile } from '#shared/fs/text-file';

/** The files of a section such as `[http.tls]`. */
export interface CertificatePaths {
  readonly certPath: string;
  readonly keyPath: string;
  /** Undefined: peers need no certificate. */
  readonly caCertPath?: string;
}

/** A certificate, its private key and the certificates of CAs, checked and as PEM. */
export interface CertificateSet {
  /** The certificate, followed by intermediate ones. */
  readonly cert: string;
  readonly key: string;
  /** Undefined: peers need no certificate. */
  readonly ca: string | undefined;
  /** Subject of the certificate on one line: `CN=almanac.example.org, O=Example`. */
  readonly subject: string;
  /** Milliseconds since 1970. */
  readonly notBeforeMs: number;
  /** Milliseconds since 1970. */
  readonly notAfterMs: number;
}

/**
 * Reads and checks the files.
 *
 * @param section name of the configuration section, for messages.
 * @throws `invalid_arguments` if a file is missing, unreadable or malformed, or if the key is not that of the certificate.
 */
export function readCertificateSet(section: string, paths: CertificatePaths): CertificateSet {
  const { certPath, keyPath, caCertPath } = paths;
  const cert = readPem(`${section}.cert_path`, certPath);
  const key = readPem(`${section}.key_path`, keyPath);
  const [certificate] = parseCertificates(`${section}.cert_path`, certPath, cert);
  if (!certificate.checkPrivateKey(parseKey(`${section}.key_path`, keyPath, key))) {
    throw invalid(`${section}.key_path`, keyPath, `is not the private key of the certificate "${certPath}"`);
  }
  // The TLS library may refuse a key that is too weak.
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    throw invalid(`${section}.cert_path`, certPath, `cannot be used: ${(cause as Error).message}`, cause);
  }
  return {
    cert,
    key,
    ca: caCertPath === undefined ? undefined : readCas(`${section}.ca_cert_path`, caCertPath),
    subject: certificate.subject.trim().replaceAll('\n', ', '),
    notBeforeMs: Date.parse(certificate.validFrom),
    notAfterMs: Date.parse(certificate.validTo),
  };
}

function readCas(name: string, path: string): string {
  const ca = readPem(name, path);
  parseCertificates(name, path, ca);
  return ca;
}

function readPem(name: string, path: string): string {
  let text: string | undefined;
  try {
    text = readTextFile(path);
  } catch (cause) {
    throw invalid(name, path, `cannot be read: ${AlmanacError.from(cause).message}`, cause);
  }
  if (text === undefined) throw invalid(name, path, 'does not exist');
  if (!text.includes('-----BEGIN ')) throw invalid(name, path, 'is not a PEM file: it has no line "-----BEGIN .."');
  return text;
}

const CERTIFICATE = /^-----BEGIN (TRUSTED )?CERTIFICATE-----/;

/** Parses all certificates: the TLS library ignores malformed ones after the first, as a file has that is being written. */
function parseCertificates(name: string, path: string, pem: string): [X509Certificate, ...X509Certificate[]] {
  // Text before a certificate and other PEM blocks, such as the key in a combined file, are skipped.
  const blocks = pem.split(/(?=-----BEGIN )/).filter((block) => CERTIFICATE.test(block));
  const certificates = blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw invalid(name, path, `has no valid certificate at position ${index + 1}`, cause);
    }
  });
  const [first, ...others] = certificates;
  if (first === undefined) throw invalid(name, path, 'has no certificate');
  return [first, ...others];
}

function parseKey(name: string, path: string, pem: string): ReturnType<typeof createPrivateKey> {
  if (pem.includes('ENCRYPTED')) throw invalid(name, path, 'is encrypted: write it without a passphrase');
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw invalid(name, path, 'has no valid private key', cause);
  }
}

function invalid(name: string, path: string, problem: string, cause?: unknown): AlmanacError {
  return new AlmanacError('invalid_arguments', `${name}: the file "${path}" ${problem}`, { cause });
}
