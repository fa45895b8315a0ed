import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { isAbort, RequestError } from '../core/http.js';
import { isReachable } from '../core/reachability.js';
import { retryLater } from '../core/retry.js';
import { reloadCount } from '../time/page-range.js';

/** Something that a screen shows, as it was last loaded. */
export interface PolledState<T> {
  /** Undefined before the first reply. Stays while newer data is loaded, and after a failure. */
  readonly value: T | undefined;
  /** Why the last attempt failed; undefined if it did not. */
  readonly error: unknown;
  /** Whether data for other inputs is being loaded. */
  readonly isLoading: boolean;
}

/** What a screen shows, and how it is loaded once more. */
export interface Polled<T> extends PolledState<T> {
  readonly reload: () => void;
}

const BACK_OFF_MS_MAX = 30_000;

/**
 * Loads data when a screen is opened, its inputs change, or the user loads the page's data again. What runs is aborted when
 * the screen is left.
 *
 * @param inputs what `load` depends on, compared one by one.
 * @param everyMs time from a reply to the next attempt; longer after failures. Undefined: it is loaded once.
 */
export function usePolled<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  everyMs?: number,
): Polled<T> {
  const state = useSignal<PolledState<T>>({ value: undefined, error: undefined, isLoading: true });
  const again = useSignal(0);
  const count = reloadCount.value;
  const shown = useRef<readonly unknown[]>(inputs);
  useEffect(() => {
    const abort = new AbortController();
    const isOther = shown.current.some((input, i) => input !== inputs[i]);
    shown.current = inputs;
    if (isOther) state.value = { ...state.peek(), isLoading: true };
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let endRetry: () => void = () => undefined;
    const run = async (): Promise<void> => {
      try {
        const value = await load(abort.signal);
        failures = 0;
        if (!abort.signal.aborted) state.value = { value, error: undefined, isLoading: false };
      } catch (error) {
        if (abort.signal.aborted || isAbort(error)) return;
        failures++;
        state.value = { ...state.peek(), error, isLoading: false };
        const isLost = error instanceof RequestError && error.status === 0;
        if (everyMs === undefined || isLost) {
          endRetry = retryLater(error, failures, () => void run());
          return;
        }
      }
      if (everyMs !== undefined && !abort.signal.aborted) schedule(everyMs);
    };
    const schedule = (ms: number): void => {
      const delayMs = Math.min(Math.max(ms, BACK_OFF_MS_MAX), ms * 2 ** failures);
      timer = setTimeout(() => {
        // A hidden page needs no news, and a server that is away has none.
        if (document.hidden || !isReachable.peek()) schedule(ms);
        else void run();
      }, delayMs);
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      endRetry();
    };
  }, [...inputs, count, again.value]);
  return { ...state.value, reload: () => again.value++ };
}
