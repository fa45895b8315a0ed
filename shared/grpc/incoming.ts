import type { Metadata } from '@grpc/grpc-js';

import type { Clock } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import { CallSignal } from '#shared/contracts/call-signal';
import { decodeRights } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { TraceSpan, Tracing } from '#shared/telemetry/tracing';

import type { Method } from './contract.js';
import { REQUEST_ID_KEY, RIGHTS_KEY, TRACEPARENT_KEY } from './options.js';

/** The common part of both kinds of server calls in grpc-js. */
export interface ServerSide {
  readonly metadata: Metadata;
  getDeadline(): Date | number;
  on(event: 'cancelled', listener: () => void): unknown;
}

const REQUEST_ID_LENGTH_MAX = 256;
/** Handlers end up to this long before the caller's deadline, so that the reason reaches the caller. */
const ANSWER_MS = 250;
/** A timer may fire a little early. */
const TIMER_ERROR_MS = 5;

/** Collaborators of an `Incoming`. */
export interface IncomingDeps {
  readonly clock: Clock;
  /** Undefined: no spans are recorded. */
  readonly tracing?: Tracing | undefined;
}

/** One running call in a server. */
export class Incoming {
  readonly method: Method;
  readonly call: Call;
  readonly #signal = new CallSignal();
  #isOver = false;

  constructor(method: Method, side: ServerSide, { clock, tracing }: IncomingDeps) {
    this.method = method;
    const lastMs = Number(side.getDeadline());
    const marginMs = Math.min(ANSWER_MS, Math.max(0, lastMs - clock.nowMs()) / 8);
    const deadlineMs = lastMs === Infinity ? Number.MAX_SAFE_INTEGER : lastMs - marginMs;
    const [requestId] = side.metadata.get(REQUEST_ID_KEY);
    const text = requestId === undefined ? '' : requestId.toString().slice(0, REQUEST_ID_LENGTH_MAX);
    const [rights] = side.metadata.get(RIGHTS_KEY);
    this.call = {
      deadlineMs,
      signal: this.#signal,
      requestId: text,
      rights: rights === undefined ? undefined : decodeRights(Buffer.from(rights)),
      span: tracing?.isOn === true ? spanOf(method, side, tracing) : undefined,
    };
    // grpc-js reports every end this way: the caller cancelled, its connection broke, the deadline passed, or success.
    side.on('cancelled', () => {
      if (this.#isOver) return;
      // The caller's deadline is earlier than ours, by the time that the request took to arrive.
      const isLate = clock.nowMs() >= Math.min(deadlineMs, lastMs - TIMER_ERROR_MS);
      const lateText = `${method.title} was not finished before its deadline`;
      if (isLate) this.cut(new AlmanacError('deadline_exceeded', lateText));
      else this.cut(new AlmanacError('cancelled', `the caller of ${method.title} disconnected`));
    });
  }

  /** Ends the call with an error unless it has ended. */
  cut(error: AlmanacError): void {
    if (!this.#isOver) this.#signal.abort(error);
  }

  /** Ends the call after its handler is done. */
  end(): void {
    this.#isOver = true;
  }
}

/** Background calls have no trace, and begin none: most of them are heartbeats. */
function spanOf({ title }: Method, { metadata }: ServerSide, tracing: Tracing): TraceSpan | undefined {
  const [traceparent] = metadata.get(TRACEPARENT_KEY);
  if (traceparent === undefined) return undefined;
  return tracing.start(title, 'server', traceparent.toString(), { 'rpc.system': 'grpc', 'rpc.method': title });
}
