import { randomUUID } from 'node:crypto';
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

import type { Clock } from '#shared/clock/clock';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { TraceSpan, Tracing } from '#shared/telemetry/tracing';

import { challengeOf, type AuthGuard } from '../auth/guard.js';
import type { GatewayMetrics } from '../metrics.js';
import type { ReadyGate } from '../ready-gate.js';
import { chosenQueryId } from '../query/query-ids.js';
import type { SlowQueries } from '../query/slow-queries.js';
import { errorReply, send, withHeaders } from '../reply.js';
import { RequestContext, type Handler, type ListenerKind } from '../request-context.js';
import type { RequestLog } from '../request-log.js';
import type { SocketRoute } from '../socket-route.js';
import type { Cors } from './cors.js';
import { replyNotFound } from './fallback.js';
import { QueuedResponses } from './queued-responses.js';
import { isAmbiguousPath, isPublicPath, parseTarget } from './target.js';
import { SocketUpgrades, type UpgradeRequest } from './web-socket.js';

/** Finds the handler of a request and passes it to `run`. */
export interface RequestRouter {
  route(context: RequestContext, run: (handler: Handler) => void): void;
}

/** Dependencies of `RequestLifecycle`. */
export interface LifecycleOptions {
  readonly clock: Clock;
  readonly log: RequestLog;
  readonly metrics: GatewayMetrics;
  readonly cors: Cors;
  readonly router: RequestRouter;
  readonly sockets: readonly SocketRoute[];
  /** Largest number of requests at once; more get 503. */
  readonly requestsMax: number;
  readonly gate: ReadyGate;
  readonly guard: AuthGuard;
  readonly tracing: Pick<Tracing, 'isOn' | 'start'>;
  readonly slowQueries: Pick<SlowQueries, 'observe'>;
}

/** Header lines of a request; more get 431. Node.js cuts the list at one more. */
export const HEADERS_MAX = 100;

/** The steps of every request before and after its route. */
export class RequestLifecycle {
  readonly #options: LifecycleOptions;
  readonly #upgrades: SocketUpgrades;
  readonly #queued = new QueuedResponses();
  #openCount = 0;
  #onIdle: (() => void) | undefined = undefined;

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#upgrades = new SocketUpgrades(options.clock);
  }

  /** Makes every response close its connection from now on. Resolves when no request is open. */
  drain(): Promise<void> {
    this.#options.gate.drain();
    if (this.#openCount === 0) return Promise.resolve();
    return new Promise((resolve) => (this.#onIdle = resolve));
  }

  handle(request: IncomingMessage, response: ServerResponse, listener: ListenerKind): void {
    const { clock, cors, gate } = this.#options;
    const target = parseTarget(request.url ?? '');
    const path = target?.path ?? '';
    const commonHeaders = cors.headers(path, request.headers.origin);
    const requestId = requestIdOf(request) ?? randomUUID();
    const origin = { request, response, listener, requestId, path, search: target?.search ?? '', commonHeaders };
    const context = new RequestContext(origin, clock);
    context.span = this.#startSpan(context);
    this.#openCount++;
    response.once('close', () => this.#closed(context));
    if (response.socket === null) this.#queued.add(response, request.socket);
    if (gate.isDraining) response.shouldKeepAlive = false;
    try {
      this.#route(context, listener);
    } catch (error) {
      this.#fail(context, error);
    }
  }

  /** Serves a request for a WebSocket. Returns false if it is to be handled as if it did not request an upgrade. */
  upgrade(upgrade: UpgradeRequest, listener: ListenerKind): boolean {
    const { clock, cors, sockets, gate } = this.#options;
    const { request, socket } = upgrade;
    const target = parseTarget(request.url ?? '');
    const path = target?.path ?? '';
    const route = sockets.find((it) => it.path === path);
    const isSocket = request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket';
    if (route === undefined || !isSocket || gate.isDraining) return false;
    if (listener === 'public' && !isPublicPath(path)) return false;
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once('finish', () => socket.end());
    const { origin } = request.headers;
    const commonHeaders = cors.headers(path, origin);
    const requestId = requestIdOf(request) ?? randomUUID();
    const context = new RequestContext(
      { request, response, listener, requestId, path, search: target?.search ?? '', commonHeaders },
      clock,
    );
    context.route = route.path;
    this.#openCount++;
    socket.once('error', () => socket.destroy());
    socket.once('close', () => context.closed());
    void this.#runSocket(context, route, upgrade);
    return true;
  }

  async #runSocket(context: RequestContext, route: SocketRoute, upgrade: UpgradeRequest): Promise<void> {
    const { requestsMax, metrics, log, guard } = this.#options;
    const { response, commonHeaders, request } = context;
    let code = 101;
    try {
      if (this.#openCount > requestsMax) throw tooManyRequests(requestsMax);
      checkOrigin(request, commonHeaders);
      await guard.admit(context);
      const serve = await route.open(context);
      response.detachSocket(upgrade.socket as Socket);
      await this.#upgrades.run(upgrade, serve, () => context.closed());
    } catch (thrown) {
      const error = AlmanacError.from(thrown);
      log.failure(context, error);
      code = error.httpStatus;
      // After the upgrade there is no response.
      if (response.socket !== null) send(context, withHeaders(route.failure(error), challengeOf(context, error)));
    } finally {
      this.#openCount--;
      metrics.request(context, code);
      log.access(context, code);
      if (this.#openCount === 0) this.#onIdle?.();
    }
  }

  #route(context: RequestContext, listener: ListenerKind): void {
    const { requestsMax, router, cors } = this.#options;
    const { request, path } = context;
    if (listener === 'public' && !isPublicPath(path)) {
      request.resume();
      return send(context, { status: 404 });
    }
    if (path === '') {
      request.resume();
      return send(context, { status: 400 });
    }
    // No path below a dashboard on another server may lead out of it.
    if (path.startsWith('/dashboard') && isAmbiguousPath(path)) return replyNotFound(context);
    if (request.rawHeaders.length > 2 * HEADERS_MAX) {
      request.resume();
      return send(context, { status: 431 });
    }
    const preflight = request.method === 'OPTIONS' ? cors.preflight(path) : undefined;
    if (preflight !== undefined) return send(context, { status: 200, headers: preflight });
    if (this.#openCount > requestsMax && !isProbe(path)) throw tooManyRequests(requestsMax);
    router.route(context, (handler) => void this.#run(context, handler));
  }

  async #run(context: RequestContext, handler: Handler): Promise<void> {
    try {
      const admitted = this.#options.guard.admit(context);
      if (admitted !== undefined) await admitted;
    } catch (error) {
      return this.#refuse(context, AlmanacError.from(error), handler);
    }
    try {
      await handler(context);
    } catch (error) {
      this.#fail(context, error);
    }
  }

  #refuse(context: RequestContext, error: AlmanacError, { failure = errorReply }: Handler): void {
    this.#options.log.failure(context, error);
    send(context, withHeaders(failure(context, error), challengeOf(context, error)));
    context.request.resume();
  }

  #fail(context: RequestContext, thrown: unknown): void {
    const error = AlmanacError.from(thrown);
    this.#options.log.failure(context, error);
    // The rest of a response that has begun cannot be replaced: the client sees that it is cut off.
    if (context.response.headersSent) context.response.destroy();
    else send(context, errorReply(context, error));
    context.request.resume();
  }

  #closed(context: RequestContext): void {
    this.#openCount--;
    context.closed();
    const code = context.response.headersSent ? context.response.statusCode : 499;
    this.#options.metrics.request(context, code);
    this.#options.log.access(context, code);
    endSpan(context, code);
    this.#options.slowQueries.observe(context);
    if (this.#openCount === 0) this.#onIdle?.();
  }

  #startSpan({ request, path, requestId }: RequestContext): TraceSpan | undefined {
    const { tracing } = this.#options;
    if (!tracing.isOn || isProbe(path)) return undefined;
    const { method = '' } = request;
    const { traceparent } = request.headers;
    const facts = { 'http.request.method': method, 'url.path': path, 'almanac.request_id': requestId };
    return tracing.start(method, 'server', typeof traceparent === 'string' ? traceparent : undefined, facts);
  }
}

function endSpan({ span, request, route, database }: RequestContext, code: number): void {
  if (span === undefined) return;
  span.rename(`${request.method} ${route}`);
  span.set({ 'http.route': route, 'http.response.status_code': code, 'db.namespace': database });
  span.end(code >= 500 ? new AlmanacError('unexpected', `HTTP ${code}`) : undefined);
}

/** Rejects pages of other origins, which browsers let open WebSockets, unless they may read replies. */
function checkOrigin({ headers }: IncomingMessage, commonHeaders: Readonly<Record<string, string>>): void {
  const { origin, host } = headers;
  if (origin === undefined || commonHeaders['access-control-allow-origin'] !== undefined) return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new AlmanacError(
    'permission_denied',
    'pages of this origin may not open WebSockets: see http.cors_allowed_origins',
  );
}

/** IDs that clients and proxies make; other texts could make log lines unreadable. */
const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;

/** Returns the ID that the client gave the request or its query, if it may appear in a log. */
function requestIdOf({ headers }: IncomingMessage): string | undefined {
  const queryId = chosenQueryId(headers);
  if (queryId !== undefined) return queryId;
  const id = headers['x-request-id'];
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : undefined;
}

/** Whether the path is served even under overload: a busy server is healthy. */
function isProbe(path: string): boolean {
  return path === '/health' || path === '/ready' || path === '/metrics';
}

function tooManyRequests(requestsMax: number): AlmanacError {
  const text = `too many requests at once: the limit is ${requestsMax}`;
  return new AlmanacError('region_busy', text, { retryAfterSeconds: 1 });
}
