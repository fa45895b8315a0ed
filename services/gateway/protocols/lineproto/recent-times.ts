import { DIGIT_0 } from '#shared/bytes/ascii';

import { NanosecondTime, type Precision } from './timestamp.js';

/** Different timestamps that alternate in one body: current ones and those of late rows. */
const TIMES_MAX = 4;

/** A timestamp, and its position in the body. */
export class RecentTime extends NanosecondTime {
  from = 0;
  /** Zero if there is none. */
  length = 0;
}

/** The last timestamps of a body: one that repeats is found by comparing its bytes. */
export class RecentTimes {
  /** The timestamp that was found or read last. */
  latest: RecentTime;
  readonly #bytes: Uint8Array;
  readonly #precision: Precision;
  readonly #times: readonly RecentTime[] = Array.from({ length: TIMES_MAX }, () => new RecentTime());
  /** Index of the timestamp that is replaced next. */
  #oldest = 0;

  constructor(bytes: Uint8Array, precision: Precision) {
    this.#bytes = bytes;
    this.#precision = precision;
    this.latest = this.#times[0];
  }

  /** Finds the timestamp at `at`, whose digits end before `limit`, and makes it `latest`. */
  find(at: number, limit: number): boolean {
    if (this.#isAt(this.latest, at, limit)) return true;
    for (const time of this.#times) {
      if (time === this.latest || !this.#isAt(time, at, limit)) continue;
      this.latest = time;
      return true;
    }
    return false;
  }

  /** Reads the timestamp `[from, to)` into `latest`. @returns the reason if it is not valid, else an empty text. */
  read(from: number, to: number): string {
    const time = this.#times[this.#oldest];
    this.#oldest = (this.#oldest + 1) % TIMES_MAX;
    const reason = time.parse(this.#bytes, from, to, this.#precision);
    time.from = from;
    time.length = reason === '' ? to - from : 0;
    this.latest = time;
    return reason;
  }

  /** Compares from the end, where timestamps differ most. */
  #isAt({ from, length }: RecentTime, at: number, limit: number): boolean {
    const bytes = this.#bytes;
    const end = at + length;
    if (length === 0 || end >= limit || (bytes[end] ^ DIGIT_0) <= 9) return false;
    for (let i = length - 1; i >= 0; i--) if (bytes[at + i] !== bytes[from + i]) return false;
    return true;
  }
}
