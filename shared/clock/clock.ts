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
  /** Yields to the event loop once; callers resume one per round, so that parallel long work takes one slice a round. */
  yield(): Promise<void>;
}

/** A pending call of `Clock.after`. */
export interface Timer {
  cancel(): void;
}

/** Longest delay that `setTimeout` accepts, 24.8 days; a longer one would fire at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

const waiting: (() => void)[] = [];

/** Resumes one waiting caller per round of the event loop, however many requests do long work. */
function waitForYield(resolve: () => void): void {
  if (waiting.push(resolve) === 1) setImmediate(resumeNext);
}

function resumeNext(): void {
  // A slice of long work would delay these.
  endRound();
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resumeNext);
}

const atEnd: (() => void)[] = [];

/** Calls `run` when what has come over all connections is handled: before the next slice of long work, or the next round. */
export function atEndOfRound(run: () => void): void {
  if (atEnd.push(run) === 1) setImmediate(endRound);
}

function endRound(): void {
  for (const run of atEnd.splice(0)) run();
}

/** The clock of the machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  nowNs: () => BigInt(Date.now()) * 1_000_000n,
  monotonicMs: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, DELAY_MS_MAX));
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  yield: () => new Promise(waitForYield),
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
