import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import type { Config } from '#shared/config/schema';
import { checkCall, type Call } from '#shared/contracts/call';
import type { StorageStatus } from '#shared/contracts/gen/admin';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { FileSystem } from '#shared/fs/file-system';
import { Loop } from '#shared/lifecycle/loop';
import type { Service } from '#shared/lifecycle/service';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';
import { MetadataCatalog, type OnDamage } from './catalog.js';
import type { Cluster } from './cluster.js';
import { FlowLeases } from './flow-leases.js';
import { Leases } from './leases.js';
import { RegionMoves } from './moves.js';
import { checkNodes } from './node-check.js';
import { RegionOpenings } from './openings.js';
import { StoreSizes } from './store-gauges.js';
import { Tickets } from './tickets.js';
import { deleteDashboard, listDashboards, putDashboard } from './rpc/dashboards.js';
import { alterDatabase, createDatabase, dropDatabase, listDatabases } from './rpc/databases.js';
import { listGrants, moveRegion, openRegion, sealRegion } from './rpc/grants.js';
import { abandonNode, heartbeat, listNodes, registerNode } from './rpc/nodes.js';
import {
  commitSegments,
  expireSegments,
  deleteGarbageRecords,
  getManifest,
  listRegionSizes,
  listGarbage,
  replaceSegments,
  raiseTruncation,
} from './rpc/segments.js';
import {
  commitFlow,
  createFlow,
  dropFlow,
  getFlow,
  leaseFlows,
  listFlowChanges,
  listFlows,
  requestFlowFlush,
} from './rpc/flows.js';
import { deletePipeline, getPipeline, listPipelines, putPipeline } from './rpc/pipelines.js';
import {
  alterUser,
  createToken,
  createUser,
  dropToken,
  dropUser,
  grantMode,
  listUsers,
  revokeMode,
} from './rpc/users.js';
import { createView, dropView, getView } from './rpc/views.js';
import { alterTable } from './rpc/alter-table.js';
import {
  createTable,
  dropTable,
  ensureTables,
  getTable,
  listTables,
  type TableDefaults,
  type TableRules,
} from './rpc/tables.js';

export { CatalogCopy, type InspectedRegion } from './inspect.js';
export { CatalogFile, type CatalogEntry, type CatalogRegion } from './store/catalog-file.js';

/** Configuration and surroundings of metadata. */
export interface MetadataOptions {
  /** Folder of the catalog file; it must exist. */
  readonly folder: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly defaults: TableDefaults;
  /** Time without a heartbeat after which a node counts as gone, in milliseconds. */
  readonly leaseMs?: number;
}

/** Returns the limits and defaults of tables that the configuration sets. */
export function tableDefaults({ cluster, limits }: Config): TableDefaults {
  const { maxTablesPerDatabase: tablesMax, maxColumnsPerTable: columnsMax } = limits;
  return { regions: cluster.regions, tablesMax, columnsMax };
}

const LEASE_MS = 10_000;
const NODE_CHECK_MS = 1_000;
/** If checks are delayed by half a lease, this process counts as having been suspended. */
const CHECKS_PER_LEASE = 10;

/** Metadata over an open catalog file. */
export interface RunningMetadata extends Service {
  readonly service: MetadataService;
  /** Ids of the cluster and of the folder of its segments at the start; empty if unknown. */
  readonly identity: { readonly clusterId: string; readonly folderId: string };
  /** Returns the sizes of the files that the catalog lists, at most ten seconds old. */
  storage(): StorageStatus;
}

/**
 * Starts metadata: catalog, grants and manifest over one SQLite file. Methods are synchronous inside, so each is
 * atomic.
 */
export async function startMetadata(options: MetadataOptions): Promise<RunningMetadata> {
  const { folder, fs, clock, random, log, metrics, defaults, leaseMs = LEASE_MS } = options;
  const opened = metrics.histogram({ name: 'meta_create_catalog', help: 'meta create catalog' }).startTimer();
  const catalog = await MetadataCatalog.open(`${folder}/almanac.db`, fs, clock, damageReporter(log, metrics));
  opened();
  const leases = new Leases(leaseMs, clock);
  const moves = new RegionMoves(catalog, leases);
  const flowLeases = new FlowLeases(leaseMs, clock);
  const cluster: Cluster = { catalog, leases, moves, flowLeases, openings: new RegionOpenings(random), log };
  const nodeCheck = new Loop(
    {
      name: 'metadata.nodes',
      intervalMs: Math.min(NODE_CHECK_MS, cluster.leases.leaseMs / CHECKS_PER_LEASE),
      clock,
      log,
      metrics,
    },
    () => Promise.resolve(catalog.run(() => checkNodes(cluster))),
  );
  nodeCheck.start();
  const sizes = new StoreSizes(catalog, clock);
  const hideStore = sizes.export(metrics);
  return {
    service: metadataService(cluster, { ...defaults, onRefused: refusalCounter(metrics) }),
    identity: { clusterId: catalog.identity.clusterId(), folderId: catalog.identity.dataFolderId() },
    storage: () => sizes.storage(),
    drain: () => Promise.resolve(),
    async stop() {
      hideStore();
      await nodeCheck.stop();
      catalog.close();
    },
  };
}

/** Logs damage once, because every call may meet it again. */
function damageReporter(log: Logger, metrics: Metrics): OnDamage {
  const files = metrics.counter({
    name: 'metadata_damaged_files_total',
    help: 'catalog files found damaged, each counted once',
  });
  let isTold = false;
  return (file, reason) => {
    if (isTold) return;
    isTold = true;
    files.inc();
    log.error({ file, reason }, 'catalog is damaged');
  };
}

/** Counts what the limits of tables and columns refuse. */
function refusalCounter(metrics: Metrics): TableRules['onRefused'] {
  const refusals = metrics.counter({
    name: 'metadata_limit_refusals_total',
    help: 'requests refused because of limits.max_tables_per_database (`tables`) or limits.max_columns_per_table (`columns`)',
    labelNames: ['limit'],
  });
  return (limit) => refusals.inc({ limit });
}

function metadataService(cluster: Cluster, defaults: TableRules): MetadataService {
  const { catalog } = cluster;
  return {
    createDatabase: async (request, call) => answer(catalog, call, () => createDatabase(catalog, request)),
    dropDatabase: async (request, call) => answer(catalog, call, () => dropDatabase(cluster, request)),
    listDatabases: async (request, call) => answer(catalog, call, () => listDatabases(catalog, request)),
    createTable: async (request, call) => answer(catalog, call, () => createTable(catalog, request, defaults)),
    ensureTables: async (request, call) => answer(catalog, call, () => ensureTables(catalog, request, defaults)),
    getTable: async (request, call) => answer(catalog, call, () => getTable(catalog, request)),
    listTables: async (request, call) => answer(catalog, call, () => listTables(catalog, request)),
    dropTable: async (request, call) => answer(catalog, call, () => dropTable(cluster, request)),
    alterTable: async (request, call) => answer(catalog, call, () => alterTable(catalog, request, defaults)),
    alterDatabase: async (request, call) => answer(catalog, call, () => alterDatabase(catalog, request)),
    truncateTable: async (request, call) => answer(catalog, call, () => raiseTruncation(catalog, request)),
    getManifest: async (request, call) => answer(catalog, call, () => getManifest(catalog, request.regionId)),
    commitSegments: async (request, call) => answer(catalog, call, () => commitSegments(catalog, request)),
    replaceSegments: async (request, call) => answer(catalog, call, () => replaceSegments(catalog, request)),
    expireSegments: async (request, call) => answer(catalog, call, () => expireSegments(catalog, request)),
    registerNode: async (request, call) => answer(catalog, call, () => registerNode(cluster, request)),
    heartbeat: async (request, call) => answer(catalog, call, () => heartbeat(cluster, request)),
    openRegion: async (request, call) => answer(catalog, call, () => openRegion(cluster, request)),
    sealRegion: async (request, call) => answer(catalog, call, () => sealRegion(cluster, request)),
    moveRegion: async (request, call) => answer(catalog, call, () => moveRegion(cluster, request)),
    abandonNode: async (request, call) => answer(catalog, call, () => abandonNode(cluster, request)),
    listGrants: async (request, call) => answer(catalog, call, () => listGrants(catalog, request)),
    listNodes: async (_request, call) => answer(catalog, call, () => listNodes(cluster)),
    putPipeline: async (request, call) => answer(catalog, call, () => putPipeline(catalog, request)),
    getPipeline: async (request, call) => answer(catalog, call, () => getPipeline(catalog, request)),
    deletePipeline: async (request, call) => answer(catalog, call, () => deletePipeline(catalog, request)),
    listPipelines: async (request, call) => answer(catalog, call, () => listPipelines(catalog, request)),
    ...userMethods(catalog),
    ...viewMethods(catalog),
    ...dashboardMethods(catalog),
    ...flowMethods(cluster),
    ...ticketMethods(catalog),
    watch: (request, call) =>
      catalog.hub.watch(request.afterVersion, () => catalog.run(() => catalog.everything()), call),
    listRegionSizes: async (request, call) => answer(catalog, call, () => listRegionSizes(catalog, request)),
    listGarbage: async (request, call) => answer(catalog, call, () => listGarbage(catalog, request)),
    forgetGarbage: async (request, call) =>
      answer(catalog, call, () => {
        deleteGarbageRecords(catalog, request);
        return {};
      }),
  };
}

type UserMethods =
  'createUser' | 'alterUser' | 'dropUser' | 'grantMode' | 'revokeMode' | 'createToken' | 'dropToken' | 'listUsers';

function userMethods(catalog: MetadataCatalog): Pick<MetadataService, UserMethods> {
  return {
    createUser: async (request, call) => answer(catalog, call, () => createUser(catalog, request)),
    alterUser: async (request, call) => answer(catalog, call, () => alterUser(catalog, request)),
    dropUser: async (request, call) => answer(catalog, call, () => dropUser(catalog, request)),
    grantMode: async (request, call) => answer(catalog, call, () => grantMode(catalog, request)),
    revokeMode: async (request, call) => answer(catalog, call, () => revokeMode(catalog, request)),
    createToken: async (request, call) => answer(catalog, call, () => createToken(catalog, request)),
    dropToken: async (request, call) => answer(catalog, call, () => dropToken(catalog, request)),
    listUsers: async (request, call) => answer(catalog, call, () => listUsers(catalog, request)),
  };
}

function viewMethods(catalog: MetadataCatalog): Pick<MetadataService, 'createView' | 'dropView' | 'getView'> {
  return {
    createView: async (request, call) => answer(catalog, call, () => createView(catalog, request)),
    dropView: async (request, call) => answer(catalog, call, () => dropView(catalog, request)),
    getView: async (request, call) => answer(catalog, call, () => getView(catalog, request)),
  };
}

type DashboardMethods = 'putDashboard' | 'deleteDashboard' | 'listDashboards';

function dashboardMethods(catalog: MetadataCatalog): Pick<MetadataService, DashboardMethods> {
  return {
    putDashboard: async (request, call) => answer(catalog, call, () => putDashboard(catalog, request)),
    deleteDashboard: async (request, call) => answer(catalog, call, () => deleteDashboard(catalog, request)),
    listDashboards: async (request, call) => answer(catalog, call, () => listDashboards(catalog, request)),
  };
}

type FlowMethods =
  | 'createFlow'
  | 'dropFlow'
  | 'listFlows'
  | 'getFlow'
  | 'leaseFlows'
  | 'listFlowChanges'
  | 'commitFlow'
  | 'requestFlowFlush';

function flowMethods(cluster: Cluster): Pick<MetadataService, FlowMethods> {
  const { catalog } = cluster;
  return {
    createFlow: async (request, call) => answer(catalog, call, () => createFlow(catalog, request)),
    dropFlow: async (request, call) => answer(catalog, call, () => dropFlow(catalog, request)),
    listFlows: async (request, call) => answer(catalog, call, () => listFlows(catalog, request)),
    getFlow: async (request, call) => answer(catalog, call, () => getFlow(catalog, request)),
    leaseFlows: async (request, call) => answer(catalog, call, () => leaseFlows(cluster, request)),
    listFlowChanges: async (request, call) => answer(catalog, call, () => listFlowChanges(catalog, request)),
    commitFlow: async (request, call) => answer(catalog, call, () => commitFlow(catalog, request)),
    requestFlowFlush: async (request, call) => answer(catalog, call, () => requestFlowFlush(catalog, request)),
  };
}

function ticketMethods(catalog: MetadataCatalog): Pick<MetadataService, 'issueTicket' | 'redeemTicket'> {
  const tickets = new Tickets(catalog.clock);
  return {
    issueTicket: async (request, call) => answer(catalog, call, () => tickets.issue(request)),
    redeemTicket: async (request, call) => answer(catalog, call, () => tickets.redeem(request)),
  };
}

/** Runs one method, unless its call was cancelled already. */
function answer<T>(catalog: MetadataCatalog, call: Call, method: () => T): Promise<T> {
  checkCall(call);
  return Promise.resolve(catalog.run(method));
}
