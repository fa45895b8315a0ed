import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { advertisedAddress, isLoopbackAddress } from '#shared/config/address';
import type { Config } from '#shared/config/schema';
import { ownCall } from '#shared/contracts/call';
import type { StorageStatus } from '#shared/contracts/gen/admin';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { CatalogCache } from '#shared/discovery/catalog-cache';
import { Membership } from '#shared/discovery/membership';
import { connect, type Connection } from '#shared/grpc/connect';
import type { Contracts } from '#shared/grpc/contract';
import type { TransportOptions } from '#shared/grpc/options';
import { retrying } from '#shared/grpc/retrying';
import { serve, type GrpcServer } from '#shared/grpc/serve';
import { readBuildInfo } from '#shared/lifecycle/build-info';
import type { RoleAddress, RoleOptions } from '#shared/lifecycle/role';

import { adminService } from './admin-service.js';
import { ownHost } from './own-host.js';
import { callMetrics } from './call-metrics.js';
import type { DataFolder } from './data-folder.js';
import type { Stage } from './stage.js';

/** Longer than the pause between two attempts, so that a restart of metadata does not fail calls. */
const METADATA_CONNECT_MS = 5_000;

/** What a role contributes to joining the cluster. */
export interface NodeStart {
  readonly role: 'gateway' | 'ingester' | 'querier';
  /** Start-up state; shows what the role waits for besides metadata. */
  readonly stage: Stage;
  /** Identity of an ingester's slot; empty for roles without state. */
  readonly slot: string;
  /** The shared data folder; undefined for a gateway. */
  readonly dataFolder: DataFolder | undefined;
  /** Aborts when the process receives a stop signal while it starts. */
  readonly signal: AbortSignal;
  /** Of an ingester: called with the regions that metadata wants to move, repeatedly until they are released. */
  readonly onMoves?: (regionIds: readonly number[]) => void;
}

/** What every process of a cluster except metadata has: a listener, a connection to metadata, a node ID and the catalog. */
export interface ClusterNode {
  readonly nodeId: number;
  readonly server: GrpcServer;
  readonly metadata: MetadataService;
  readonly membership: Membership;
  readonly catalog: CatalogCache;
  /** Reports the node as ready, to the cluster and in health checks. */
  ready(): Promise<void>;
  /** Leaves the cluster and closes everything. */
  stop(): Promise<void>;
}

/** What a role serves over gRPC. */
export interface NodeServerStart {
  readonly role: string;
  readonly stage: Stage;
  /** 0 until the process has registered. */
  readonly nodeId: () => number;
  readonly storage?: () => Promise<StorageStatus | undefined>;
  /** Services besides `Admin`. They may refuse every call until the role has started. */
  readonly services: Partial<Contracts>;
}

/** Opens the listener of a process; status and health are served from the start. */
export async function openNodeServer(options: RoleOptions, start: NodeServerStart): Promise<GrpcServer> {
  const { loaded, log, metrics, tracing } = options;
  const { grpc, 'grpc.tls': tls } = loaded.config;
  const colon = grpc.bindAddr.lastIndexOf(':');
  const server = await serve({
    host: grpc.bindAddr.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(grpc.bindAddr.slice(colon + 1)),
    services: { ...start.services, Admin: adminService({ ...options, ...start, clock: systemClock }) },
    clock: systemClock,
    log: log.child({ component: 'grpc' }),
    tracing,
    ...transportOf(options),
    onCall: callMetrics(metrics),
  });
  if (grpc.secret === undefined && tls.mode === 'disable' && !isLoopbackAddress(grpc.bindAddr)) {
    log.warn({ bindAddr: grpc.bindAddr }, UNPROTECTED);
  }
  return server;
}

const UNPROTECTED =
  'every host that reaches the gRPC listener may do everything: set grpc.tls or grpc.secret, or use a private network';

/** Returns the listener's address, for the log. */
export function serverAddress({ grpc, 'grpc.tls': tls }: Config, server: GrpcServer): RoleAddress {
  const host = grpc.bindAddr.slice(0, grpc.bindAddr.lastIndexOf(':'));
  const scheme = tls.mode === 'disable' ? 'grpc' : 'grpcs';
  return { message: 'gRPC listener is open', url: `${scheme}://${host}:${server.port}` };
}

/** Joins the cluster: resolves when metadata has registered the node and the whole catalog is loaded, however long that takes. */
export async function joinCluster(options: RoleOptions, server: GrpcServer, start: NodeStart): Promise<ClusterNode> {
  const { loaded, log, onNodeId } = options;
  const { role, slot, stage, dataFolder, signal, onMoves = () => undefined } = start;
  const { config } = loaded;
  const connection = connect(config.metadata.addr, {
    clock: systemClock,
    name: 'metadata',
    ...transportOf(options),
    connectMs: METADATA_CONNECT_MS,
    isPatient: true,
  });
  const deps = { clock: systemClock, random: systemRandom };
  const metadata = retrying('Metadata', connection.client('Metadata'), deps);
  stage.waiting = ['metadata'];
  const membership = await Membership.join(
    {
      ...deps,
      metadata,
      log: log.child({ component: 'membership' }),
      registration: async () => {
        const addr = await addressOf(config, server.port);
        const folder = { dataFolderId: dataFolder?.id ?? '', clusterId: dataFolder?.clusterId ?? '' };
        return { role, addr, slot, version: readBuildInfo().version, ...folder };
      },
      onRefused(refusal) {
        // From now on other nodes own what this process would read or write.
        log.error({ code: refusal.code, reason: refusal.message }, 'registration refused by metadata; exiting');
        process.exit(1);
      },
    },
    signal,
  );
  onNodeId(membership.nodeId);
  // Heartbeats begin before the start is complete, so that a slow start is not mistaken for a dead process.
  membership.start(onMoves);
  const catalog = new CatalogCache({ ...deps, metadata, log: log.child({ component: 'catalog' }) });
  catalog.start();
  await catalog.reached(1n, ownCall('start', signal));
  return {
    nodeId: membership.nodeId,
    server,
    metadata,
    membership,
    catalog,
    async ready() {
      stage.ready();
      server.health.set(true);
      await membership.reportState('ready');
    },
    async stop() {
      await membership.leave();
      await catalog.stop();
      await server.stop(0);
      connection.close();
    },
  };
}

/** Returns the listener's address as other processes reach it. */
function addressOf({ node, grpc, metadata }: Config, port: number): Promise<string> {
  const isIpv4Only = grpc.bindAddr.startsWith('0.');
  return advertisedAddress({
    advertiseAddr: node.advertiseAddr,
    bindAddr: grpc.bindAddr,
    port,
    ownHost: () => ownHost({ addr: metadata.addr, isIpv4Only }),
  });
}

/** Opens a connection to another process of the cluster. @param name names the process in error messages. */
export function connectTo(options: RoleOptions, addr: string, name: string): Connection {
  return connect(addr, { clock: systemClock, name, ...transportOf(options) });
}

/** Returns the options that all connections between the processes of a cluster share. */
function transportOf({ loaded, peerCertificates }: RoleOptions): TransportOptions {
  const { grpc, 'grpc.tls': tls } = loaded.config;
  const verifiesAddress = tls.mode === 'verify-full';
  return {
    messageBytesMax: grpc.maxMessageSizeBytes,
    secret: grpc.secret,
    tls: peerCertificates && { certificates: peerCertificates, verifiesAddress },
  };
}
