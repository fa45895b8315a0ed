import type { Cell } from '#shared/duckdb/chunk-reader';
import type { RowFunction } from '#shared/duckdb/row-functions';
import { AlmanacError } from '#shared/errors/almanac-error';

import { formatIp, guessedPrefix, isInNetwork, networkOf, parseIpv4, parseIpv6, type IpAddress } from './address.js';

const cidr = (name: string, parse: (text: string) => IpAddress): RowFunction => ({
  name: `almanac_${name}`,
  parameters: ['text', 'int'],
  returns: 'text',
  compute: (text, prefix) => cidrOf(parse(text as string), Number(prefix)),
});

const inRange = (name: string, parse: (text: string) => IpAddress): RowFunction => ({
  name: `almanac_${name}`,
  parameters: ['text', 'text'],
  returns: 'bool',
  compute: (text, network) => isInNetwork(parse(text as string), network as string),
});

/** Functions of IP addresses. A negative prefix length is chosen by the zeros of the address. */
export const IP_ROW_FUNCTIONS: readonly RowFunction[] = [
  cidr('ipv4_to_cidr', parsePartialIpv4),
  cidr('ipv6_to_cidr', parseIpv6),
  inRange('ipv4_in_range', parseIpv4),
  inRange('ipv6_in_range', parseIpv6),
  {
    name: 'almanac_ipv4_num_to_string',
    parameters: ['int'],
    returns: 'text',
    compute: (value) => formatIp({ value: inBits(value as bigint, 32), bits: 32 }),
  },
  {
    name: 'almanac_ipv4_string_to_num',
    parameters: ['text'],
    returns: 'int',
    compute: (text) => parseIpv4(text as string).value,
  },
  {
    name: 'almanac_ipv6_num_to_string',
    parameters: ['text'],
    returns: 'text',
    compute: (hex) => formatIp({ value: numberOfHex(hex as string), bits: 128 }),
  },
  {
    name: 'almanac_ipv6_string_to_num',
    parameters: ['text'],
    returns: 'binary',
    compute: (text) =>
      Buffer.from(
        parseIpv6(text as string)
          .value.toString(16)
          .padStart(32, '0'),
        'hex',
      ),
  },
];

/** `192.168` is `192.168.0.0`. */
function parsePartialIpv4(text: string): IpAddress {
  const octets = text.split('.');
  while (octets.length < 4) octets.push('0');
  return parseIpv4(octets.join('.'));
}

function cidrOf(address: IpAddress, given: number): string {
  const prefix = given < 0 ? guessedPrefix(address) : given;
  return `${formatIp(networkOf(address, prefix))}/${prefix}`;
}

function inBits(value: Cell & bigint, bits: number): bigint {
  if (value >= 0n && value < 1n << BigInt(bits)) return value;
  throw new AlmanacError('execute_query', `${value} is no address of ${bits} bits`);
}

function numberOfHex(text: string): bigint {
  if (/^[0-9a-fA-F]{32}$/.test(text)) return BigInt(`0x${text}`);
  throw new AlmanacError('execute_query', `'${text.slice(0, 60)}' is no IPv6 address of 32 hexadecimal digits`);
}
