import type { Clock } from './clock.js';

/** Other work gets this many times the duration of a slice, if there is any. */
const OTHERS_SHARE = 3;
/** A shorter round of the event loop had nothing to do. */
const IDLE_MS = 0.2;
/** Assumed duration of a slice that was resumed by something other than `yield`. */
const UNKNOWN_MS = 1;

/**
 * Wraps a clock so that `yield` leaves most of the thread to other work: all yielding callers together use a quarter of a
 * busy thread, and the whole of an idle one.
 */
export function pacedClock(clock: Clock): Clock {
  const pace = new Pace(clock);
  return {
    nowMs: () => clock.nowMs(),
    nowNs: () => clock.nowNs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, run) => clock.after(delayMs, run),
    sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
    yield: () => pace.yield(),
  };
}

class Pace {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #isResuming = false;
  /** When the running slice was resumed; undefined between slices. */
  #resumedMs: number | undefined;
  #owedMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  yield(): Promise<void> {
    const tookMs = this.#resumedMs === undefined ? UNKNOWN_MS : this.#clock.monotonicMs() - this.#resumedMs;
    this.#owedMs = Math.max(this.#owedMs, tookMs * OTHERS_SHARE);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isResuming) void this.#resumeAll();
    });
  }

  async #resumeAll(): Promise<void> {
    this.#isResuming = true;
    while (this.#waiting.length > 0) {
      await this.#yieldToOthers();
      this.#resumedMs = this.#clock.monotonicMs();
      // The slice runs before the next round of the event loop begins.
      this.#waiting.shift()?.();
      await this.#clock.yield();
      this.#resumedMs = undefined;
    }
    this.#isResuming = false;
  }

  /** Resolves when other work has had its share, or has nothing to do. */
  async #yieldToOthers(): Promise<void> {
    for (;;) {
      const beganMs = this.#clock.monotonicMs();
      await this.#clock.yield();
      const yieldedMs = this.#clock.monotonicMs() - beganMs;
      this.#owedMs -= yieldedMs;
      if (this.#owedMs <= 0 || yieldedMs < IDLE_MS) break;
    }
    this.#owedMs = 0;
  }
}
