import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

import { abortError, Waiters } from './waiters.js';

/** Limits of a `BoundedQueue`. */
export interface BoundedQueueOptions {
  /** Name in error messages: `queries`. */
  readonly name: string;
  readonly runningMax: number;
  readonly waitingMax: number;
  readonly clock: Clock;
}

interface WaitLimits {
  readonly signal?: AbortSignal;
  readonly waitMs: number;
}

/** Permission to run, held by one unit of work of a `BoundedQueue`. */
export interface AdmissionSlot {
  /** Runs `work`, which waits for other processes; a wait of more than 100 ms releases the slot and reacquires it afterwards. */
  releaseWhile<T>(work: () => Promise<T>): Promise<T>;
}

/** A slot and the function that leaves it. */
export interface EnteredSlot {
  readonly slot: AdmissionSlot;
  readonly leave: () => void;
}

/** The slot of work that no queue counts. */
export const UNCOUNTED_SLOT: AdmissionSlot = { releaseWhile: (work) => work() };

/** Shorter waits keep their slot: most waits are short, and reacquiring costs. */
const RELEASE_AFTER_MS = 100;

/** Runs at most `runningMax` units of work at once and lets at most `waitingMax` others wait, in order. */
export class BoundedQueue {
  readonly #options: BoundedQueueOptions;
  readonly #waiters: Waiters;
  #runningCount = 0;
  /** Units of work that released their slot and have not requested it again. */
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

  /** Waits for a free slot, then runs `work` in it; running work must observe the signal itself. @throws as `enter`. */
  async run<T>(work: (slot: AdmissionSlot) => Promise<T>, wait: WaitLimits): Promise<T> {
    const { slot, leave } = await this.enter(wait);
    try {
      return await work(slot);
    } finally {
      leave();
    }
  }

  /**
   * Waits for a free slot, which the caller must leave.
   *
   * @param signal ends the wait.
   * @returns the slot, without a promise if it is free.
   * @throws `rate_limited` if `waitingMax` others wait already, or have released their slot.
   * @throws `deadline_exceeded` if no slot became free within `waitMs`.
   * @throws `cancelled` if the signal aborted while waiting.
   */
  enter(wait: WaitLimits): EnteredSlot | Promise<EnteredSlot> {
    const { signal, waitMs } = wait;
    const { clock, waitingMax } = this.#options;
    const untilMs = clock.monotonicMs() + waitMs;
    if (signal?.aborted === true) throw abortError(signal);
    if (this.#waiters.count === 0 && this.#take()) return this.#entered(wait, untilMs);
    if (this.#waiters.count + this.#releasedCount >= waitingMax) throw this.#full();
    const limits = { signal, waitMs, onTimeout: () => this.#late(waitMs) };
    return this.#waiters.wait(() => this.#take(), limits).then(() => this.#entered(wait, untilMs));
  }

  #entered({ signal, waitMs }: WaitLimits, untilMs: number): EnteredSlot {
    const { clock } = this.#options;
    const take = (): boolean => this.#take();
    let isHeld = true;
    const leave = (): boolean => {
      if (!isHeld) return false;
      isHeld = false;
      this.#runningCount--;
      this.#waiters.wakeFirst();
      return true;
    };
    const reacquire = async (): Promise<void> => {
      if (!take()) {
        const leftMs = Math.max(0, untilMs - clock.monotonicMs());
        const onTimeout = (): AlmanacError => this.#late(waitMs);
        await this.#waiters.wait(take, { signal, waitMs: leftMs, onTimeout, isFirst: true });
      }
      isHeld = true;
    };
    let reacquiring: Promise<void> | undefined;
    // Two waits of the same work may end at once, and need one slot together.
    const comeBack = async (): Promise<void> => {
      if (isHeld) return;
      reacquiring ??= reacquire().finally(() => (reacquiring = undefined));
      await reacquiring;
    };
    return { slot: { releaseWhile: (other) => this.#releaseWhile(other, leave, comeBack) }, leave };
  }

  async #releaseWhile<T>(work: () => Promise<T>, leave: () => boolean, comeBack: () => Promise<void>): Promise<T> {
    let isReleased = false;
    const { clock, waitingMax } = this.#options;
    const timer = clock.after(RELEASE_AFTER_MS, () => {
      // Released work still holds memory: beyond the limit it keeps its slot, and others wait or are refused.
      if (this.#releasedCount >= waitingMax) return;
      isReleased = leave();
      if (isReleased) this.#releasedCount++;
    });
    let result: T;
    try {
      result = await work();
    } finally {
      timer.cancel();
      // From here on `Waiters` counts it.
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
      `none of the ${this.#options.runningMax} running ${this.#options.name} finished within ${waitMs} ms`,
    );
  }
}
