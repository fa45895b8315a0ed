import type { Empty, RegionInfo, Table } from '#shared/contracts/gen/common';
import type {
  ListGrantsRequest,
  ListGrantsResponse,
  MoveRegionRequest,
  OpenRegionRequest,
  OpenRegionResponse,
  SealRegionRequest,
  SealRegionResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { invariant } from '#shared/errors/invariant';
import type { MetadataCatalog } from '../catalog.js';
import { noteGrants, type Cluster } from '../cluster.js';
import { Placement } from '../placement.js';
import type { RegionRecord } from '../store/regions.js';

const APPLIED_IDS_MAX = 4 << 20;

/** Returns the regions that a node owns, with their tables and watermarks. */
export function listGrants(catalog: MetadataCatalog, request: ListGrantsRequest): ListGrantsResponse {
  const regions = catalog.regions.ofNode(request.nodeId);
  const tables = new Map<number, Table>();
  for (const { tableId } of regions) {
    const table = tables.get(tableId) ?? catalog.tables.findById(tableId);
    if (table !== undefined) tables.set(tableId, table);
  }
  return {
    tables: [...tables.values()],
    regionIds: regions.map((region) => region.regionId),
    watermarks: regions.map((region) => region.watermark),
  };
}

/**
 * Returns what the owner of a region needs to serve it.
 * @throws `region_not_found`; `region_not_ready` if the node is not the owner.
 */
export function openRegion(
  { catalog, openings }: Cluster,
  { regionId, nodeId }: OpenRegionRequest,
): OpenRegionResponse {
  const region = catalog.region(regionId);
  if (region.nodeId !== nodeId || nodeId === 0) {
    const text = `region ${regionId} is not granted to node ${nodeId}`;
    throw new AlmanacError('region_not_ready', text, { retryAfterSeconds: 1 });
  }
  return {
    table: tableOf(catalog, region),
    manifest: catalog.manifest(regionId),
    appliedIds: catalog.seals.appliedIds(regionId),
    opening: openings.open(regionId),
  };
}

/**
 * Closes a grant and opens the next one, in one transaction: a region never has two open grants, and the next owner
 * starts only after every acknowledged row of this one is in segments.
 *
 * @throws `region_not_found`; `illegal_state` if grant, watermark or opening are not the present ones.
 */
export function sealRegion(cluster: Cluster, request: SealRegionRequest): SealRegionResponse {
  const { catalog, moves, openings } = cluster;
  const { regionId, epoch, nodeId, appliedIds, opening } = request;
  if (appliedIds.byteLength > APPLIED_IDS_MAX) {
    const text = `applied ids of a region take at most ${APPLIED_IDS_MAX} bytes, not ${appliedIds.byteLength}`;
    throw new AlmanacError('invalid_arguments', text);
  }
  const before = catalog.region(regionId);
  // The reply to the first seal was lost.
  if (catalog.seals.has(regionId, epoch, nodeId)) return { region: regionInfo(catalog, before) };
  checkSeal(before, request);
  if (!openings.isCurrent(regionId, opening)) {
    const text = `region ${regionId} must be opened again before it is sealed`;
    throw new AlmanacError('illegal_state', text, { details: { opening: 'void' } });
  }
  const nextId = nextOwner(cluster, before, request.toNodeId);
  catalog.change((record) => {
    catalog.regions.regrant(regionId, nextId);
    catalog.seals.insert(regionId, epoch, nodeId);
    catalog.seals.setAppliedIds(regionId, appliedIds);
    noteGrants(catalog, [regionId], record);
  });
  moves.granted(regionId, nextId);
  openings.closed(regionId);
  return { region: regionInfo(catalog, catalog.region(regionId)) };
}

/**
 * Plans the move of a region to another node.
 * @throws `region_not_found`; `invalid_arguments` if the node cannot take regions.
 */
export function moveRegion({ catalog, moves }: Cluster, { regionId, toNodeId }: MoveRegionRequest): Empty {
  const region = catalog.region(regionId);
  if (!catalog.nodes.readyIngesterIds().includes(toNodeId)) throw cannotTake(catalog, toNodeId);
  moves.request(region, toNodeId);
  return {};
}

function cannotTake(catalog: MetadataCatalog, nodeId: number): AlmanacError {
  const node = catalog.nodes.find(nodeId);
  if (node === undefined) return new AlmanacError('invalid_arguments', `there is no node ${nodeId}, see /status`);
  const why = node.role === 'ingester' ? `it is ${node.state}` : `it is of role ${node.role}, only ingesters do`;
  return new AlmanacError('invalid_arguments', `node ${nodeId} cannot take regions: ${why}`);
}

function checkSeal(region: RegionRecord, { regionId, epoch, nodeId, watermark }: SealRegionRequest): void {
  if (region.epoch !== epoch || region.nodeId !== nodeId || nodeId === 0) {
    throw new AlmanacError('illegal_state', `grant ${epoch} of region ${regionId} is not open at node ${nodeId}`);
  }
  if (region.watermark !== watermark) {
    const text = `region ${regionId} has the watermark ${region.watermark}, not ${watermark}`;
    throw new AlmanacError('illegal_state', text, { details: { watermark: String(region.watermark) } });
  }
}

/**
 * Returns the node that the owner names, else the planned one, else the owner if it is ready, else the least loaded; 0
 * if none is ready.
 */
function nextOwner({ catalog, moves }: Cluster, region: RegionRecord, toNodeId: number): number {
  const ready = new Set(catalog.nodes.readyOwnerIds());
  for (const nodeId of [toNodeId, moves.targetOf(region.regionId), region.nodeId]) {
    if (ready.has(nodeId)) return nodeId;
  }
  return new Placement(catalog).next();
}

function regionInfo(catalog: MetadataCatalog, region: RegionRecord): RegionInfo {
  const info = tableOf(catalog, region).regions.find((it) => it.regionId === region.regionId);
  invariant(info !== undefined, 'a table does not name its region');
  return info;
}

function tableOf(catalog: MetadataCatalog, { tableId }: RegionRecord): Table {
  const table = catalog.tables.findById(tableId);
  invariant(table !== undefined, 'a region outlived its table');
  return table;
}
