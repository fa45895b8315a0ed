import { resolve } from 'node:path';

import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import type { Config } from '#shared/config/schema';
import { returnFreedMemory } from '#shared/duckdb/freed-memory';
import { nodeFileSystem } from '#shared/fs/node-file-system';
import { Loop } from '#shared/lifecycle/loop';
import type { RoleOptions, RunningRole } from '#shared/lifecycle/role';
import { joinCluster, openNodeServer, serverAddress, type ClusterNode } from '#shared/node/cluster-node';
import { DataFolder } from '#shared/node/data-folder';
import { exitOnLogFailure } from '#shared/node/log-failure';
import { Stage } from '#shared/node/stage';

import { Adoption } from './adoption.js';
import { drainRegions } from './drain-regions.js';
import { startIngester, type IngesterDeps, type RunningIngester } from './index.js';
import { DeferredIngester } from './deferred-ingester.js';
import { ingesterSettings, type IngesterConfig } from './settings.js';
import { verifyLog } from './log-identity.js';
import { claimSlot, type Slot } from './slots.js';

/** Longest wait for running calls when the process ends, in milliseconds. */
const CALLS_MS_MAX = 10_000;

/** Time for writers and readers to learn the new owners of regions before this process refuses their calls. */
const HEARD_MS = 300;

/** Starts an ingester as a process of its own. */
export async function startIngesterRole(options: RoleOptions): Promise<RunningRole> {
  const { loaded, log, metrics } = options;
  const { config } = loaded;
  const dataFolder = resolve(config.storage.dataHome);
  const stage = new Stage(['data folder']);
  const late: { node?: ClusterNode; running?: RunningIngester } = {};
  const ingester = new DeferredIngester(() => late.node?.metadata);
  const server = await openNodeServer(options, {
    role: 'ingester',
    stage,
    nodeId: () => late.node?.nodeId ?? 0,
    storage: async () => late.running?.storage(),
    services: { Ingester: ingester.service },
  });

  const folder = await DataFolder.open(dataFolder, { fs: nodeFileSystem, clock: systemClock, random: systemRandom });
  stage.waiting = ['slot'];
  const slot = await claimSlot({ dataFolder, fs: nodeFileSystem, random: systemRandom });
  const scratchFolder = `${dataFolder}/scratch/ingester-${slot.number}`;
  const node = await joinCluster(options, server, {
    role: 'ingester',
    stage,
    slot: slot.identity,
    dataFolder: folder,
    signal: new AbortController().signal,
    onMoves: (regionIds) => void late.running?.handOver(regionIds, 0),
  });
  const { nodeId, catalog, membership } = node;
  await folder.bind(membership.clusterId);
  log.info({ slot: slot.number }, 'ingester slot of the data folder claimed');
  late.node = node;
  const walFolderOf = walFoldersOf(config);
  const walFolder = walFolderOf(slot);
  const settings = ingesterSettings(config, { nodeId, dataFolder, walFolder, scratchFolder });
  const deps = ingesterDeps(options, node, stage, settings);
  await verifyLog({ ...deps, dataFolder, walFolder, slot: slot.identity, recover: config.wal.recover });
  const unsubscribe = [catalog.onDropped(({ tableId }) => ingester.tableDropped(tableId))];
  const running = (late.running = await startIngester(deps));
  ingester.start(running);
  unsubscribe.push(catalog.onTable((table) => running.tableChanged(table)));
  // Changes that arrived while the log was replayed.
  running.begin(catalog.allTables());
  const adoption = new Adoption({ ...deps, dataFolder, catalog, walFolderOf, leaseMs: membership.leaseMs });
  const adopting = new Loop(
    { name: 'ingester.adoption', intervalMs: membership.leaseMs / 4, clock: systemClock, log, metrics },
    () => adoption.look(),
  );
  const memory = returnFreedMemory({ clock: systemClock, log, metrics, limitBytes: config.memory.limitBytes });
  const stopping = new AbortController();
  await node.ready();
  adopting.start();
  return {
    addresses: [serverAddress(config, server)],
    async drain() {
      stage.state = 'draining';
      await adopting.stop();
      await drainRegions(membership, running, systemClock, stopping.signal);
      await systemClock.sleep(Math.max(HEARD_MS, config.shutdown.delayMs));
      await server.stop(CALLS_MS_MAX);
      await running.drain();
    },
    async stop() {
      stopping.abort();
      await Promise.all([memory.stop(), adopting.stop()]);
      for (const end of unsubscribe.splice(0)) end();
      await server.stop(0);
      // While it can still commit what it flushes.
      await running.stop();
      await node.stop();
      slot.release();
    },
  };
}

/** Returns a function that returns where the log of a slot is. */
function walFoldersOf({ wal }: Config): (of: Slot) => string {
  return (of) => (wal.dir === undefined ? of.walFolder : `${wal.dir}/${of.identity}`);
}

function ingesterDeps(
  { log, metrics }: RoleOptions,
  { metadata, catalog }: ClusterNode,
  stage: Stage,
  config: IngesterConfig,
): IngesterDeps {
  return {
    config,
    fs: nodeFileSystem,
    clock: systemClock,
    random: systemRandom,
    metadata,
    onTableOpened: (table) => catalog.note(table),
    log: log.child({ component: 'ingester' }),
    metrics,
    onProgress(fraction) {
      stage.waiting = ['wal replay'];
      stage.progress = fraction;
    },
    onFatal: exitOnLogFailure(log, process),
  };
}
