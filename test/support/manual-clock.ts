import { systemClock, type Clock } from '#shared/clock/clock';

interface Waiting {
  readonly atMs: number;
  readonly run: () => void;
}

/** Time that stands still until a test moves it. Timers run in order, and what they start gets its turns. */
export class ManualClock implements Clock {
  #nowMs = 1_700_000_000_000;
  readonly #waiting = new Set<Waiting>();

  nowMs(): number {
    return this.#nowMs;
  }

  nowNs(): bigint {
    return BigInt(this.#nowMs) * 1_000_000n;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => void): { cancel(): void } {
    const waiting = { atMs: this.#nowMs + delayMs, run };
    this.#waiting.add(waiting);
    return { cancel: () => void this.#waiting.delete(waiting) };
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.after(delayMs, done);
      function done(): void {
        timer.cancel();
        signal?.removeEventListener('abort', done);
        resolve();
      }
      signal?.addEventListener('abort', done, { once: true });
    });
  }

  yield(): Promise<void> {
    return systemClock.yield();
  }

  /** Moves time on; resolves when all timers up to then have run, and those that they set. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      const next = this.#next();
      if (next === undefined || next.atMs > untilMs) break;
      this.#waiting.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
      await systemClock.yield();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** Moves time on at once, as for a machine that slept: timers that are due run once, late. */
  async jump(byMs: number): Promise<void> {
    this.#nowMs += byMs;
    await this.advance(0);
  }

  #next(): Waiting | undefined {
    let next: Waiting | undefined;
    for (const waiting of this.#waiting) if (next === undefined || waiting.atMs < next.atMs) next = waiting;
    return next;
  }
}
