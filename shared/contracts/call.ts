import { AlmanacError } from '#shared/errors/almanac-error';

/**
 * What accompanies every call of a service: when it must end, and how its caller gives up.
 *
 * The deadline is the caller's; a service never extends it. A cancelled call ends with `cancelled`, one past its
 * deadline with `deadline_exceeded`; both leave nothing half done that a retry could see.
 */
export interface Call {
  /** Wall clock, milliseconds since 1970. */
  readonly deadlineMs: number;
  /** Aborts when the caller gives up or the deadline passes; its reason is the error to end with. */
  readonly signal: AbortSignal;
  /** Names the client's request in the logs of every process that works for it. */
  readonly requestId: string;
}

/** @throws the call's error if its caller gave up or its deadline passed. */
export function checkCall(call: Call): void {
  if (call.signal.aborted) throw callError(call.signal);
}

/** Why a call ended early: the abort's own error if it is one of ours, else `cancelled`. */
export function callError(signal: AbortSignal): AlmanacError {
  const reason: unknown = signal.reason;
  return reason instanceof AlmanacError ? reason : new AlmanacError('cancelled', 'the call was cancelled');
}

/** Resolves with what comes. @throws the call's error if it is over earlier. */
export function unlessAborted<T>({ signal }: Call, coming: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(callError(signal));
    const giveUp = (): void => reject(callError(signal));
    signal.addEventListener('abort', giveUp, { once: true });
    coming.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

const NO_DEADLINE_MS = Number.MAX_SAFE_INTEGER;

/** A call of this process itself, for background work. */
export function ownCall(requestId: string, signal: AbortSignal = new AbortController().signal): Call {
  return { deadlineMs: NO_DEADLINE_MS, signal, requestId };
}
