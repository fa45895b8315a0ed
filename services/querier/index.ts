import { getHeapStatistics } from 'node:v8';

import type { Clock } from '#shared/clock/clock';
import { pacedClock } from '#shared/clock/paced-clock';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { ProcessesService } from '#shared/contracts/gen/processes';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { readingRights } from '#shared/contracts/rights';
import type { LocalQuerier } from '#shared/contracts/local-querier';
import type { CatalogCache } from '#shared/discovery/catalog-cache';
import type { Ingesters } from '#shared/discovery/ingesters';
import { ManifestCache } from '#shared/discovery/manifest-cache';
import { openSandbox, type DuckDBInstance } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { ConfinedFolder } from '#shared/fs/confined-folder';
import type { FileSystem } from '#shared/fs/file-system';
import type { Service } from '#shared/lifecycle/service';
import { DamageLog } from '#shared/segments/damage-log';
import { compileSooner } from '#shared/node/compile-sooner';
import { LocalStore } from '#shared/segments/local-store';
import type { Logger } from '#shared/telemetry/log';
import { Metrics } from '#shared/telemetry/metrics';

import { ColumnCache } from './columns/column-cache.js';
import { FlowEngine } from './flows/flow-engine.js';
import { damagedFiles, indexGauges, querierMetrics, type QuerierMetrics } from './metrics.js';
import type { QuerierConfig } from './settings.js';
import { Evaluation } from './rpc/prom/evaluation.js';
import { TableExtras } from './rpc/prom/table-extras.js';
import { prom, type PromServiceDeps } from './rpc/prom.js';
import { sqlParse } from './rpc/sql-parse.js';
import { sqlService, statementDeps, type SqlServiceDeps } from './rpc/sql.js';
import { wholeResults } from './rpc/whole-results.js';
import { Admission } from './run/admission.js';
import { MemoryWatch, type WatchedMemory } from './run/memory-watch.js';
import { ProcessDirectory } from './run/process-directory.js';
import { Processes } from './run/processes.js';
import { WarmUp, type WarmUpService } from './run/warm-up.js';
import { latestSchema } from './samples/latest-schema.js';
import { labelOfTagColumn } from './samples/metric-table.js';
import { MetricTables } from './samples/metric-tables.js';
import { installFunctions } from './sql/functions/install.js';
import { SampleStore, SAMPLES_SHARE_MIN } from './samples/sample-store.js';
import type { IndexMemoryLimits } from './series/memory/index-memory.js';
import { SharedIndexes } from './series/shared-indexes.js';
import { RegionSnapshots } from './snapshot/snapshot.js';
import { OpenSegments } from './columns/open-segments.js';
import type { ColumnSources } from './columns/query-columns.js';
import { MergedBlocks } from './kernels/late/merged-blocks.js';
import { KernelMemory } from './kernels/memory.js';
import { ScanThreads } from './kernels/threads/scan-threads.js';
import type { StatementDeps, StatementRowSink } from './sql/statement.js';
import { ResultCache } from './kernels/result/result-cache.js';
import type { SqlKernels } from './sql/statement.js';

export { querierSettings, type QuerierConfig } from './settings.js';

/** Dependencies of the querier. */
export interface QuerierDeps {
  readonly config: QuerierConfig;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly metadata: MetadataService;
  readonly catalog: CatalogCache;
  readonly ingesters: Ingesters;
  /** Stores the rows of INSERT. */
  readonly insert: StatementRowSink;
  /** Resolves once it is certain that manifests name files of this data folder; rejects if they do not. */
  readonly confirmDataFolder?: () => Promise<void>;
  /** The queries of this process; undefined: the querier keeps the list for itself. */
  readonly processes?: Processes;
  /** Returns the processes of the other queriers of a cluster. */
  readonly otherProcesses?: () => readonly ProcessesService[];
  /** Returns the ID of this process in the cluster. */
  readonly nodeId: () => number;
  /** Sends the results of the warm-up as those of clients are sent; undefined: they are dropped. */
  readonly rehearse?: ((service: Pick<QuerierService, 'sql'>) => Pick<QuerierService, 'sql'>) | undefined;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** A started querier. */
export interface RunningQuerier extends Service {
  readonly service: LocalQuerier;
  /** Reports a file that another component found damaged: its checksum is verified before the next read. */
  suspect(path: string): void;
}

/** Starts the querier. */
export async function startQuerier(deps: QuerierDeps): Promise<RunningQuerier> {
  const { config, fs, metadata, catalog, ingesters, log } = deps;
  const clock = pacedClock(deps.clock);
  await fs.makeFolder(config.spillFolder);
  const copyRoot = await openCopyRoot(config, fs);
  const duckdb = await openSandbox(config, config.storeFolder, ...(copyRoot === undefined ? [] : [copyRoot.root]));
  const manifests = new ManifestCache(metadata);
  const { connections, store, snapshots, indexes } = await openSnapshots(deps, { duckdb, manifests, clock });
  const metrics = querierMetrics(deps.metrics);
  const cache = new ColumnCache(store, config.columnCache);
  const columns = { cache, open: new OpenSegments(cache, clock) };
  const samples = new SampleStore({
    ...{ catalog, ingesters, manifests, clock },
    files: snapshots.files,
    indexes,
    columns,
    connection: connections.sampling,
    segmentRead: (reader) => metrics.segmentRead(reader),
    cacheBytes: config.sampleCacheBytes,
    labelBytes: config.labelCacheBytes,
    metadataTable: config.promql.names.metadataTable,
  });
  const unsubscribe = follow(deps, { manifests, snapshots, samples });
  const { concurrent, queue, processBytes } = config.runs;
  const { processes = new Processes({ clock, addr: () => config.addr, nodeId: () => 0 }) } = deps;
  const shared = {
    ...{ ...deps, clock, processes, metrics },
    processDirectory: new ProcessDirectory(processes, deps.otherProcesses ?? (() => [])),
    admission: new Admission({ concurrent, queue, clock, onFirst: compileSooner }),
    memory: new MemoryWatch({ clock, kinds: [processMemory(processBytes), heapMemory()] }),
  };
  const kernels = kernelsOf(config, columns, shared);
  unsubscribe.push(
    indexGauges(deps.metrics, indexes),
    () => columns.open.stop(),
    () => kernels?.threads.stop(),
  );
  const evaluation = new Evaluation({ sources: samples, clock, promLimits: config.promql });
  const sqlDeps = {
    ...{ ...shared, duckdb, snapshots, copyRoot, kernels, log, limits: config.limits },
    promql: evaluation,
    logicalTables: new MetricTables({ catalog, samples, defaultTable: config.promql.names.physicalTable }),
    names: { catalog: config.catalogName },
  };
  const { service, flows, warmUp } = startServices(sqlDeps, { ...shared, evaluation, promLimits: config.promql }, deps);
  return {
    service,
    suspect: (path) => snapshots.files.invalidate(path),
    drain: () => flows.stop(),
    async stop() {
      await flows.stop();
      await warmUp.stop();
      for (const end of unsubscribe.splice(0)) end();
      await snapshots.settled();
      for (const connection of Object.values(connections)) connection.closeSync();
      duckdb.closeSync();
    },
  };
}

/** Opens what queries read: segments, unflushed rows, and series. */
async function openSnapshots(
  { config, fs, catalog, ingesters, log, metrics, confirmDataFolder = () => Promise.resolve() }: QuerierDeps,
  { duckdb, manifests, clock }: { duckdb: DuckDBInstance; manifests: ManifestCache; clock: Clock },
) {
  const connection = await duckdb.connect();
  await installFunctions(connection);
  const appending = await duckdb.connect();
  const sampling = await duckdb.connect();
  const store = new LocalStore(config.storeFolder, fs, new DamageLog(log, damagedFiles(metrics)));
  const { freshBytes = 0 } = config.columnCache;
  const batchMemory = config.kernelBytes === undefined ? undefined : { bytesLeft: freshBytes };
  const indexes = new SharedIndexes({
    ...{ connection: sampling, clock, memory: indexMemory(config) },
    files: { absolute: (path) => snapshots.files.absolute(path) },
    latestSchema: (tableId) => latestSchema(tableId, { catalog, clock }),
    nameOf: labelOfTagColumn,
  });
  const snapshots: RegionSnapshots = new RegionSnapshots({
    ...{ catalog, ingesters, manifests, clock, store, connection, appending, batchMemory, indexes, confirmDataFolder },
  });
  return { connections: { connection, appending, sampling }, store, snapshots, indexes };
}

/** Returns the kernels of a querier; undefined if they are turned off. */
function kernelsOf(
  config: QuerierConfig,
  columns: ColumnSources,
  { clock, metrics }: { readonly clock: Clock; readonly metrics: QuerierMetrics },
): (SqlKernels & { readonly threads: ScanThreads }) | undefined {
  const { kernelBytes, resultCacheBytes } = config;
  if (kernelBytes === undefined) return undefined;
  return {
    columns,
    clock,
    memory: new KernelMemory(kernelBytes),
    blocks: new MergedBlocks(columns.cache),
    threads: new ScanThreads({ ...config, valuesMin: config.threadValuesMin, clock, onScan: () => metrics.scanned() }),
    results: new ResultCache(resultCacheBytes),
    columnsRead: (counts) => metrics.columnsRead(counts),
  };
}

/** Opens the folder of files in SQL. @throws `invalid_arguments` if it cannot be created. */
async function openCopyRoot({ copyRoot }: QuerierConfig, fs: FileSystem): Promise<ConfinedFolder | undefined> {
  if (copyRoot === undefined) return undefined;
  try {
    return await ConfinedFolder.open(copyRoot, fs);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AlmanacError('invalid_arguments', `storage.copy_root "${copyRoot}" cannot be used: ${reason}`);
  }
}

/** Starts the execution of statements and of flows, which are statements that run in the background. */
function startSql(
  shared: Omit<SqlServiceDeps, 'flows'>,
  { config, metrics, nodeId }: QuerierDeps,
): {
  readonly sqlMethods: ReturnType<typeof sqlService>;
  readonly statements: StatementDeps;
  readonly flows: FlowEngine;
} {
  const flows = new FlowEngine({
    ...{ ...shared, metrics, querierMetrics: shared.metrics, nodeId },
    statements: () => statements,
    log: shared.log.child({ component: 'querier.flows' }),
    intervalMs: config.flowIntervalMs,
    maxTimeoutMs: config.limits.maxTimeoutMs,
  });
  const sqlDeps = { ...shared, flows };
  const statements: StatementDeps = statementDeps(sqlDeps);
  flows.start();
  return { sqlMethods: sqlService(sqlDeps, statements), statements, flows };
}

/** Starts what answers queries, and the warm-up, which sends some. */
function startServices(
  sqlDeps: Omit<SqlServiceDeps, 'flows' | 'answered'>,
  promDeps: Omit<PromServiceDeps, 'extras'>,
  deps: QuerierDeps,
): { readonly service: LocalQuerier; readonly flows: FlowEngine; readonly warmUp: WarmUp } {
  const { config, fs } = deps;
  const { clock } = sqlDeps;
  const log = sqlDeps.log.child({ component: 'querier.warm-up' });
  const warmUp = new WarmUp({ fs, clock, log, path: config.warmUpFile });
  const answered: SqlServiceDeps['answered'] = (plan, request) => warmUp.sqlRan(plan, request);
  const { sqlMethods, statements, flows } = startSql({ ...sqlDeps, answered }, deps);
  const allPromDeps = { ...promDeps, extras: new TableExtras(sqlMethods.sql, config.promql.names, clock) };
  const methods = prom(allPromDeps);
  warmUp.start({
    service: () => {
      const own = unnoticed({ sqlDeps: { ...sqlDeps, flows }, promDeps: allPromDeps, statements }, warmUp);
      return { ...own, ...deps.rehearse?.(own) };
    },
    isBusy: () => sqlDeps.admission.runningCount > 0,
  });
  const service: LocalQuerier = {
    sql: (request, call) => wholeResults(sqlMethods.sql(request, call)),
    sqlNow: (request, call) => {
      const answer = sqlMethods.sqlNow(request, call);
      return 'kind' in answer ? answer : wholeResults(answer);
    },
    sqlParse: sqlParse(statements),
    ...methods,
    promQuery(request, call) {
      warmUp.promqlRan(request);
      return methods.promQuery(request, call);
    },
  };
  return { service, flows, warmUp };
}

/** Returns the services of the warm-up, whose queries are neither counted nor listed, and only read. */
function unnoticed({ sqlDeps, promDeps, statements }: QueryDeps, warmUp: WarmUp): WarmUpService {
  const { clock } = sqlDeps;
  const metrics = querierMetrics(new Metrics({ unprefixedProcess: false, ofProcess: false }));
  const processes = new Processes({ clock, addr: () => '', nodeId: () => 0 });
  // The slots of the others are those of clients.
  const admission = new Admission({ concurrent: 1, queue: 0, clock, onFirst: compileSooner });
  const kernels = statements.kernels && {
    ...statements.kernels,
    // A result that is known would not let V8 compile what other queries of the kind need.
    results: statements.kernels.results.unread,
    columnsRead: () => undefined,
  };
  const { sql } = sqlService(
    { ...sqlDeps, metrics, processes, admission, answered: (plan, request) => warmUp.sqlRanAgain(plan, request) },
    { ...statements, kernels, queryRun: (path) => metrics.queryRun(path) },
  );
  const { promQuery } = prom({ ...promDeps, metrics, processes, admission });
  return {
    sql: (request, call) => sql(request, { ...call, rights: readingRights() }),
    promQuery(request, call) {
      warmUp.promqlRanAgain(request);
      return promQuery(request, { ...call, rights: readingRights() });
    },
  };
}

/** What answers queries. */
interface QueryDeps {
  readonly sqlDeps: SqlServiceDeps;
  readonly promDeps: PromServiceDeps;
  readonly statements: StatementDeps;
}

/** Drops what is cached of tables and rows when the catalog changes. @returns a function that stops that. */
function follow(
  { catalog, log }: QuerierDeps,
  { manifests, snapshots, samples }: { manifests: ManifestCache; snapshots: RegionSnapshots; samples: SampleStore },
): (() => void)[] {
  return [
    catalog.onManifest((manifest) => {
      manifests.apply(manifest);
      snapshots.noteFlush(manifest);
    }),
    catalog.onReset(() => manifests.clear()),
    catalog.onDropped((table) => {
      Promise.all([snapshots.removeTable(table), samples.removeTable(table)]).catch((error: unknown) => {
        log.error({ error }, 'failed to drop cached rows of a dropped table');
      });
    }),
  ];
}

/** Fraction of the largest heap that indexes of series take at most: three quarters of their memory are texts, in the heap. */
const INDEX_HEAP_SHARE = 0.4;

/** Returns the memory of indexes of series. They may have that of samples, too, but for what samples have in any case. */
function indexMemory({ seriesIndexBytes, sampleCacheBytes }: QuerierConfig): IndexMemoryLimits {
  const heapBytes = getHeapStatistics().heap_size_limit * INDEX_HEAP_SHARE;
  const ownBytes = Math.min(seriesIndexBytes, heapBytes);
  return { ownBytes, borrowedBytes: Math.min(sampleCacheBytes * (1 - SAMPLES_SHARE_MIN), heapBytes - ownBytes) };
}

/** Fraction of the largest heap. With garbage, a heap of which half is in use comes near 0.82 at times. */
const HEAP_SHARE = 0.85;

function processMemory(limitBytes: number): WatchedMemory {
  return { limitBytes, usedBytes: () => process.memoryUsage.rss() };
}

/** The process exits when its heap is full, however much memory the machine has. */
function heapMemory(): WatchedMemory {
  const limitBytes = getHeapStatistics().heap_size_limit * HEAP_SHARE;
  return { limitBytes, usedBytes: () => getHeapStatistics().used_heap_size };
}
