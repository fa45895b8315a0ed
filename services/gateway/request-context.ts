import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Clock, Timer } from '#shared/clock/clock';
import type { Call } from '#shared/contracts/call';
import { CallSignal } from '#shared/contracts/call-signal';
import type { Rights } from '#shared/contracts/rights';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { TraceSpan } from '#shared/telemetry/tracing';
import { parseDurationMs } from '#shared/time/duration';

import type { HttpReply } from './reply.js';

/** HTTP methods of routes; `GET` includes `HEAD`. */
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Handles a request; errors may be thrown. */
export interface Handler {
  (context: RequestContext): Promise<void> | void;
  /** Makes the reply for an error before the handler is called; undefined: the common one. */
  readonly failure?: ((context: RequestContext, error: AlmanacError) => HttpReply) | undefined;
}

/** The listener that a request came by. */
export type ListenerKind = 'main' | 'public';

/** The parts of a request that are known when it arrives. */
export interface RequestOrigin {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly listener: ListenerKind;
  readonly requestId: string;
  /** Percent-encoded, as in the request. */
  readonly path: string;
  /** The query string, without the `?`. */
  readonly search: string;
  /** Headers of every response for this path. */
  readonly commonHeaders: Readonly<Record<string, string>>;
}

/** Calls to other processes end this much before the request, so that the client gets an error that names the cause. */
const REPLY_MS = 50;
/** Both names of each header that is read: joining them for every request would be slower. */
const PRODUCT_HEADERS = new Map<string, readonly [string, string]>();
const NO_DEADLINE_MS = Number.MAX_SAFE_INTEGER;

/** The query of a request. */
export interface AskedQuery {
  readonly text: string;
  readonly isPromql: boolean;
  /** Of a range query of PromQL. */
  readonly range: { readonly startMs: number; readonly endMs: number; readonly stepMs: number } | undefined;
  readonly database: string;
}

/** Checks the credentials of requests. */
export interface RequestAdmission {
  /** Checks the credentials of a running request again, and sets its rights. */
  readmit(context: RequestContext): void | Promise<void>;
  /**
   * Lets one GET request have the rights of this one.
   *
   * @param target its path and query.
   * @returns `target` with a ticket.
   * @throws `rate_limited`.
   */
  issueTicket(context: RequestContext, target: string, call: Call): Promise<string>;
}

/** One HTTP request in the gateway. */
export class RequestContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly listener: ListenerKind;
  readonly requestId: string;
  readonly path: string;
  readonly search: string;
  readonly commonHeaders: Readonly<Record<string, string>>;
  readonly startedMs: number;
  /** Pattern of the route, for metrics. */
  route = 'none';
  /** Database of the request, for metrics, once it is known to exist. */
  database = 'unknown';
  /** The query of the request, once it is known. */
  asked: AskedQuery | undefined = undefined;
  /** What the user of the request may do; undefined: everything. */
  rights: Rights | undefined = undefined;
  /** Gave the request its rights; undefined: there are no users. */
  admission: RequestAdmission | undefined = undefined;
  /** The span of the request; undefined: none is recorded. */
  span: TraceSpan | undefined = undefined;
  readonly #clock: Clock;
  #query: URLSearchParams | undefined = undefined;
  #signal: CallSignal | undefined = undefined;
  #timer: Timer | undefined = undefined;

  constructor(origin: RequestOrigin, clock: Clock) {
    this.request = origin.request;
    this.response = origin.response;
    this.listener = origin.listener;
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

  /**
   * Returns the rights that the user of a long request has now.
   *
   * @throws the error of refused credentials, for example if the user was dropped.
   */
  async currentRights(): Promise<Rights | undefined> {
    await this.admission?.readmit(this);
    return this.rights;
  }

  /** Whole milliseconds since the request arrived. */
  get elapsedMs(): number {
    return Math.round(this.#clock.monotonicMs() - this.startedMs);
  }

  /** Returns the header `x-almanac-NAME`, or `x-greptime-NAME` of clients of GreptimeDB. */
  productHeader(name: string): string | undefined {
    const { headers } = this.request;
    let names = PRODUCT_HEADERS.get(name);
    if (names === undefined) PRODUCT_HEADERS.set(name, (names = [`x-almanac-${name}`, `x-greptime-${name}`]));
    return (headers[names[0]] ?? headers[names[1]]) as string | undefined;
  }

  /** Returns the timeout that the client requests; undefined if it names none, 0 for no limit. */
  requestedTimeoutMs(): number | undefined {
    const text = this.productHeader('timeout');
    return text === undefined ? undefined : parseDurationMs(text);
  }

  /**
   * Starts the call of this request, which ends when the client disconnects or after `timeoutMs`; 0 for no limit. Must
   * be called once.
   */
  call(timeoutMs: number): Call {
    const signal = new CallSignal();
    this.#signal = signal;
    if (timeoutMs > 0) this.#timer = this.#clock.after(timeoutMs, () => signal.abort(timedOut(timeoutMs)));
    const replyMs = Math.min(REPLY_MS, timeoutMs / 10);
    const deadlineMs = timeoutMs > 0 ? this.#clock.nowMs() + timeoutMs - replyMs : NO_DEADLINE_MS;
    const end = (error: AlmanacError): void => signal.abort(error);
    return { deadlineMs, signal, end, requestId: this.requestId, rights: this.rights, span: this.span };
  }

  /** Ends the call with `error` after `ms`, unless the timer is cancelled. */
  endsIn(ms: number, error: () => AlmanacError): Timer {
    return this.#clock.after(ms, () => this.#signal?.abort(error()));
  }

  /** Must be called once, when the response is sent or the connection is closed. */
  closed(): void {
    this.#timer?.cancel();
    if (!this.response.writableFinished) this.#signal?.abort(new AlmanacError('cancelled', 'the client went away'));
  }
}

function timedOut(timeoutMs: number): AlmanacError {
  return new AlmanacError('deadline_exceeded', `request took longer than ${timeoutMs} ms`);
}
