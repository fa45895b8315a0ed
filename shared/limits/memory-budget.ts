import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';

import { Waiters } from './waiters.js';

export interface MemoryBudgetOptions {
  /** For messages: `memtable`. */
  readonly name: string;
  readonly limitBytes: number;
  readonly clock: Clock;
}

/** Memory that several users share: whoever wants some waits until there is enough, first come, first served. */
export class MemoryBudget {
  readonly limitBytes: number;
  readonly #name: string;
  readonly #waiters: Waiters;
  #usedBytes = 0;

  constructor({ name, limitBytes, clock }: MemoryBudgetOptions) {
    this.#name = name;
    this.limitBytes = limitBytes;
    this.#waiters = new Waiters(clock);
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get waitingCount(): number {
    return this.#waiters.count;
  }

  /**
   * Takes `bytes`; each must be given back by `release`. More than the whole budget is let in alone, when
   * nothing else is held, so that it cannot wait for ever.
   *
   * @throws `region_busy` if there was not enough for `waitMs`; nothing is taken then.
   * @throws `cancelled` if the signal aborted first.
   */
  async admit(bytes: number, signal: AbortSignal | undefined, waitMs: number): Promise<void> {
    invariant(bytes >= 0, `admission of ${bytes} bytes`);
    const take = (): boolean => this.#take(bytes);
    if (this.#waiters.count === 0 && take()) return;
    await this.#waiters.wait(take, { signal, waitMs, onTimeout: () => this.#busy() });
  }

  /** Takes `bytes` without asking, for what is already there (replayed rows, a body of unknown length). */
  charge(bytes: number): void {
    this.#usedBytes += bytes;
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes;
    invariant(this.#usedBytes >= 0, `${this.#name} memory was released twice`);
    this.#waiters.wakeFirst();
  }

  #take(bytes: number): boolean {
    if (this.#usedBytes > 0 && this.#usedBytes + bytes > this.limitBytes) return false;
    this.#usedBytes += bytes;
    return true;
  }

  #busy(): AlmanacError {
    const text = `${this.#name} memory is full: ${this.#usedBytes} of ${this.limitBytes} bytes are in use`;
    return new AlmanacError('region_busy', text, { retryAfterSeconds: 1 });
  }
}
