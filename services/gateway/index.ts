import type { Clock } from '#shared/clock/clock';
import type { Config } from '#shared/config/schema';
import { checkCall, ownCall, type Call } from '#shared/contracts/call';
import type { QuerierService } from '#shared/contracts/gen/querier';
import type { Catalog } from '#shared/discovery/catalog';
import { AlmanacError } from '#shared/errors/almanac-error';
import { readBuildInfo } from '#shared/lifecycle/build-info';
import type { RoleAddress } from '#shared/lifecycle/role';
import type { Service } from '#shared/lifecycle/service';
import { cacheShares } from '#shared/limits/cache-shares';
import { MemoryBudget } from '#shared/limits/memory-budget';
import { shareOf } from '#shared/limits/share';
import { BuilderPool } from '#shared/rowbatch/builder-pool';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';
import type { RowWriter } from '#shared/write/writer-types';

import type { NodeAdmin, PeerDirectory, Readiness } from './admin/endpoint.js';
import { BodyReader } from './http/body.js';
import { BufferPool } from './http/buffer-pool.js';
import { Cors } from './http/cors.js';
import { Lifecycle } from './http/lifecycle.js';
import { openListener, type Listener } from './http/listeners.js';
import { allRoutes, dispatcher, type RouteDeps } from './http/routes.js';
import { GatewayMetrics } from './metrics.js';
import { READ_ENCODING } from './query/remote-read/handler.js';
import { QUERY_ENCODINGS } from './query/sql.js';
import type { RequestContext } from './request-context.js';

export type { Readiness } from './admin/endpoint.js';

export interface GatewayDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** These three may refuse everything until `readiness` says ready: the gateway does not ask them before. */
  readonly querier: QuerierService;
  readonly writer: RowWriter;
  readonly catalog: Catalog;
  readonly admin: NodeAdmin;
  /** The other processes of a cluster; undefined where there is none. */
  readonly peers?: PeerDirectory;
  readonly readiness: () => Readiness;
  /** Roles of a cluster that nobody who is ready has at the moment; of those that writes and queries need. */
  readonly lackingRoles: () => readonly string[];
  /** Why writes are not possible, as far as this process knows, for protocols that have an answer for that. */
  readonly writeObstacle: () => string | undefined;
}

/** An open gateway. `drain` finishes the requests at hand and takes no more. */
export interface RunningGateway extends Service {
  readonly httpUrl: string;
  readonly publicUrl: string | undefined;
}

/** An obstacle to writes of a process that starts, or has nobody who takes them. */
export const NOT_READY = 'not ready for writes';

/** Share of the memory for requests that answers to remote reads may take. */
const ANSWER_SHARE = 0.5;

/** Opens the listeners. Health is answered from now on, data when `readiness` says so. */
export async function startGateway(deps: GatewayDeps): Promise<RunningGateway> {
  const { config, clock, log } = deps;
  const budget = new MemoryBudget({
    name: 'request body',
    limitBytes: shareOf(config.memory.limitBytes, config.memory.bodyPercent),
    clock,
  });
  const metrics = new GatewayMetrics(deps.metrics, clock, budget);
  // Routes report failures to the lifecycle, which finds requests their routes.
  const lifecycle: Lifecycle = new Lifecycle({
    clock,
    log: log.child({ component: 'gateway.http' }),
    metrics,
    cors: new Cors(config.http),
    requestsMax: config.http.maxConcurrentRequests,
    isEnding: () => deps.readiness().isDraining === true,
    dispatch: (context) => dispatch(context),
  });
  const dispatch = dispatcher(allRoutes(routeDeps(deps, metrics, budget, lifecycle)), () => lifecycle);

  const main = await openListener(config.http.addr, 'main', lifecycle);
  const listeners: Listener[] = [main];
  try {
    if (config.http.enableApiServer) {
      listeners.push(await openListener(config.http.apiServerAddr, 'public', lifecycle));
    }
  } catch (error) {
    await closeAll(listeners);
    throw error;
  }
  let closing: Promise<unknown> | undefined;
  return {
    httpUrl: main.url,
    publicUrl: listeners.at(1)?.url,
    drain: async () => {
      closing ??= Promise.all(listeners.map((listener) => listener.close()));
      await lifecycle.drain();
      for (const listener of listeners) listener.closeIdle();
    },
    stop: () => closeAll(listeners),
  };
}

/** The listeners, for the log. */
export function httpAddresses({ httpUrl, publicUrl }: RunningGateway, config: Config): RoleAddress[] {
  return [
    ...(publicUrl === undefined ? [] : [{ message: 'public listener is open', url: publicUrl }]),
    { message: 'main listener is open', url: httpUrl },
    ...(config.dashboard.enable ? [{ message: 'dashboard', url: `${httpUrl}/dashboard/` }] : []),
  ];
}

function routeDeps(deps: GatewayDeps, metrics: GatewayMetrics, budget: MemoryBudget, lifecycle: Lifecycle): RouteDeps {
  const { config, clock, catalog, writer, querier, admin, readiness } = deps;
  const { version } = readBuildInfo();
  const caches = cacheShares(config.memory, config.promql.resultCacheBytes);
  const isDraining = (): boolean => lifecycle.isDraining || readiness().isDraining === true;
  const isServing = (): boolean => lifecycle.isDraining || readiness().ready;
  let waitingCount = 0;
  const checkReady = async (call: Call): Promise<void> => {
    if (isServing()) return;
    if (waitingCount < READY_WAITING_MAX) {
      waitingCount++;
      await becomesTrue(isServing, clock, call).finally(() => waitingCount--);
    }
    if (!isServing()) throw starting(readiness());
  };
  const onFailure: RouteDeps['sql']['onFailure'] = (context, error) => lifecycle.logFailure(context, error);
  const bodies = new BodyReader({
    limitBytes: config.http.bodyLimitBytes,
    budget,
    buffers: new BufferPool(caches.bodyBuffers),
    onRefused: () => metrics.bodyRefused(),
  });
  const sql = {
    config,
    querier,
    readBody: ({ request }: RequestContext, call: Call) => bodies.read(request, { encodings: QUERY_ENCODINGS }, call),
    metrics,
    checkReady,
    onFailure,
  };
  const readPacked = ({ request }: RequestContext, call: Call): ReturnType<BodyReader['read']> =>
    bodies.read(request, { encodings: [READ_ENCODING], impliedEncoding: READ_ENCODING }, call);
  return {
    config,
    cacheBytes: caches.seriesKeys,
    state: () => ({ writeObstacle: deps.lackingRoles().includes('ingester') ? NOT_READY : deps.writeObstacle() }),
    ingest: {
      bodies,
      catalog,
      writer,
      pool: new BuilderPool(caches.builders),
      clock,
      metrics,
      timeoutMs: config.http.timeoutMs,
      checkReady,
      onFailure,
    },
    sql,
    prom: { ...sql, admin, nowMs: () => clock.nowMs() },
    remoteRead: { ...sql, readBody: readPacked, budget: answerBudget(budget, clock) },
    admin: {
      admin,
      readiness,
      isDraining,
      lackingRoles: deps.lackingRoles,
      peers: deps.peers,
      newCall: (requestId, timeoutMs) => ({ ...ownCall(requestId), deadlineMs: clock.nowMs() + timeoutMs }),
      nowMs: () => clock.nowMs(),
      dashboardUrl: config.dashboard.enable ? 'dashboard/' : undefined,
      version,
    },
    dashboard: { isEnabled: config.dashboard.enable, upstream: config.dashboard.upstream, version },
  };
}

/** A start takes a second: who comes shortly before its end is not turned away. */
const READY_WAIT_MS = 2_000;
const READY_LOOK_MS = 20;
/** More would keep those from an answer that need no data. */
const READY_WAITING_MAX = 128;

async function becomesTrue(condition: () => boolean, clock: Clock, call: Call): Promise<void> {
  const untilMs = Math.min(call.deadlineMs, clock.nowMs() + READY_WAIT_MS);
  while (!condition() && clock.nowMs() < untilMs) {
    await clock.sleep(READY_LOOK_MS, call.signal);
    checkCall(call);
  }
}

function starting({ waiting }: Readiness): AlmanacError {
  const text = `the server is starting${waiting.length === 0 ? '' : `, waiting for ${waiting.join(', ')}`}`;
  return new AlmanacError('region_not_ready', text, { retryAfterSeconds: 1 });
}

function answerBudget(requests: MemoryBudget, clock: Clock): RouteDeps['remoteRead']['budget'] {
  const limitBytes = Math.floor(requests.limitBytes * ANSWER_SHARE);
  return { requests, answers: new MemoryBudget({ name: 'remote read answer', limitBytes, clock }) };
}

async function closeAll(listeners: readonly Listener[]): Promise<void> {
  const closed = listeners.map((listener) => listener.close());
  for (const listener of listeners) listener.destroy();
  await Promise.all(closed);
}
