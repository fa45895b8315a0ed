import { resolve } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import { lockFolder } from '#shared/fs/folder-lock';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import type { RoleOptions, RunningRole } from '#shared/lifecycle/role';
import { openNodeServer } from '#shared/node/cluster-node';
import { Stage } from '#shared/node/stage';

import { startMetadata } from './index.js';

/** Metadata as a process of its own. */
export async function startMetadataRole(options: RoleOptions): Promise<RunningRole> {
  const { loaded, log, onNodeId } = options;
  const { cluster, storage } = loaded.config;
  const folder = `${resolve(storage.dataHome)}/metadata`;
  const stage = new Stage(['catalog']);
  await nodeFileSystem.makeFolder(folder);
  const unlock = lockFolder(folder);
  const metadata = await startMetadata({
    folder,
    fs: nodeFileSystem,
    clock: systemClock,
    log: log.child({ component: 'metadata' }),
    defaults: { regions: cluster.regions },
    leaseMs: cluster.leaseMs,
  });
  const server = await openNodeServer(options, 'metadata', stage, () => 0);
  onNodeId(0);
  server.serve('Metadata', metadata.service);
  stage.ready();
  server.setServing(true);
  return {
    addresses: [{ message: 'gRPC listener is open', url: `grpc://${server.address}` }],
    async drain() {
      stage.state = 'draining';
      server.setServing(false);
      await server.drain();
    },
    async stop() {
      await server.stop();
      await metadata.stop();
      unlock();
    },
  };
}
