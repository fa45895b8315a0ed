import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';

export interface WaitOptions {
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number;
  /** What is thrown when the time is over. */
  readonly onTimeout: () => AlmanacError;
  /** Waits in front of all that were not in before, as it was, but behind those that wait so already. */
  readonly isFirst?: boolean;
}

interface Waiter {
  readonly isFirst: boolean;
  readonly canGo: () => boolean;
  readonly go: () => void;
}

/** A line of waiters: only the first one may go, so that a big one is not overtaken for ever. */
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
   * @param canGo asked when the waiter is first and something became free; must take what it found free.
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
        this.#line.splice(this.#line.indexOf(waiter), 1);
        settle(() => reject(error()));
        this.wakeFirst(); // a smaller one behind may fit where this one did not
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const behind = isFirst ? this.#line.findIndex((other) => !other.isFirst) : -1;
      this.#line.splice(behind < 0 ? this.#line.length : behind, 0, waiter);
    });
  }

  /** Lets as many go as can, in order. */
  wakeFirst(): void {
    while (this.#line.length > 0 && this.#line[0].canGo()) this.#line.shift()?.go();
  }
}

/** What an aborted signal means to a caller. */
export function abortError(signal: AbortSignal | undefined): AlmanacError {
  const reason: unknown = signal?.reason;
  return reason instanceof AlmanacError
    ? reason
    : new AlmanacError('cancelled', 'request cancelled', { cause: reason });
}
