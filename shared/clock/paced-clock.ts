import type { Clock } from './clock.js';

/** Others get so many times what a slice of work took, if they have something to do. */
const OTHERS_SHARE = 2;
/** A round of the event loop that takes less had nothing to do. */
const IDLE_MS = 0.2;
/** What a slice counts for whose length is not known: its work was resumed by something else than its turn. */
const UNKNOWN_MS = 1;

/**
 * The same clock, whose `turn` leaves most of the thread to others: what goes on in slices, all callers together,
 * takes a third of a busy thread, and all of one that has nothing else to do.
 */
export function pacedClock(clock: Clock): Clock {
  const pace = new Pace(clock);
  return {
    nowMs: () => clock.nowMs(),
    nowNs: () => clock.nowNs(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, run) => clock.after(delayMs, run),
    sleep: (delayMs, signal) => clock.sleep(delayMs, signal),
    yield: () => pace.turn(),
  };
}

class Pace {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #isResuming = false;
  /** While the work goes on that was resumed last. */
  #resumedMs: number | undefined;
  #owedMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  turn(): Promise<void> {
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
      await this.#giveWay();
      this.#resumedMs = this.#clock.monotonicMs();
      // Goes on before the next round begins.
      this.#waiting.shift()?.();
      await this.#clock.yield();
      this.#resumedMs = undefined;
    }
    this.#isResuming = false;
  }

  /** Ends when others had what they are owed, or have nothing to do. */
  async #giveWay(): Promise<void> {
    for (;;) {
      const beganMs = this.#clock.monotonicMs();
      await this.#clock.yield();
      const givenMs = this.#clock.monotonicMs() - beganMs;
      this.#owedMs -= givenMs;
      if (this.#owedMs <= 0 || givenMs < IDLE_MS) break;
    }
    this.#owedMs = 0;
  }
}
