import type { Catalog } from './catalog.js';

/**
 * The owners of a new table's regions: nodes that are ready, least loaded first, each in turn, so that one table's
 * writes spread even while the load does not. 0 where there is no such node.
 */
export function placeRegions(catalog: Catalog, count: number): number[] {
  const loads = catalog.regions.loads();
  const load = (nodeId: number): number => loads.get(nodeId) ?? 0;
  const nodeIds = catalog.nodes.readyOwnerIds().sort((a, b) => load(a) - load(b) || a - b);
  return Array.from({ length: count }, (_, index) => (nodeIds.length === 0 ? 0 : nodeIds[index % nodeIds.length]));
}

/** The ready node that owns the fewest regions; 0 if there is none. */
export function leastLoadedNode(catalog: Catalog): number {
  return placeRegions(catalog, 1)[0];
}
