import type {
  AbandonNodeRequest,
  AbandonNodeResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  ListNodesResponse,
  RegisterNodeRequest,
  RegisterNodeResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import { nodeChanged } from '../catalog.js';
import { changeState, grantFree, noteGrants, removeNode, type Cluster } from '../cluster.js';
import { checkDataFolder, claimDataFolder, hasOtherFolder } from '../data-folder.js';
import { Placement } from '../placement.js';
import { nodeInfo, type NodeRecord, type NodeLifecycle } from '../store/nodes.js';

/** Regions that a draining node seals at a time. */
const DRAINS_AT_ONCE = 32;

const REPORTABLE_STATES: ReadonlySet<string> = new Set(['starting', 'ready', 'draining', 'left']);

/**
 * Registers a node. It gets regions once it reports that it is ready. A standalone node, which shares the process with
 * this service and sends no heartbeats, is always ready.
 *
 * @throws `illegal_state` if its data folder is not the cluster's; `external` if that is not known and the node
 *   cannot determine it.
 */
export function registerNode(cluster: Cluster, request: RegisterNodeRequest): RegisterNodeResponse {
  const { catalog, leases, log } = cluster;
  const state = request.role === 'standalone' ? 'ready' : 'starting';
  const isClaim = checkDataFolder(cluster, request);
  const nodeId = catalog.change((record) => {
    if (isClaim) claimDataFolder(cluster, request.dataFolderId, record);
    const id = catalog.nodes.register({ ...request, state, nowMs: catalog.clock.nowMs() });
    if (state === 'ready') grantFree(catalog, record);
    const node = catalog.nodes.find(id);
    invariant(node !== undefined, 'a node that was just written is missing');
    record(nodeChanged(node));
    return id;
  });
  leases.renew(nodeId, state);
  if (isClaim) log.info({ dataFolderId: request.dataFolderId, claimedBy: nodeId }, 'cluster now uses this data folder');
  const dataFolderKnown = catalog.identity.dataFolderId() !== '';
  return { nodeId, leaseMs: leases.leaseMs, clusterId: catalog.identity.clusterId(), dataFolderKnown };
}

/**
 * Renews a node's lease. Only a change of state is stored and sent to watchers.
 *
 * @throws `illegal_state` if the node has to register again: it is unknown, has left, has another data folder than
 *   the cluster, or is known under another address.
 */
export function heartbeat(cluster: Cluster, request: HeartbeatRequest): HeartbeatResponse {
  const state = reportedState(request.state);
  const node = cluster.catalog.nodes.find(request.nodeId);
  // A delayed heartbeat of a node that has left does not bring the node back.
  const isKnown = node !== undefined && (state === 'left' || (node.state !== 'left' && !hasOtherFolder(cluster, node)));
  if (!isKnown) {
    throw new AlmanacError('illegal_state', `node ${request.nodeId} is not known: it has to register again`);
  }
  // Either an earlier process of the slot registered late, or one of two heartbeats was delayed. Only a living process
  // registers again.
  if (request.addr !== undefined && request.addr !== node.addr) {
    const text = `node ${request.nodeId} is known at "${node.addr}", not at "${request.addr}": it has to register again`;
    throw new AlmanacError('illegal_state', text);
  }
  if (state === 'left') return leave(cluster, node);
  if (state !== node.state) cluster.catalog.change((record) => changeState(cluster, node, state, record));
  cluster.leases.renew(node.nodeId, state);
  return adviseNode(cluster, node, state);
}

/** Returns all nodes. */
export function listNodes({ catalog }: Cluster): ListNodesResponse {
  return { nodes: catalog.nodes.list().map(nodeInfo) };
}

/**
 * Grants the regions of a node that will not come back to other nodes, without its log.
 *
 * @throws `invalid_arguments` if there is no such ingester, or it is alive.
 */
export function abandonNode(cluster: Cluster, { nodeId }: AbandonNodeRequest): AbandonNodeResponse {
  const { catalog, moves, log } = cluster;
  const node = catalog.nodes.find(nodeId);
  if (node === undefined) throw new AlmanacError('invalid_arguments', `there is no node ${nodeId}, see /status`);
  if (node.slot === '') {
    throw new AlmanacError('invalid_arguments', `node ${nodeId} is of role ${node.role}: only ingesters have a slot`);
  }
  if (node.state !== 'gone' && node.state !== 'left') {
    throw new AlmanacError(
      'invalid_arguments',
      `node ${nodeId} is ${node.state}: only a node that is gone can be abandoned`,
    );
  }
  const regionIds = catalog.regions.ofNode(nodeId).map((region) => region.regionId);
  const placement = new Placement(catalog);
  catalog.change((record) => {
    for (const regionId of regionIds) {
      catalog.regions.regrant(regionId, placement.next());
      // Ids from the last seal remain; those of the node's own batches are only in its log.
      catalog.regions.forgetIds(regionId);
    }
    noteGrants(catalog, regionIds, record);
  });
  moves.removeNode(nodeId);
  const fields = { abandonedNodeId: nodeId, slot: node.slot, addr: node.addr, regionIds };
  if (regionIds.length === 0) log.info(fields, 'node abandoned: it had no regions');
  else log.warn(fields, 'node abandoned: rows that were only in its log are lost');
  return { regionIds };
}

function reportedState(state: string): NodeLifecycle {
  if (REPORTABLE_STATES.has(state)) return state as NodeLifecycle;
  throw new AlmanacError('invalid_arguments', `a node cannot report the state "${state}"`);
}

function leave(cluster: Cluster, node: NodeRecord): HeartbeatResponse {
  const { catalog, leases, moves } = cluster;
  if (node.state !== 'left') {
    catalog.change((record) => {
      // Without a slot it never comes back under this id.
      if (node.slot === '' && node.regionCount === 0) removeNode(cluster, node.nodeId, record);
      else changeState(cluster, node, 'left', record);
    });
  }
  leases.remove(node.nodeId);
  moves.removeNode(node.nodeId);
  return heartbeatReply(cluster, [], false);
}

/** Returns the regions that the owner should seal now. */
function adviseNode(cluster: Cluster, { nodeId, role }: NodeRecord, state: NodeLifecycle): HeartbeatResponse {
  const { catalog, moves } = cluster;
  if (role !== 'ingester') return heartbeatReply(cluster, [], false);
  if (state === 'ready') return heartbeatReply(cluster, moves.dueFor(nodeId), false);
  const hasTakers = state === 'draining' && catalog.nodes.readyIngesterIds().some((id) => id !== nodeId);
  if (!hasTakers) return heartbeatReply(cluster, [], hasTakers);
  const owned = catalog.regions.ofNode(nodeId).map((region) => region.regionId);
  return heartbeatReply(cluster, owned.slice(0, DRAINS_AT_ONCE), hasTakers);
}

function heartbeatReply({ catalog }: Cluster, regionIds: number[], hasTakers: boolean): HeartbeatResponse {
  return { regionIds, hasTakers, dataFolderKnown: catalog.identity.dataFolderId() !== '' };
}
