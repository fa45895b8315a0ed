import type { CompactionConfig } from '#services/ingester/settings';
import type { DuckDBInstance } from '#shared/duckdb/engine';
import type { MetadataService } from '#shared/contracts/gen/metadata';
import { CatalogCache } from '#shared/discovery/catalog-cache';
import { Membership } from '#shared/discovery/membership';
import { RemoteIngesters } from '#shared/discovery/remote-ingesters';
import { retrying } from '#shared/grpc/retrying';
import type { DataFolder } from '#shared/node/data-folder';
import type { Metrics } from '#shared/telemetry/metrics';
import { ownCall } from '#shared/contracts/call';

import type { Disk } from '../world/disk.js';
import { Life } from '../world/life.js';
import { nodeLog } from '../world/node-log.js';
import type { Network } from '../world/network.js';
import type { Scheduler } from '../world/scheduler.js';
import type { Sandboxes } from '../world/sandboxes.js';

/** Settings that are drawn for a whole run. */
export interface Settings {
  readonly regions: number;
  readonly leaseMs: number;
  readonly retryWindowMs: number;
  readonly walFileBytes: number;
  readonly flushBytes: number;
  readonly flushIntervalMs: number;
  readonly windowMs: number;
  readonly gcGraceMs: number;
  readonly compaction: CompactionConfig;
}

/** What all processes of a simulation share. */
export interface World {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly disk: Disk;
  readonly settings: Settings;
  /** Folder of the machine that the processes share. */
  readonly folder: string;
  /** The engine instance of all ingesters. */
  readonly engine: DuckDBInstance;
  readonly sandboxes: Sandboxes;
  readonly metrics: Metrics;
}

/** Address of metadata. */
export const METADATA = 'metadata';

/** What every process except metadata has. */
export interface Joined {
  readonly nodeId: number;
  readonly membership: Membership;
  readonly catalog: CatalogCache;
  readonly metadata: MetadataService;
  readonly ingesters: RemoteIngesters;
}

const SKEW_MS = 200;

/** Starts a new life of a process, with a random clock skew. */
export function newLife(name: string, { scheduler }: World): Life {
  return new Life(name, scheduler, Math.floor((scheduler.random.fraction() - 0.5) * 2 * SKEW_MS));
}

/** A node with one life at a time. */
interface Startable {
  readonly name: string;
  readonly life: Life;
  start(): void;
}

/** Restarts a process a little later if its start fails, as its supervisor would. */
export function startAgainUnless(started: Promise<void>, node: Startable, scheduler: Scheduler): void {
  const { life } = node;
  started.catch((error: unknown) => {
    if (life.isDead) return;
    scheduler.note(`${node.name} could not start: ${String(error)}`);
    life.kill();
    scheduler.after(500, undefined, () => {
      if (node.life === life) node.start();
    });
  });
}

/** How a process joins, besides its role. */
export interface JoinOptions {
  readonly slot?: string;
  readonly dataFolder?: DataFolder;
  readonly onMoves?: (regionIds: readonly number[]) => void;
}

/** Joins the cluster as `joinCluster` does for real processes. */
export async function joinWorld(world: World, life: Life, role: string, options: JoinOptions = {}): Promise<Joined> {
  const { slot = '', dataFolder, onMoves = () => undefined } = options;
  const { network } = world;
  const { clock, random } = life;
  const log = nodeLog(life, world.scheduler);
  const metadata = retrying('Metadata', network.client('Metadata', life, METADATA), { clock, random });
  const registration = { role, addr: life.name, slot, version: 'test' };
  const membership = await Membership.join(
    {
      metadata,
      clock,
      random,
      log,
      registration: () =>
        Promise.resolve({
          ...registration,
          dataFolderId: dataFolder?.id ?? '',
          clusterId: dataFolder?.clusterId ?? '',
        }),
      // All have the same folder.
      onRefused(refusal) {
        throw refusal;
      },
    },
    new AbortController().signal,
  );
  membership.start(onMoves);
  const catalog = new CatalogCache({ metadata, clock, random, log });
  catalog.start();
  await catalog.reached(1n, ownCall('start'));
  const ingesters = new RemoteIngesters(catalog, (addr) => ({
    service: network.client('Ingester', life, addr),
    close: () => undefined,
  }));
  return { nodeId: membership.nodeId, membership, catalog, metadata, ingesters };
}
