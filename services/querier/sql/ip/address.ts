import { isIPv4, isIPv6 } from 'node:net';

import { AlmanacError } from '#shared/errors/almanac-error';

/** An address as a number of 32 or 128 bits. */
export interface IpAddress {
  readonly value: bigint;
  readonly bits: 32 | 128;
}

/** Parses an IPv4 address. @throws `execute_query`. */
export function parseIpv4(text: string): IpAddress {
  if (!isIPv4(text)) throw invalid('IPv4 address', text);
  return { value: numberOf(text.split('.').map(Number), 8n), bits: 32 };
}

/** Parses an IPv6 address, also one that ends with an IPv4 address. @throws `execute_query`. */
export function parseIpv6(text: string): IpAddress {
  if (!isIPv6(text) || text.includes('%')) throw invalid('IPv6 address', text);
  const plain = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_whole, ...octets: string[]) => {
    const [a, b, c, d] = octets.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [head, tail] = plain.split('::').map((part) => (part === '' ? [] : part.split(':')));
  const groups = (tail as string[] | undefined) === undefined ? head : [...head, ...zeros(head, tail), ...tail];
  return {
    value: numberOf(
      groups.map((group) => parseInt(group, 16)),
      16n,
    ),
    bits: 128,
  };
}

function zeros(head: readonly string[], tail: readonly string[]): string[] {
  return new Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
}

function numberOf(parts: readonly number[], width: bigint): bigint {
  return parts.reduce((value, part) => (value << width) | BigInt(part), 0n);
}

/** Formats an address; IPv6 as RFC 5952 does. */
export function formatIp({ value, bits }: IpAddress): string {
  if (bits === 32) return partsOf(value, 4, 8n).join('.');
  const groups = partsOf(value, 8, 16n).map((part) => part.toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

function partsOf(value: bigint, count: number, width: bigint): number[] {
  return Array.from({ length: count }, (_, i) =>
    Number((value >> (width * BigInt(count - 1 - i))) & ((1n << width) - 1n)),
  );
}

/** Returns the first address of the network that an address belongs to. @param prefix number of its leading bits. */
export function networkOf({ value, bits }: IpAddress, prefix: number): IpAddress {
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > bits) {
    throw new AlmanacError('execute_query', `prefix length ${prefix} is not within 0 to ${bits}`);
  }
  const rest = BigInt(bits - prefix);
  return { value: (value >> rest) << rest, bits };
}

/** Returns whether an address belongs to a network such as `10.0.0.0/8`. @throws `execute_query`. */
export function isInNetwork(address: IpAddress, cidr: string): boolean {
  const match = /^([^/]+)\/(\d{1,3})$/.exec(cidr);
  if (match === null) throw invalid('network in CIDR notation', cidr);
  const network = address.bits === 32 ? parseIpv4(match[1]) : parseIpv6(match[1]);
  const prefix = Number(match[2]);
  return networkOf(address, prefix).value === networkOf(network, prefix).value;
}

/** Returns the prefix length that the zeros at the end of an address suggest, in steps of an octet or a group. */
export function guessedPrefix({ value, bits }: IpAddress): number {
  const width = bits === 32 ? 8 : 16;
  let prefix: number = bits;
  for (let rest = value; prefix > 0 && (rest & ((1n << BigInt(width)) - 1n)) === 0n; rest >>= BigInt(width)) {
    prefix -= width;
  }
  return prefix;
}

function invalid(what: string, text: string): AlmanacError {
  return new AlmanacError('execute_query', `'${text.slice(0, 60)}' is no ${what}`);
}
