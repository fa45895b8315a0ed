import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { LRUCache } from 'lru-cache';

/** Addresses that are remembered. */
const ADDRESSES_MAX = 10_000;
/** Failures of an address that cost it nothing. */
const FREE_FAILURES = 3;
const FIRST_DELAY_MS = 100;
const DELAY_MS_MAX = 5_000;
/** Time until failures count no more. */
const FORGET_MS = 15 * 60_000;
/** Checks of one address at once, delays included; more get 429. */
const PENDING_MAX = 8;

interface Address {
  failures: number;
  pending: number;
}

/** Slows down addresses that try wrong passwords: each failure doubles the time until the reply. */
export class Attempts {
  readonly #clock: Clock;
  readonly #addresses: LRUCache<string, Address>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#addresses = new LRUCache({ max: ADDRESSES_MAX, ttl: FORGET_MS, perf: { now: () => clock.monotonicMs() } });
  }

  /**
   * Runs a check for an address, and delays its failure.
   *
   * @throws `rate_limited` if the address has too many checks running; the error of the check.
   */
  async run<T>(address: string, check: () => Promise<T>): Promise<T> {
    const known = this.#addresses.get(address) ?? { failures: 0, pending: 0 };
    if (known.pending >= PENDING_MAX) {
      throw new AlmanacError('rate_limited', 'too many requests with other credentials at once', {
        retryAfterSeconds: 1,
      });
    }
    known.pending++;
    this.#addresses.set(address, known);
    try {
      // A success resets nothing: a user of its own must not buy an address more guesses.
      return await check();
    } catch (error) {
      // A check that could not run is no guess.
      if (AlmanacError.from(error).httpStatus !== 401) throw error;
      known.failures++;
      const delays = known.failures - FREE_FAILURES;
      if (delays > 0) await this.#clock.sleep(Math.min(DELAY_MS_MAX, FIRST_DELAY_MS * 2 ** (delays - 1)));
      throw error;
    } finally {
      known.pending--;
    }
  }
}
