/** Hashing of series keys: `npm run bench -- micro`. */
import { hash32, hash64 } from '#shared/bytes/hash64';

import { measure } from '../../measure.js';

const KEYS = 1_000;
const keys = Array.from({ length: KEYS }, (_, i) =>
  Buffer.from(`cpu,hostname=host_${i},region=eu-central-1,os=Ubuntu`),
);
const out = new Uint32Array(2);
await measure('hash64: keys of 50 bytes', 'keys', KEYS, () => {
  for (const key of keys) hash64(key, 0, key.length, out);
});
await measure('hash32: keys of 50 bytes', 'keys', KEYS, () => {
  let sum = 0;
  for (const key of keys) sum += hash32(key, 0, key.length);
  return sum;
});
