import { AlmanacError } from '#shared/errors/almanac-error';

/** Limits the number of tails of a process. */
export class TailSlots {
  readonly #max: number;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a slot. Returns the function that frees it. @throws `rate_limited` if there is none. */
  take(): () => void {
    if (this.#count >= this.#max) {
      throw new AlmanacError('rate_limited', `too many tails at once: loki_query.max_tails is ${this.#max}`, {
        retryAfterSeconds: 5,
      });
    }
    this.#count++;
    let isFree = false;
    return () => {
      if (!isFree) this.#count--;
      isFree = true;
    };
  }
}
