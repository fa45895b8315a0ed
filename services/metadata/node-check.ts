import { changeState, removeNode, type Cluster, type RecordChange } from './cluster.js';
import type { NodeRecord } from './store/nodes.js';

/** Time for which a lost node without a slot, which nothing depends on, stays listed. */
const KEEP_GONE_MS = 10 * 60_000;
/** Time for which a node with a slot but without regions stays listed: it may come back with its id. */
const KEEP_SLOT_MS = 24 * 3_600_000;

/** Marks nodes without heartbeats as gone, and removes those that were gone for long. */
export function checkNodes(cluster: Cluster): void {
  const { catalog, leases } = cluster;
  leases.tick();
  const nodes = catalog.nodes.list().filter((node) => node.role !== 'standalone');
  const lost = nodes.filter((node) => isLost(cluster, node));
  const stale = nodes.filter((node) => isStale(node, catalog.clock.nowMs()));
  if (lost.length === 0 && stale.length === 0) return;
  catalog.change((record: RecordChange) => {
    for (const node of lost) changeState(cluster, node, 'gone', record);
    for (const { nodeId } of stale) removeNode(cluster, nodeId, record);
  });
  for (const { nodeId, role, addr } of lost) {
    cluster.log.warn({ goneNodeId: nodeId, goneRole: role, addr }, 'node counts as gone: its heartbeat is late');
  }
  for (const { nodeId } of [...lost, ...stale]) {
    leases.remove(nodeId);
    cluster.moves.removeNode(nodeId);
  }
}

function isLost({ leases }: Cluster, { nodeId, state }: NodeRecord): boolean {
  return state !== 'gone' && state !== 'left' && leases.isExpired(nodeId);
}

function isStale({ state, stateMs, slot, regionCount }: NodeRecord, nowMs: number): boolean {
  if ((state !== 'gone' && state !== 'left') || regionCount > 0) return false;
  return nowMs - stateMs > (slot === '' ? KEEP_GONE_MS : KEEP_SLOT_MS);
}
