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

/**
 * Starts the deadline of a call that has no other work, and so can end as a whole, also while its client is slow to read.
 *
 * @param maxMs longest duration, whatever deadline the call has.
 */
export function withOwnDeadline(call: Call, clock: Clock, maxMs: number): TimedCall {
  const { end, signal } = call;
  if (end === undefined || signal.aborted) return withDeadline(call, clock, maxMs);
  const nowMs = clock.nowMs();
  const remainingMs = Math.min(call.deadlineMs - nowMs, maxMs);
  if (remainingMs <= 0) end(deadlinePassed());
  const timer = clock.after(Math.max(remainingMs, 0), () => end(deadlinePassed()));
  return {
    call: { ...call, deadlineMs: Math.min(call.deadlineMs, nowMs + maxMs) },
    end,
    close: () => timer.cancel(),
  };
}

/** Starts the deadline of a call. @param maxMs longest duration, whatever deadline the call has. */
export function withDeadline(call: Call, clock: Clock, maxMs: number): TimedCall {
  const remainingMs = Math.min(call.deadlineMs - clock.nowMs(), maxMs);
  const own = new AbortController();
  const expire = (): void => own.abort(deadlinePassed());
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

function deadlinePassed(): AlmanacError {
  return new AlmanacError('deadline_exceeded', 'query did not finish before its deadline');
}
