import type { NodeInfo } from '#shared/contracts/gen/metadata';
import { ownCall } from '#shared/contracts/call';
import type { CatalogCache } from '#shared/discovery/catalog-cache';
import { Metrics } from '#shared/telemetry/metrics';

import { startIngester, type IngesterConfig, type IngesterDeps } from './index.js';
import { verifyLog, removeLogRecord } from './log-identity.js';
import { claimSlotOf, type Slot } from './slots.js';

/** What adoption needs besides what an ingester needs. */
export interface AdoptionDeps extends IngesterDeps {
  readonly dataFolder: string;
  readonly catalog: CatalogCache;
  /** Returns the folder of a slot's log. All ingesters of the data folder must agree on it. */
  readonly walFolderOf: (slot: Slot) => string;
  /** Time after which other ingesters take the slot of a node that left or disappeared, in milliseconds. */
  readonly leaseMs: number;
}

/**
 * Adopts the logs of ingesters that ended and did not come back, where the data folder is shared: it acts as that node,
 * flushes the rows of its log to segments, and hands its regions over to this node.
 *
 * Only the lock of a slot proves that its owner is gone. Leases only say where to look.
 */
export class Adoption {
  readonly #deps: AdoptionDeps;
  /** When each node was first seen away, in monotonic milliseconds. */
  readonly #awaySinceMs = new Map<number, number>();

  constructor(deps: AdoptionDeps) {
    this.#deps = deps;
  }

  /** Checks all nodes once and adopts the slots that are due. */
  async look(): Promise<void> {
    const { catalog, clock, leaseMs, config, log } = this.#deps;
    const nowMs = clock.monotonicMs();
    const away = catalog.nodes().filter((node) => node.nodeId !== config.nodeId && isAway(node));
    const ids = new Set(away.map(({ nodeId }) => nodeId));
    for (const nodeId of this.#awaySinceMs.keys()) if (!ids.has(nodeId)) this.#awaySinceMs.delete(nodeId);
    for (const node of away) {
      const sinceMs = this.#awaySinceMs.get(node.nodeId) ?? nowMs;
      this.#awaySinceMs.set(node.nodeId, sinceMs);
      // A gone node has already missed a whole lease; one that left may be about to restart.
      const patienceMs = node.state === 'gone' ? 0 : leaseMs;
      if (nowMs - sinceMs < patienceMs) continue;
      try {
        await this.#adopt(node);
      } catch (error) {
        // A log that cannot be read must not keep the others from being adopted.
        log.error({ error, adoptedNodeId: node.nodeId }, 'adoption failed');
        this.#awaySinceMs.set(node.nodeId, nowMs + RETRY_LEASES * leaseMs);
      }
    }
  }

  async #adopt(node: NodeInfo): Promise<void> {
    const { nodeId } = node;
    const { metadata, log } = this.#deps;
    // The cached catalog may be stale: a node without regions holds nothing that others need.
    const { regionIds } = await metadata.listGrants({ nodeId }, ownCall('adopt'));
    if (regionIds.length === 0) return;
    const slot = await claimSlotOf(node.slot, this.#deps);
    if (slot === undefined) return;
    try {
      const adopted = { adoptedNodeId: nodeId, adoptedSlot: slot.number };
      log.warn(
        { ...adopted, regions: regionIds.length },
        'replaying the log of an ingester slot whose node is gone, to become the owner of its regions',
      );
      await this.#replay(slot, nodeId);
    } finally {
      slot.release();
    }
  }

  async #replay(slot: Slot, nodeId: number): Promise<void> {
    const { config, metadata, fs, log, walFolderOf, dataFolder } = this.#deps;
    const ofSlot = { dataFolder, walFolder: walFolderOf(slot), slot: slot.identity };
    await verifyLog({ ...this.#deps, ...ofSlot, recover: config.walRecover });
    const heir = await startIngester({
      ...this.#deps,
      config: adoptedConfig(config, slot, walFolderOf(slot), nodeId),
      log: log.child({ adoptedSlot: slot.number }),
      // These figures would be counted as this node's.
      metrics: new Metrics({ unprefixedProcess: false, ofProcess: false }),
      onProgress: () => undefined,
      // The slot stays as it is and is adopted again later; this node is healthy.
      onFatal: (error) =>
        log.error(
          { error, adoptedSlot: slot.number },
          'cannot write the log of an adopted slot; adoption is tried again later',
        ),
    });
    try {
      const { regionIds } = await metadata.listGrants({ nodeId }, ownCall('adopt'));
      await heir.handOver(regionIds, config.nodeId);
    } finally {
      await heir.stop();
    }
    const { regionIds: rest } = await metadata.listGrants({ nodeId }, ownCall('adopt'));
    // The next look retries the regions that could not be handed over.
    if (rest.length > 0) return;
    await removeLogRecord({ ...ofSlot, fs });
    await fs.removeFolder(walFolderOf(slot));
    log.info({ adoptedNodeId: nodeId, adoptedSlot: slot.number }, 'slot adopted: its rows are in segments');
  }
}

function isAway({ role, state, slot }: NodeInfo): boolean {
  return role === 'ingester' && slot !== '' && (state === 'gone' || state === 'left');
}

/** Leases to wait before a failed adoption is retried. */
const RETRY_LEASES = 3;

/** Share of this node's memory limits that an adoption uses, because the node keeps serving meanwhile. */
const MEMORY_SHARE = 0.5;

function adoptedConfig(config: IngesterConfig, slot: Slot, walFolder: string, nodeId: number): IngesterConfig {
  return {
    ...config,
    nodeId,
    walFolder,
    scratchFolder: `${config.scratchFolder}-adopts-${slot.number}`,
    memtableBytes: config.memtableBytes * MEMORY_SHARE,
    engineBytes: config.engineBytes * MEMORY_SHARE,
  };
}
