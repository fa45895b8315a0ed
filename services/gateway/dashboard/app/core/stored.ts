import { effect, signal, type Signal } from '@preact/signals';

import { BASE_PATH } from './origin.js';

/**
 * Makes a signal whose value is kept in the browser, per server. If the browser refuses (private windows, no space left),
 * the value is kept until the page is closed.
 *
 * @param isValid checks what was read: another version of the app, or a user, may have written it.
 */
export function storedSignal<T>(name: string, initial: T, isValid: (value: unknown) => value is T): Signal<T> {
  const key = `almanac${BASE_PATH}${name}`;
  const value = signal(readStored(key, initial, isValid));
  let written = value.peek();
  effect(() => {
    if (value.value === written) return;
    written = value.value;
    try {
      localStorage.setItem(key, JSON.stringify(written));
    } catch {
      // Nothing is lost that the page needs now.
    }
  });
  // Other windows of the app.
  addEventListener('storage', (event) => {
    if (event.key === key) value.value = written = readStored(key, initial, isValid);
  });
  return value;
}

function readStored<T>(key: string, initial: T, isValid: (value: unknown) => value is T): T {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? 'null');
    return isValid(value) ? value : initial;
  } catch {
    return initial;
  }
}
