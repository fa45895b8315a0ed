import { computed, signal } from '@preact/signals';

/** Key of kept credentials: only until the browser's tab is closed, and only if the user chooses so. */
const KEPT_KEY = 'almanac.credentials';

/** `user:password` in base64; undefined before anyone has signed in, or if there are no users. */
export const credentials = signal<string | undefined>(sessionStorage.getItem(KEPT_KEY) ?? undefined);
/** The dialog in which to sign in, while it is open: why, and what waits for it. */
export const signInReason = signal<string | undefined>(undefined);
/** Whether the last dialog was closed without credentials. */
export const isSignedOut = signal(false);
/** Name of the user who has signed in; empty if none has. */
export const userName = computed(() =>
  credentials.value === undefined ? '' : decoded(credentials.value).split(':', 1)[0],
);

let waiting: (() => void)[] = [];

/**
 * Opens the dialog for credentials and waits until it is closed. Requests that fail together share one dialog.
 *
 * @throws the `AbortError` of the signal.
 */
export function requestSignIn(reason: string, signal: AbortSignal | undefined): Promise<void> {
  signInReason.value = reason;
  return new Promise((resolve, reject) => {
    waiting.push(resolve);
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Ends the dialog with credentials. @param isKept whether a reload of the page may use them. */
export function signIn(user: string, password: string, isKept: boolean): void {
  isSignedOut.value = false;
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  credentials.value = btoa(String.fromCharCode(...bytes));
  if (isKept) sessionStorage.setItem(KEPT_KEY, credentials.value);
  closeSignIn();
}

/** Closes the dialog without credentials: what waits for it fails. */
export function dismissSignIn(): void {
  isSignedOut.value = true;
  closeSignIn();
}

/** Removes the credentials of the session: requests fail until the user signs in again. */
export function signOut(): void {
  isSignedOut.value = true;
  sessionStorage.removeItem(KEPT_KEY);
  credentials.value = undefined;
}

/** Opens the dialog for a user who has closed it. */
export function openSignIn(): void {
  signInReason.value = 'Requests need the name and password of a user.';
}

function closeSignIn(): void {
  signInReason.value = undefined;
  const ended = waiting;
  waiting = [];
  for (const resolve of ended) resolve();
}

function decoded(base64: string): string {
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0)));
}
