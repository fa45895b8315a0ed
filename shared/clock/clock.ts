/** Time and timers as a parameter, so that a simulation can own them. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  nowMs(): number;
  /** Wall clock, nanoseconds since 1970. */
  nowNs(): bigint;
  /** Milliseconds that never go back; for durations. */
  monotonicMs(): number;
  /** Calls `run` once after `delayMs`, or 24.8 days if that is more; the timer does not keep the process alive. */
  after(delayMs: number, run: () => void): Timer;
  /** Resolves after `delayMs`, or 24.8 days if that is more, or at once when `signal` aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
  /** Resolves after the events that wait now were served, for one caller at a time: for long work in slices. */
  yield(): Promise<void>;
}

export interface Timer {
  cancel(): void;
}

/** Longest delay of a timer, 24.8 days: one that is longer would be over at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

const turns: (() => void)[] = [];

/** Work in slices goes on one slice for each round of the event loop, however many requests are at such work. */
function waitForTurn(resolve: () => void): void {
  if (turns.push(resolve) === 1) setImmediate(nextTurn);
}

function nextTurn(): void {
  turns.shift()?.();
  if (turns.length > 0) setImmediate(nextTurn);
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  nowNs: () => BigInt(Date.now()) * 1_000_000n,
  monotonicMs: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, DELAY_MS_MAX));
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  yield: () => new Promise(waitForTurn),
  sleep(delayMs, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const timer = setTimeout(done, Math.min(delayMs, DELAY_MS_MAX));
      function done(): void {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      }
      signal?.addEventListener('abort', done, { once: true });
    });
  },
};
