import { randomBytes } from 'node:crypto';

/** Source of randomness as a parameter, so that a simulation can repeat a run from its seed. */
export interface Random {
  /** Uniform in [0, 1). */
  fraction(): number;
  /** `length` random bytes, owned by the caller. */
  bytes(length: number): Uint8Array;
}

/** Cryptographically strong bytes and `Math.random`. */
export const systemRandom: Random = {
  fraction: () => Math.random(),
  bytes: (length) => new Uint8Array(randomBytes(length)),
};
