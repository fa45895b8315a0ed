import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { isAbort, messageOf } from './http.js';

/** What a request has returned: the last value stays while the next one is loaded. */
export interface Loaded<T> {
  readonly value: T | undefined;
  /** Empty if the last request succeeded. */
  readonly error: string;
  readonly isLoading: boolean;
}

/**
 * Loads a value when its inputs change, and when the component appears. The request of older inputs is aborted.
 *
 * @param load undefined if there is nothing to load now.
 */
export function useLoaded<T>(
  load: ((signal: AbortSignal) => Promise<T>) | undefined,
  inputs: readonly unknown[],
): Signal<Loaded<T>> {
  const state = useSignal<Loaded<T>>({ value: undefined, error: '', isLoading: load !== undefined });
  useEffect(() => {
    if (load === undefined) return;
    const abort = new AbortController();
    state.value = { ...state.peek(), isLoading: true };
    load(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) state.value = { value, error: '', isLoading: false };
      },
      (error: unknown) => {
        if (abort.signal.aborted || isAbort(error)) return;
        state.value = { value: state.peek().value, error: messageOf(error), isLoading: false };
      },
    );
    return () => abort.abort();
  }, inputs);
  return state;
}
