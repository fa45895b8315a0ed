import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { messageOf } from '../core/http.js';

/** What a component loads. */
export interface Loaded<T> {
  /** The last one that has arrived; it stays while the next one is loaded, and if that fails. */
  readonly value: T | undefined;
  /** Why the last request failed; empty if it did not. */
  readonly failure: string;
  readonly isLoading: boolean;
}

/**
 * Loads when the component appears, and when a dependency changes.
 *
 * @param load undefined if there is nothing to load; its signal aborts when the component is gone or a dependency changes.
 */
export function useLoaded<T>(
  load: ((signal: AbortSignal) => Promise<T>) | undefined,
  dependencies: readonly unknown[],
): Loaded<T> {
  const state = useSignal<Loaded<T>>({ value: undefined, failure: '', isLoading: load !== undefined });
  useEffect(() => {
    if (load === undefined) return;
    const abort = new AbortController();
    const settle = (change: Partial<Loaded<T>>): void => {
      if (!abort.signal.aborted) state.value = { ...state.peek(), failure: '', ...change };
    };
    settle({ isLoading: true });
    load(abort.signal).then(
      (value) => settle({ value, isLoading: false }),
      (error: unknown) => settle({ failure: messageOf(error), isLoading: false }),
    );
    return () => abort.abort();
  }, dependencies);
  return state.value;
}
