import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import type { StorageStatus } from '#shared/contracts/gen/admin';
import type { Table } from '#shared/contracts/gen/common';
import type { IngesterService, ScanRequest } from '#shared/contracts/gen/ingester';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { openEngine, setThreads, type DuckDBInstance, type EngineOptions } from '#shared/duckdb/engine';
import { AlmanacError } from '#shared/errors/almanac-error';
import { diskError } from '#shared/fs/disk-error';
import type { FileSystem } from '#shared/fs/file-system';
import { Loop } from '#shared/lifecycle/loop';
import type { Service } from '#shared/lifecycle/service';
import { MemoryBudget } from '#shared/limits/memory-budget';
import { DamageLog } from '#shared/segments/damage-log';
import { LocalStore } from '#shared/segments/local-store';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';

import { Compactor } from './region/compactor.js';
import { newIncarnation, type Ingester } from './ingester.js';
import { Disk, exportDiskGauges, type Disks } from './disk-gauges.js';
import { ingesterMetrics } from './metrics.js';
import type { IngesterConfig } from './settings.js';
import { FlowFences } from './region/flow-fences.js';
import { Flusher } from './region/flusher.js';
import { GrantedRegions } from './region/granted-regions.js';
import { recover } from './region/recover.js';
import { closeDroppedTable, closeLostGrant } from './region/close-regions.js';
import { closeLostGrants, handOverRegions } from './region/seal.js';
import type { Region } from './region/region.js';
import { Regions } from './region/regions.js';
import { Triggers } from './region/triggers.js';
import { AppliedIdsFile } from './region/applied-ids-file.js';
import { deleteLogFiles } from './region/delete-log-files.js';
import { expireRegionSegments } from './region/retention.js';
import { collectFiles, type CollectOptions } from './region/garbage.js';
import { fenceFlow } from './rpc/fence-flow.js';
import { regionStates } from './rpc/region-states.js';
import { compactTable, dropTables, flushTable, truncateRegions } from './rpc/maintain.js';
import { hasNothingNew, scan } from './rpc/scan.js';
import { TermIndexer } from './term-index/term-indexer.js';
import { write } from './rpc/write.js';
import { Wal, type WalOptions } from './wal/wal.js';

export { inspectSlots } from './inspect.js';
export { findLogFolder } from './find-log-folder.js';
export { verifyLog } from './log-identity.js';
export { loggedIds, loggedPositions, type LoggedPosition } from './region/log-summary.js';
export { ingesterSettings, type IngesterConfig } from './settings.js';
export { STANDALONE_SLOT } from './slots.js';
export type { LogFacts } from './wal/inspect.js';

/** Configuration and surroundings of an ingester. */
export interface IngesterDeps {
  readonly config: IngesterConfig;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly metadata: MetadataService;
  /**
   * Called with the table of each region that is opened, so that `tableDropped` is called even if the table was created
   * and dropped unnoticed. Returns false if the table is known to be dropped.
   */
  readonly onTableOpened: (table: Table) => boolean;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Reports the replayed share of the log, 0 to 1, during the start. */
  readonly onProgress: (fraction: number) => void;
  /** Opens the engine instance for flushes and merges. Default: `openEngine`. */
  readonly openEngine?: ((options: EngineOptions) => Promise<DuckDBInstance>) | undefined;
  /** Ends the process: only recovery can determine which rows are durable. */
  readonly onFatal: (error: unknown) => void;
  /** Called with false when the log's disk is full and writes are refused, with true when they are accepted again. */
  readonly onWritable?: (isWritable: boolean) => void;
  /** Called with the path of each damaged file of the store. */
  readonly onDamage?: (path: string) => void;
}

/** An ingester that has recovered its log and serves. */
export interface RunningIngester extends Service {
  readonly service: IngesterService;
  /** Reports whether a scan would return nothing, as far as that is known without waiting. */
  hasNothingNew(request: ScanRequest): boolean;
  /** Applies what is known of the tables when the log is replayed, and opens their regions if that is configured. */
  begin(tables: Iterable<Table>): void;
  /** Closes the regions of a dropped table. */
  tableDropped(tableId: number): void;
  /** Applies a new schema version of a table, where grants never change (standalone). */
  updateTable(table: Table): void;
  /** Applies a new version of a table. Its regions may meanwhile be granted to other nodes, or to this one. */
  tableChanged(table: Table): void;
  /**
   * Hands regions over to other nodes. A failure is logged, and metadata may request the move again.
   *
   * @param toNodeId next owner; 0: metadata chooses.
   */
  handOver(regionIds: readonly number[], toNodeId: number): Promise<void>;
  /** Returns the sizes of its log and of its disks, and its running merges. */
  storage(): Promise<StorageStatus>;
}

/**
 * Longest time that a shutdown spends on flushing; the rest stays in the log. Process managers often kill after 10 s.
 */
const SHUTDOWN_FLUSH_MS = 5_000;
/**
 * Bytes of rows that a shutdown may leave in the log. They replay in a fraction of a second, while flushing a thousand
 * tables of a few rows each took ten seconds and two thousand files.
 */
const SHUTDOWN_REST_BYTES = 16 << 20;
/**
 * Share of the engine's memory for one flush; a flush that fills more sorts on disk, which takes five times as long.
 */
const ENGINE_SHARE = 0.25;
const TICK_MS = 1000;
const GARBAGE_MS = 60_000;
const RETENTION_MS = 10_000;

/** Parts that exist only after the parts that need them. */
interface DeferredParts {
  /** Aborts when the ingester stops. */
  readonly signal: AbortSignal;
  wal: Wal | undefined;
  onCommitted: () => void;
}

/** Starts an ingester: recovers its log, then serves. Resolves when it is ready. */
export async function startIngester(deps: IngesterDeps): Promise<RunningIngester> {
  const { config, clock, random, metadata, log } = deps;
  await prepareFolders(config, deps.fs);
  const engine = await (deps.openEngine ?? openEngine)({
    threads: config.recoveryThreads,
    memoryBytes: config.engineBytes,
    spillFolder: `${config.scratchFolder}/spill`,
  });
  const stopping = new AbortController();
  const { signal } = stopping;
  const late: DeferredParts = { wal: undefined, onCommitted: () => undefined, signal };
  const parts = openParts(deps, engine, late);

  const wal = await openRecoveredLog(deps, parts, engine).catch(async (error: unknown) => {
    await parts.flusher.stop();
    engine.closeSync();
    throw diskError(error, `the write-ahead log in "${config.walFolder}" cannot be used`);
  });
  late.wal = wal;
  const incarnation = newIncarnation(random);
  const acknowledgement = { unknownSeries: [], incarnation };
  const { nodeId, seriesMax } = config;
  const ingester: Ingester = { nodeId, seriesMax, incarnation, clock, metadata, wal, acknowledgement, ...parts };
  const disks = { store: new Disk(config.storeFolder), wal: new Disk(config.walFolder) };
  exportDiskGauges(disks, deps.metrics, signal);
  const loops = startLoops(ingester, deps, parts);
  late.onCommitted = () => loops[0].wake();
  const sealing = { ...parts, nodeId: config.nodeId, metadata, clock, random, log, signal };
  const opening = new GrantedRegions({ ...sealing, openedAtOnce: config.regionsOpenedAtOnce });

  const updateTable = (table: Table): void => {
    for (const { regionId } of table.regions) parts.regions.find(regionId)?.updateTable(table);
    opening.noteExpiring(table);
  };
  return {
    service: ingesterService(ingester),
    hasNothingNew: (request) => hasNothingNew(ingester, request),
    begin(tables) {
      for (const table of tables) {
        updateTable(table);
        closeLostGrants(table, sealing);
        if (config.opensRegions) opening.note(table);
      }
    },
    updateTable,
    tableDropped: (tableId) => closeDroppedTable(tableId, parts),
    tableChanged(table) {
      updateTable(table);
      closeLostGrants(table, sealing);
      opening.note(table);
    },
    handOver: (regionIds, toNodeId) => handOverRegions(regionIds, toNodeId, sealing),
    storage: () => storageOf(ingester, disks),
    drain: () => flushAtShutdown(ingester, log),
    async stop() {
      stopping.abort();
      await opening.ended();
      await parts.compactor.stop();
      await Promise.all(loops.map((loop) => loop.stop()));
      await parts.flusher.stop();
      await wal.close();
      engine.closeSync();
    },
  };
}

async function storageOf({ wal, compactor, clock }: Ingester, disks: Disks): Promise<StorageStatus> {
  const [store, log] = await Promise.all([disks.store.spaceSoon(clock), disks.wal.spaceSoon(clock)]);
  return {
    diskTotalBytes: store?.totalBytes,
    diskFreeBytes: store?.freeBytes,
    logDiskTotalBytes: log?.totalBytes,
    logDiskFreeBytes: log?.freeBytes,
    logBytes: wal.bytes,
    runningMerges: compactor.runningCount,
  };
}

/** Replays the log and opens it for writing. */
async function openRecoveredLog(deps: IngesterDeps, parts: Parts, engine: DuckDBInstance): Promise<Wal> {
  const { config, fs, clock, log } = deps;
  const { walFolder: folder, nodeId, walRecover: mode } = config;
  const startedMs = clock.monotonicMs();
  const { files, rowCount, bytes } = await recover({ ...deps, ...parts, folder, nodeId, mode });
  await setThreads(engine, config.engineThreads);
  const durationMs = Math.round(clock.monotonicMs() - startedMs);
  log.info({ rowCount, logBytes: bytes, durationMs }, 'write-ahead log replayed');
  const options: WalOptions = {
    folder,
    fs,
    clock,
    sync: config.walSync,
    fileBytesMax: config.walFileBytes,
    onBroken: deps.onFatal,
    onFull(error) {
      parts.metrics.walFull.set(1);
      const text = 'write-ahead log has no space left: writes are refused until there is space, queries are answered';
      log.error({ error, folder }, text);
      deps.onWritable?.(false);
    },
    onSpace() {
      parts.metrics.walFull.set(0);
      log.info({ folder }, 'write-ahead log has space again: writes are accepted');
      deps.onWritable?.(true);
      parts.flusher.retryNow();
    },
  };
  return Wal.open(options, files);
}

type Parts = Pick<Ingester, 'regions' | 'memory' | 'flusher' | 'triggers' | 'compactor' | 'metrics' | 'flowFences'> & {
  readonly store: LocalStore;
  readonly appliedIds: AppliedIdsFile;
};

function openParts(deps: IngesterDeps, engine: DuckDBInstance, late: DeferredParts): Parts {
  const { config, fs, clock, random, metadata } = deps;
  const memory = new MemoryBudget({ name: 'memtable', limitBytes: config.memtableBytes, clock });
  const metrics = ingesterMetrics(deps.metrics);
  const store = new LocalStore(config.storeFolder, fs, new DamageLog(deps.log, metrics.damagedFiles, deps.onDamage));
  const keys = { clock, windowMs: config.retryWindowMs, onEarlyDiscard: () => metrics.forgottenKeys.inc() };
  const appliedIds = new AppliedIdsFile(config.walFolder, fs);
  const regions = new Regions({
    appliedIds,
    nodeId: config.nodeId,
    metadata,
    onTableOpened: deps.onTableOpened,
    engine,
    store,
    keys,
    clock,
    signal: late.signal,
  });
  const log = deps.log.child({ component: 'ingester.flush' });
  const { scratchFolder: scratch, windowMs } = config;
  const terms = new TermIndexer({ fs, random, log: deps.log.child({ component: 'ingester.term-index' }), metrics });
  const flushing = { engine, store, fs, scratch, metadata, clock, random, windowMs, terms };
  const { onFatal } = deps;
  const flusher = new Flusher({
    ...flushing,
    memory,
    log,
    metrics,
    onFatal,
    onGone: ({ table }) => closeDroppedTable(table.tableId, { regions, memory }),
    onLost: ({ regionId }, epoch) => closeLostGrant(regionId, epoch, { regions, memory, log }),
    onCommitted: () => late.onCommitted(),
  });
  const flushBytes = Math.min(config.flushBytes, config.engineBytes * ENGINE_SHARE);
  const triggers = new Triggers({ ...config, flushBytes, flusher, regions, memory, clock, wal: () => late.wal });
  const compactor = new Compactor({
    ...flushing,
    regions,
    metrics,
    log: deps.log.child({ component: 'ingester.compaction' }),
    signal: late.signal,
    quietMs: config.compaction.quietMs,
    busy: config.compaction.busy,
    segmentRows: config.compaction.segmentRows,
  });
  return { store, memory, regions, appliedIds, metrics, flusher, triggers, compactor, flowFences: new FlowFences() };
}

/** Starts background work. The first loop is the one that a commit wakes. */
function startLoops(ingester: Ingester, deps: IngesterDeps, { store, appliedIds }: Parts): readonly [Loop, ...Loop[]] {
  const { config, clock, log, metadata } = deps;
  const { wal, regions, triggers } = ingester;
  const loop = (name: string, intervalMs: number, turn: () => Promise<void>): Loop => {
    return new Loop({ name, intervalMs, clock, log, metrics: deps.metrics }, turn);
  };
  const { retryWindowMs, walBytesMax } = config;
  const housekeeping = loop('ingester.housekeeping', TICK_MS, async () => {
    triggers.tick();
    let seriesCount = 0;
    for (const region of regions.open) {
      region.applied.discardOld();
      seriesCount += region.seriesCount;
    }
    ingester.metrics.series.set(seriesCount);
    await deleteLogFiles({ wal, regions, appliedIds, clock, retryWindowMs, bytesMax: walBytesMax });
    showGauges(ingester);
  });
  const garbage: CollectOptions = { metadata, store, clock, graceMs: config.gcGraceMs, compactor: ingester.compactor };
  const collecting = loop('ingester.garbage', GARBAGE_MS, () => collectFiles(garbage, regions, log));
  const compacting = loop('ingester.compaction', config.compaction.intervalMs, () => ingester.compactor.runOnce());
  const expiring = loop('ingester.retention', RETENTION_MS, () => expireRegionSegments({ ...ingester, log }));
  const syncing = loop('ingester.wal-sync', config.walSyncIntervalMs, () => wal.syncNow());
  housekeeping.start();
  collecting.start();
  expiring.start();
  if (config.compaction.isAutomatic) compacting.start();
  if (config.walSync === 'interval') syncing.start();
  return [housekeeping, collecting, compacting, expiring, syncing];
}

function showGauges({ metrics, memory, regions, wal }: Ingester): void {
  metrics.memtableBytes.set(memory.usedBytes);
  metrics.regions.set(regions.count);
  metrics.walBytes.set(wal.bytes);
  metrics.walFiles.set(wal.files.length);
  metrics.walSyncs.set(wal.stats.syncs);
}

function ingesterService(ingester: Ingester): IngesterService {
  return {
    write: (request, call) => write(ingester, request, call),
    scan: (request, call) => scan(ingester, request, call),
    flushTable: (request, call) => flushTable(ingester, request, call),
    compactTable: (request, call) => compactTable(ingester, request, call),
    truncateTable: (request, call) => truncateRegions(ingester, request, call),
    dropTables: (request, call) => dropTables(ingester, request, call),
    regionStates: async (request) => Promise.resolve(regionStates(ingester, request)),
    fenceFlow: (request) => fenceFlow(ingester, request),
  };
}

async function prepareFolders(
  { walFolder, scratchFolder, storeFolder }: IngesterConfig,
  fs: FileSystem,
): Promise<void> {
  // Files in scratch were not published before the last process ended.
  await fs.removeFolder(scratchFolder);
  for (const folder of [walFolder, scratchFolder, storeFolder]) await fs.makeFolder(folder);
  // Creates the lock file of the store, because a backup may run as another user.
  fs.tryLock(storeFolder)?.();
}

/** Flushes the largest regions while there is time, so that the next start has little to replay. */
async function flushAtShutdown({ regions, flusher, clock }: Ingester, log: Logger): Promise<void> {
  const untilMs = clock.monotonicMs() + SHUTDOWN_FLUSH_MS;
  const bySize = [...regions.open].sort((a, b) => unflushedBytes(b) - unflushedBytes(a));
  let restBytes = bySize.reduce((sum, region) => sum + unflushedBytes(region), 0);
  for (const region of bySize) {
    if (restBytes <= SHUTDOWN_REST_BYTES || clock.monotonicMs() > untilMs) {
      log.info({ restBytes }, 'unflushed rows stay in the write-ahead log');
      return;
    }
    restBytes -= unflushedBytes(region);
    try {
      await flusher.flush(region);
    } catch (error) {
      log.warn({ regionId: region.regionId, error: AlmanacError.from(error) }, 'flush at shutdown failed');
    }
  }
}

function unflushedBytes({ open, frozen }: Region): number {
  return frozen.reduce((sum, { engineBytes }) => sum + engineBytes, open.engineBytes);
}
