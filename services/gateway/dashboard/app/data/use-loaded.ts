import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import { messageOf, RequestError } from '../core/http.js';
import { retryLater } from '../core/retry.js';

/** What a component loads. */
export interface Loaded<T> {
  /** The last one that has arrived; it stays while the next one is loaded, and if that fails. */
  readonly value: T | undefined;
  /** Why the last request failed; empty if it did not. */
  readonly failure: string;
  /** Whether it failed because the server could not be reached: it is repeated when the server is back. */
  readonly isAway: boolean;
  readonly isLoading: boolean;
}

/**
 * Loads when the component appears, when a dependency changes, and, after a failure, when the server is back.
 *
 * @param load undefined if there is nothing to load; its signal aborts when the component is gone or a dependency changes.
 */
export function useLoaded<T>(
  load: ((signal: AbortSignal) => Promise<T>) | undefined,
  dependencies: readonly unknown[],
): Loaded<T> {
  const state = useSignal<Loaded<T>>({ value: undefined, failure: '', isAway: false, isLoading: load !== undefined });
  const attempts = useSignal(0);
  const failures = useRef(0);
  useEffect(() => {
    if (load === undefined) return;
    const abort = new AbortController();
    let endRetry: () => void = () => undefined;
    const settle = (change: Partial<Loaded<T>>): void => {
      if (!abort.signal.aborted) state.value = { ...state.peek(), failure: '', isAway: false, ...change };
    };
    settle({ isLoading: true });
    load(abort.signal).then(
      (value) => {
        failures.current = 0;
        settle({ value, isLoading: false });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const isAway = error instanceof RequestError && error.status === 0;
        settle({ failure: messageOf(error), isAway, isLoading: false });
        endRetry = retryLater(error, ++failures.current, () => attempts.value++);
      },
    );
    return () => {
      abort.abort();
      endRetry();
    };
  }, [...dependencies, attempts.value]);
  return state.value;
}
