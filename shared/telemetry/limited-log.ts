import type { Clock } from '#shared/clock/clock';

import type { Logger, LogFields } from './log.js';

/** Writes at most one warning per interval, for what a stranger can cause as often as it likes. */
export class LimitedLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #nextMs = -Infinity;
  #omittedCount = 0;

  constructor(log: Logger, clock: Clock, intervalMs: number) {
    this.#log = log;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /** Writes a line with `omittedCount`, the number of lines left out since the last one; or leaves this one out. */
  warn(fields: LogFields, message: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#nextMs) {
      this.#omittedCount++;
      return;
    }
    this.#log.warn(this.#omittedCount === 0 ? fields : { ...fields, omittedCount: this.#omittedCount }, message);
    this.#omittedCount = 0;
    this.#nextMs = nowMs + this.#intervalMs;
  }
}
