import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Express } from 'express';

import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';

import { ADMIN_ENDPOINTS } from '../admin/registry.js';
import type { AdminDeps } from '../admin/endpoint.js';
import { dashboardRoutes, type DashboardDeps } from '../dashboard/route.js';
import { openapiRoute } from '../openapi/route.js';
import type { RouteDoc } from '../openapi/route-doc.js';
import type { GatewayState, OpenProtocol, PlainRoute } from '../protocols/protocol.js';
import { pipelineApiRoutes, type PipelineApiDeps } from '../pipeline-api/routes.js';
import { influxRoutes } from '../query/influx/routes.js';
import { jaegerRoutes } from '../query/jaeger/routes.js';
import { logsRoutes } from '../query/logs/routes.js';
import type { LokiDeps } from '../query/loki/request.js';
import { lokiQueryRoutes } from '../query/loki/routes.js';
import type { PromEndpoint, PromEndpointDeps } from '../query/prometheus-api/endpoint.js';
import { PROM_ENDPOINTS } from '../query/prometheus-api/registry.js';
import { promHandler } from '../query/prometheus.js';
import { REMOTE_READ_DOC } from '../query/prometheus-doc.js';
import { promqlHandler } from '../query/promql.js';
import { lokiTailRoutes } from '../query/loki/tail.js';
import { tempoRoutes } from '../query/tempo/routes.js';
import type { TailSlots } from '../query/tail/slots.js';
import type { SocketRoute } from '../socket-route.js';
import type { QueryDeps } from '../query/query-route.js';
import { remoteReadHandler, type RemoteReadDeps } from '../query/remote-read/handler.js';
import { savedDashboardsRoutes, type DashboardDirectory } from '../query/dashboards.js';
import { runningQueriesRoutes } from '../query/queries.js';
import { sqlHandler } from '../query/sql.js';
import { PROMQL_TABLE_DOC, SQL_DOC, SQL_FORMAT_DOC, SQL_PARSE_DOC } from '../query/sql-doc.js';
import { sqlParseHandler } from '../query/sql-parse.js';
import { ticketsRoute } from '../query/tickets.js';
import { visibleCatalog } from '../query/visible-catalog.js';
import { send } from '../reply.js';
import type { Handler, HttpMethod, RequestContext } from '../request-context.js';
import { replyMethodNotAllowed, replyNotFound } from './fallback.js';
import { ingestHandler, type IngestDeps } from './ingest-handler.js';
import type { RequestRouter } from './lifecycle.js';
import { isPublicPath } from './target.js';

/** A path, and the handler of its requests. */
export interface Route {
  readonly methods: readonly HttpMethod[];
  /** In the syntax of Express. */
  readonly path: string;
  readonly handler: Handler;
  readonly doc: RouteDoc;
}

/** Dependencies of all routes. */
export interface RouteDeps {
  readonly protocols: readonly OpenProtocol[];
  readonly state: () => GatewayState;
  readonly ingest: IngestDeps;
  readonly query: QueryDeps;
  readonly clock: LokiDeps['clock'];
  readonly tails: TailSlots;
  readonly pipelines: Pick<PipelineApiDeps, 'pipelines' | 'nowNs'>;
  readonly savedDashboards: () => DashboardDirectory;
  readonly prom: PromEndpointDeps;
  readonly remoteRead: RemoteReadDeps;
  readonly admin: AdminDeps;
  readonly dashboard: DashboardDeps;
}

/** Base of the URLs that clients of Prometheus call. */
const PROMETHEUS = '/v1/prometheus';

/** Returns all routes, which both listeners have; the public one rejects most paths earlier. */
export function allRoutes(deps: RouteDeps): readonly Route[] {
  const routes = describedRoutes(deps);
  return [...routes, openapiRoute(routes, deps.admin.version, isPublicPath)];
}

function describedRoutes(deps: RouteDeps): readonly Route[] {
  const catalog = visibleCatalog(deps.ingest.catalog);
  return [
    ...deps.protocols.flatMap((protocol) => protocolRoutes(protocol, deps)),
    { methods: ['GET', 'POST'], path: '/v1/sql', handler: sqlHandler(deps.query), doc: SQL_DOC },
    {
      methods: ['GET', 'POST'],
      path: '/v1/sql/parse',
      handler: sqlParseHandler('tree', deps.query),
      doc: SQL_PARSE_DOC,
    },
    {
      methods: ['GET', 'POST'],
      path: '/v1/sql/format',
      handler: sqlParseHandler('format', deps.query),
      doc: SQL_FORMAT_DOC,
    },
    { methods: ['GET', 'POST'], path: '/v1/promql', handler: promqlHandler(deps.query), doc: PROMQL_TABLE_DOC },
    ...runningQueriesRoutes(deps.query),
    ...savedDashboardsRoutes({ ...deps.query, dashboards: deps.savedDashboards }),
    ticketsRoute(deps.query),
    ...influxQueryRoutes(deps, catalog),
    ...pipelineApiRoutes({ ...deps.query, ...deps.pipelines, ...deps.ingest }),
    ...jaegerRoutes({ ...deps.query, catalog }),
    ...tempoRoutes({ ...deps.query, catalog }),
    ...logsRoutes({ ...deps.query, catalog, clock: deps.clock }, deps.tails),
    ...lokiQueryRoutes({ ...deps.query, catalog, clock: deps.clock }),
    ...PROM_ENDPOINTS.map((endpoint) => promRoute(endpoint, deps)),
    ...['/read', '/api/v1/read'].map((path): Route => {
      const handler = remoteReadHandler(deps.remoteRead, deps.query);
      return { methods: ['POST'], path: PROMETHEUS + path, handler, doc: REMOTE_READ_DOC };
    }),
    ...ADMIN_ENDPOINTS.map(({ handler, ...endpoint }) => ({ ...endpoint, handler: handler(deps.admin) })),
    ...dashboardRoutes(deps.dashboard),
  ];
}

/** Returns all paths that serve WebSockets, on both listeners. */
export function allSocketRoutes({ query, ingest, clock, tails }: RouteDeps): readonly SocketRoute[] {
  return lokiTailRoutes({ ...query, catalog: visibleCatalog(ingest.catalog), clock }, tails);
}

/** Returns the routes by which clients of InfluxDB do more than write, wherever line protocol is served. */
function influxQueryRoutes({ protocols, query, clock }: RouteDeps, catalog: Catalog): Route[] {
  const prefixes = protocols.find(({ name }) => name === 'lineproto')?.prefixes ?? [];
  const routes = influxRoutes({ ...query, catalog, clock });
  return prefixes.flatMap((prefix) => routes.map((route) => ({ ...route, path: prefix + route.path })));
}

function promRoute(endpoint: PromEndpoint, { prom, query }: RouteDeps): Route {
  const { methods, path, doc } = endpoint;
  return { methods, path: `${PROMETHEUS}/api/v1${path}`, handler: promHandler(endpoint, prom, query), doc };
}

function protocolRoutes({ name, prefixes, routes }: OpenProtocol, { ingest, state }: RouteDeps): Route[] {
  return prefixes.flatMap((prefix) =>
    routes.map((route): Route => {
      const path = prefix + route.path;
      const { doc } = route;
      if (route.kind === 'ingest') {
        return { methods: ['POST'], path, handler: ingestHandler(name, route, ingest), doc };
      }
      return { methods: route.methods, path, handler: (context) => replyPlain(context, route, state()), doc };
    }),
  );
}

function replyPlain(context: RequestContext, route: PlainRoute, state: GatewayState): void {
  send(context, route.reply(context, state));
  // A body that is not read would block the connection.
  context.request.resume();
}

const EXPRESS_METHODS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

/**
 * Finds the handler of a request.
 *
 * Paths without parameters are looked up: for a write of 100 lines Express and its router would take as long as decoding,
 * for an instant query a fifth of the time. Express has all other paths, and all variants of a path.
 */
export class Router implements RequestRouter {
  readonly #routes: readonly Route[];
  readonly #exact = new Map<string, Route>();
  #express: Promise<RequestRouter['route']> | undefined;

  constructor(routes: readonly Route[]) {
    this.#routes = routes;
    for (const route of routes) {
      if (/[:*{]/.test(route.path)) continue;
      for (const method of route.methods) this.#exact.set(`${method} ${route.path}`, route);
    }
  }

  route(context: RequestContext, run: (handler: Handler) => void): void {
    const route = this.#exact.get(`${context.request.method} ${context.path}`);
    if (route === undefined) return void this.#routeByExpress(context, run);
    context.route = route.path;
    run(route.handler);
  }

  async #routeByExpress(context: RequestContext, run: Run): Promise<void> {
    try {
      const route = await (this.#express ??= loadExpress(this.#routes));
      route(context, run);
    } catch (error) {
      run(() => fail(error));
    }
  }
}

type Run = (handler: Handler) => void;

/** Loads the library on demand: with an entry for each route it would take a tenth of every start. */
async function loadExpress(routes: readonly Route[]): Promise<RequestRouter['route']> {
  const { default: express } = await import('express');
  return expressRouter(express(), routes);
}

function expressRouter(app: Express, routes: readonly Route[]): RequestRouter['route'] {
  const runs = new WeakMap<ServerResponse, Run>();
  // An entry refers to its own key: the collector of young objects would keep both.
  const take = (response: ServerResponse): Run | undefined => {
    const run = runs.get(response);
    runs.delete(response);
    return run;
  };
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('query parser', false);
  const methodsOf = new Map<string, Set<string>>();
  for (const { methods, path, handler } of routes) {
    const known = methodsOf.get(path) ?? new Set<string>();
    methodsOf.set(path, known);
    const { failure } = handler;
    const handle = (context: RequestContext): Promise<void> | void => {
      context.route = path;
      return handler(context);
    };
    const routed: Handler = Object.assign(handle, { failure });
    for (const method of methods) {
      known.add(method);
      app[EXPRESS_METHODS[method]](path, (_request, response) => take(response)?.(routed));
    }
  }
  for (const [path, methods] of methodsOf) {
    const allowed = [...methods, ...(methods.has('GET') ? ['HEAD'] : [])].join(', ');
    // One entry for all methods, where `app.all` has one for each of 34.
    app.route(path).all((_request, response) =>
      take(response)?.((context) => {
        context.route = path;
        replyMethodNotAllowed(context, allowed);
      }),
    );
  }
  app.use((_request, response) => take(response)?.(replyNotFound));
  app.use((error: unknown, _request: IncomingMessage, response: ServerResponse, _next: unknown) =>
    // Express fails for a path with broken percent-encoding.
    take(response)?.(isClientError(error) ? replyNotFound : () => fail(error)),
  );
  return (context, run) => {
    const { request, response } = context;
    // The router must see the path that was checked, whatever form of target the request has, and whatever its query is.
    request.url = context.path;
    runs.set(response, run);
    app(request, response);
  };
}

function fail(error: unknown): never {
  throw AlmanacError.from(error);
}

function isClientError(error: unknown): boolean {
  const { status } = error as { readonly status?: number };
  return status !== undefined && status < 500;
}
