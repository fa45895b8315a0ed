import { signal } from '@preact/signals';

import { BASE_PATH } from './origin.js';

/** Whether the last request reached the server. */
export const isReachable = signal(true);
/** Milliseconds by which the server's clock is ahead of the browser's, to about a second. */
export const clockSkewMs = signal(0);

const RETRY_MS_MIN = 1000;
const RETRY_MS_MAX = 30_000;
let isProbing = false;

/** Records a reply of the server. */
export function noteReply(response: Response): void {
  isReachable.value = true;
  const date = Date.parse(response.headers.get('date') ?? '');
  if (!Number.isNaN(date)) clockSkewMs.value = date - Math.floor(Date.now() / 1000) * 1000;
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
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    // A reply of any kind shows that it is there.
    await fetch(`${BASE_PATH}v1/health`, { cache: 'no-store' }).then(noteReply, () => undefined);
  }
  isProbing = false;
}
