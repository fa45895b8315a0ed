import { isIPv4, isIPv6 } from 'node:net';

const LENGTH_MAX = 64;

/** Returns an address as 4 or 16 bytes; undefined for any other text. An IPv4 address in an IPv6 one is IPv4. */
export function ipBytes(text: string): Uint8Array | undefined {
  if (text.length > LENGTH_MAX) return undefined;
  const zone = text.indexOf('%');
  const address = zone < 0 ? text : text.slice(0, zone);
  if (isIPv4(address)) return ipv4Bytes(address);
  if (!isIPv6(address)) return undefined;
  const bytes = ipv6Bytes(address);
  const isMapped = bytes[10] === 0xff && bytes[11] === 0xff && bytes.subarray(0, 10).every((byte) => byte === 0);
  return isMapped ? bytes.subarray(12) : bytes;
}

function ipv4Bytes(address: string): Uint8Array {
  return Uint8Array.from(address.split('.'), Number);
}

function ipv6Bytes(address: string): Uint8Array {
  const [front, back] = address.split('::').map(groupBytes);
  const bytes = new Uint8Array(16);
  bytes.set(front);
  if (back !== undefined) bytes.set(back, 16 - back.length);
  return bytes;
}

function groupBytes(groups: string): number[] {
  if (groups === '') return [];
  return groups.split(':').flatMap((group) => {
    if (group.includes('.')) return [...ipv4Bytes(group)];
    const value = parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
