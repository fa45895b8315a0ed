import type { ServerResponse } from 'node:http';

import type { RequestHandler } from 'http-proxy-middleware';

import { AlmanacError } from '#shared/errors/almanac-error';

import { send } from '../reply.js';
import { htmlPage } from '../html-page.js';
import type { Handler, RequestContext } from '../request-context.js';

/** Settings of the dashboard. */
export interface DashboardDeps {
  readonly isEnabled: boolean;
  /** Base URL of a dashboard on another server; undefined for the built-in page. */
  readonly upstream: string | undefined;
  readonly version: string;
}

/** A path of the dashboard. */
export interface DashboardRoute {
  readonly methods: readonly ('GET' | 'POST')[];
  readonly path: string;
  readonly handler: Handler;
}

const MOUNT = '/dashboard';
const UPSTREAM_TIMEOUT_MS = 30_000;

/** Returns the routes for `/dashboard` and all paths below it; none if the dashboard is turned off. */
export function dashboardRoutes({ isEnabled, upstream, version }: DashboardDeps): readonly DashboardRoute[] {
  if (!isEnabled) return [];
  const methods = ['GET', 'POST'] as const;
  const serve = upstream === undefined ? pageHandler(version) : proxyHandler(upstream);
  return [
    { methods, path: MOUNT, handler: mountHandler(serve) },
    { methods, path: `${MOUNT}/*rest`, handler: serve },
  ];
}

/** Redirects `/dashboard` to `/dashboard/`; the router does not distinguish them. */
function mountHandler(serve: Handler): Handler {
  return (context) => {
    if (context.path !== MOUNT) return serve(context);
    context.request.resume();
    // Relative, so that it also works below a path prefix of a proxy.
    const location = `dashboard/${context.search === '' ? '' : `?${context.search}`}`;
    return send(context, { status: 308, headers: { location } });
  };
}

function pageHandler(version: string): Handler {
  const page = htmlPage('Almanac', version, [
    { href: '../v1/health', text: 'Health' },
    { href: '../status', text: 'Status' },
    { href: '../metrics', text: 'Metrics' },
  ]);
  return (context) => {
    context.request.resume();
    send(context, context.path === `${MOUNT}/` ? page : { status: 404 });
  };
}

/** Forwards requests, without the mount path and without credentials for Almanac. */
function proxyHandler(upstream: string): Handler {
  let loading: Promise<RequestHandler> | undefined;
  return async (context: RequestContext) => {
    const { request, response, path, search } = context;
    const proxy = await (loading ??= loadProxy(upstream));
    request.url = `${path.slice(MOUNT.length)}${search === '' ? '' : `?${search}`}`;
    await proxy(request, response, (error: unknown) => {
      if (error !== undefined) throw AlmanacError.from(error);
    });
  };
}

/** Loads the library on demand: it would take a twentieth of every start. */
async function loadProxy(upstream: string): Promise<RequestHandler> {
  const { createProxyMiddleware } = await import('http-proxy-middleware');
  return createProxyMiddleware({
    target: upstream,
    changeOrigin: true,
    proxyTimeout: UPSTREAM_TIMEOUT_MS,
    on: {
      proxyReq: (outgoing) => {
        outgoing.removeHeader('authorization');
        for (const name of ['x-almanac-auth', 'x-greptime-auth']) outgoing.removeHeader(name);
      },
      error: (_error, _request, response) => replyBadGateway(response),
    },
  });
}

/** Replies 502. @param response may be a bare socket, which gets no reply. */
function replyBadGateway(response: unknown): void {
  if (!isResponse(response)) return;
  if (response.headersSent) response.destroy();
  else response.writeHead(502, { 'content-type': 'text/plain' }).end('the dashboard cannot be reached\n');
}

function isResponse(response: unknown): response is ServerResponse {
  return typeof (response as ServerResponse).writeHead === 'function';
}
