import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import type { CatalogCache } from '#shared/discovery/catalog-cache';
import { PipelineDirectory } from '#shared/discovery/pipeline-directory';
import { deferredCatalog } from '#shared/discovery/deferred-catalog';
import { deferredQuerier } from '#shared/discovery/deferred-querier';
import { RemoteIngesters } from '#shared/discovery/remote-ingesters';
import { AlmanacError } from '#shared/errors/almanac-error';
import type { RoleOptions, RunningRole } from '#shared/lifecycle/role';
import { adminService } from '#shared/node/admin-service';
import { connectTo, joinCluster, openNodeServer, serverAddress, type ClusterNode } from '#shared/node/cluster-node';
import { Stage } from '#shared/node/stage';
import { RegionSender } from '#shared/write/send';
import { BatchWriter } from '#shared/write/writer';
import type { RowWriter } from '#shared/write/writer-types';

import { Peers } from './cluster/peers.js';
import { RemoteQueriers } from './cluster/remote-queriers.js';
import { httpAddresses, NOT_READY, startGateway } from './index.js';

/** Interval at which a starting gateway checks whether the nodes that it needs are ready. */
const POLL_MS = 50;

/** The parts of a gateway that exist once it has joined its cluster. */
interface ClusterParts {
  readonly node: ClusterNode;
  readonly queriers: RemoteQueriers;
  readonly peers: Peers;
  readonly ingesters: RemoteIngesters;
  readonly pipelines: PipelineDirectory;
  readonly writer: RowWriter;
}

/** Starts a gateway process. The listeners open first, so that health is served while it joins the cluster. */
export async function startGatewayRole(options: RoleOptions): Promise<RunningRole> {
  const { loaded, log, metrics } = options;
  const { config } = loaded;
  const stage = new Stage(['metadata']);
  const deferred: { joined?: ClusterParts } = {};
  const running = (): ClusterParts => {
    if (deferred.joined === undefined) {
      throw new AlmanacError('region_not_ready', 'the gateway is starting', { retryAfterSeconds: 1 });
    }
    return deferred.joined;
  };
  const nodeId = (): number => deferred.joined?.node.nodeId ?? 0;
  const gateway = await startGateway({
    config,
    log,
    metrics,
    clock: systemClock,
    querier: deferredQuerier(() => running().queriers),
    writer: { write: (batches, writeOptions, call) => running().writer.write(batches, writeOptions, call) },
    catalog: deferredCatalog(() => running().node.catalog),
    pipelines: () => running().pipelines,
    savedDashboards: () => running().node.metadata,
    tickets: () => running().node.metadata,
    storedUsers: () => running().node.catalog.users,
    admin: adminService({ ...options, role: 'gateway', stage, clock: systemClock, nodeId }),
    tracing: options.tracing,
    peers: {
      list: (call) => deferred.joined?.peers.list(call) ?? Promise.resolve([]),
      find: (id) => running().peers.find(id),
    },
    readiness: () => stage.readiness(),
    lackingRoles: () => (deferred.joined === undefined ? [] : lackingRoles(deferred.joined.node.catalog)),
    // A full disk is reported only by the ingester that a write goes to.
    writeObstacle: () => (stage.state === 'starting' ? NOT_READY : undefined),
  });
  const server = await openNodeServer(options, { role: 'gateway', stage, nodeId, services: {} });
  const { signal } = new AbortController();
  const start = { role: 'gateway', stage, slot: '', dataFolder: undefined, signal } as const;
  const node = await joinCluster(options, server, start);
  const { queriers, peers, ingesters } = (deferred.joined = join(options, node));
  await waitForNodes(node.catalog, stage);
  await node.ready();
  return {
    addresses: [serverAddress(config, server), ...httpAddresses(gateway, config)],
    async drain() {
      stage.state = 'draining';
      await node.membership.reportState('draining');
      await systemClock.sleep(config.shutdown.delayMs);
      await gateway.drain();
    },
    async stop() {
      await gateway.stop();
      queriers.close();
      peers.close();
      ingesters.close();
      await node.stop();
    },
  };
}

function join(options: RoleOptions, node: ClusterNode): ClusterParts {
  const { loaded, metrics } = options;
  const { config } = loaded;
  const { catalog, metadata } = node;
  const deps = { clock: systemClock, random: systemRandom, metrics, catalog };
  const ingesters = new RemoteIngesters(catalog, (addr, nodeId) => {
    const connection = connectTo(options, addr, `node ${nodeId} (ingester)`);
    return { service: connection.client('Ingester'), close: () => connection.close() };
  });
  const queriers = new RemoteQueriers({
    nodes: () => catalog.nodes(),
    connect: (addr) => {
      const connection = connectTo(options, addr, 'querier');
      return { service: connection.client('Querier'), close: () => connection.close() };
    },
  });
  const peers = new Peers({
    nodes: () => catalog.nodes(),
    tables: () => catalog.allTables(),
    metadata,
    metadataAddr: config.metadata.addr,
    connect: (addr) => {
      const connection = connectTo(options, addr, 'process');
      return { service: connection.client('Admin'), close: () => connection.close() };
    },
  });
  const sender = new RegionSender({ ...deps, ingesters, messageBytesMax: config.grpc.maxMessageSizeBytes });
  const pipelines = new PipelineDirectory(metadata, catalog);
  return { node, queriers, peers, ingesters, pipelines, writer: new BatchWriter({ ...deps, metadata, sender }) };
}

/** Returns the roles that writes or queries need and that no ready node has. */
function lackingRoles(catalog: CatalogCache): string[] {
  const ready = new Set(catalog.nodes().flatMap(({ role, state }) => (state === 'ready' ? [role] : [])));
  return ['ingester', 'querier'].filter((role) => !ready.has(role));
}

/** Resolves when an ingester and a querier are ready. */
async function waitForNodes(catalog: CatalogCache, stage: Stage): Promise<void> {
  for (;;) {
    const lacking = lackingRoles(catalog);
    if (lacking.length === 0) return;
    stage.waiting = lacking;
    await systemClock.sleep(POLL_MS);
  }
}
