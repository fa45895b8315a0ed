import { resolve } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { lockFolder } from '#shared/fs/folder-lock';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import type { RoleOptions, RunningRole } from '#shared/lifecycle/role';
import { openNodeServer, serverAddress } from '#shared/node/cluster-node';
import { refuseLostCatalog } from '#shared/node/lost-catalog';
import { Stage } from '#shared/node/stage';
import { expectStartable } from '#shared/node/startable-folder';

import { startMetadata, tableDefaults } from './index.js';

/** Longest wait for running calls when the process ends, in milliseconds. */
const CALLS_MS_MAX = 10_000;

/** Starts metadata as a process of its own. */
export async function startMetadataRole(options: RoleOptions): Promise<RunningRole> {
  const { loaded, log, metrics } = options;
  const { cluster, storage } = loaded.config;
  const dataFolder = resolve(storage.dataHome);
  const folder = `${dataFolder}/metadata`;
  const stage = new Stage(['catalog']);
  await expectStartable(nodeFileSystem, dataFolder);
  // The record is here where all processes share one folder; metadata with a folder of its own finds none.
  await refuseLostCatalog(nodeFileSystem, dataFolder);
  await nodeFileSystem.makeFolder(folder);
  const unlock = lockFolder(folder);
  const metadata = await startMetadata({
    folder,
    fs: nodeFileSystem,
    clock: systemClock,
    random: systemRandom,
    log: log.child({ component: 'metadata' }),
    defaults: tableDefaults(loaded.config),
    leaseMs: cluster.leaseMs,
    metrics,
  });
  const server = await openNodeServer(options, {
    role: 'metadata',
    stage,
    nodeId: () => 0,
    storage: () => Promise.resolve(metadata.storage()),
    services: { Metadata: metadata.service },
  });
  stage.ready();
  server.health.set(true);
  return {
    addresses: [serverAddress(loaded.config, server)],
    async drain() {
      stage.state = 'draining';
      await server.stop(CALLS_MS_MAX);
    },
    async stop() {
      await server.stop(0);
      await metadata.stop();
      unlock();
    },
  };
}
