import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import { BoundedQueue, type AdmissionSlot } from '#shared/limits/bounded-queue';

/** Places for queries: so many run at once, so many wait, the rest are refused. */
export class Admission {
  readonly #queue: BoundedQueue;
  readonly #clock: Clock;

  constructor(options: { readonly concurrent: number; readonly queue: number; readonly clock: Clock }) {
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
   * Waits for a slot, then passes the items on; the place is held until the last was taken.
   *
   * @throws `rate_limited` if too many wait; what the call's signal aborted with while waiting.
   */
  async *hold<T>(call: Call, items: (slot: AdmissionSlot) => AsyncIterable<T>): AsyncIterable<T> {
    const { slot, leave } = await this.#enter(call);
    try {
      yield* items(slot);
    } finally {
      leave();
    }
  }

  /** Resolves, once there is a slot, with it and the way to give it back. */
  #enter(call: Call): Promise<{ readonly slot: AdmissionSlot; readonly leave: () => void }> {
    return new Promise((resolve, reject) => {
      const work = (slot: AdmissionSlot): Promise<void> => new Promise((done) => resolve({ slot, leave: done }));
      this.#queue
        .run(work, { signal: call.signal, waitMs: Math.max(call.deadlineMs - this.#clock.nowMs(), 0) })
        .catch(reject);
    });
  }
}
