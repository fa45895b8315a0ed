import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Clock, Timer } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import { AlmanacError } from '#shared/errors/almanac-error';
import { parseDurationMs } from '#shared/time/duration';

/** What answers a request; failures may be thrown. */
export type Handler = (context: RequestContext) => Promise<void> | void;

export interface RequestOrigin {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** As it stands in the request: still percent-encoded. */
  readonly path: string;
  /** Behind the `?`, without it. */
  readonly search: string;
  /** Headers that go with every answer of this path. */
  readonly commonHeaders: Readonly<Record<string, string>>;
}

/** Whoever works for a request ends a little before it, so that the client is told who did not answer. */
const ANSWER_MS = 50;
/** Both names of each header that is asked for: a name that is put together has to be looked up among all texts. */
const PRODUCT_HEADERS = new Map<string, readonly [string, string]>();
const NO_DEADLINE_MS = Number.MAX_SAFE_INTEGER;

/** One request on its way through the gateway. */
export class RequestContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly path: string;
  readonly search: string;
  readonly commonHeaders: Readonly<Record<string, string>>;
  readonly startedMs: number;
  /** Pattern of the route that took the request, for metrics. */
  route = 'none';
  /** Database that the request is about, once it is known to exist. */
  database = 'unknown';
  readonly #clock: Clock;
  #query: URLSearchParams | undefined = undefined;
  #abort: AbortController | undefined = undefined;
  #timer: Timer | undefined = undefined;

  constructor(origin: RequestOrigin, clock: Clock) {
    this.request = origin.request;
    this.response = origin.response;
    this.requestId = origin.requestId;
    this.path = origin.path;
    this.search = origin.search;
    this.commonHeaders = origin.commonHeaders;
    this.startedMs = clock.monotonicMs();
    this.#clock = clock;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.search);
    return this.#query;
  }

  /** Whole milliseconds since the request came. */
  get elapsedMs(): number {
    return Math.round(this.#clock.monotonicMs() - this.startedMs);
  }

  /** A header under its own name or the one of the product that users move from. @param name without `x-almanac-`. */
  productHeader(name: string): string | undefined {
    const { headers } = this.request;
    let names = PRODUCT_HEADERS.get(name);
    if (names === undefined) PRODUCT_HEADERS.set(name, (names = [`x-almanac-${name}`, `x-greptime-${name}`]));
    return (headers[names[0]] ?? headers[names[1]]) as string | undefined;
  }

  /** The time that the client gives the request. @returns undefined if it names none; 0 means no limit. */
  askedTimeoutMs(): number | undefined {
    const text = this.productHeader('timeout');
    return text === undefined ? undefined : parseDurationMs(text);
  }

  /**
   * What the work for this request has to keep to: ends when the client goes away or after `timeoutMs`; 0 means never.
   * To be called once.
   */
  call(timeoutMs: number): Call {
    const abort = new AbortController();
    this.#abort = abort;
    if (timeoutMs > 0) this.#timer = this.#clock.after(timeoutMs, () => abort.abort(tooLate(timeoutMs)));
    const ownMs = Math.min(ANSWER_MS, timeoutMs / 10);
    const deadlineMs = timeoutMs > 0 ? this.#clock.nowMs() + timeoutMs - ownMs : NO_DEADLINE_MS;
    return { deadlineMs, signal: abort.signal, requestId: this.requestId };
  }

  /** Ends the call with `error` when `ms` have passed, unless the timer is cancelled before. */
  endsIn(ms: number, error: () => AlmanacError): Timer {
    return this.#clock.after(ms, () => this.#abort?.abort(error()));
  }

  /** Called once, when the answer is sent or the connection is gone. */
  closed(): void {
    this.#timer?.cancel();
    if (!this.response.writableFinished) this.#abort?.abort(new AlmanacError('cancelled', 'the client went away'));
  }
}

function tooLate(timeoutMs: number): AlmanacError {
  return new AlmanacError('deadline_exceeded', `request took longer than ${timeoutMs} ms`);
}
