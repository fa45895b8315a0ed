import { LRUCache } from 'lru-cache';

import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

/** Time over which requests are averaged. */
const WINDOW_SECONDS = 10;
/** Users that are remembered. */
const USERS_MAX = 10_000;

interface Allowance {
  /** Requests that the user may still send at once. */
  left: number;
  atMs: number;
}

/** Limits the requests of each user: as many as come in ten seconds at once, then as many a second as are allowed. */
export class RequestRates {
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #users = new LRUCache<string, Allowance>({ max: USERS_MAX });

  /** @param perSecond 0: no limit. */
  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Counts a request. @throws `rate_limited`. */
  take(user: string): void {
    if (this.#perSecond === 0) return;
    const nowMs = this.#clock.monotonicMs();
    const most = this.#perSecond * WINDOW_SECONDS;
    const known = this.#users.get(user) ?? { left: most, atMs: nowMs };
    known.left = Math.min(most, known.left + ((nowMs - known.atMs) / 1000) * this.#perSecond);
    known.atMs = nowMs;
    this.#users.set(user, known);
    if (known.left < 1) {
      const text = `user "${user}" sends more than ${this.#perSecond} requests a second (limits.user_requests_per_second)`;
      const retryAfterSeconds = Math.ceil((1 - known.left) / this.#perSecond);
      throw new AlmanacError('rate_limited', text, { retryAfterSeconds });
    }
    known.left--;
  }
}
