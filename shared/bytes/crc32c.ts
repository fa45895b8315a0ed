import { crc32c as native } from '@node-rs/crc32';

/** CRC32C (Castagnoli, RFC 3720) of `bytes`; `seed` is the checksum of what came before. */
export function crc32c(bytes: Uint8Array, seed = 0): number {
  return native(bytes, seed);
}
