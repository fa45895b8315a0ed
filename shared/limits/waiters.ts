import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

/** How long and in which order to wait. */
export interface WaitOptions {
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number;
  /** Creates the error that is thrown when the time is up. */
  readonly onTimeout: () => AlmanacError;
  /** Waits before all ordinary waiters and after other `isFirst` waiters: for work that had its permit before. */
  readonly isFirst?: boolean;
}

interface Waiter {
  readonly isFirst: boolean;
  readonly canGo: () => boolean;
  readonly go: () => void;
}

/** A first-in, first-out queue of waiters: only the first may proceed, so that a large one is not starved by small ones. */
export class Waiters {
  readonly #clock: Clock;
  readonly #line: Waiter[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#line.length;
  }

  /**
   * Waits at the end of the line, or in front of it.
   *
   * @param canGo called when the waiter is first and resources were released; must reserve what it finds free.
   * @throws `cancelled` (or the signal's own `AlmanacError`) if the signal aborts first.
   */
  wait(canGo: () => boolean, { signal, waitMs, onTimeout, isFirst = false }: WaitOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(abortError(signal));
      const waiter: Waiter = { isFirst, canGo, go: () => settle(resolve) };
      const onAbort = (): void => fail(() => abortError(signal));
      const timer = this.#clock.after(waitMs, () => fail(onTimeout));
      const settle = (finish: () => void): void => {
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        finish();
      };
      const fail = (error: () => AlmanacError): void => {
        const at = this.#line.indexOf(waiter);
        if (at < 0) return;
        this.#line.splice(at, 1);
        settle(() => reject(error()));
        this.wakeFirst(); // the next waiter may need less than this one
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const position = isFirst ? this.#line.findIndex((other) => !other.isFirst) : -1;
      this.#line.splice(position < 0 ? this.#line.length : position, 0, waiter);
    });
  }

  /** Lets waiters proceed in order, as far as resources reach. */
  wakeFirst(): void {
    while (this.#line.length > 0 && this.#line[0].canGo()) this.#line.shift()?.go();
  }
}

/** Returns the error that an aborted signal stands for. */
export function abortError(signal: AbortSignal | undefined): AlmanacError {
  const reason: unknown = signal?.reason;
  return reason instanceof AlmanacError
    ? reason
    : new AlmanacError('cancelled', 'request cancelled', { cause: reason });
}
