import { resolve } from 'node:path';

import { httpAddresses, NOT_READY, startGateway, type RunningGateway } from '#services/gateway/index';
import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import type { Config } from '#shared/config/schema';
import { deferredCatalog } from '#shared/discovery/deferred-catalog';
import { deferredQuerier } from '#shared/discovery/deferred-querier';
import { AlmanacError } from '#shared/errors/almanac-error';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { readBuildInfo } from '#shared/lifecycle/build-info';
import type { RoleOptions, RunningRole } from '#shared/lifecycle/role';
import { adminService } from '#shared/node/admin-service';
import { exitOnLogFailure } from '#shared/node/log-failure';
import { Stage } from '#shared/node/stage';

import { startCore, type CoreDeps, type RunningCore } from './core.js';

/**
 * Starts all services in one process. Listeners open first, so that health checks are answered while data is opened.
 * Resolves when data is served.
 */
export async function startStandalone(options: RoleOptions): Promise<RunningRole> {
  const { loaded, log, metrics, onNodeId } = options;
  const stage = new Stage(['metadata']);
  const disk: Disk = { obstacle: undefined };
  let core: RunningCore | undefined;
  const running = (): RunningCore => {
    if (core === undefined) {
      throw new AlmanacError('region_not_ready', 'the server is starting', { retryAfterSeconds: 1 });
    }
    return core;
  };
  const gateway = await startGateway({
    config: loaded.config,
    log,
    metrics,
    clock: systemClock,
    querier: deferredQuerier(() => running().querier),
    writer: { write: (batches, options, call) => running().writer.write(batches, options, call) },
    catalog: deferredCatalog(() => running().catalog),
    pipelines: () => running().pipelines,
    savedDashboards: () => running().metadata,
    tickets: () => running().metadata,
    storedUsers: () => running().catalog.users,
    admin: adminService({
      ...options,
      role: 'standalone',
      stage,
      clock: systemClock,
      nodeId: () => core?.nodeId ?? 0,
      storage: async () => core?.storage(),
    }),
    tracing: options.tracing,
    readiness: () => stage.readiness(),
    lackingRoles: () => [],
    writeObstacle: () => (stage.state === 'starting' ? NOT_READY : disk.obstacle),
  });
  try {
    core = await startCore({ ...coreDeps(options, stage, disk), rehearse: gateway.rehearse });
  } catch (error) {
    await gateway.stop();
    throw error;
  }
  stage.ready();
  onNodeId(core.nodeId);
  return standalone(gateway, core, stage, loaded.config);
}

function standalone(gateway: RunningGateway, core: RunningCore, stage: Stage, config: Config): RunningRole {
  return {
    addresses: httpAddresses(gateway, config),
    async drain() {
      stage.state = 'draining';
      await systemClock.sleep(config.shutdown.delayMs);
      await gateway.drain();
      await core.drain();
    },
    async stop() {
      await gateway.stop();
      await core.stop();
    },
  };
}

/** State of the disk of the write-ahead log. */
interface Disk {
  /** Why writes are refused; undefined while they are accepted. */
  obstacle: string | undefined;
}

const DISK_FULL = 'no space is left on the disk of the write-ahead log: writes are refused, queries answered';

function coreDeps({ loaded, log, metrics }: RoleOptions, stage: Stage, disk: Disk): Omit<CoreDeps, 'rehearse'> {
  const dataFolder = resolve(loaded.config.storage.dataHome);
  return {
    config: loaded.config,
    dataFolder,
    version: readBuildInfo().version,
    fs: nodeFileSystem,
    clock: systemClock,
    random: systemRandom,
    log,
    metrics,
    onProgress(fraction) {
      stage.waiting = ['wal replay'];
      stage.progress = fraction;
    },
    onFatal: exitOnLogFailure(log, process),
    onWritable: (isWritable) => (disk.obstacle = isWritable ? undefined : DISK_FULL),
  };
}
