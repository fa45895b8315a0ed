import type { StoredUsers } from '#shared/auth/stored-users';
import type { Clock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { isLoopbackAddress } from '#shared/config/address';
import { sectionValues, type Config } from '#shared/config/schema';
import { ownCall } from '#shared/contracts/call';
import type { AnyQuerier } from '#shared/contracts/local-querier';
import type { Catalog } from '#shared/discovery/catalog';
import type { PipelineDirectory } from '#shared/discovery/pipeline-directory';
import { readBuildInfo } from '#shared/lifecycle/build-info';
import type { RoleAddress } from '#shared/lifecycle/role';
import type { Service } from '#shared/lifecycle/service';
import { cacheShares } from '#shared/limits/cache-shares';
import { MemoryBudget } from '#shared/limits/memory-budget';
import { budgetOf } from '#shared/limits/share';
import { BuilderPool } from '#shared/rowbatch/builder-pool';
import { ProfileWorker } from '#shared/profiling/profile-worker';
import { MetricsExporter } from '#shared/node/metrics-export/metrics-exporter';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';
import type { Tracing } from '#shared/telemetry/tracing';
import { openCertificates } from '#shared/tls/certificate-source';
import type { RowWriter } from '#shared/write/writer-types';

import type { NodeAdmin, PeerDirectory } from './admin/endpoint.js';
import { Authenticator } from './auth/authenticator.js';
import { AuthGuard, isLoopback, type AdminPolicy } from './auth/guard.js';
import { openUserProvider, type UserProvider } from '#shared/auth/user-provider';
import { RequestRates } from './auth/request-rates.js';
import type { TicketDirectory } from './auth/tickets.js';
import { BodyReader } from './http/body.js';
import { BufferPool } from './http/buffer-pool.js';
import { Cors } from './http/cors.js';
import { RequestLifecycle } from './http/lifecycle.js';
import { openListener, type Listener } from './http/listeners.js';
import { rehearsing, type Rehearse } from './http/rehearsal.js';
import { allRoutes, allSocketRoutes, Router, type Route, type RouteDeps } from './http/routes.js';
import { SelfImport } from './metrics-import/self-import.js';
import { metricsSources } from './metrics-import/sources.js';
import { PipelineCounters } from './protocols/common/pipeline/counters.js';
import { GatewayMetrics, watchLookupAges } from './metrics.js';
import { lookupSource } from './pipeline-api/lookup-source.js';
import { parsePipelineKeys, PIPELINES_SECTION } from './pipelines/config.js';
import { PipelineLibrary } from './pipelines/library.js';
import { LookupTables } from './pipelines/lookup-tables.js';
import { PipelineState } from './pipelines/state.js';
import { timeColumnOf } from './protocols/common/append-write.js';
import { CacheMemory } from './protocols/common/cache-memory.js';
import { openProtocols, type Protocol } from './protocols/protocol.js';
import { PROTOCOLS } from './protocols/registry.js';
import type { DashboardDirectory } from './query/dashboards.js';
import { lokiLimits } from './query/loki/request.js';
import { QueryIds } from './query/query-ids.js';
import { SlowQueries } from './query/slow-queries.js';
import { TailSlots } from './query/tail/slots.js';
import { ReadyGate, type Readiness } from './ready-gate.js';
import type { ListenerKind } from './request-context.js';
import { RequestLog } from './request-log.js';

export type { Readiness } from './ready-gate.js';

/** Dependencies of a gateway. */
export interface GatewayDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** These three may reject every call until `readiness` reports ready: the gateway does not call them before. */
  readonly querier: AnyQuerier;
  readonly writer: RowWriter;
  readonly catalog: Catalog;
  /** Returns the stored pipelines; not called before `readiness` reports ready. */
  readonly pipelines: () => PipelineDirectory;
  /** Returns where dashboards are stored; not called before `readiness` reports ready. */
  readonly savedDashboards: () => DashboardDirectory;
  /** Returns where tickets are kept. @throws `region_not_ready` while the process starts. */
  readonly tickets: () => TicketDirectory;
  /** Returns the users that SQL manages. @throws `region_not_ready` while the process starts. */
  readonly storedUsers: () => StoredUsers;
  readonly admin: NodeAdmin;
  readonly tracing: Tracing;
  /** The other processes of a cluster; undefined in a standalone process. */
  readonly peers?: PeerDirectory;
  readonly readiness: () => Readiness;
  /** Roles of a cluster that writes and queries need and that no ready process has. */
  readonly lackingRoles: () => readonly string[];
  /** Why writes are not possible, as far as this process knows; for protocols that report it. */
  readonly writeObstacle: () => string | undefined;
  /** Protocols that take rows; default: all of the registry. */
  readonly protocols?: readonly Protocol[];
}

/** An open gateway. `drain` finishes the open requests and accepts no others. */
export interface RunningGateway extends Service {
  readonly httpUrl: string;
  readonly publicUrl: string | undefined;
  /** Everything that the main listener serves. */
  readonly routes: readonly Pick<Route, 'methods' | 'path'>[];
  readonly rehearse: Rehearse;
}

/** Obstacle to writes while the process starts, or no ingester is ready. */
export const NOT_READY = 'not ready for writes';

/** Share of the memory for requests that replies to remote reads may use. */
const READ_REPLY_SHARE = 0.5;

/** Opens the listeners. Health is served from now on, data once `readiness` reports ready. */
export async function startGateway(deps: GatewayDeps): Promise<RunningGateway> {
  const { config, clock, protocols = PROTOCOLS } = deps;
  const budget = new MemoryBudget({
    name: 'request body',
    limitBytes: budgetOf(config.memory.limitBytes, config.memory.bodyPercent),
    clock,
  });
  const metrics = new GatewayMetrics(deps.metrics, { clock, bodies: budget, protocols });
  const log = new RequestLog(deps.log.child({ component: 'gateway.http' }));
  const gate = new ReadyGate(deps.readiness, clock);
  const slowQueries = new SlowQueries({
    config,
    querier: deps.querier,
    catalog: deps.catalog,
    clock,
    random: systemRandom,
    log: deps.log.child({ component: 'gateway.slow-queries' }),
    metrics: deps.metrics,
  });
  const routing = await routeDeps(deps, { metrics, log, gate, budget, slowQueries });
  const users = openUserProvider(config.userProvider, { clock, log: deps.log.child({ component: 'gateway.auth' }) });
  const routes = allRoutes(routing);
  const lifecycle = new RequestLifecycle({
    clock,
    log,
    metrics,
    guard: authGuard(deps, users, metrics),
    tracing: deps.tracing,
    slowQueries,
    cors: new Cors(config.http),
    requestsMax: config.http.maxConcurrentRequests,
    gate,
    router: new Router(routes),
    sockets: allSocketRoutes(routing),
  });

  const { listeners, closeCertificates } = await openListeners(deps, lifecycle);
  const [main] = listeners;
  if (users === undefined) warnIfOpen(deps);
  const exporter = startSelfImport(deps, main.url.slice(main.url.lastIndexOf(':') + 1));
  let closing: Promise<unknown> | undefined;
  return {
    httpUrl: main.url,
    publicUrl: listeners.at(1)?.url,
    routes,
    rehearse: rehearsing({ ...routing.query, clock, budget, protocols, guard: (of) => authGuard(deps, undefined, of) }),
    drain: async () => {
      await exporter?.stop();
      closing ??= Promise.all(listeners.map((listener) => listener.close()));
      await lifecycle.drain();
      for (const listener of listeners) listener.closeIdle();
    },
    stop: async () => {
      await exporter?.stop();
      users?.close();
      closeCertificates();
      await closeAll(listeners);
    },
  };
}

/** Starts storing the metrics of the server in itself; undefined if it is not configured. */
function startSelfImport(deps: GatewayDeps, port: string): MetricsExporter | undefined {
  const { config, log, metrics, clock, admin, peers, readiness } = deps;
  const { enable, remoteWriteUrl, writeIntervalMs } = config.export_metrics;
  if (!enable || remoteWriteUrl !== undefined) return undefined;
  const target = new SelfImport(deps);
  const exporter = new MetricsExporter({
    intervalMs: writeIntervalMs,
    clock,
    log: log.child({ component: 'metrics' }),
    metrics,
    sources: (call) => (readiness().ready ? metricsSources({ admin, peers, port }, call) : Promise.resolve([])),
    send: (request, call) => target.write(request, call),
  });
  exporter.start();
  return exporter;
}

/** Opens the main listener and, if it is enabled, the public one. */
async function openListeners(
  { config, clock, log: parentLog, metrics }: GatewayDeps,
  lifecycle: RequestLifecycle,
): Promise<{ readonly listeners: readonly [Listener, ...Listener[]]; readonly closeCertificates: () => void }> {
  const { addr, apiServerAddr, enableApiServer, maxConcurrentRequests } = config.http;
  const log = parentLog.child({ component: 'gateway.tls' });
  const certificates = openCertificates('http.tls', config['http.tls'], { clock, log, metrics });
  const failures = metrics.counter({
    name: 'servers_tls_handshake_failures_total',
    help: 'TLS handshakes of HTTP clients that failed',
  });
  const tls = certificates && {
    certificates,
    handshakesMax: maxConcurrentRequests,
    onHandshakeFailure(code: string, address: string | undefined) {
      failures.inc();
      log.debug({ code, address }, 'TLS handshake failed');
    },
  };
  const open = (address: string, kind: ListenerKind): Promise<Listener> =>
    openListener(address, { kind, lifecycle, tls });
  const closeCertificates = (): void => certificates?.close();
  const main = await open(addr, 'main');
  if (!enableApiServer) return { listeners: [main], closeCertificates };
  try {
    return { listeners: [main, await open(apiServerAddr, 'public')], closeCertificates };
  } catch (error) {
    await closeAll([main]);
    throw error;
  }
}

function warnIfOpen({ config: { http }, log }: GatewayDeps): void {
  const addresses = [http.addr, ...(http.enableApiServer ? [http.apiServerAddr] : [])];
  const open = addresses.filter((address) => !isLoopbackAddress(address));
  if (open.length > 0) log.child({ component: 'gateway.auth' }).warn({ addresses: open }, WITHOUT_USERS);
}

const WITHOUT_USERS =
  'every host that reaches the HTTP listener may read and write everything: set user_provider, or use a private network';

function authGuard(
  { config, clock, log, storedUsers, tickets }: GatewayDeps,
  users: UserProvider | undefined,
  metrics: GatewayMetrics,
): AuthGuard {
  const audit = log.child({ component: 'audit' });
  const authenticator =
    users &&
    new Authenticator({
      users: {
        find: (name) => users.find(name) ?? storedUsers().find(name),
        findToken: (hash) => storedUsers().findToken(hash),
      },
      clock,
      hidesUnknownUsers: config.auth.hideUnknownUser,
      onFailure: ({ code }, user) => {
        metrics.authFailed(code);
        audit.warn({ user: user.slice(0, USER_LENGTH_MAX), code }, 'credentials refused');
      },
    });
  const metricsNeedRights = config.auth.metrics === 'required';
  const rates = new RequestRates(config.limits.userRequestsPerSecond, clock);
  return new AuthGuard({ authenticator, admin: adminPolicy(config), metricsNeedRights, rates, tickets });
}

/** Characters of a user's name in the log, which anyone can send. */
const USER_LENGTH_MAX = 100;

function adminPolicy({ auth, http }: Config): AdminPolicy {
  if (auth.admin !== 'auto') return auth.admin;
  const host = http.addr.slice(0, http.addr.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  return host === 'localhost' || isLoopback(host) ? 'open' : 'required';
}

/** Returns the listeners for the log. */
export function httpAddresses({ httpUrl, publicUrl }: RunningGateway, config: Config): RoleAddress[] {
  return [
    ...(publicUrl === undefined ? [] : [{ message: 'public listener open', url: publicUrl }]),
    { message: 'main listener open', url: httpUrl },
    ...(config.dashboard.enable ? [{ message: 'dashboard', url: `${httpUrl}/dashboard/` }] : []),
  ];
}

interface RequestParts {
  readonly metrics: GatewayMetrics;
  readonly log: RequestLog;
  readonly gate: ReadyGate;
  readonly budget: MemoryBudget;
  readonly slowQueries: SlowQueries;
}

async function routeDeps(
  deps: GatewayDeps,
  { metrics, log, gate, budget, slowQueries }: RequestParts,
): Promise<RouteDeps> {
  const { config, clock, catalog, writer, querier, admin } = deps;
  const { version } = readBuildInfo();
  const caches = cacheShares(config.memory, config.promql.resultCacheBytes);
  const memory = new CacheMemory(caches.seriesKeys);
  const nowMs = (): number => clock.nowMs();
  const bodies = new BodyReader({
    limitBytes: config.http.bodyLimitBytes,
    budget,
    buffers: new BufferPool(caches.bodyBuffers),
    clock,
    onRefused: () => metrics.bodyRefused(),
  });
  const query = { config, querier, bodies, metrics, log, gate, nowMs, slowQueries, queryIds: new QueryIds() };
  const pipelines = pipelineLibrary(deps, metrics);
  return {
    protocols: await openProtocols(deps.protocols ?? PROTOCOLS, { config, memory, clock, pipelines }),
    state: () => ({ writeObstacle: deps.lackingRoles().includes('ingester') ? NOT_READY : deps.writeObstacle() }),
    ingest: {
      bodies,
      catalog,
      writer,
      pool: new BuilderPool(caches.builders),
      counters: new PipelineCounters({ config, writer, clock, random: systemRandom }),
      clock,
      metrics,
      log,
      gate,
      timeoutMs: config.http.timeoutMs,
    },
    query,
    clock,
    tails: new TailSlots(lokiLimits(config).maxTails),
    pipelines: { pipelines, nowNs: () => clock.nowNs() },
    savedDashboards: deps.savedDashboards,
    prom: { config, querier, admin, nowMs },
    remoteRead: { budget: readReplyBudget(budget, clock) },
    admin: {
      admin,
      gate,
      lackingRoles: deps.lackingRoles,
      peers: deps.peers,
      newCall: (requestId, timeoutMs) => ({ ...ownCall(requestId), deadlineMs: clock.nowMs() + timeoutMs }),
      nowMs,
      bodies,
      profiles: new ProfileWorker(clock),
      dashboardUrl: config.dashboard.enable ? 'dashboard/' : undefined,
      version,
    },
    dashboard: { isEnabled: config.dashboard.enable, upstream: config.dashboard.upstream },
  };
}

function pipelineLibrary(deps: GatewayDeps, metrics: GatewayMetrics): PipelineLibrary {
  const { config, clock, querier, catalog } = deps;
  const log = deps.log.child({ component: 'gateway.pipelines' });
  const lookups = new LookupTables({
    source: lookupSource(querier, catalog),
    clock,
    refreshFailed: (table, error) => log.warn({ table, error }, 'lookup table not refreshed'),
  });
  watchLookupAges(deps.metrics, () => lookups.ages());
  return new PipelineLibrary(timeColumnOf(config), deps.pipelines, {
    clock,
    random: systemRandom,
    keys: parsePipelineKeys(sectionValues(config, PIPELINES_SECTION).keys ?? ''),
    state: new PipelineState(),
    lookups,
    dropCounter: (pipeline, processor) => metrics.dropCounter(pipeline, processor),
  });
}

function readReplyBudget(requests: MemoryBudget, clock: Clock): RouteDeps['remoteRead']['budget'] {
  const limitBytes = Math.floor(requests.limitBytes * READ_REPLY_SHARE);
  return { requests, replies: new MemoryBudget({ name: 'remote read reply', limitBytes, clock }) };
}

async function closeAll(listeners: readonly Listener[]): Promise<void> {
  const closed = listeners.map((listener) => listener.close());
  for (const listener of listeners) listener.destroy();
  await Promise.all(closed);
}
