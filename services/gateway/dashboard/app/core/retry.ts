import { effect } from '@preact/signals';

import { RequestError } from './http.js';
import { isReachable, returnCount } from './reachability.js';

const WAIT_MS_MIN = 1000;
const WAIT_MS_MAX = 30_000;

/**
 * Calls `again` once when a request that failed may succeed: when the server is reached again, or at the time that it named.
 * Errors that a repetition would meet again are left alone.
 *
 * @param failures in a row, this one among them: each makes the wait twice as long.
 * @returns a function that ends the wait.
 */
export function retryLater(error: unknown, failures: number, again: () => void): () => void {
  if (!(error instanceof RequestError)) return () => undefined;
  const isLost = error.status === 0;
  if (!isLost && error.retryAfterSeconds === undefined) return () => undefined;
  const before = returnCount.peek();
  if (isLost && !isReachable.peek()) {
    const stop = effect(() => {
      if (returnCount.value === before) return;
      // It can be stopped only when its first run is over, and must not depend on what `again` reads.
      queueMicrotask(() => {
        stop();
        again();
      });
    });
    return stop;
  }
  const waitMs = Math.max(WAIT_MS_MIN, (error.retryAfterSeconds ?? 0) * 1000) * 2 ** (failures - 1);
  const timer = setTimeout(again, Math.min(WAIT_MS_MAX, waitMs));
  return () => clearTimeout(timer);
}
