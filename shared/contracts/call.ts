import { AlmanacError } from '#shared/errors/almanac-error';
import type { TraceSpan, SpanAttributes } from '#shared/telemetry/tracing';

import type { FlowOwner } from './gen/common.js';
import type { Rights } from './rights.js';

/**
 * What accompanies every call of a service: its deadline and its cancellation.
 *
 * The deadline is set by the caller; a service never extends it. A cancelled call fails with `cancelled`, one past its
 * deadline with `deadline_exceeded`; neither leaves partial state that a retry could see.
 */
export interface Call {
  /** Wall clock, milliseconds since 1970. */
  readonly deadlineMs: number;
  /** Aborts when the caller cancels or the deadline passes; its reason is the error to fail with. */
  readonly signal: AbortSignal;
  /** Ends the call with an error, which `signal` gets. Undefined: the call comes from another process. */
  readonly end?: ((error: AlmanacError) => void) | undefined;
  /** ID of the client's request, in the logs of every process that works on it. */
  readonly requestId: string;
  /** Who makes the call; undefined: a process of the cluster, which may do everything. */
  readonly rights?: Rights | undefined;
  /** The owner of a flow whose results the call writes; undefined: it writes no results. Only writes carry it. */
  readonly flow?: FlowOwner | undefined;
  /** The timed part of the trace that the call is; undefined: none is recorded. */
  readonly span?: TraceSpan | undefined;
}

/** Runs a part of a call, as a span of its own if spans are recorded. */
export function withSpan<T>(
  call: Call,
  name: string,
  attributes: SpanAttributes,
  run: (call: Call) => Promise<T>,
): Promise<T> {
  const span = call.span?.child(name, attributes);
  return span === undefined ? run(call) : endedWith(span, run({ ...call, span }));
}

async function endedWith<T>(span: TraceSpan, work: Promise<T>): Promise<T> {
  try {
    const result = await work;
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** Fails if the call was cancelled or its deadline passed. @throws the call's error. */
export function checkCall(call: Call): void {
  if (call.signal.aborted) throw callError(call.signal);
}

/** Returns why a call ended early: the abort reason if it is an `AlmanacError`, else `cancelled`. */
export function callError(signal: AbortSignal): AlmanacError {
  const reason: unknown = signal.reason;
  return reason instanceof AlmanacError ? reason : new AlmanacError('cancelled', 'the call was cancelled');
}

/** Resolves with the value of `coming`. @throws the call's error if the call ends first. */
export function unlessAborted<T>({ signal }: Call, coming: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(callError(signal));
    const giveUp = (): void => reject(callError(signal));
    const end = (): void => signal.removeEventListener('abort', giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    coming.then(resolve, reject);
    coming.then(end, end);
  });
}

const NO_DEADLINE_MS = Number.MAX_SAFE_INTEGER;

/** Returns a call made by this process for background work, without a deadline. */
export function ownCall(requestId: string, signal: AbortSignal = new AbortController().signal): Call {
  return { deadlineMs: NO_DEADLINE_MS, signal, requestId };
}
