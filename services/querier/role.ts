import { resolve } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import type { QuerierService } from '#shared/contracts/gen/querier';
import { deferredQuerier } from '#shared/discovery/deferred-querier';
import { RemoteIngesters } from '#shared/discovery/remote-ingesters';
import { returnFreedMemory } from '#shared/duckdb/freed-memory';
import { AlmanacError } from '#shared/errors/almanac-error';
import { tryLockFolder } from '#shared/fs/folder-lock';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import type { RoleOptions, RunningRole } from '#shared/lifecycle/role';
import { connectTo, joinCluster, openNodeServer, serverAddress, type ClusterNode } from '#shared/node/cluster-node';
import { DataFolder, makeDataFolder } from '#shared/node/data-folder';
import { Stage } from '#shared/node/stage';
import { RowSink } from '#shared/write/row-sink';
import { RegionSender } from '#shared/write/send';

import { startQuerier, type RunningQuerier } from './index.js';
import { PeerProcesses } from './run/peer-processes.js';
import { Processes } from './run/processes.js';
import { querierSettings, type QuerierPlace } from './settings.js';

/** Time in which gateways learn that a querier drains, so that they choose others before it refuses calls. */
const HEARD_MS = 300;

/** Runs a querier as a process of its own. It has no state that may not be lost. */
export async function startQuerierRole(options: RoleOptions): Promise<RunningRole> {
  const { loaded, log, metrics } = options;
  const { config } = loaded;
  const dataFolder = resolve(config.storage.dataHome);
  const stage = new Stage(['metadata']);
  const late: { node?: ClusterNode; querier?: RunningQuerier } = {};
  const processes = ownProcesses(() => late.node);
  const server = await openNodeServer(options, {
    role: 'querier',
    stage,
    nodeId: () => late.node?.nodeId ?? 0,
    services: { Querier: deferredQuerier(() => started(late.querier)), Processes: processes },
  });

  const folder = await DataFolder.open(dataFolder, { fs: nodeFileSystem, clock: systemClock, random: systemRandom });
  const spill = await claimSpillFolder(`${dataFolder}/scratch`);
  const node = await joinCluster(options, server, {
    role: 'querier',
    stage,
    slot: '',
    dataFolder: folder,
    signal: new AbortController().signal,
  });
  late.node = node;
  const { catalog, metadata } = node;
  const deps = { clock: systemClock, random: systemRandom, metrics };
  const ingesters = new RemoteIngesters(catalog, (addr, nodeId) => {
    const connection = connectTo(options, addr, `node ${nodeId} (ingester)`);
    return { service: connection.client('Ingester'), close: () => connection.close() };
  });
  const sender = new RegionSender({ ...deps, catalog, ingesters, messageBytesMax: config.grpc.maxMessageSizeBytes });
  const peers = peerProcesses(options, node);
  const running = await startQuerier({
    ...deps,
    processes,
    otherProcesses: () => peers.services(),
    config: querierSettings(config, { dataFolder, ...spill.place }),
    fs: nodeFileSystem,
    metadata,
    catalog,
    ingesters,
    insert: new RowSink(sender, metrics),
    nodeId: () => node.nodeId,
    confirmDataFolder: () => node.membership.confirmDataFolder(),
    log: log.child({ component: 'querier' }),
  });
  late.querier = running;
  const memory = returnFreedMemory({ clock: systemClock, log, metrics, limitBytes: config.memory.limitBytes });
  await node.ready();
  return {
    addresses: [serverAddress(config, server)],
    async drain() {
      stage.state = 'draining';
      await node.membership.reportState('draining');
      await systemClock.sleep(Math.max(HEARD_MS, config.shutdown.delayMs));
      await server.stop(config.query.maxTimeoutMs);
      await running.drain();
    },
    async stop() {
      await node.stop();
      await memory.stop();
      await running.stop();
      ingesters.close();
      peers.close();
      spill.release();
    },
  };
}

/** Returns the list of this querier's processes, which the other queriers call. */
function ownProcesses(node: () => ClusterNode | undefined): Processes {
  const nodeId = (): number => node()?.nodeId ?? 0;
  return new Processes({ clock: systemClock, addr: () => node()?.catalog.node(nodeId())?.addr ?? '', nodeId });
}

function peerProcesses(options: RoleOptions, { nodeId, catalog }: ClusterNode): PeerProcesses {
  return new PeerProcesses({
    ownNodeId: nodeId,
    nodes: () => catalog.nodes(),
    connect: (addr) => {
      const connection = connectTo(options, addr, `querier ${addr}`);
      return { service: connection.client('Processes'), close: () => connection.close() };
    },
  });
}

const SPILL_FOLDERS_MAX = 1024;

/** Creates an empty folder for spilled data that no other process uses. A restarted querier finds the file of its kind there. */
async function claimSpillFolder(
  scratch: string,
): Promise<{ readonly place: Omit<QuerierPlace, 'dataFolder'>; release(): void }> {
  for (let number = 0; number < SPILL_FOLDERS_MAX; number++) {
    const folder = `${scratch}/querier-${number}`;
    await makeDataFolder(nodeFileSystem, folder);
    const release = tryLockFolder(folder);
    if (release === undefined) continue;
    const spillFolder = `${folder}/spill`;
    await nodeFileSystem.removeFolder(spillFolder);
    return { place: { spillFolder, warmUpFile: `${folder}/latest-queries.json` }, release };
  }
  throw new AlmanacError('illegal_state', `"${scratch}" has ${SPILL_FOLDERS_MAX} queriers already`);
}

/** Returns the querier. @throws `external` until it has started. */
function started(querier: RunningQuerier | undefined): QuerierService {
  if (querier !== undefined) return querier.service;
  throw new AlmanacError('external', 'the querier is starting', { retryAfterSeconds: 1 });
}
