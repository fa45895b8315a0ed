import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { Logger } from '#shared/telemetry/log';

import { send, sendError } from '../answer.js';
import type { GatewayMetrics } from '../metrics.js';
import { RequestContext } from '../request-context.js';
import { logAccess } from './access-log.js';
import type { Cors } from './cors.js';
import { answerNotFound } from './fallback.js';
import { isDevious, isPublicPath, parseTarget } from './target.js';

/** Which listener a request came by. */
export type ListenerKind = 'main' | 'public';

/** Finds what answers a request; the path is read, the context made. */
export type Dispatch = (context: RequestContext) => void;

export interface LifecycleOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
  readonly cors: Cors;
  readonly dispatch: Dispatch;
  readonly requestsMax: number;
  /** Whether the process is about to end, before `drain` is called. */
  readonly isEnding: () => boolean;
}

/** Header lines of a request; more get 431. Node.js cuts the list one above. */
export const HEADERS_MAX = 100;

/** The order of steps that every request takes before and after its route. */
export class Lifecycle {
  readonly #options: LifecycleOptions;
  #openCount = 0;
  #isDraining = false;
  #onIdle: (() => void) | undefined = undefined;

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** From now on every answer ends its connection. Resolves when the last request at hand is answered. */
  drain(): Promise<void> {
    this.#isDraining = true;
    if (this.#openCount === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#onIdle = resolve));
  }

  handle(request: IncomingMessage, response: ServerResponse, listener: ListenerKind): void {
    const { clock, cors } = this.#options;
    const target = parseTarget(request.url ?? '');
    const path = target?.path ?? '';
    const commonHeaders = cors.headers(path, request.headers.origin);
    const requestId = askedRequestId(request) ?? randomUUID();
    const origin = { request, response, requestId, path, search: target?.search ?? '', commonHeaders };
    const context = new RequestContext(origin, clock);
    this.#openCount++;
    response.once('close', () => this.#closed(context));
    // Behind a wish for another protocol, which nobody grants, the parser would not find the next request.
    const isLast = this.#isDraining || this.#options.isEnding();
    if (isLast || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    try {
      this.#route(context, listener);
    } catch (error) {
      this.fail(context, error);
    }
  }

  /** Answers a request whose route threw. */
  fail(context: RequestContext, thrown: unknown): void {
    const error = AlmanacError.from(thrown);
    this.logFailure(context, error);
    // A half-sent answer cannot be taken back: the client sees that it is cut off.
    if (context.response.headersSent) context.response.destroy();
    else sendError(context, error);
    context.request.resume();
  }

  /** Logs a failure once, if it is not the client's. */
  logFailure(context: RequestContext, error: AlmanacError): void {
    const { code, message } = error;
    if (error.httpStatus < 500 || code === 'cancelled') return;
    const fields = { requestId: context.requestId, route: context.route, code, reason: message };
    const { log } = this.#options;
    if (code === 'internal' || code === 'unknown') {
      log.error({ ...fields, error: error.cause ?? error }, 'request failed');
    } else log.warn(fields, 'request failed');
  }

  #route(context: RequestContext, listener: ListenerKind): void {
    const { requestsMax, dispatch, cors } = this.#options;
    const { request, path } = context;
    if (listener === 'public' && !isPublicPath(path)) {
      request.resume();
      return send(context, { status: 404 });
    }
    if (path === '') {
      request.resume();
      return send(context, { status: 400 });
    }
    // A dashboard that is served elsewhere must not be left by its paths.
    if (path.startsWith('/dashboard') && isDevious(path)) return notFound(context);
    if (request.rawHeaders.length > 2 * HEADERS_MAX) {
      request.resume();
      return send(context, { status: 431 });
    }
    const preflight = request.method === 'OPTIONS' ? cors.preflight(path) : undefined;
    if (preflight !== undefined) return send(context, { status: 200, headers: preflight });
    if (this.#openCount > requestsMax && !isProbe(path)) throw tooMany(requestsMax);
    dispatch(context);
  }

  #closed(context: RequestContext): void {
    this.#openCount--;
    context.closed();
    const code = context.response.headersSent ? context.response.statusCode : 499;
    this.#options.metrics.request(context, code);
    logAccess(this.#options.log, context, code);
    if (this.#openCount === 0) this.#onIdle?.();
  }
}

/** Ids that clients and proxies make; anything else could make log lines unreadable. */
const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;

/** The id under which the client knows the request, if it may stand in a log. */
function askedRequestId({ headers }: IncomingMessage): string | undefined {
  const asked = headers['x-request-id'];
  return typeof asked === 'string' && REQUEST_ID.test(asked) ? asked : undefined;
}

/** Runs a route's handler and answers for it if it fails. */
export async function runHandler(
  lifecycle: Lifecycle,
  context: RequestContext,
  handler: (context: RequestContext) => Promise<void> | void,
): Promise<void> {
  try {
    await handler(context);
  } catch (error) {
    lifecycle.fail(context, error);
  }
}

export function notFound(context: RequestContext): void {
  context.request.resume();
  answerNotFound(context);
}

/** A server that is full is not ill. */
function isProbe(path: string): boolean {
  return path === '/health' || path === '/ready' || path === '/metrics';
}

function tooMany(requestsMax: number): AlmanacError {
  const text = `too many requests at once: the limit is ${requestsMax}`;
  return new AlmanacError('region_busy', text, { retryAfterSeconds: 1 });
}
