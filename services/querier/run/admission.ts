import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import { BoundedQueue, type AdmissionSlot, type EnteredSlot } from '#shared/limits/bounded-queue';

/** Options of an `Admission`. */
export interface AdmissionOptions {
  readonly concurrent: number;
  readonly queue: number;
  readonly clock: Clock;
  readonly onFirst?: () => void;
}

/** Admission of queries: a number of them runs, a number waits, the rest are refused. */
export class Admission {
  readonly #queue: BoundedQueue;
  readonly #clock: Clock;

  /** Called before the first query. */
  #onFirst: (() => void) | undefined;

  constructor(options: AdmissionOptions) {
    this.#onFirst = options.onFirst;
    this.#queue = new BoundedQueue({
      name: 'queries',
      runningMax: options.concurrent,
      waitingMax: options.queue,
      clock: options.clock,
    });
    this.#clock = options.clock;
  }

  get runningCount(): number {
    return this.#queue.runningCount;
  }

  get waitingCount(): number {
    return this.#queue.waitingCount;
  }

  /**
   * Waits for a slot, then passes the items on; the slot is held until the last was consumed.
   *
   * @throws `rate_limited` if too many wait; the abort reason of the call's signal while waiting.
   */
  async *hold<T>(call: Call, items: (slot: AdmissionSlot) => AsyncIterable<T>): AsyncIterable<T> {
    const { slot, leave } = await this.enter(call);
    try {
      yield* items(slot);
    } finally {
      leave();
    }
  }

  /** Waits for a slot, which the caller must leave. @returns the slot, without a promise if it is free. @throws as `hold`. */
  enter(call: Call): EnteredSlot | Promise<EnteredSlot> {
    this.#onFirst?.();
    this.#onFirst = undefined;
    return this.#queue.enter({ signal: call.signal, waitMs: Math.max(call.deadlineMs - this.#clock.nowMs(), 0) });
  }
}
