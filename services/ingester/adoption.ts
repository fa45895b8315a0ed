import type { NodeInfo } from '#shared/contracts/gen/metadata';
import { ownCall } from '#shared/contracts/call';
import type { CatalogCache } from '#shared/discovery/catalog-cache';
import { Metrics } from '#shared/telemetry/metrics';

import { startIngester, type IngesterConfig, type IngesterDeps } from './index.js';
import { verifyLog, removeLogRecord } from './log-identity.js';
import { claimSlotOf, type Slot } from './slots.js';

export interface AdoptionDeps extends IngesterDeps {
  readonly dataFolder: string;
  readonly catalog: CatalogCache;
  /** Where the log of a slot is; the same for all ingesters of the folder. */
  readonly walFolderOf: (slot: Slot) => string;
  /** How long a node may be away before others take its slot. */
  readonly leaseMs: number;
}

/**
 * Takes over the logs of ingesters that ended and did not come back, where the data folder is shared: acts as that node,
 * brings the rows of its log into segments, and gives its regions to this one.
 *
 * Only the lock of a slot tells that its owner is gone; metadata's leases tell where to look.
 */
export class Adoption {
  readonly #deps: AdoptionDeps;
  /** Since when a node is seen away. */
  readonly #awaySinceMs = new Map<number, number>();

  constructor(deps: AdoptionDeps) {
    this.#deps = deps;
  }

  /** One look at all nodes; adopts what is found. */
  async look(): Promise<void> {
    const { catalog, clock, leaseMs, config, log } = this.#deps;
    const nowMs = clock.monotonicMs();
    const away = catalog.nodes().filter((node) => node.nodeId !== config.nodeId && isAway(node));
    const ids = new Set(away.map(({ nodeId }) => nodeId));
    for (const nodeId of this.#awaySinceMs.keys()) if (!ids.has(nodeId)) this.#awaySinceMs.delete(nodeId);
    for (const node of away) {
      const sinceMs = this.#awaySinceMs.get(node.nodeId) ?? nowMs;
      this.#awaySinceMs.set(node.nodeId, sinceMs);
      // One that is gone was not heard of for a lease already; one that left may be about to start again.
      const patienceMs = node.state === 'gone' ? 0 : leaseMs;
      if (nowMs - sinceMs < patienceMs) continue;
      try {
        await this.#adopt(node);
      } catch (error) {
        // One log that cannot be read must not keep the others from being adopted.
        log.error({ error, adoptedNodeId: node.nodeId }, 'adoption failed');
        this.#awaySinceMs.set(node.nodeId, nowMs + RETRY_LEASES * leaseMs);
      }
    }
  }

  async #adopt(node: NodeInfo): Promise<void> {
    const { nodeId } = node;
    const { metadata, log } = this.#deps;
    // The catalog may lag behind: a node without regions has nothing that others need.
    const { regionIds } = await metadata.listGrants({ nodeId }, ownCall('adopt'));
    if (regionIds.length === 0) return;
    const slot = await claimSlotOf(node.slot, this.#deps);
    if (slot === undefined) return;
    try {
      const adopted = { adoptedNodeId: nodeId, adoptedSlot: slot.number };
      log.warn({ ...adopted, regions: regionIds.length }, 'adopting the slot of a node that is gone');
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
      // Its figures would be counted as those of this node.
      metrics: new Metrics({ unprefixedProcess: false, ofProcess: false }),
      onProgress: () => undefined,
      // The slot is left as it is and adopted again; this node is well.
      onFatal: (error) => log.error({ error, adoptedSlot: slot.number }, 'the log of an adopted slot failed'),
    });
    try {
      const { regionIds } = await metadata.listGrants({ nodeId }, ownCall('adopt'));
      await heir.handOver(regionIds, config.nodeId);
    } finally {
      await heir.stop();
    }
    const { regionIds: rest } = await metadata.listGrants({ nodeId }, ownCall('adopt'));
    // What could not be given away yet is tried again at the next look.
    if (rest.length > 0) return;
    await removeLogRecord({ ...ofSlot, fs });
    await fs.removeFolder(walFolderOf(slot));
    log.info({ adoptedNodeId: nodeId, adoptedSlot: slot.number }, 'slot is adopted: its rows are in segments');
  }
}

function isAway({ role, state, slot }: NodeInfo): boolean {
  return role === 'ingester' && slot !== '' && (state === 'gone' || state === 'left');
}

/** Leases before a failed adoption is tried again. */
const RETRY_LEASES = 3;

/** Memory is taken from the shares of this node, which serves on meanwhile. */
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
