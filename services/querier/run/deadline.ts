import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';

/** A call whose signal also aborts at its deadline. */
export interface TimedCall {
  readonly call: Call;
  /** Ends the work early. */
  end(error: AlmanacError): void;
  /** Stops the timer; must be called when the work has ended. */
  close(): void;
}

/** Starts the deadline of a call. @param maxMs longest duration, whatever deadline the call has. */
export function withDeadline(call: Call, clock: Clock, maxMs: number): TimedCall {
  const remainingMs = Math.min(call.deadlineMs - clock.nowMs(), maxMs);
  const own = new AbortController();
  const expire = (): void =>
    own.abort(new AlmanacError('deadline_exceeded', 'query did not finish before its deadline'));
  const pass = (): void => own.abort(call.signal.reason);
  if (call.signal.aborted) pass();
  call.signal.addEventListener('abort', pass, { once: true });
  if (remainingMs <= 0) expire();
  const timer = clock.after(Math.max(remainingMs, 0), expire);
  return {
    call: { ...call, deadlineMs: Math.min(call.deadlineMs, clock.nowMs() + maxMs), signal: own.signal },
    end: (error) => own.abort(error),
    close() {
      timer.cancel();
      call.signal.removeEventListener('abort', pass);
    },
  };
}
