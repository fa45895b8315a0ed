import { X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';

import { Option } from 'commander';

import { localAddress } from '#shared/config/address';
import type { Config } from '#shared/config/schema';
import { readTextFile } from '#shared/fs/text-file';

import { CommandFailure, EXIT } from './command.js';

/** What the certificate of a server is checked against. */
export type ServerTrust = Pick<
  ConnectionOptions,
  'ca' | 'allowPartialTrustChain' | 'checkServerIdentity' | 'rejectUnauthorized'
>;

/** A server that a command calls over HTTP. */
export interface ServerTarget {
  /** Without a slash at the end. */
  readonly url: string;
  readonly trust: ServerTrust;
}

/** Returns the option that names the CA of servers. */
export function caCertOption(): Option {
  return new Option(
    '--ca-cert <file>',
    'PEM file with the CAs that the certificate of an https server is checked against (default: those of Node.js)',
  ).env('ALMANAC_CA_CERT');
}

/**
 * Returns the server that a user names.
 *
 * @param host a URL; without a scheme, as in `127.0.0.1:4000`, it is http.
 * @param caCert file of CAs that are trusted instead of those of Node.js.
 * @throws `CommandFailure` with the usage exit code if the URL or the file is invalid.
 */
export function namedServer(host: string, caCert: string | undefined): ServerTarget {
  const url = /^https?:\/\//.test(host) ? host : `http://${host}`;
  if (!URL.canParse(url)) throw new CommandFailure(EXIT.usage, `error: "${host}" is not a server URL`);
  return { url: url.replace(/\/+$/, ''), trust: caCert === undefined ? {} : { ca: readCertificates(caCert) } };
}

/**
 * Returns the server of a configuration, which runs on this machine. With TLS the certificate of the configuration is
 * trusted, although it hardly names a loopback address.
 *
 * @throws `CommandFailure` with the usage exit code if the certificate cannot be read.
 */
export function ownServer(config: Config): ServerTarget {
  const { http, 'http.tls': tls } = config;
  const address = localAddress(http.addr);
  if (tls.mode === 'disable') return { url: `http://${address}`, trust: {} };
  // Without the intermediate ones of the file: they may have signed certificates of others.
  const ca = new X509Certificate(readCertificates(tls.certPath)).toString();
  return {
    url: `https://${address}`,
    trust: { ca, allowPartialTrustChain: true, checkServerIdentity: () => undefined },
  };
}

/**
 * Returns the server of a configuration for a probe, which sends no secrets: any certificate will do, because that of the
 * file may be newer than that of the server.
 */
export function probedServer(config: Config): ServerTarget {
  const scheme = config['http.tls'].mode === 'disable' ? 'http' : 'https';
  return { url: `${scheme}://${localAddress(config.http.addr)}`, trust: { rejectUnauthorized: false } };
}

function readCertificates(file: string): string {
  const text = readTextFile(file);
  if (text === undefined) throw new CommandFailure(EXIT.usage, `error: there is no file "${file}"`);
  try {
    new X509Certificate(text);
  } catch (cause) {
    throw new CommandFailure(EXIT.usage, `error: the file "${file}" has no certificate in PEM form`, { cause });
  }
  return text;
}
