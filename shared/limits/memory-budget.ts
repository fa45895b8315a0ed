import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';

import { Waiters } from './waiters.js';

/** Options of `MemoryBudget`. */
export interface MemoryBudgetOptions {
  /** Name in error messages: `memtable`. */
  readonly name: string;
  readonly limitBytes: number;
  readonly clock: Clock;
}

/** A memory limit that several users share: reservations wait, first come, first served, until enough is free. */
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
   * Reserves `bytes`, to be returned by `release`. A reservation larger than the whole budget is admitted when nothing
   * else is reserved, so that it cannot wait forever.
   *
   * @throws `region_busy` if not enough became free within `waitMs`; nothing is reserved then.
   * @throws `cancelled` if the signal aborted first.
   */
  async admit(bytes: number, signal: AbortSignal | undefined, waitMs: number): Promise<void> {
    invariant(bytes >= 0, `admission of ${bytes} bytes`);
    const take = (): boolean => this.#take(bytes);
    if (this.#waiters.count === 0 && take()) return;
    await this.#waiters.wait(take, { signal, waitMs, onTimeout: () => this.#busy() });
  }

  /** Adds `bytes` without waiting, for memory that is already in use (replayed rows, a body of unknown length). */
  charge(bytes: number): void {
    this.#usedBytes += bytes;
  }

  /** Returns reserved bytes and wakes waiters. */
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
