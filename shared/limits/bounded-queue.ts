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

interface WaitLimits {
  readonly signal?: AbortSignal;
  readonly waitMs: number;
}

/** A place among what runs. */
export interface AdmissionSlot {
  /** Waits for others in `work`: if that takes long, the place is given away meanwhile, and taken again before it ends. */
  releaseWhile<T>(work: () => Promise<T>): Promise<T>;
}

/** Of work that nobody counts. */
export const UNCOUNTED_SLOT: AdmissionSlot = { releaseWhile: (work) => work() };

/** Waits that are shorter keep their slot: most are, and giving it away would only cost. */
const RELEASE_AFTER_MS = 100;

/** Runs at most so many pieces of work at once and lets at most so many wait, in order. */
export class BoundedQueue {
  readonly #options: BoundedQueueOptions;
  readonly #waiters: Waiters;
  #runningCount = 0;
  /** Pieces of work that gave their place away and do not want it again yet. */
  #releasedCount = 0;

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
   * Waits for a free slot, then runs `work` in it.
   *
   * @param signal ends the wait; once the work runs, ending it is the work's own affair.
   * @throws `rate_limited` if too many wait already, for a place or aside.
   * @throws `deadline_exceeded` if no place became free within `waitMs`.
   * @throws `cancelled` if the signal aborted while waiting.
   */
  async run<T>(work: (slot: AdmissionSlot) => Promise<T>, wait: WaitLimits): Promise<T> {
    const { signal, waitMs } = wait;
    const { clock, waitingMax } = this.#options;
    const untilMs = clock.monotonicMs() + waitMs;
    if (signal?.aborted === true) throw abortError(signal);
    const take = (): boolean => this.#take();
    if (this.#waiters.count > 0 || !take()) {
      if (this.#waiters.count + this.#releasedCount >= waitingMax) throw this.#full();
      await this.#waiters.wait(take, { signal, waitMs, onTimeout: () => this.#late(waitMs) });
    }
    let isHeld = true;
    const leave = (): boolean => {
      if (!isHeld) return false;
      isHeld = false;
      this.#runningCount--;
      this.#waiters.wakeFirst();
      return true;
    };
    const takeAgain = async (): Promise<void> => {
      if (!take()) {
        const leftMs = Math.max(0, untilMs - clock.monotonicMs());
        const onTimeout = (): AlmanacError => this.#late(waitMs);
        await this.#waiters.wait(take, { signal, waitMs: leftMs, onTimeout, isFirst: true });
      }
      isHeld = true;
    };
    let coming: Promise<void> | undefined;
    // Two waits of one piece of work may end at once: it needs one slot.
    const comeBack = async (): Promise<void> => {
      if (isHeld) return;
      coming ??= takeAgain().finally(() => (coming = undefined));
      await coming;
    };
    try {
      return await work({ releaseWhile: (other) => this.#releaseWhile(other, leave, comeBack) });
    } finally {
      leave();
    }
  }

  async #releaseWhile<T>(work: () => Promise<T>, leave: () => boolean, comeBack: () => Promise<void>): Promise<T> {
    let isReleased = false;
    const { clock, waitingMax } = this.#options;
    const timer = clock.after(RELEASE_AFTER_MS, () => {
      // Each holds memory: beyond that it keeps its slot, and those behind wait or are refused.
      if (this.#releasedCount >= waitingMax) return;
      isReleased = leave();
      if (isReleased) this.#releasedCount++;
    });
    let result: T;
    try {
      result = await work();
    } finally {
      timer.cancel();
      // From here on it counts among those that wait.
      if (isReleased) this.#releasedCount--;
    }
    await comeBack();
    return result;
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
