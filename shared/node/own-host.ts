import { lookup } from 'node:dns/promises';
import { connect, isIPv6 } from 'node:net';
import { hostname } from 'node:os';

import { AlmanacError } from '#shared/errors/almanac-error';

const CONNECT_MS_MAX = 2_000;
const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

/** A process of the cluster that helps to find out how this machine is reached. */
export interface Neighbour {
  /** `host:port` of a process that every other process of the cluster can reach as well. */
  readonly addr: string;
  /** Whether the listener is IPv4 only, so that an IPv6 address is of no use. */
  readonly isIpv4Only: boolean;
}

/**
 * Returns the host by which other processes reach this machine: the local address of a connection to a neighbour. A host
 * name would have to be known to a name service, and those of containers often are not.
 *
 * A neighbour on the same machine yields a loopback address, which is useless elsewhere: then the host name is returned.
 *
 * @throws `external` while the neighbour cannot be reached.
 */
export async function ownHost({ addr, isIpv4Only }: Neighbour): Promise<string> {
  const local = await localAddressTowards(addr);
  if (LOOPBACK.test(local)) return (await isKnown(hostname())) ? hostname() : inUrl(local);
  return isIpv4Only && isIPv6(local) ? hostname() : inUrl(local);
}

function localAddressTowards(addr: string): Promise<string> {
  const colon = addr.lastIndexOf(':');
  const host = addr.slice(0, colon).replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(addr.slice(colon + 1)), timeout: CONNECT_MS_MAX });
  return new Promise<string>((resolve, reject) => {
    const fail = (reason: string): void =>
      reject(new AlmanacError('external', `no connection to ${addr}: ${reason}`, { retryAfterSeconds: 1 }));
    socket.once('error', (error) => fail(error.message));
    socket.once('timeout', () => fail(`none within ${CONNECT_MS_MAX} ms`));
    socket.once('connect', () => resolve(socket.localAddress ?? ''));
  }).finally(() => socket.destroy());
}

async function isKnown(name: string): Promise<boolean> {
  return lookup(name).then(
    () => true,
    () => false,
  );
}

function inUrl(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}
