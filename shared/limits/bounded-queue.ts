import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

import { abortError, Waiters } from './waiters.js';

export interface BoundedQueueOptions {
  /** For messages: `queries`. */
  readonly name: string;
  readonly runningMax: number;
  readonly waitingMax: number;
  readonly clock: Clock;
}

/** Runs at most so many pieces of work at once and lets at most so many wait, in order. */
export class BoundedQueue {
  readonly #options: BoundedQueueOptions;
  readonly #waiters: Waiters;
  #runningCount = 0;

  constructor(options: BoundedQueueOptions) {
    this.#options = options;
    this.#waiters = new Waiters(options.clock);
  }

  get runningCount(): number {
    return this.#runningCount;
  }

  get waitingCount(): number {
    return this.#waiters.count;
  }

  /**
   * Waits for a free place, then runs `work` in it.
   *
   * @param signal ends the wait; once the work runs, ending it is the work's own affair.
   * @throws `rate_limited` if too many wait already.
   * @throws `deadline_exceeded` if no place became free within `waitMs`.
   * @throws `cancelled` if the signal aborted while waiting.
   */
  async run<T>(work: () => Promise<T>, wait: { readonly signal?: AbortSignal; readonly waitMs: number }): Promise<T> {
    const { signal, waitMs } = wait;
    if (signal?.aborted === true) throw abortError(signal);
    const take = (): boolean => this.#take();
    if (this.#waiters.count > 0 || !take()) {
      if (this.#waiters.count >= this.#options.waitingMax) throw this.#full();
      await this.#waiters.wait(take, { signal, waitMs, onTimeout: () => this.#late(waitMs) });
    }
    try {
      return await work();
    } finally {
      this.#runningCount--;
      this.#waiters.wakeFirst();
    }
  }

  #take(): boolean {
    if (this.#runningCount >= this.#options.runningMax) return false;
    this.#runningCount++;
    return true;
  }

  #full(): AlmanacError {
    const { name, runningMax, waitingMax } = this.#options;
    const text = `too many ${name}: ${runningMax} are running and ${waitingMax} are waiting`;
    return new AlmanacError('rate_limited', text, { retryAfterSeconds: 1 });
  }

  #late(waitMs: number): AlmanacError {
    return new AlmanacError(
      'deadline_exceeded',
      `no place among the running ${this.#options.name} became free in ${waitMs} ms`,
    );
  }
}
