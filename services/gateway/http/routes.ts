/**
 * Every path of the gateway.
 *
 * Routes that take rows and queries are matched by their exact path before Express is asked: for a request of 100 lines
 * Express and its router would cost as much as decoding, for an instant query a fifth of all. All others, and all ways
 * in which a path can be nearly right, are Express's.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

import express from 'express';

import { ADMIN_ENDPOINTS } from '../admin/registry.js';
import type { AdminDeps } from '../admin/endpoint.js';
import { dashboardRoutes, type DashboardDeps } from '../dashboard/route.js';
import { send } from '../answer.js';
import { protocols } from '../protocols/registry.js';
import type { GatewayState } from '../protocols/protocol.js';
import type { PromEndpoint } from '../query/prometheus-api/endpoint.js';
import { PROM_ENDPOINTS } from '../query/prometheus-api/registry.js';
import { promHandler, type PromDeps } from '../query/prometheus.js';
import { promqlHandler } from '../query/promql.js';
import { remoteReadHandler, type RemoteReadDeps } from '../query/remote-read/handler.js';
import { sqlHandler, type SqlDeps } from '../query/sql.js';
import type { Handler, RequestContext } from '../request-context.js';
import { answerMethodNotAllowed } from './fallback.js';
import { ingestHandler, type IngestDeps } from './ingest-handler.js';
import { notFound, runHandler, type Dispatch, type Lifecycle } from './lifecycle.js';
import type { Config } from '#shared/config/schema';

export type Method = 'GET' | 'POST';

export interface Route {
  readonly methods: readonly Method[];
  readonly path: string;
  readonly handler: Handler;
  /** Matched in front of Express. */
  readonly isHot?: boolean;
}

export interface RouteDeps {
  readonly config: Config;
  readonly cacheBytes: number;
  readonly ingest: IngestDeps;
  readonly sql: SqlDeps;
  readonly prom: PromDeps;
  readonly remoteRead: RemoteReadDeps;
  readonly admin: AdminDeps;
  readonly dashboard: DashboardDeps;
  readonly state: () => GatewayState;
}

/** All routes, the same for both listeners; the public one lets only some paths come this far. */
export function allRoutes(deps: RouteDeps): readonly Route[] {
  return [
    ...protocolRoutes(deps),
    { methods: ['GET', 'POST'], path: '/v1/sql', handler: sqlHandler(deps.sql), isHot: true },
    { methods: ['GET', 'POST'], path: '/v1/promql', handler: promqlHandler(deps.prom) },
    ...PROM_ENDPOINTS.map((endpoint) => promRoute(endpoint, deps.prom)),
    ...['/read', '/api/v1/read'].map((path): Route => {
      return { methods: ['POST'], path: PROMETHEUS + path, handler: remoteReadHandler(deps.remoteRead) };
    }),
    ...ADMIN_ENDPOINTS.map(({ methods, path, handler }) => ({ methods, path, handler: handler(deps.admin) })),
    ...dashboardRoutes(deps.dashboard),
  ];
}

/** Where the base URL of Prometheus's clients leads. */
const PROMETHEUS = '/v1/prometheus';

function promRoute(endpoint: PromEndpoint, deps: PromDeps): Route {
  const { methods, path } = endpoint;
  // An exact path: a dashboard asks for a dozen small queries at once.
  const isHot = !path.includes(':');
  return { methods, path: `${PROMETHEUS}/api/v1${path}`, handler: promHandler(endpoint, deps), isHot };
}

function protocolRoutes({ config, cacheBytes, ingest, state }: RouteDeps): Route[] {
  return protocols(config, cacheBytes, ingest.clock).flatMap(({ name, prefixes, routes }) =>
    prefixes.flatMap((prefix) =>
      routes.map((route): Route => {
        const path = prefix + route.path;
        if (route.kind === 'ingest') {
          return { methods: ['POST'], path, handler: ingestHandler(name, route, ingest), isHot: true };
        }
        return { methods: [route.method], path, handler: (context) => send(context, route.answer(context, state())) };
      }),
    ),
  );
}

/** Finds the route of a request. */
export function dispatcher(routes: readonly Route[], lifecycle: () => Lifecycle): Dispatch {
  const hot = new Map<string, Route>();
  for (const route of routes) {
    if (route.isHot === true) for (const method of route.methods) hot.set(`${method} ${route.path}`, route);
  }
  const fallback = expressApp(routes, lifecycle);
  return (context) => {
    const route = hot.get(`${context.request.method} ${context.path}`);
    if (route === undefined) return fallback(context);
    context.route = route.path;
    void runHandler(lifecycle(), context, route.handler);
  };
}

function expressApp(routes: readonly Route[], lifecycle: () => Lifecycle): Dispatch {
  const contexts = new WeakMap<ServerResponse, RequestContext>();
  const take = (response: ServerResponse, handler: Handler): void => {
    const context = contexts.get(response);
    if (context !== undefined) void runHandler(lifecycle(), context, handler);
  };
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('query parser', false);
  const methodsOf = new Map<string, Set<string>>();
  for (const { methods, path, handler } of routes) {
    const known = methodsOf.get(path) ?? new Set<string>();
    methodsOf.set(path, known);
    for (const method of methods) {
      known.add(method);
      app[method === 'GET' ? 'get' : 'post'](path, (_request, response) =>
        take(response, (context) => {
          context.route = path;
          return handler(context);
        }),
      );
    }
  }
  for (const [path, methods] of methodsOf) {
    const allowed = [...methods, ...(methods.has('GET') ? ['HEAD'] : [])].join(', ');
    app.all(path, (_request, response) =>
      take(response, (context) => {
        context.route = path;
        context.request.resume();
        answerMethodNotAllowed(context, allowed);
      }),
    );
  }
  app.use((_request, response) => take(response, notFound));
  app.use((error: unknown, _request: IncomingMessage, response: ServerResponse, _next: unknown) =>
    // Express cannot read the path: broken percent-encoding.
    take(response, isClientError(error) ? notFound : (context) => lifecycle().fail(context, error)),
  );
  return (context) => {
    const { request, response } = context;
    // What was checked is what the router sees, whatever form the request had.
    request.url = context.search === '' ? context.path : `${context.path}?${context.search}`;
    contexts.set(response, context);
    app(request, response);
  };
}

function isClientError(error: unknown): boolean {
  const { status } = error as { readonly status?: number };
  return status !== undefined && status < 500;
}
