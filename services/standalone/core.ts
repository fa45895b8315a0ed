import {
  verifyLog,
  ingesterSettings,
  STANDALONE_SLOT,
  startIngester,
  type RunningIngester,
} from '#services/ingester/index';
import { startMetadata, tableDefaults, type RunningMetadata } from '#services/metadata/index';
import { querierSettings, startQuerier, type QuerierDeps } from '#services/querier/index';
import type { Clock } from '#shared/clock/clock';
import type { Random } from '#shared/clock/random';
import type { Config } from '#shared/config/schema';
import { ownCall } from '#shared/contracts/call';
import type { StorageStatus } from '#shared/contracts/gen/admin';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import type { LocalQuerier } from '#shared/contracts/local-querier';
import { CatalogCache } from '#shared/discovery/catalog-cache';
import { PipelineDirectory } from '#shared/discovery/pipeline-directory';
import { DirectIngesters } from '#shared/discovery/direct-ingesters';
import { returnFreedMemory } from '#shared/duckdb/freed-memory';
import type { FileSystem } from '#shared/fs/file-system';
import { lockFolder } from '#shared/fs/folder-lock';
import type { Service } from '#shared/lifecycle/service';
import { DataFolder, makeDataFolder } from '#shared/node/data-folder';
import { refuseLostCatalog } from '#shared/node/lost-catalog';
import { expectStartable } from '#shared/node/startable-folder';
import type { Logger } from '#shared/telemetry/log';
import type { Metrics } from '#shared/telemetry/metrics';
import { RowSink } from '#shared/write/row-sink';
import { RegionSender } from '#shared/write/send';
import { BatchWriter } from '#shared/write/writer';
import type { RowWriter } from '#shared/write/writer-types';

/** Configuration and surroundings of a standalone process. */
export interface CoreDeps {
  readonly config: Config;
  /** Absolute path. */
  readonly dataFolder: string;
  readonly version: string;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly onProgress: (fraction: number) => void;
  readonly onFatal: (error: unknown) => void;
  readonly onWritable: (isWritable: boolean) => void;
  readonly rehearse: QuerierDeps['rehearse'];
}

/** Metadata, ingester and querier of one process, connected by direct calls. */
export interface RunningCore extends Service {
  readonly nodeId: number;
  readonly querier: LocalQuerier;
  readonly writer: RowWriter;
  readonly catalog: CatalogCache;
  readonly pipelines: PipelineDirectory;
  readonly metadata: MetadataService;
  /** Returns sizes of data, log and disks. */
  storage(): Promise<StorageStatus>;
}

/** Opens the data folder and starts everything below the gateway. Resolves when writes and queries are possible. */
export async function startCore(deps: CoreDeps): Promise<RunningCore> {
  const { dataFolder } = deps;
  await makeDataFolder(deps.fs, dataFolder);
  // Before locking, because the lock is a file in the folder.
  await expectStartable(deps.fs, dataFolder);
  const unlock = lockFolder(dataFolder);
  const started: Service[] = [{ drain: () => Promise.resolve(), stop: () => Promise.resolve(unlock()) }];
  try {
    // A restore may have begun, and been interrupted, in between.
    await expectStartable(deps.fs, dataFolder);
    await refuseLostCatalog(deps.fs, dataFolder);
    return await startServices(deps, started);
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

async function startServices(deps: CoreDeps, started: Service[]): Promise<RunningCore> {
  const { config, dataFolder, clock, random, log, metrics } = deps;
  const metadata = await startMetadataIn(`${dataFolder}/metadata`, deps, started);
  started.push(metadata);
  const { service, identity: known } = metadata;
  const folder = await DataFolder.open(dataFolder, { ...deps, known });
  const registration = { role: 'standalone', addr: '', slot: STANDALONE_SLOT, version: deps.version };
  const owned = { dataFolderId: folder.id, clusterId: folder.clusterId };
  const { nodeId, clusterId } = await service.registerNode({ ...registration, ...owned }, ownCall('start'));
  await folder.bind(clusterId);

  const catalog = new CatalogCache({ metadata: service, clock, random, log: log.child({ component: 'catalog' }) });
  catalog.start();
  started.push({ drain: () => Promise.resolve(), stop: () => catalog.stop() });
  await catalog.reached(1n, ownCall('start'));

  const walFolder = walFolderIn(dataFolder, config);
  await verifyLog({ ...deps, walFolder, slot: STANDALONE_SLOT, recover: config.wal.recover });
  const place = { nodeId, dataFolder, walFolder, scratchFolder: `${dataFolder}/scratch` };
  let suspect = (_path: string): void => undefined;
  const ingester = await startIngester({
    ...deps,
    config: ingesterSettings(config, place),
    metadata: service,
    onTableOpened: (table) => catalog.note(table),
    onDamage: (path) => suspect(path),
    log: log.child({ component: 'ingester' }),
  });
  started.push(ingester);
  catalog.onDropped(({ tableId }) => ingester.tableDropped(tableId));
  catalog.onTable((table) => ingester.updateTable(table));
  ingester.begin(catalog.allTables());

  const ingesters = new DirectIngesters(nodeId, ingester);
  const sender = new RegionSender({ catalog, ingesters, clock, random, metrics });
  const writer = new BatchWriter({ catalog, metadata: service, sender, clock, metrics });
  const querier = await startQuerier({
    ...deps,
    config: querierSettings(config, {
      dataFolder,
      spillFolder: `${dataFolder}/scratch/query`,
      warmUpFile: `${dataFolder}/latest-queries.json`,
    }),
    metadata: service,
    catalog,
    ingesters,
    insert: new RowSink(sender, metrics),
    nodeId: () => nodeId,
    log: log.child({ component: 'querier' }),
  });
  started.push(querier, returnFreedMemory({ clock, log, metrics, limitBytes: config.memory.limitBytes }));
  suspect = (path) => querier.suspect(path);
  return {
    nodeId,
    querier: querier.service,
    writer,
    catalog,
    pipelines: new PipelineDirectory(service, catalog),
    metadata: service,
    storage: async () => ({ ...(await ingester.storage()), ...metadata.storage() }),
    drain: () => drainAll(ingester),
    stop: () => stopAll(started),
  };
}

/** Returns the folder of a standalone process's log. */
function walFolderIn(dataFolder: string, { wal }: Config): string {
  return wal.dir ?? `${dataFolder}/slots/${STANDALONE_SLOT}/wal`;
}

async function startMetadataIn(folder: string, deps: CoreDeps, started: Service[]): Promise<RunningMetadata> {
  const { config, fs, clock, random, metrics } = deps;
  await fs.makeFolder(folder);
  // The metadata process of a cluster locks this folder, and leaves the data folder itself to all processes.
  const unlock = lockFolder(folder);
  started.push({ drain: () => Promise.resolve(), stop: () => Promise.resolve(unlock()) });
  const log = deps.log.child({ component: 'metadata' });
  const defaults = tableDefaults(config);
  return startMetadata({ folder, fs, clock, random, log, metrics, defaults });
}

/** Acknowledged rows are in the log already; flushing them shortens the next start. */
async function drainAll(ingester: RunningIngester): Promise<void> {
  await ingester.drain();
}

/** Stops services in reverse order of their start. */
async function stopAll(started: Service[]): Promise<void> {
  for (const service of started.splice(0).reverse()) await service.stop();
}
