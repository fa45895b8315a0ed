import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import { AlmanacError } from '#shared/errors/almanac-error';
import { SeededRandom } from '#test/bench/tsbs/seeded-random';

import type { Owner, Scheduler } from './scheduler.js';

const START_MS = 1_700_000_000_000;

/** One run of one process, from its start to its death. After its death none of its events happen. */
export class Life implements Owner {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly #scheduler: Scheduler;
  readonly #atDeath = new Set<() => void>();
  #isDead = false;
  #pausedUntilMs = 0;

  /** @param skewMs difference of its wall clock from the true time. */
  constructor(name: string, scheduler: Scheduler, skewMs: number) {
    this.name = name;
    this.#scheduler = scheduler;
    this.clock = simulatedClock(scheduler, this, skewMs);
    const seeded = new SeededRandom(scheduler.random.nextU32());
    this.random = {
      fraction: () => seeded.fraction(),
      bytes: (length) => Uint8Array.from({ length }, () => seeded.below(256)),
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get pausedUntilMs(): number {
    return this.#pausedUntilMs;
  }

  pause(forMs: number): void {
    this.#pausedUntilMs = this.#scheduler.nowMs + forMs;
  }

  resume(): void {
    this.#pausedUntilMs = 0;
  }

  /** Ends it at once, as `kill -9` does. */
  kill(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    for (const run of [...this.#atDeath]) run();
    this.#atDeath.clear();
  }

  /** @returns a function that removes the callback. */
  onDeath(run: () => void): () => void {
    this.#atDeath.add(run);
    return () => void this.#atDeath.delete(run);
  }

  /** Runs work of this process for an outside caller: it fails when the process dies. */
  during<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onDeath(() => reject(new AlmanacError('external', `${this.name} died`)));
      if (this.#isDead) reject(new AlmanacError('external', `${this.name} is dead`));
      work.then(resolve, reject).finally(forget);
    });
  }
}

function simulatedClock(scheduler: Scheduler, owner: Owner, skewMs: number): Clock {
  const nowMs = (): number => START_MS + Math.floor(scheduler.nowMs) + skewMs;
  const after: Clock['after'] = (delayMs, run) => scheduler.after(delayMs, owner, run);
  return {
    nowMs,
    nowNs: () => BigInt(nowMs()) * 1_000_000n,
    monotonicMs: () => scheduler.nowMs,
    after,
    yield: () => scheduler.pass(0, owner),
    sleep: (delayMs, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const timer = after(delayMs, done);
        function done(): void {
          timer.cancel();
          signal?.removeEventListener('abort', done);
          resolve();
        }
        signal?.addEventListener('abort', done, { once: true });
      }),
  };
}
