import { batch, signal } from '@preact/signals';

import { BASE_PATH } from './origin.js';

/** Whether the last request reached the server. */
export const isReachable = signal(true);
/** Counts how often the server has been reached again after a time in which it was not. */
export const returnCount = signal(0);
/** Milliseconds by which the server's clock is ahead of the browser's, to about a second. */
export const clockSkewMs = signal(0);

const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 30_000;
let isProbing = false;
let probeNow: () => void = () => undefined;

// The browser knows when it is in a network again.
addEventListener('online', () => probeNow());

/** Returns whether a proxy replied in place of the server, which is away. The server's own 503 always names a time. */
export function isOfProxy({ status, headers }: Response): boolean {
  return status === 502 || (status === 503 && !headers.has('retry-after'));
}

/** Records a reply. */
export function noteReply(response: Response): void {
  if (isOfProxy(response)) return noteUnreachable();
  const date = Date.parse(response.headers.get('date') ?? '');
  if (!Number.isNaN(date)) clockSkewMs.value = date - Math.floor(Date.now() / 1000) * 1000;
  if (isReachable.peek()) return;
  batch(() => {
    isReachable.value = true;
    returnCount.value++;
  });
}

/** Records that a request failed, and calls the server until it replies. */
export function noteUnreachable(): void {
  isReachable.value = false;
  if (isProbing) return;
  isProbing = true;
  void probe();
}

async function probe(): Promise<void> {
  for (let waitMs = RETRY_MS_MIN; !isReachable.value; waitMs = Math.min(RETRY_MS_MAX, waitMs * 2)) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      probeNow = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    // A reply of any kind shows that it is there.
    await fetch(`${BASE_PATH}v1/health`, { cache: 'no-store' }).then(noteReply, () => undefined);
  }
  isProbing = false;
}
