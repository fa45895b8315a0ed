import { hostname } from 'node:os';

import { systemClock } from '#shared/clock/clock';
import { systemRandom } from '#shared/clock/random';
import { advertisedAddress } from '#shared/config/address';
import type { Config } from '#shared/config/schema';
import { ownCall } from '#shared/contracts/call';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { CatalogCache } from '#shared/discovery/catalog-cache';
import { Membership } from '#shared/discovery/membership';
import { connect, type Connection } from '#shared/grpc/client';
import { retrying } from '#shared/grpc/retrying';
import { GrpcServer } from '#shared/grpc/server';
import { readBuildInfo } from '#shared/lifecycle/build-info';
import type { RoleOptions } from '#shared/lifecycle/role';

import { adminService } from './admin-service.js';
import { Stage } from './stage.js';

export interface NodeStart {
  readonly role: 'gateway' | 'ingester' | 'querier';
  /** What the role waits for besides metadata. */
  readonly stage: Stage;
  /** Identity of the slot of an ingester; empty for roles without state. */
  readonly slot: string;
  /** Aborts when the process is told to end while it starts. */
  readonly signal: AbortSignal;
}

/** What every process of a cluster has, besides metadata itself: a listener, metadata, a place in the cluster, the catalog. */
export interface ClusterNode {
  readonly nodeId: number;
  readonly server: GrpcServer;
  readonly metadata: MetadataService;
  readonly membership: Membership;
  readonly catalog: CatalogCache;
  /** Tells the cluster that the node is ready, and answers health checks so. */
  ready(): Promise<void>;
  /** Leaves the cluster and closes everything. */
  stop(): Promise<void>;
}

/** The listener of a process: who it is and how it does is answered from its start. */
export async function openNodeServer(
  options: RoleOptions,
  role: string,
  stage: Stage,
  nodeId: () => number,
): Promise<GrpcServer> {
  const { loaded, log } = options;
  const { grpc } = loaded.config;
  const server = new GrpcServer({ log: log.child({ component: 'grpc' }), clock: systemClock, bytesMax: grpc.maxMessageSizeBytes });
  server.serve('Admin', adminService({ ...options, role, stage, clock: systemClock, nodeId }));
  await server.listen(grpc.bindAddr);
  return server;
}

/** Joins the cluster: resolves when metadata knows the node and the whole catalog is here, however long that takes. */
export async function joinCluster(options: RoleOptions, server: GrpcServer, start: NodeStart): Promise<ClusterNode> {
  const { loaded, log, onNodeId } = options;
  const { role, slot, stage, signal } = start;
  const { config } = loaded;
  const connection = connect('Metadata', config.metadata.addr, connectionOptions(config));
  const deps = { clock: systemClock, random: systemRandom };
  const metadata = retrying('Metadata', connection.service, deps);
  stage.waiting = ['metadata'];
  const membership = await Membership.join(
    {
      ...deps,
      metadata,
      log: log.child({ component: 'membership' }),
      registration: { role, addr: addressOf(config, server.port), slot, version: readBuildInfo().version },
    },
    signal,
  );
  onNodeId(membership.nodeId);
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
      server.setServing(true);
      await membership.tell('ready');
    },
    async stop() {
      await membership.leave();
      await catalog.stop();
      await server.stop();
      connection.close();
    },
  };
}

/** The listener's address as others reach it. */
function addressOf({ node, grpc }: Config, port: number): string {
  return advertisedAddress({
    advertiseAddr: node.advertiseAddr,
    bindAddr: grpc.bindAddr,
    port,
    hostName: hostname(),
  });
}

export function connectionOptions({ grpc }: Config): { readonly bytesMax: number } {
  return { bytesMax: grpc.maxMessageSizeBytes };
}

export type { Connection };
