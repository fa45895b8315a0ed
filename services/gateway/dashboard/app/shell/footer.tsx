import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { clockSkewMs, isReachable, noteReply, noteUnreachable } from '../core/reachability.js';
import { isSignedOut, openSignIn, signOut, userName } from '../core/session.js';
import { BASE_PATH } from '../core/origin.js';
import { secondsText } from '../format/numbers.js';
import { serverFacts } from './available.js';

const READY_MS = 5000;
const SKEW_MS_MIN = 2000;

/** What the footer says about the server. */
interface Readiness {
  readonly isReady: boolean;
  readonly text: string;
}

/** The state of the server, the user and the clock, below every screen. */
export function Footer() {
  const readiness = useSignal<Readiness | undefined>(undefined);
  const facts = serverFacts.value;
  const listener = facts?.listener;
  useEffect(() => {
    const update = (): void => {
      // While the server is away it is called at longer and longer intervals.
      if (document.hidden || !isReachable.peek()) return;
      void readReadiness(listener === 'main' ? 'ready' : 'v1/health').then((value) => (readiness.value = value));
    };
    update();
    const timer = setInterval(update, READY_MS);
    return () => clearInterval(timer);
  }, [listener]);
  const skewMs = clockSkewMs.value;
  return (
    <footer class="footer">
      <span>
        {facts === undefined ? 'Almanac' : `Almanac ${facts.version}`}
        {listener === 'public' ? ' · public listener' : ''}
      </span>
      <span role="status">{isReachable.value ? (readiness.value?.text ?? '') : 'unreachable'}</span>
      {Math.abs(skewMs) > SKEW_MS_MIN && (
        <span class="warn">
          The server's clock is {secondsText(Math.abs(skewMs) / 1000, 2)} {skewMs > 0 ? 'ahead of' : 'behind'} this one
        </span>
      )}
      {isSignedOut.value && (
        <button type="button" class="plain" onClick={openSignIn}>
          Sign in
        </button>
      )}
      {userName.value !== '' && (
        <span>
          user {userName.value}{' '}
          <button type="button" class="plain" onClick={signOut}>
            Sign out
          </button>
        </span>
      )}
    </footer>
  );
}

/** @param path `ready`, or one that only shows whether the server is there. */
async function readReadiness(path: 'ready' | 'v1/health'): Promise<Readiness | undefined> {
  let response: Response;
  try {
    response = await fetch(`${BASE_PATH}${path}`, { cache: 'no-store' });
  } catch {
    // A screen that loads nothing would not notice.
    noteUnreachable();
    return undefined;
  }
  // While it starts, the server is there.
  if (response.status !== 503) noteReply(response);
  try {
    if (path !== 'ready') return undefined;
    if (response.ok) return { isReady: true, text: 'ready' };
    const { waiting = [], progress } = (await response.json()) as { waiting?: string[]; progress?: number };
    const share = progress === undefined ? '' : ` ${Math.floor(progress * 100)} %`;
    return { isReady: false, text: `starting: ${waiting.join(', ')}${share}` };
  } catch {
    return undefined;
  }
}
