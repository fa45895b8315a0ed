import type { ServerResponse } from 'node:http';

import type { RequestHandler } from 'http-proxy-middleware';

import { AlmanacError } from '#shared/errors/almanac-error';

import { inPath } from '../openapi/parameters.js';
import type { RouteDoc, RouteGroup } from '../openapi/route-doc.js';
import { emptyDoc, TEXT } from '../openapi/schemas.js';
import { acceptedEncoding, send, withEncoding } from '../reply.js';
import type { Handler, RequestContext } from '../request-context.js';
import { BuiltFiles } from './built-files.js';

/** Settings of the dashboard. */
export interface DashboardDeps {
  readonly isEnabled: boolean;
  /** Base URL of a dashboard on another server; undefined for the built-in one. */
  readonly upstream: string | undefined;
}

/** A path of the dashboard. */
export interface DashboardRoute {
  readonly methods: readonly ('GET' | 'POST')[];
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

const MOUNT = '/dashboard';
const GROUP: RouteGroup = {
  name: 'Dashboard',
  description: 'The dashboard, for browsers.',
  page: 'dashboard/README.md',
  errors: undefined,
};
const NOT_ALLOWED: RouteDoc['byMethod'] = {
  POST: {
    summary: 'Is supported only for a dashboard on another server',
    replies: { 405: emptyDoc('The dashboard is the built-in one.') },
    example: { parameters: { rest: 'query' }, status: 405 },
  },
};
const MOUNT_DOC: RouteDoc = {
  group: GROUP,
  isOpen: true,
  summary: 'Redirects to `/dashboard/`',
  replies: { 308: emptyDoc('The location is `dashboard/`.') },
  example: { status: 308 },
};
const FILE_DOC: RouteDoc = {
  group: GROUP,
  isOpen: true,
  summary: 'Returns a file of the dashboard',
  parameters: [inPath('rest', 'Name of a screen or a file.')],
  replies: {
    200: { description: 'The file.', content: { 'text/html': TEXT, '*/*': TEXT } },
    304: emptyDoc('The file has the `ETag` of `If-None-Match`.'),
    404: emptyDoc('There is no such file.'),
  },
  example: { parameters: { rest: 'query' } },
  byMethod: NOT_ALLOWED,
};
const UPSTREAM_TIMEOUT_MS = 30_000;

/** Returns the routes for `/dashboard` and all paths below it; none if the dashboard is turned off. */
export function dashboardRoutes({ isEnabled, upstream }: DashboardDeps): readonly DashboardRoute[] {
  if (!isEnabled) return [];
  const methods = ['GET', 'POST'] as const;
  const serve = upstream === undefined ? fileHandler() : proxyHandler(upstream);
  return [
    { methods, path: MOUNT, handler: mountHandler(serve), doc: MOUNT_DOC },
    { methods, path: `${MOUNT}/*rest`, handler: serve, doc: FILE_DOC },
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

/**
 * Headers of every file of the dashboard: it loads nothing from elsewhere, runs no text as code, and is shown in no frame.
 * Trusted Types also refuse HTML that is made of text, such as the name of a metric.
 */
const SAFETY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

/** Serves the built files; each screen is a path of one segment, such as `/dashboard/query`, and has the same page. */
function fileHandler(): Handler {
  const files = new BuiltFiles();
  return async (context) => {
    const { request, path } = context;
    request.resume();
    if (request.method === 'POST') return send(context, { status: 405, headers: { allow: 'GET, HEAD' } });
    const name = path.slice(MOUNT.length + 1);
    const isScreen = /^[a-z-]*$/.test(name);
    const file = await files.read(isScreen ? 'index.html' : name);
    if (file === undefined) return send(context, { status: 404 });
    // Names of assets contain a hash of the contents.
    const cacheControl = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
    const headers: Record<string, string> = { ...SAFETY_HEADERS, 'cache-control': cacheControl, etag: file.etag };
    headers['vary'] = withEncoding(context.commonHeaders['vary']);
    if (request.headers['if-none-match'] === file.etag) return send(context, { status: 304, headers });
    const encoding = acceptedEncoding(context);
    if (encoding !== undefined) headers['content-encoding'] = encoding;
    headers['content-type'] = file.type;
    sendFile(context, encoding === undefined ? file.plain : file.encoded[encoding], headers);
  };
}

/** Sends a body as it is: it is compressed already. */
function sendFile(
  { response, commonHeaders }: RequestContext,
  body: Uint8Array,
  headers: Record<string, string>,
): void {
  response.writeHead(200, { ...commonHeaders, ...headers, 'content-length': body.length });
  response.end(body);
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
