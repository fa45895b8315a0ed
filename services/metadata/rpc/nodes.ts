import type { Table } from '#shared/contracts/gen/common';
import type {
  ListGrantsRequest,
  ListGrantsResponse,
  ListNodesResponse,
  RegisterNodeRequest,
  RegisterNodeResponse,
} from '#shared/contracts/gen/metadata';
import { tableChanged, type Catalog } from '../catalog.js';

const OWNER_ROLES = new Set(['standalone', 'ingester']);

/** Makes a node known. Regions that nobody ever owned go to the first node that can. */
export function registerNode(catalog: Catalog, request: RegisterNodeRequest): RegisterNodeResponse {
  return catalog.change((note) => {
    const nodeId = catalog.nodes.register({ ...request, nowMs: catalog.clock.nowMs() });
    if (OWNER_ROLES.has(request.role)) {
      for (const tableId of catalog.regions.grantFree(nodeId)) {
        const table = catalog.tables.findById(tableId);
        if (table !== undefined) note(tableChanged(table));
      }
    }
    return { nodeId };
  });
}

export function listNodes(catalog: Catalog): ListNodesResponse {
  return { nodes: catalog.nodes.list() };
}

export function listGrants(catalog: Catalog, request: ListGrantsRequest): ListGrantsResponse {
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
