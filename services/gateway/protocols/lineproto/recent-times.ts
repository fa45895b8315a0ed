import { DIGIT_0 } from '#shared/bytes/ascii';

import { NanosecondTime, type Precision } from './timestamp.js';

/** In one body rows of now stand beside some that come late: few times, in turns. */
const TIMES_MAX = 4;

/** A timestamp, and where in the body it was read first. */
export class RecentTime extends NanosecondTime {
  from = 0;
  /** Zero if it is none. */
  length = 0;
}

/** The timestamps of a body that were read last: one that comes again is found by comparing its bytes. */
export class RecentTimes {
  /** The one that was found or read last. */
  latest: RecentTime;
  readonly #bytes: Uint8Array;
  readonly #precision: Precision;
  readonly #times: readonly RecentTime[] = Array.from({ length: TIMES_MAX }, () => new RecentTime());
  /** The place of the one that gives way next. */
  #oldest = 0;

  constructor(bytes: Uint8Array, precision: Precision) {
    this.#bytes = bytes;
    this.#precision = precision;
    this.latest = this.#times[0];
  }

  /** Finds the timestamp at `at`, whose digits all stand before `limit`; it is `latest` then. */
  find(at: number, limit: number): boolean {
    if (this.#isAt(this.latest, at, limit)) return true;
    for (const time of this.#times) {
      if (time === this.latest || !this.#isAt(time, at, limit)) continue;
      this.latest = time;
      return true;
    }
    return false;
  }

  /** Reads the timestamp `[from, to)` into `latest`. @returns the reason why it is none, empty if it is one. */
  read(from: number, to: number): string {
    const time = this.#times[this.#oldest];
    this.#oldest = (this.#oldest + 1) % TIMES_MAX;
    const reason = time.parse(this.#bytes, from, to, this.#precision);
    time.from = from;
    time.length = reason === '' ? to - from : 0;
    this.latest = time;
    return reason;
  }

  /** From the end, where timestamps differ. */
  #isAt({ from, length }: RecentTime, at: number, limit: number): boolean {
    const bytes = this.#bytes;
    const end = at + length;
    if (length === 0 || end >= limit || (bytes[end] ^ DIGIT_0) <= 9) return false;
    for (let i = length - 1; i >= 0; i--) if (bytes[at + i] !== bytes[from + i]) return false;
    return true;
  }
}
